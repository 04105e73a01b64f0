"""From edges with cycles to a DAG: by the smallest threshold that breaks every cycle, or edge by edge."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from psidag.graph.constraints import BoundConstraints
from psidag.graph.order import Order, positions, topological_order


class Acyclic(NamedTuple):
    """Weights without cycles, their order, and the threshold it took: every |weight| below is gone."""

    weights: NDArray[np.float64]
    order: Order
    threshold: float


def break_cycles(W: ArrayLike, at_least: float = 0.0, constraints: BoundConstraints | None = None) -> Acyclic:
    """Keep |W[i, j]| ≥ t for the smallest t ≥ ``at_least`` that leaves no cycle.

    The edges that a threshold keeps shrink as it grows, so bisection over the sorted weights finds it, with
    one search for strong components per trial: O(nnz log nnz).

    Parameters
    ----------
    W : array of shape (d, d)
        Weights, ``W[i, j]`` for i → j; not written to. The diagonal holds no edges and is dropped.
    at_least : float
        The threshold to start from.
    constraints : BoundConstraints, optional
        Required edges are kept whatever their weight, and t is such that the order respects the tiers. Edges
        that the constraints rule out must be zero in ``W``.

    Examples
    --------
    >>> cut = break_cycles([[0, 0.9, 0], [0.4, 0, 0.2], [0, 0, 0]])
    >>> cut.weights
    array([[0. , 0.9, 0. ],
           [0. , 0. , 0. ],
           [0. , 0. , 0. ]])
    >>> 0.4 < cut.threshold < 0.4001
    True
    """
    weights = np.array(W, dtype=np.float64)
    np.fill_diagonal(weights, 0.0)
    size = np.abs(weights)
    d = len(weights)
    before = sp.coo_array((d, d)) if constraints is None else constraints.precedence.tocoo()
    rows, cols = np.nonzero((size >= at_least) & (size > 0))
    strongest_first = size[rows, cols].argsort(kind="stable")[::-1]
    rows, cols = rows[strongest_first], cols[strongest_first]
    magnitude = size[rows, cols]

    def graph(count: int) -> sp.csr_array:
        """The strongest edges, and who must come before whom."""
        pairs = (np.concatenate([rows[:count], before.row]), np.concatenate([cols[:count], before.col]))
        return sp.csr_array((np.ones(len(pairs[0])), pairs), shape=before.shape)

    # Edges of equal weight go together: cuts[k] is how many edges the k largest distinct weights have.
    cuts = np.concatenate([[0], 1 + np.flatnonzero(np.diff(magnitude)), [len(magnitude)]])
    acyclic, cyclic = 0, len(cuts)
    trial = len(cuts) - 1
    while acyclic < cyclic - 1:
        if _is_acyclic(graph(cuts[trial])):
            acyclic = trial
        else:
            cyclic = trial
        trial = (acyclic + cyclic) // 2
    kept = int(cuts[acyclic])
    threshold = at_least if kept == len(magnitude) else float(np.nextafter(magnitude[kept], np.inf))
    gone = size < threshold
    if constraints is not None:
        gone[constraints.required[:, 0], constraints.required[:, 1]] = False
    weights[gone] = 0.0
    found = topological_order(graph(kept))
    return Acyclic(weights, found[found < d], threshold)


def keep_acyclic(
    sources: NDArray[np.integer], targets: NDArray[np.integer], constraints: BoundConstraints
) -> tuple[NDArray[np.bool_], Order]:
    """Take edges one after another, each unless it closes a cycle with those taken before it.

    An order is kept in which all edges taken point forward. An edge that points backward in it is followed forward
    as far as its own source stands: either that is met, which is the cycle, or what was met moves behind it
    (Pearce & Kelly 2006). Most edges cost no search at all.

    Parameters
    ----------
    sources, targets : arrays of int
        The edges, the most important one first.
    constraints : BoundConstraints
        The order respects them; an edge that contradicts required edges or tiers counts as closing a cycle.

    Returns
    -------
    kept : boolean array
        Which edges were taken.
    order : array of shape (d,)
        An order in which they all point forward.

    Examples
    --------
    >>> from psidag.graph.constraints import unconstrained
    >>> keep_acyclic(np.array([0, 1, 2]), np.array([1, 2, 0]), unconstrained("abc"))[0]
    array([ True,  True, False])
    """
    before = constraints.precedence
    children = [before.indices[before.indptr[v] : before.indptr[v + 1]].tolist() for v in range(before.shape[0])]
    parents: list[list[int]] = [[] for _ in children]
    for v, below in enumerate(children):
        for u in below:
            parents[u].append(v)
    place = positions(topological_order(before)).tolist()
    kept = np.zeros(len(sources), dtype=bool)
    for k, (i, j) in enumerate(zip(sources.tolist(), targets.tolist(), strict=True)):
        if place[i] > place[j]:
            ahead = _reach(children, j, place, place[j], place[i])
            if i in ahead:
                continue
            behind = _reach(parents, i, place, place[j], place[i])
            moved = sorted(behind, key=place.__getitem__) + sorted(ahead, key=place.__getitem__)
            for v, slot in zip(moved, sorted(place[v] for v in moved), strict=True):
                place[v] = slot
        kept[k] = True
        children[i].append(j)
        parents[j].append(i)
    order = np.argsort(place)
    return kept, order[order < constraints.d]


def _reach(steps: list[list[int]], start: int, place: list[int], first: int, last: int) -> set[int]:
    """What can be reached from a vertex without leaving these places of the order."""
    seen, waiting = {start}, [start]
    while waiting:
        for v in steps[waiting.pop()]:
            if v not in seen and first <= place[v] <= last:
                seen.add(v)
                waiting.append(v)
    return seen


def _is_acyclic(graph: sp.csr_array) -> bool:
    """Whether every strong component is a single vertex; there are no loops on one vertex."""
    components, _ = sp.csgraph.connected_components(graph, directed=True, connection="strong")
    return bool(components == graph.shape[0])
