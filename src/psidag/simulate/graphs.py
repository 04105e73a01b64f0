"""Random DAGs and random weights on them, in time and memory proportional to the number of edges."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psidag.graph.dag import DAG, default_names
from psidag.graph.order import Order
from psidag.system.errors import InputError

Seed: TypeAlias = int | np.random.SeedSequence | np.random.Generator

#: The weights of the paper: uniform in ±[0.05, 1].
WEIGHT_RANGES = ((-1.0, -0.05), (0.05, 1.0))


def random_graph(name: str, d: int, rng: Seed) -> DAG:
    """A random DAG by the name the literature gives it: ``ER2``, ``SF4``, ``ER0.5``.

    Examples
    --------
    >>> random_graph("SF2", d=100, rng=0)
    DAG(100 variables, 197 edges)
    """
    match = re.fullmatch(r"(ER|SF)(\d+(?:\.\d+)?)", name, flags=re.IGNORECASE)
    if match is None:
        raise InputError(f"{name!r} is not a kind of random graph: use ERk or SFk, such as 'ER2' or 'SF4'")
    kind, k = match[1].upper(), float(match[2])
    if kind == "ER":
        return erdos_renyi(d, k, rng)
    if k != int(k):
        raise InputError(f"{name!r}: in a scale-free graph each vertex points at a whole number of others")
    return scale_free(d, int(k), rng)


def erdos_renyi(d: int, k: float, rng: Seed) -> DAG:
    """Each pair of vertices is joined independently, with k·d edges expected, at most the full DAG.

    The number of edges is binomial; which pairs they join is a draw without replacement from the numbered
    pairs, so nothing of size d² is touched. Labels are random: the order of the columns says nothing.

    Parameters
    ----------
    d : int
        Number of vertices.
    k : float
        Expected number of edges per vertex.
    rng : int, SeedSequence or Generator
        Where the randomness comes from.

    Examples
    --------
    >>> erdos_renyi(4, 100, rng=0)  # more than the full DAG has cannot be
    DAG(4 variables, 6 edges)
    """
    _check_size(d, k)
    rng = np.random.default_rng(rng)
    pairs = d * (d - 1) // 2
    n_edges = rng.binomial(pairs, min(1.0, k * d / max(1, pairs)))
    early, late = _unrank(rng.choice(max(1, pairs), n_edges, replace=False, shuffle=False))
    return _labelled(early, late, np.arange(d), rng)


def scale_free(d: int, k: int, rng: Seed) -> DAG:
    """Preferential attachment: each new vertex points at k distinct older ones, in proportion to degree.

    This is Barabási & Albert's graph with exponent β = 1, directed as in Price's model of citations, from the
    new vertex to the old: hubs have many *parents*, and the in-degree has a tail of exponent 3. The first
    k + 1 vertices form a full DAG, so there are k·d − k(k+1)/2 edges. Labels are random.

    Parameters
    ----------
    d : int
        Number of vertices.
    k : int
        Number of older vertices that each new one points at.
    rng : int, SeedSequence or Generator
        Where the randomness comes from.

    References
    ----------
    Price (1976), "A general theory of bibliometric and other cumulative advantage processes";
    Barabási & Albert (1999), "Emergence of scaling in random networks".

    Examples
    --------
    >>> graph = scale_free(1000, 2, rng=0)
    >>> int((graph.weights != 0).sum(axis=1).max())  # nobody points at more than k
    2
    """
    _check_size(d, k)
    rng = np.random.default_rng(rng)
    core = min(k + 1, d)
    old, new = (side.tolist() for side in _unrank(np.arange(core * (core - 1) // 2)))
    # A vertex stands in `ends` once for each of its edges, so a uniform pick from it is preferential.
    ends: list[int] = old + new
    uniform = _uniforms(rng)
    for vertex in range(core, d if k else 0):
        chosen: set[int] = set()
        while len(chosen) < k:
            chosen.add(ends[int(next(uniform) * len(ends))])
        targets = sorted(chosen)
        old += targets
        new += [vertex] * k
        ends += targets
        ends += [vertex] * k
    return _labelled(np.array(new, dtype=np.intp), np.array(old, dtype=np.intp), np.arange(d)[::-1], rng)


def random_weights(graph: DAG, rng: Seed, ranges: Sequence[tuple[float, float]] = WEIGHT_RANGES) -> DAG:
    """The same graph with new weights: for each edge one of the ranges, each as likely, then uniform in it.

    Examples
    --------
    >>> dag = random_weights(erdos_renyi(50, 2, rng=0), rng=1, ranges=[(0.5, 2.0)])
    >>> bool(dag.weights.data.min() >= 0.5)
    True
    """
    limits = np.array(ranges, dtype=np.float64)
    if limits.ndim != 2 or limits.shape[1] != 2 or not len(limits):
        raise InputError(f"weight ranges are a list of (low, high); got {ranges!r}")
    low, high = limits.T
    if not np.isfinite(limits).all() or np.any(low > high) or np.any((low == 0) & (high == 0)):
        raise InputError(f"each weight range needs finite low <= high, not both 0; got {ranges!r}")
    rng = np.random.default_rng(rng)
    choice = rng.integers(len(limits), size=graph.n_edges)
    weights = graph.weights.copy()
    weights.data = rng.uniform(low[choice], high[choice])
    return DAG(weights, graph.order, graph.names)


def _check_size(d: int, k: float) -> None:
    if d < 1 or d != int(d):
        raise InputError(f"a graph needs at least one vertex; got d = {d}")
    if not 0 <= k < np.inf:
        raise InputError(f"the number of edges per vertex must be at least 0; got k = {k}")


def _unrank(pair: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The pairs i < j behind their numbers j(j−1)/2 + i."""
    j = ((1 + np.sqrt(1 + 8 * pair.astype(np.float64))) / 2).astype(np.int64)
    # The square root may round across a whole number, by one at most.
    j -= j * (j - 1) // 2 > pair
    j += j * (j + 1) // 2 <= pair
    return pair - j * (j - 1) // 2, j


def _uniforms(rng: np.random.Generator) -> Iterator[float]:
    """Numbers in [0, 1), drawn in blocks because one call per number is ten times slower."""
    while True:
        yield from rng.random(8192).tolist()


def _labelled(source: NDArray[np.int64], target: NDArray[np.int64], order: Order, rng: np.random.Generator) -> DAG:
    """The graph with unit weights under random labels."""
    d = len(order)
    label = rng.permutation(d).astype(np.int32)
    weights = sp.csr_array((np.ones(len(source)), (label[source], label[target])), shape=(d, d))
    weights.sort_indices()
    return DAG(weights, label[order].astype(np.intp), default_names(d))
