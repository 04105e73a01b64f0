"""A network as arrays, with nothing left out, and back; what comes out of a file is checked before it is believed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from psidag.data.correlations import Correlations
from psidag.engines.moves import Fits, empty_network
from psidag.graph.constraints import BoundConstraints
from psidag.search._network import Network
from psidag.system.tree import stored_array, stored_order

Ints = NDArray[np.int32]


def dump_network(net: Network, d: int) -> dict[str, Any]:
    """All that the search depends on.

    ``nodes`` has a row for each node: its number of parents, how many of them are required, its number of children,
    whether it is stale, whether its regression is delicate, the mark of the parents beside which two changes at once
    were looked for; ``levels`` its residual variance, variance, noise variance, floor and the error of its inverse.
    ``inverses`` are M, and R where it is delicate, node after node. ``numbers`` are n, penalty, leeway, tolerance and
    the least gain; ``counts`` the most parents and additions, sweeps, visits, moves and work.
    """
    edges, entries, waiting = net.sizes()
    held: dict[str, Any] = {
        "order": np.empty(d, np.int32),
        "nodes": np.empty((d, 6), np.int32),
        "parents": np.empty(edges, np.int32),
        "children": np.empty(edges, np.int32),
        "levels": np.empty((d, 5)),
        "weights": np.empty(edges),
        "inverses": np.empty(entries),
        "queue": np.empty(waiting, np.int32),
        "numbers": np.empty(5),
        "counts": np.empty(6, np.int64),
    }
    net.dump(**held)
    return held


def restore_network(data: Correlations, constraints: BoundConstraints, held: dict[str, Any]) -> Network:
    """The network that was dumped; ValueError if it is none on these columns."""
    d = data.d
    nodes = stored_array(held["nodes"], (d, 6), np.int32)
    order = stored_array(held["order"], (d,), np.int32)
    edges = len(held["parents"])
    parents = stored_array(held["parents"], (edges,), np.int32)
    children = stored_array(held["children"], (edges,), np.int32)
    queue = stored_array(held["queue"], (len(held["queue"]),), np.int32)
    _check_indices(order, parents, children, queue)
    _check_lists(order, nodes, parents, children)
    net = empty_network(data, order.astype(np.intp), constraints)
    net.restore(
        nodes,
        parents,
        children,
        stored_array(held["levels"], (d, 5)),
        stored_array(held["weights"], (edges,)),
        stored_array(held["inverses"], (int((nodes[:, 0].astype(np.int64) ** 2 * (1 + (nodes[:, 4] != 0))).sum()),)),
        queue,
        stored_array(held["numbers"], (5,)),
        stored_array(held["counts"], (6,), np.int64),
    )
    return net


def _check_indices(order: Ints, *lists: Ints) -> None:
    d = len(order)
    if not np.array_equal(np.sort(order), np.arange(d)):
        raise ValueError("a network without an order")
    for nodes in lists:
        if len(nodes) and (nodes.min() < 0 or nodes.max() >= d):
            raise ValueError("a network with a node that is none of the columns")
    if len(np.unique(lists[-1])) != len(lists[-1]):
        raise ValueError("a queue that names a node twice")


def _check_lists(order: Ints, nodes: Ints, parents: Ints, children: Ints) -> None:
    """ValueError unless parents and children mirror each other and stand in the order."""
    d, edges = len(order), len(parents)
    parents_of, locked, children_of = (nodes[:, k].astype(np.int64) for k in range(3))
    if nodes.min() < 0 or parents_of.sum() != edges or children_of.sum() != edges or np.any(locked > parents_of):
        raise ValueError("a network whose lists do not fit")
    place = np.empty(d, np.int64)
    place[order] = np.arange(d)
    tails, heads = parents.astype(np.int64), np.repeat(np.arange(d), parents_of)
    if np.any(place[tails] >= place[heads]):
        raise ValueError("a network that is not a DAG in its order")
    mirrored = np.repeat(np.arange(d), children_of) * d + children
    if not np.array_equal(np.sort(tails * d + heads), np.sort(mirrored)) or len(np.unique(mirrored)) != edges:
        raise ValueError("a network whose parents and children do not agree")


def stored_fits(held: Any, d: int) -> Fits | None:
    """A DAG out of a file."""
    if held is None:
        return None
    order, weights, variance = stored_order(held[0], d), held[1], stored_array(held[2], (d,))
    if order is None or weights.shape != (d, d):
        raise ValueError("a DAG that does not fit the columns")
    return Fits(order, weights, variance)
