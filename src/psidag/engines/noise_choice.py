"""The choice of a noise model: what residuals of a graph say about it, in figures and in words."""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psidag.run.status import Candidate, Fitted
from psidag.scores.equality import GAUSSIAN_KURTOSIS, Equality
from psidag.scores.nearly_equal import Prior, estimate_prior
from psidag.solution.noise import NoiseModel, fold
from psidag.stages.noise_facts import NoiseFacts

Floats = NDArray[np.float64]

#: Standard deviations of columns that differ by less than this share look standardised.
_STANDARDISED = 0.01
# Whether the choice is right on data of each kind: benchmarks/directions.md, "Choice".
#: Of very many columns this share may stand out, as hubs that lack parents do, and the others are equal all the same.
_FEW = 0.001
#: A prior on the spread of variances helps while the logarithms of most are within this of each other, ...
_MOST_SPREAD = 0.5
#: ... none is further out than this many times the spread, ...
_OUTLYING = 4.0
#: ... and there are at least this many, so that their spread is known.
_FEWEST_COLUMNS = 10


def looks_standardised(sd: Floats) -> bool:
    """Whether all columns have the same standard deviation.

    Examples
    --------
    >>> import numpy as np
    >>> looks_standardised(np.ones(4)), looks_standardised(np.array([1.0, 1.0, 1.5]))
    (True, False)
    """
    live = sd[sd > 0]
    return len(live) >= 3 and bool(live.max() < (1 + _STANDARDISED) * live.min())


def pooled_kurtosis(facts: NoiseFacts | None) -> float:
    """The median of all columns; that of Gaussian noise where nothing is known."""
    return GAUSSIAN_KURTOSIS if facts is None else max(float(np.median(facts.kurtosis)), 1.5)


def equal_fits_better(equal: Fitted, unequal: Fitted, edges: tuple[int, int], price: float, kurtosis: float) -> bool:
    """Whether one variance for all fits better than one for each, with ln n for every variance more.

    On data of equal variances n d log v̄ − n Σ log v_j, scaled by the kurtosis of the noise, is about d: the choice is
    rarely close.

    Parameters
    ----------
    equal, unequal : Fitted
        The best graphs under both scores.
    edges : tuple of int
        How many edges they have.
    price : float
        Of an edge.
    kurtosis : float
        Of the noise.
    """
    n = equal.n_samples
    one, each = (fit.residual_variance[fit.residual_variance > 0] for fit in (equal, unequal))
    if len(one) != len(each):
        return False
    gained = n * float(np.log(one).sum() - np.log(each).sum()) + price * (edges[0] - edges[1])
    return _lost(one, n, kurtosis) + gained < (len(one) - 1) * math.log(n)


def clearly_equal(equal: Fitted, kurtosis: float) -> bool:
    """Whether one variance for all but a few of very many loses so little that none of their own would be taken.

    A graph with one for each would have to make up for half their price by its edges alone.
    """
    v = equal.residual_variance[equal.residual_variance > 0]
    apart = np.abs(np.log(v) - np.median(np.log(v)))
    v = v[np.argsort(apart, kind="stable")][: len(v) - int(_FEW * len(v))]
    return _lost(v, equal.n_samples, kurtosis) < (len(v) - 1) * math.log(equal.n_samples) / 2


def differs_too_little(noise: NoiseModel) -> NoiseModel:
    """Variances that a test finds unequal, taken as equal all the same."""
    return noise.because(f"{noise.reason}; too little for variances of their own", contradicted=False)


def prior_that_helps(fitted: Fitted, kurtosis: float) -> Prior | None:
    """The prior on variances that are nearly equal; None where they are too different, or too few."""
    v = fitted.residual_variance
    if np.count_nonzero(v > 0) < _FEWEST_COLUMNS:
        return None
    prior = estimate_prior(v, fitted.n_samples, kurtosis)
    spread = math.sqrt(prior.spread2 + prior.error2)
    furthest = float(np.abs(np.log(v[v > 0]) - prior.centre).max())
    return prior if math.sqrt(prior.spread2) <= _MOST_SPREAD and furthest <= _OUTLYING * spread else None


def judged_by_shape(shaped: NDArray[np.bool_], valued: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The columns whose shape counts in a refinement: all that can have one, once most of them are seen to.

    At few rows a test misses columns that are like the others, and edges between the two kinds are then turned by the
    shape of one end alone (benchmarks/directions.md, "small").
    """
    shaped = shaped & valued
    return valued if 2 * int(shaped.sum()) > int(valued.sum()) else shaped


def neighbours_apart(
    weights: sp.csr_array, shaped: NDArray[np.bool_], valued: NDArray[np.bool_]
) -> dict[int, tuple[int, ...]]:
    """For columns with a shape, the neighbours that cannot have one."""
    joined = sp.csr_array(abs(weights) + abs(weights.T))
    found = {}
    for j in np.flatnonzero(shaped).tolist():
        beside = joined.indices[joined.indptr[j] : joined.indptr[j + 1]]
        without = tuple(sorted(beside[~valued[beside]].tolist()))
        if without:
            found[j] = without
    return found


def parents_of(candidate: Candidate) -> NDArray[np.intp]:
    """How many parents each node has."""
    return np.bincount(sp.csr_array(candidate.weights).indices, minlength=len(candidate.order))


def in_words(found: Equality, names: tuple[str, ...], count: float) -> str:
    """What a test of equal variances has found, with its figures."""
    p = f"p = {found.p_value:.2g}" if found.p_value >= 1e-4 else "p < 0.0001"
    if not found.rejected:
        return f"residual variances are equal as far as {count:g} rows tell: within a factor of {found.ratio:.3g}, {p}"
    ends = f"from {names[found.least]!r} to {names[found.most]!r}"
    return f"residual variances differ {fold(found.ratio)}, {ends}, {p}"


def _lost(v: Floats, n: float, kurtosis: float) -> float:
    """What one variance for all costs beside one for each, scaled by the kurtosis of the noise."""
    return n * (len(v) * math.log(v.mean()) - float(np.log(v).sum())) * 2 / (kurtosis - 1)
