"""Vertex orders: from a graph to an order, and from an order to everything an order permits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from psidag.system.errors import InputError

Order = NDArray[np.intp]
#: Vertices of a level that are looked at one by one.
_FEW = 32


class CycleError(InputError):
    """A graph that had to be acyclic is not; ``cycle`` lists its vertices, the first one again at the end."""

    def __init__(self, message: str, cycle: Sequence[int]) -> None:
        super().__init__(message)
        self.cycle = tuple(cycle)


def check_order(order: ArrayLike, d: int) -> Order:
    """The order as an index array, or an error that says why it is not a permutation of ``range(d)``."""
    given = np.asarray(order)
    if given.ndim != 1 or given.dtype.kind not in "iu" or len(given) != d:
        raise InputError(
            f"an order must be a one-dimensional sequence of the {d} column indices; "
            f"got shape {given.shape} of {given.dtype}"
        )
    counts = np.bincount(given[(given >= 0) & (given < d)].astype(np.intp), minlength=d)
    if np.any(counts != 1):
        raise InputError(
            f"the order is not a permutation of 0..{d - 1}: missing {np.flatnonzero(counts == 0)[:5].tolist()}, "
            f"repeated {np.flatnonzero(counts > 1)[:5].tolist()}"
        )
    return given.astype(np.intp)


def positions(order: Order) -> Order:
    """The inverse permutation: ``positions(order)[v]`` is the place of vertex v in the order."""
    place = np.empty_like(order)
    place[order] = np.arange(len(order), dtype=order.dtype)
    return place


def order_mask(order: Order) -> NDArray[np.bool_]:
    """The full DAG of an order as a mask: ``mask[i, j]`` is true where i stands before j."""
    place = positions(order)
    return place[:, None] < place[None, :]


def order_change(old: Order, new: Order) -> float:
    """Spearman's footrule between two orders, scaled to [0, 1]: 0 for the same order, 1 for the reverse."""
    d = len(old)
    return float(np.abs(positions(old) - positions(new)).sum() / max(1, d * d // 2))


def as_adjacency(graph: Any, *, zeros: bool = False) -> sp.csr_array:
    """A square sparse matrix from an array or any SciPy matrix; never the caller's own.

    Zeros that a sparse matrix stores are left out unless ``zeros`` says that they are edges of weight 0.
    """
    matrix = sp.csr_array(graph, copy=True)
    if matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"an adjacency matrix must be square; got shape {matrix.shape}")
    matrix.sum_duplicates()
    if not zeros:
        matrix.eliminate_zeros()
    return matrix


def edge_ends(matrix: Any) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
    """Sources and targets of all edges that a sparse matrix stores, those of weight 0 included."""
    found = sp.coo_array(matrix)
    return found.row, found.col


def topological_levels(graph: Any, *, zeros: bool = False) -> list[Order]:
    """The vertices level by level: level k holds those whose longest path from a source has k edges.

    Kahn's algorithm. A cyclic graph raises :class:`CycleError`, which prints one cycle. ``zeros`` is as in
    :func:`as_adjacency`.
    """
    edges = as_adjacency(graph, zeros=zeros)
    d = edges.shape[0]
    waiting = np.bincount(edges.indices, minlength=d)
    ready = np.flatnonzero(waiting == 0).tolist()
    levels: list[Order] = []
    starts, ends, left = edges.indptr.tolist(), edges.indices.tolist(), waiting.data
    while ready:
        levels.append(np.array(ready, dtype=np.intp))
        if len(ready) > _FEW:
            targets = edges[levels[-1]].indices
            np.subtract.at(waiting, targets, 1)
            ready = np.unique(targets[waiting[targets] == 0]).tolist()
            continue
        # A chain has as many levels as vertices: calls of NumPy for each of them would take a minute.
        free = []
        for v in ready:
            for u in ends[starts[v] : starts[v + 1]]:
                left[u] -= 1
                if not left[u]:
                    free.append(u)
        ready = sorted(free)
    if waiting.any():
        cycle = find_cycle(edges, np.flatnonzero(waiting))
        raise CycleError(f"the graph has a cycle: {' -> '.join(map(str, cycle))}", cycle)
    return levels


def topological_order(graph: Any, *, zeros: bool = False) -> Order:
    """An order in which every edge points forward: the levels one after another.

    Ties keep the order of the columns. A cyclic graph raises :class:`CycleError`, which prints one cycle. ``zeros`` is
    as in :func:`as_adjacency`.
    """
    return np.concatenate([np.empty(0, dtype=np.intp), *topological_levels(graph, zeros=zeros)])


def by_row(columns: sp.csc_array) -> NDArray[np.intp]:
    """Where each entry of ``csr_array(columns)`` stands in ``columns.data``."""
    place = sp.csc_array((np.arange(columns.nnz), columns.indices, columns.indptr), shape=columns.shape)
    return sp.csr_array(place).data.astype(np.intp)


def find_cycle(edges: sp.csr_array, among: NDArray[np.intp]) -> list[int]:
    """One cycle among vertices that each have a parent among them (what Kahn's algorithm leaves over)."""
    inside = np.zeros(edges.shape[0], dtype=bool)
    inside[among] = True
    parents = sp.csc_array(edges)
    seen: dict[int, int] = {}
    walk = [int(among[0])]
    while walk[-1] not in seen:
        seen[walk[-1]] = len(walk) - 1
        candidates = parents.indices[parents.indptr[walk[-1]] : parents.indptr[walk[-1] + 1]]
        walk.append(int(candidates[inside[candidates]][0]))
    return walk[seen[walk[-1]] :][::-1]
