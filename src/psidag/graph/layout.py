"""Where vertices stand when a DAG is drawn: causes left of their effects, few crossings, short edges."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psidag.graph.dag import DAG

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]

#: Long edges get a place in each layer that they cross while there are at most this many such places.
_MOST_BENDS = 20_000
#: How much room such a place takes, beside the one of a vertex.
_BEND = 0.25
_SWEEPS = 12
#: How far below the others vertices without edges stand.
_APART = 1.3
#: Layers of more vertices than this are staggered, so that neighbours do not touch.
_COLUMN = 20
_STAGGER = 0.6
_GOLDEN = (5**0.5 - 1) / 2
#: What the columns of :func:`psidag.lagged` are called: how far back is the number.
_PAST = re.compile(r"\[t-(\d+)\]$")


class Layout(NamedTuple):
    """The layer of each vertex (its column, causes first), and its coordinates in units of one vertex.

    Vertices without edges have the layer −1 and stand in a block of their own below the others. ``bends`` has the
    heights at which each edge, in the order of the stored weights, crosses the layers between its ends.
    """

    layer: Integers
    x: Floats
    y: Floats
    bends: tuple[tuple[float, ...], ...] = ()


def layered(dag: DAG) -> Layout:
    """Every edge points to a later layer; within layers, vertices are near what they are joined to.

    The layer of a vertex is the length of the longest path to it; roots move up to their first child. The order
    within layers comes from barycentres (Sugiyama, Tagawa & Toda 1981), with a place for long edges in the layers
    that they cross; heights are then the least squares of edge heights with vertices at least one apart, which is
    an isotonic regression for each layer. Full layers are staggered. Time grows with the number of edges.

    Of a graph with columns ``x[t-1]``, ``x[t-2]`` …, what is longer ago stands farther left.

    Examples
    --------
    >>> layered(DAG.from_edges([("a", "b"), ("b", "c"), ("a", "c"), ("d", "c")])).layer.tolist()
    [0, 1, 2, 1]
    """
    rows, cols = (ends.astype(np.intp) for ends in dag.weights.tocoo().coords)
    alone = np.ones(dag.d, dtype=bool)
    alone[rows] = alone[cols] = False
    layer = _in_time(dag, _layers(dag), rows, cols)
    layer[alone] = -1
    x = layer.astype(np.float64)
    y = np.zeros(dag.d)
    bends: tuple[tuple[float, ...], ...] = ((),) * len(rows)
    if len(rows):
        y, crossings = np.split(_heights(layer, rows, cols), [dag.d])
        if len(crossings):
            ends = np.cumsum(layer[cols] - layer[rows] - 1)[:-1]
            bends = tuple(tuple(part.tolist()) for part in np.split(crossings, ends))
        _stagger(layer, x, y)
    _place_alone(alone, x, y)
    return Layout(layer, x, y, bends)


def _layers(dag: DAG) -> Integers:
    W = dag.weights
    start, children = W.indptr.tolist(), W.indices.tolist()
    layer = [0] * dag.d
    for v in dag.order.tolist():
        for u in children[start[v] : start[v + 1]]:
            layer[u] = max(layer[u], layer[v] + 1)
    has_parents = np.zeros(dag.d, dtype=bool)
    has_parents[W.indices] = True
    for v in np.flatnonzero(~has_parents).tolist():
        below = children[start[v] : start[v + 1]]
        if below:
            layer[v] = min(layer[u] for u in below) - 1
    return np.array(layer, dtype=np.intp)


def _in_time(dag: DAG, layer: Integers, rows: Integers, cols: Integers) -> Integers:
    """The layers with each moment in a band of its own, the past to the left; as they are where there is no past."""
    found = [_PAST.search(name) for name in dag.names]
    back = np.array([int(past[1]) if past else 0 for past in found], dtype=np.intp)
    if not back.any() or (back[rows] < back[cols]).any():
        return layer
    joined = np.union1d(rows, cols)
    shifted = layer.copy()
    begin = 0
    for moment in sorted(set(back[joined].tolist()), reverse=True):
        here = joined[back[joined] == moment]
        # Within a band the longest paths decide, counted from its own first vertex.
        _, rank = np.unique(layer[here], return_inverse=True)
        shifted[here] = begin + (0 if moment and not _joined_within(back, rows, cols, moment) else rank)
        begin = int(shifted[here].max()) + 1
    return shifted


def _joined_within(back: Integers, rows: Integers, cols: Integers, moment: int) -> bool:
    """Whether edges run between variables of one moment."""
    return bool(((back[rows] == moment) & (back[cols] == moment)).any())


def _heights(layer: Integers, rows: Integers, cols: Integers) -> Floats:
    """The height of each vertex, and after them of each bend of a long edge."""
    from scipy.optimize import isotonic_regression

    room = np.full(len(layer), 1.0)
    layer, rows, cols = _with_bends(layer, rows, cols)
    n = len(layer)
    room = np.concatenate([room, np.full(n - len(room), _BEND)])
    forward = sp.csr_array((np.ones(len(rows)), (cols, rows)), shape=(n, n))
    ways = [_averages(forward), _averages(sp.csr_array(forward.T)), _averages(sp.csr_array(forward + forward.T))]
    members = [np.flatnonzero(layer == k) for k in range(int(layer.max()) + 1)]
    y = np.zeros(n)
    for nodes in members:
        y[nodes] = _spread(len(nodes))
    for sweep in range(_SWEEPS):
        back = sweep % 2
        for nodes in reversed(members) if back else members:
            wish = _wishes(ways[back], nodes, y)
            y[nodes[np.argsort(wish, kind="stable")]] = _spread(len(nodes))
    for sweep in range(_SWEEPS):
        for nodes in reversed(members) if sweep % 2 else members:
            ranked = nodes[np.argsort(y[nodes], kind="stable")]
            half = room[ranked] / 2
            steps = np.cumsum(half) + np.cumsum(half) - half
            y[ranked] = isotonic_regression(_wishes(ways[2], ranked, y) - steps).x + steps
    return _closed_up(y)


def _closed_up(y: Floats) -> Floats:
    """The heights without bands that nothing is in."""
    ranked = np.argsort(y, kind="stable")
    closed = np.empty(len(y))
    closed[ranked] = np.cumsum(np.minimum(np.diff(y[ranked], prepend=y[ranked[0]]), 1.0))
    return closed


def _with_bends(layer: Integers, rows: Integers, cols: Integers) -> tuple[Integers, Integers, Integers]:
    """The graph with long edges cut into edges between neighbouring layers, if that does not make it too large."""
    span = layer[cols] - layer[rows]
    bends = np.maximum(span - 1, 0)
    if bends.sum() > _MOST_BENDS:
        return layer, rows, cols
    total = len(layer)
    layers, sources, targets = [layer], [], []
    for i, j, count in zip(rows.tolist(), cols.tolist(), bends.tolist(), strict=True):
        chain = [i, *range(total, total + count), j]
        layers.append(np.arange(layer[i] + 1, layer[i] + 1 + count, dtype=np.intp))
        sources += chain[:-1]
        targets += chain[1:]
        total += count
    return np.concatenate(layers), np.array(sources, dtype=np.intp), np.array(targets, dtype=np.intp)


def _averages(adjacency: sp.csr_array) -> sp.csr_array:
    degree = np.diff(adjacency.indptr)
    return sp.csr_array(sp.diags_array(1 / np.maximum(degree, 1)) @ adjacency)


def _wishes(average: sp.csr_array, nodes: Integers, y: Floats) -> Floats:
    """The mean height of the neighbours of each node, or its own if it has none."""
    part = average[nodes]
    wish: Floats = part @ y
    return np.where(np.diff(part.indptr) > 0, wish, y[nodes])


def _spread(count: int) -> Floats:
    return np.arange(count, dtype=np.float64) - (count - 1) / 2


def _stagger(layer: Integers, x: Floats, y: Floats) -> None:
    """Shift the vertices of full layers to and fro, by less than would bring them to the next layer."""
    for k in range(int(layer.max()) + 1):
        nodes = np.flatnonzero(layer == k)
        if len(nodes) > _COLUMN:
            ranked = nodes[np.argsort(y[nodes], kind="stable")]
            # Multiples of the golden ratio: neighbours in height are far apart, whatever the number of vertices.
            x[ranked] += _STAGGER * (np.arange(len(ranked)) * _GOLDEN % 1 - 0.5)


def _place_alone(alone: NDArray[np.bool_], x: Floats, y: Floats) -> None:
    """Write the coordinates of vertices without edges: a block below the others, as wide as they are."""
    count = int(alone.sum())
    if not count:
        return
    joined = ~alone
    width = max(float(x[joined].max(initial=0.0)), 1.0)
    across = max(int(width) + 1, int(np.ceil(np.sqrt(2 * count))))
    lowest = float(y[joined].max(initial=-2.0))
    k = np.arange(count)
    x[alone] = (k % across) * width / max(min(across, count) - 1, 1)
    y[alone] = lowest + _APART + k // across
