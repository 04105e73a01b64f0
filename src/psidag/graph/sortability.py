"""Sortability: how far the variances, or the R², of the variables give the causal order away."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from psidag.data.moments import Moments
from psidag.graph.metrics import as_matrix
from psidag.graph.order import topological_order
from psidag.system.errors import InputError

Floats = NDArray[np.float64]

#: Scores this close, relatively, count as equal.
_TOLERANCE = 1e-9
#: Paths are followed from this many sources at a time, which bounds the memory to d times as many bits.
_SOURCES = 1 << 13


def var_sortability(graph: Any, data: Moments | NDArray[Any]) -> float:
    """How often variance rises along the directed paths of a graph: 1 always, 1/2 as by chance, 0 never.

    Near 1, sorting by variance finds the order, and any least-squares learner may only be doing that.
    See :func:`sortability` for what is counted.

    Parameters
    ----------
    graph : DAG, array or sparse matrix
        The true graph, or the one whose order is in question.
    data : Moments or array of shape (n, d)
        Where the variances come from.

    References
    ----------
    Reisach, Seiler & Weichwald (2021), "Beware of the simulated DAG!".

    Examples
    --------
    >>> from psidag.simulate import simulate
    >>> easy = simulate("ER2", n=1000, d=50, seed=0)
    >>> var_sortability(easy.dag, easy.X) > 0.9
    True
    """
    return sortability(graph, _variance(data))


def r2_sortability(graph: Any, data: Moments | NDArray[Any]) -> float:
    """How often R² rises along the directed paths of a graph, each variable regressed on all others.

    R² does not depend on units: this trap remains when data are standardised. Needs the covariance of all
    variables, and more rows than variables to mean something.

    Parameters
    ----------
    graph : DAG, array or sparse matrix
        The true graph, or the one whose order is in question.
    data : Moments or array of shape (n, d)
        Where the covariance comes from.

    References
    ----------
    Reisach, Tami, Seiler, Chambaz & Weichwald (2023), "A scale-invariant sorting criterion to find a causal
    order in additive noise models".

    Examples
    --------
    >>> from psidag.simulate import simulate
    >>> problem = simulate("ER2", n=1000, d=50, seed=0)
    >>> other_units = problem.X * np.arange(1, 51)
    >>> r2_sortability(problem.dag, problem.X) == r2_sortability(problem.dag, other_units)
    True
    """
    return sortability(graph, r_squared(data))


def sortability(graph: Any, score: NDArray[np.floating]) -> float:
    """How often a score of the variables rises along the directed paths of a graph; ties count one half.

    Over all pairs s, t and all lengths k for which there is a path from s to t of k edges: the share with
    score_s < score_t (Reisach et al., definition 1). A graph without edges has none: nan. Sources are bits of
    a whole number, so a step along an edge is one "or" for thousands of them.

    Examples
    --------
    >>> sortability([[0, 1, 0], [0, 0, 1], [0, 0, 0]], np.array([1.0, 3.0, 2.0]))
    0.6666666666666666
    """
    edges = as_matrix(graph)
    d = edges.shape[0]
    score = np.asarray(score, dtype=np.float64)
    if score.shape != (d,):
        raise InputError(f"a graph of {d} vertices needs {d} scores; got shape {score.shape}")
    topological_order(edges)  # along a cycle, paths would have no end
    start, targets = edges.indptr.tolist(), edges.indices.tolist()
    children = [targets[start[v] : start[v + 1]] for v in range(d)]
    # Bits stand in the order of the scores, so that the sources below a score are the lowest bits.
    ranked = np.argsort(score, kind="stable")
    slack = _TOLERANCE * np.abs(score)
    below = np.searchsorted(score[ranked], score - slack, side="left")
    not_above = np.searchsorted(score[ranked], score + slack, side="right")
    paths = twice_rising = 0
    for first in range(0, d, _SOURCES):
        low = np.clip(below - first, 0, _SOURCES).tolist()
        high = np.clip(not_above - first, 0, _SOURCES).tolist()
        reached = {v: 1 << bit for bit, v in enumerate(ranked[first : first + _SOURCES].tolist())}
        while reached:
            onward: dict[int, int] = {}
            for s, sources in reached.items():
                for t in children[s]:
                    onward[t] = onward.get(t, 0) | sources
            for t, sources in onward.items():
                paths += sources.bit_count()
                twice_rising += (sources & ((1 << low[t]) - 1)).bit_count()
                twice_rising += (sources & ((1 << high[t]) - 1)).bit_count()
            reached = onward
    return twice_rising / (2 * paths) if paths else float("nan")


def r_squared(data: Moments | NDArray[Any]) -> Floats:
    """R² of each variable regressed on all others: 1 − 1 / (R⁻¹)_jj for the correlation matrix R.

    A variable that others determine has 1, a constant has 0.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> r_squared(np.column_stack([X, X.sum(axis=1)])).round(6).tolist()
    [1.0, 1.0, 1.0]
    """
    moments = data if isinstance(data, Moments) else Moments.from_rows(data)
    correlation = moments.covariance
    sd = np.sqrt(np.diag(correlation))
    varies = sd > 0
    sd[~varies] = 1.0
    correlation /= sd[:, None]
    correlation /= sd
    np.fill_diagonal(correlation, 1.0)
    factor, failed = lapack.dpotrf(correlation, lower=1, clean=1)
    if not failed:
        inverse, failed = lapack.dtrtri(factor, lower=1, overwrite_c=1)
    if not failed:
        precision = np.einsum("ij,ij->j", inverse, inverse)
    else:
        value, vector = np.linalg.eigh(correlation)
        precision = vector**2 @ (1 / np.maximum(value, len(value) * np.finfo(float).eps))
    return np.where(varies, 1 - 1 / np.maximum(precision, 1.0), 0.0)


def _variance(data: Moments | NDArray[Any]) -> Floats:
    if isinstance(data, Moments):
        return data.variance
    rows = np.asarray(data)
    # A few columns at a time: no second copy of the table, and sums in float64 whatever it holds.
    step = max(1, (1 << 22) // max(1, len(rows)))
    parts = [rows[:, k : k + step].var(axis=0, dtype=np.float64) for k in range(0, rows.shape[1], step)]
    return np.concatenate(parts)
