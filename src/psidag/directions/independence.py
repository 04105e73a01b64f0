"""Whether noises depend on each other: when their shape may direct an edge, and what their rows are worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.special
from numpy.typing import NDArray

from psidag.system.parallel import Workers, tiles

Floats = NDArray[np.float64]

# Levels and margins were chosen on the tuning seeds of benchmarks/directions.md, "shape of pairs".
#: The direction not taken must stay dependent at this level after a smooth fit.
LEVEL = 0.001
#: The direction taken is independent above this level. It is not lowered for the number of edges: that would let more
#: curved relations pass, while linear ones lose one edge in a hundred by it.
INDEPENDENT = 0.01
#: Or its dependence is below this share of the other's: at large n slight curvature fails every test.
SHARE = 0.3
#: Nats a row by which the other direction may fit better once the scale of its noise may vary, too. Linear relations
#: stay above -0.04 for the most part (the estimate of entropy has a bias of that size for heavy tails at 300 rows), a
#: Gaussian cause with noise that grows with it falls to -0.07 and below from 2,000 rows on, and nearly always at 300.
SCALE_MARGIN = 0.04
#: Fewer rows tell no shape.
FEWEST_ROWS = 80
#: Rows looked at; more only cost time.
MOST_ROWS = 2000
#: Columns of fewer distinct values, or with one value in more than this share of the rows, have no shape.
FEWEST_VALUES = 30
_MOST_TIES = 0.05
#: Repeated extremes this many robust deviations beyond the next value are taken for codes such as -999.
_SENTINEL_GAP = 3.0
_SENTINEL_REPEATS = 3
#: A residual this small beside its column is what rounding left.
_NOTHING_LEFT = 1e-6
#: Pairs worked on at a time, by one thread.
_PAIRS = 16
_KNOTS = (0.1, 0.3, 0.5, 0.7, 0.9)
#: Rows that tell how much a score overstates, edges taken at a time, and what chance alone may make of it.
_ROWS, _EDGES, _CHANCE = 1000, 4096, 1.1


@dataclass(frozen=True, eq=False)
class PairTests:
    """Tests of pairs (x, y), ``[..., 0]`` for x → y and ``[..., 1]`` for y → x.

    Attributes
    ----------
    linear_p : array of shape (m, 2)
        p-value of independence of the linear residual from the cause.
    linear_strength : array of shape (m, 2)
        How much they depend on each other: the sum of squared canonical correlations of their features beyond what
        chance gives.
    smooth_p, smooth_strength : arrays of shape (m, 2)
        The same after a spline fit of the mean.
    lead : array of shape (m, 2)
        Nats a row by which the direction, linear and with noise of one scale, fits better than the other with a
        spline for the mean and a scale that varies with its cause.
    """

    linear_p: Floats
    linear_strength: Floats
    smooth_p: Floats
    smooth_strength: Floats
    lead: Floats

    @property
    def claims(self) -> NDArray[np.int8]:
        """1 where x → y may be claimed, -1 where y → x may be, 0 where neither or both."""
        own_p, own, lead = self.linear_p, self.linear_strength, self.lead
        other_p, other = self.smooth_p[:, ::-1], self.smooth_strength[:, ::-1]
        holds = (other_p < LEVEL) & ((own_p > INDEPENDENT) | (own < SHARE * other)) & (lead > -SCALE_MARGIN)
        return (holds[:, 0].astype(np.int8) - holds[:, 1]).astype(np.int8)

    @property
    def curved(self) -> NDArray[np.bool_]:
        """Whether the linear residuals of both directions depend on their causes: the relation is not linear."""
        return np.asarray(np.all(self.linear_p < LEVEL, axis=1))


def has_shape(column: NDArray[Any]) -> bool:
    """Whether a column can show the shape of noise: many values, few ties, no code for missing values at its ends.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=500)
    >>> has_shape(x), has_shape(np.sign(x)), has_shape(np.where(x > 1, -999, x))
    (True, False, False)
    """
    if len(column) < FEWEST_ROWS:
        return False
    values, counts = np.unique(column, return_counts=True)
    if len(values) < FEWEST_VALUES or counts.max() > _MOST_TIES * len(column):
        return False
    quarter, half, three = np.quantile(column, [0.25, 0.5, 0.75])
    spread = (three - quarter) / 1.349
    low = counts[0] >= _SENTINEL_REPEATS and values[1] - values[0] > _SENTINEL_GAP * spread
    high = counts[-1] >= _SENTINEL_REPEATS and values[-1] - values[-2] > _SENTINEL_GAP * spread
    return bool(spread > 0 and np.isfinite(half) and not (low or high))


def thinned(X: NDArray[Any], most: int = MOST_ROWS) -> Floats:
    """At most this many rows, evenly spread over the table: no draw, so that the same table gives the same answer."""
    if len(X) > most:
        X = X[np.linspace(0, len(X) - 1, most).round().astype(np.intp)]
    return np.asarray(X, dtype=np.float64)


def overstatement(X: NDArray[Any], weights: sp.csr_array) -> float:
    """How many times as much a score makes of the rows as they say; 1 where noises are independent.

    Scores take noises that are uncorrelated to be independent. If two of them are large in the same rows, their sample
    correlation varies more than that: n times its square is, in the mean, not 1 but the mean product of their squares
    in units of their variances. This is averaged over all pairs among the ends of an edge and their parents; the answer
    is the median over all edges.

    Parameters
    ----------
    X : array of shape (n, d)
        Rows.
    weights : sparse array of shape (d, d)
        The graph, fitted: ``weights[i, j]`` for i → j.

    References
    ----------
    White (1980), "A heteroskedasticity-consistent covariance matrix estimator"; Satorra & Bentler (1994), "Corrections
    to test statistics and standard errors in covariance structure analysis", divide statistics by such a mean.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> rng = np.random.default_rng(0)
    >>> x, y, z = rng.normal(size=(3, 1000))
    >>> edge = sp.csr_array(([1.0], ([0], [1])), shape=(2, 2))
    >>> overstatement(np.column_stack([x, x + y]), edge)
    1.0
    >>> together = np.exp(z)
    >>> overstatement(np.column_stack([x * together, (x + y) * together]), edge) > 3
    True
    """
    if len(X) < FEWEST_ROWS or not weights.nnz:
        return 1.0
    few = thinned(X, _ROWS)
    noise = few - few.mean(axis=0)
    noise = noise - noise @ weights
    squares = (noise - noise.mean(axis=0)) ** 2
    mean = squares.mean(axis=0)
    squares = np.divide(squares, mean, out=np.zeros_like(squares), where=mean > 0).astype(np.float32)
    edges = weights.tocoo()
    families = sp.csc_array(abs(weights) + sp.eye_array(len(mean), format="csr"))
    found = np.empty(edges.nnz)
    for part in tiles(edges.nnz, _EDGES):
        around = families[:, edges.row[part]] + families[:, edges.col[part]]
        around.data = np.ones(around.nnz, dtype=np.float32)
        total, own = squares @ around, squares**2 @ around
        size = np.diff(around.indptr).astype(np.float64)
        found[part] = (np.mean(total**2, axis=0) - own.mean(axis=0)) / (size * (size - 1))
    middle = float(np.median(found))
    return middle if middle > _CHANCE else 1.0


def pair_tests(x: Floats, y: Floats, workers: Workers) -> PairTests:
    """Test pairs of noises in both directions.

    Dependence is any correlation between whitened functions of the two (themselves, tanh, log cosh, sine and cosine),
    all bounded, so that outliers count little; n times the sum of its squares is chi-squared under independence.

    Parameters
    ----------
    x, y : arrays of shape (m, n)
        The pairs; residuals of both given what else they depend on.
    workers : Workers
        Threads; they do not change the result.

    Examples
    --------
    >>> import numpy as np
    >>> from psidag.system.parallel import SERIAL
    >>> rng = np.random.default_rng(0)
    >>> cause = rng.exponential(size=(1, 1000))
    >>> effect = cause + rng.exponential(size=(1, 1000))
    >>> pair_tests(cause, effect, SERIAL).claims, pair_tests(effect, cause, SERIAL).claims
    (array([1], dtype=int8), array([-1], dtype=int8))
    """
    parts = workers.map(lambda part: _tests(x[part], y[part]), tiles(len(x), _PAIRS))
    if not parts:
        return PairTests(*(np.empty((0, 2)) for _ in range(5)))
    return PairTests(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def noises(
    Z: Floats, sources: NDArray[np.intp], targets: NDArray[np.intp], given: list[tuple[int, ...]]
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Both ends of edges without what third columns explain, and whether enough of both is left to test.

    Parameters
    ----------
    Z : array of shape (n, d)
        Rows.
    sources, targets : arrays of shape (m,)
        The edges.
    given : list of tuples
        The columns that both ends are regressed on.
    """
    Z = Z - Z.mean(axis=0)
    x, y = Z[:, sources].T.copy(), Z[:, targets].T.copy()
    before = np.stack([x.std(axis=1), y.std(axis=1)])
    for k, columns in enumerate(given):
        if columns:
            third = Z[:, columns]
            fitted = third @ np.linalg.lstsq(third, np.stack([x[k], y[k]], axis=1))[0]
            x[k] -= fitted[:, 0]
            y[k] -= fitted[:, 1]
    after = np.stack([x.std(axis=1), y.std(axis=1)])
    return x, y, np.all(after > _NOTHING_LEFT * before, axis=0)


def _tests(x: Floats, y: Floats) -> tuple[Floats, ...]:
    x, y = _standard(x), _standard(y)
    slope = np.mean(x * y, axis=1, keepdims=True)
    entropy = _entropy(x), _entropy(y)
    found: list[list[Floats]] = [[] for _ in range(6)]
    for cause, effect in ((x, y), (y, x)):
        features = _features(cause)
        linear = effect - slope * cause
        curve = effect - _onto(_whitened(_splines(cause)), effect)
        scale = _onto(_whitened(_scale_terms(cause)), np.abs(curve))
        scale = np.maximum(scale, 0.25 * np.abs(curve).mean(axis=1, keepdims=True))
        varying = _entropy(curve / scale) + np.log(scale).mean(axis=1)
        values = (*_dependence(_features(linear), features), *_dependence(_features(curve), features))
        for column, value in zip(found, (*values, _entropy(linear), varying), strict=True):
            column.append(value)
    linear_p, linear_strength, smooth_p, smooth_strength, residual, varying_two = (np.stack(c, 1) for c in found)
    own = np.stack(entropy, 1) + residual
    other = np.stack(entropy, 1) + varying_two
    return linear_p, linear_strength, smooth_p, smooth_strength, other[:, ::-1] - own


def _standard(x: Floats) -> Floats:
    x = x - x.mean(axis=1, keepdims=True)
    sd = x.std(axis=1, keepdims=True)
    return np.asarray(x / np.where(sd > 0, sd, 1.0))


def _features(u: Floats) -> Floats:
    """Whitened functions of each row of u, as an array of shape (m, n, 5); those without variation are zero."""
    c = np.clip(_standard(u), -4.0, 4.0)
    F = np.stack([c, np.tanh(c), np.log(np.cosh(c)), np.cos(2 * c), np.sin(2 * c)], axis=2)
    return _whitened(F - F.mean(axis=1, keepdims=True))


def _whitened(F: Floats) -> Floats:
    """Orthonormal combinations of the functions of each pair; zeros in the place of those that are superfluous.

    From their Gram matrix, which takes a tenth of the time of an orthogonal factorisation; twice, since a Gram matrix
    squares what is nearly collinear, and the second one is close to the identity.
    """
    for _ in range(2):
        values, vectors = np.linalg.eigh(np.swapaxes(F, 1, 2) @ F)
        kept = values > 1e-14 * values[:, -1:]
        F = F @ (vectors * np.where(kept, 1 / np.sqrt(np.where(kept, values, 1.0)), 0.0)[:, None, :])
    return F


def _dependence(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    n = a.shape[1]
    # The residual is uncorrelated with the cause: one degree of freedom less.
    free = np.sum(np.any(a != 0, axis=1), axis=1) * np.sum(np.any(b != 0, axis=1), axis=1) - 1.0
    found = n * np.sum((np.swapaxes(a, 1, 2) @ b) ** 2, axis=(1, 2))
    return scipy.special.chdtrc(np.maximum(free, 1.0), found), np.maximum(0.0, found - free) / n


def _splines(x: Floats) -> Floats:
    """Cubic splines of each row: shape (m, n, 9)."""
    knots = np.quantile(x, _KNOTS, axis=1)
    terms = [np.ones_like(x), x, x**2, x**3, *(np.maximum(x - k[:, None], 0.0) ** 3 for k in knots)]
    B = np.stack(terms, axis=2)
    return np.asarray(B / np.maximum(np.linalg.norm(B, axis=1, keepdims=True), 1e-12))


def _scale_terms(x: Floats) -> Floats:
    """Level, slope, V and bowl, all that a scale needs to follow its cause; shape (m, n, 4)."""
    c = np.clip(x, -3.0, 3.0)
    return np.stack([np.ones_like(c), c, np.abs(c), c**2], axis=2)


def _onto(basis: Floats, y: Floats) -> Floats:
    return np.asarray((basis @ (np.swapaxes(basis, 1, 2) @ y[:, :, None]))[:, :, 0])


def _entropy(u: Floats) -> Floats:
    """Entropy of each row from spacings (Vasicek 1976)."""
    n = u.shape[1]
    width = max(2, round(np.sqrt(n)))
    ordered = np.sort(u, axis=1)
    at = np.arange(n)
    gaps = ordered[:, np.minimum(at + width, n - 1)] - ordered[:, np.maximum(at - width, 0)]
    return np.asarray(np.mean(np.log(np.maximum(gaps, 1e-12) * (n / (2 * width))), axis=1))
