"""One DAG that agrees with all directions of a partially directed graph, and whether there is one."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from psidag.graph.constraints import BoundConstraints, unconstrained
from psidag.graph.dag import DAG
from psidag.graph.orientation import ContradictionError, Triples, close, known_directions, neighbours
from psidag.graph.partial import PartialGraph


def extension(
    graph: PartialGraph, constraints: BoundConstraints | None = None, may_collide: Triples = frozenset()
) -> DAG:
    """One member of a partially directed graph, with all weights 1.

    Sinks are taken off one after another: a vertex without directed edges out of it, all of whose undirected neighbours
    are joined to all its other neighbours (or collide with them openly), and that no later tier must follow. Any sink
    will do, so none is ever put back.

    Raises
    ------
    ContradictionError
        If there is no member.

    References
    ----------
    Dor & Tarsi (1992), "A simple algorithm to construct a consistent extension of a partially oriented graph".

    Examples
    --------
    >>> sorted(extension(PartialGraph.from_edges([("a", "b")], [("b", "c")])).edges())
    [('a', 'b', 1.0), ('b', 'c', 1.0)]
    """
    known = unconstrained(graph.names) if constraints is None else constraints
    graph = _with_knowledge(graph, known)
    order = np.array(_sinks_last(graph, known, may_collide), dtype=np.intp)
    place = np.empty(graph.d, dtype=np.intp)
    place[order] = np.arange(graph.d)
    forward = place[graph.sources] < place[graph.targets]
    ends = np.where(forward, graph.sources, graph.targets), np.where(forward, graph.targets, graph.sources)
    return DAG(sp.csr_array((np.ones(graph.n_edges), ends), shape=(graph.d, graph.d)), order, graph.names)


def check(graph: PartialGraph, constraints: BoundConstraints | None = None, may_collide: Triples = frozenset()) -> None:
    """Raise unless the graph has a member and nothing more follows from its directions."""
    extension(graph, constraints, may_collide)
    more = close(graph, constraints, may_collide)
    new = np.flatnonzero(more.directed & ~graph.directed[graph.find(more.sources, more.targets)])
    if len(new):
        a, b = (graph.names[end[new[0]]] for end in (more.sources, more.targets))
        raise ContradictionError(f"{a!r} -> {b!r} follows from the other directions, but is not in the graph")


def _with_knowledge(graph: PartialGraph, known: BoundConstraints) -> PartialGraph:
    """The graph with the edges directed that knowledge permits one way only."""
    pairs = known_directions(graph, known)
    rows = graph.find(pairs[:, 0], pairs[:, 1])
    against = np.flatnonzero(graph.directed[rows] & (graph.sources[rows] != pairs[:, 0]))
    if len(against):
        i, j = pairs[against[0]]
        raise ContradictionError(
            f"{graph.names[j]!r} -> {graph.names[i]!r} is in the graph, and knowledge says the reverse"
        )
    sources, targets, directed = graph.sources.copy(), graph.targets.copy(), graph.directed.copy()
    sources[rows], targets[rows], directed[rows] = pairs[:, 0], pairs[:, 1], True
    return PartialGraph.from_arrays(graph.names, sources, targets, directed)


def _sinks_last(graph: PartialGraph, known: BoundConstraints, may_collide: Triples) -> list[int]:
    """An order in which each vertex is a sink of what stands before it."""
    joined = neighbours(graph)
    parents, children, either = ([set[int]() for _ in joined] for _ in range(3))
    for i, j, directed in zip(graph.sources.tolist(), graph.targets.tolist(), graph.directed.tolist(), strict=True):
        if directed:
            children[i].add(j)
            parents[j].add(i)
        else:
            either[i].add(j)
            either[j].add(i)

    def sink(v: int) -> bool:
        return not children[v] and all(
            u == w or u in joined[w] or (min(u, w), v, max(u, w)) in may_collide for u in either[v] for w in joined[v]
        )

    tier = known.tier.tolist()
    left = np.bincount(known.tier[known.tier >= 0]).tolist()
    ready = list(range(len(joined)))[::-1]
    held: list[list[int]] = [[] for _ in left]  # sinks that a later tier must follow
    gone = [False] * len(joined)
    order: list[int] = []
    while ready:
        v = ready.pop()
        if gone[v] or not sink(v):
            continue
        if 0 <= tier[v] < len(left) - 1:
            held[tier[v]].append(v)
            continue
        gone[v] = True
        order.append(v)
        for u in joined[v]:
            for steps in (joined, children, either):
                steps[u].discard(v)
        ready += joined[v]
        if tier[v] >= 0:
            left[-1] -= 1
        while left and not left[-1]:
            left.pop()
            ready += held[len(left) - 1] if left else []
    if len(order) < len(joined):
        stuck = [graph.names[v] for v in range(len(joined)) if not gone[v]]
        shown = ", ".join(map(repr, stuck[:5])) + (" …" if len(stuck) > 5 else "")
        raise ContradictionError(f"no DAG agrees with all directions between {shown}")
    return order[::-1]
