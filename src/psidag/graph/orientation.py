"""What follows from directions that are known: Meek's rules with prior knowledge.

A *member* of a partially directed graph is a DAG that joins the same pairs of variables, has its directed edges,
respects the prior knowledge, and has no collider a → b ← c of unjoined a and c beyond those that the graph has or that
are said to be *open*: colliders that some members have and others do not, because the evidence for them is too weak.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psidag.graph.constraints import BoundConstraints, unconstrained
from psidag.graph.dag import DAG
from psidag.graph.equivalence import cpdag
from psidag.graph.partial import NOTHING, REASONS, PartialGraph
from psidag.system.errors import InputError

#: ``(a, b, c)`` with a < c: an unshielded triple a – b – c whose middle may be a collider.
Triples: TypeAlias = Set[tuple[int, int, int]]

_KNOWLEDGE = REASONS.index("knowledge")
_COLLIDER = REASONS.index("collider")


class ContradictionError(InputError):
    """Directions contradict each other, or no DAG agrees with all of them."""


class _Strength(NamedTuple):
    """The reason of a direction and its evidence; the smaller, the stronger. What was not measured is weakest."""

    reason: int
    improbability: float
    weakness: float

    @classmethod
    def of(cls, reason: int, delta: float, probability: float) -> _Strength:
        return cls(reason, 2.0 if probability != probability else 1 - probability, np.inf if delta != delta else -delta)

    def with_(self, other: _Strength) -> _Strength:
        """That of what follows from both: the last of the reasons, the least of the evidence."""
        return _Strength(
            max(self.reason, other.reason),
            max(self.improbability, other.improbability),
            max(self.weakness, other.weakness),
        )


_KNOWN = _Strength.of(_KNOWLEDGE, np.inf, 1.0)


def markov_class(dag: DAG, constraints: BoundConstraints | None = None) -> PartialGraph:
    """What all DAGs agree on that are Markov equivalent to one and respect the same prior knowledge.

    Directed because of a collider are the edges of v-structures, and what follows from them; evidence is not measured.

    Examples
    --------
    >>> chain = DAG.from_edges([("a", "b"), ("b", "c")])
    >>> markov_class(chain).directed_edges()
    []
    >>> from psidag.graph.constraints import Constraints
    >>> known = Constraints(required_edges=[("a", "b")]).bind(chain.names)
    >>> markov_class(chain, known).directed_edges()
    [('a', 'b'), ('b', 'c')]
    """
    edges = dag.weights.tocoo()
    colliding = _colliding(dag)
    if constraints is None or constraints.empty:
        # All that is known is of one strength, and what follows from it is found in one pass along the order.
        agreed = PartialGraph.from_matrix(cpdag(dag), dag.names)
        compelled = agreed.directed[agreed.rows_of(dag)]
        codes = np.where(compelled, _COLLIDER, NOTHING)
        return PartialGraph.from_arrays(
            dag.names, edges.row, edges.col, compelled, codes, derived=compelled & ~colliding
        )
    claims = np.where(colliding, _COLLIDER, NOTHING)
    return close(PartialGraph.from_arrays(dag.names, edges.row, edges.col, colliding, claims), constraints)


def close(
    graph: PartialGraph, constraints: BoundConstraints | None = None, may_collide: Triples = frozenset()
) -> PartialGraph:
    """Direct all edges that follow from the directed ones and from prior knowledge by Meek's rules.

    With a → b for a directed and a – b for any other edge, and where the collider that is avoided is not an open one:

    1. a → b – c, a and c unjoined:  b → c, or a → b ← c would be a collider;
    2. a → b → c and a – c:  a → c, or there would be a cycle;
    3. c → b ← d, a – b, a – c, a – d, c and d unjoined:  a → b, or both c → a ← d would be;
    4. d → c → b, a – b, a – d, a joined to c, b and d unjoined:  a → b, or d → a ← b would be;

    and no path leads from a later tier to an earlier one. What follows has the last of the reasons of its premises, the
    least of their evidence, and is marked as derived. Stronger premises are used first, so that of several derivations
    the strongest counts; an edge that has its direction from a stronger one than its own claim is derived, too.

    The rules are complete (Meek 1995) if there are no open colliders and tiers name all variables or none; else what
    they direct is so in every member, but some edge that is the same in all members may stay undirected.

    Parameters
    ----------
    graph : PartialGraph
        Directions that are claimed; not changed. Edges that knowledge directs need not be directed in it.
    constraints : BoundConstraints, optional
        Prior knowledge. Where it permits one direction of an edge only, the edge has it.
    may_collide : set of (int, int, int)
        The open colliders; see :func:`open_colliders`.

    Raises
    ------
    ContradictionError
        If two directions contradict each other. There is none where all claims are those of one DAG that respects the
        constraints.

    References
    ----------
    Meek (1995), "Causal inference and causal explanation with background knowledge", section 2.1.2.

    Examples
    --------
    >>> graph = PartialGraph.from_edges([("a", "b")], [("b", "c")], because="shape")
    >>> closed = close(graph)
    >>> closed.because("b", "c"), closed.evidence("b", "c").derived
    ('shape', True)
    """
    known = unconstrained(graph.names) if constraints is None else constraints
    if known.names != graph.names:
        raise InputError("the graph and the constraints are not of the same variables")
    state = _Closure(graph, known, may_collide)
    state.run()
    return state.result()


def open_colliders(graph: PartialGraph, dag: DAG) -> set[tuple[int, int, int]]:
    """The colliders of a DAG between unjoined variables that a graph does not direct on both sides.

    With these, a DAG whose edges agree with the directed ones is a member of the graph, and of what follows from it.
    """
    joined = neighbours(graph)
    rows = graph.rows_of(dag)
    edges = dag.weights.tocoo()
    directed: dict[tuple[int, int], bool] = {
        (i, j): sure
        for i, j, sure in zip(edges.row.tolist(), edges.col.tolist(), graph.directed[rows].tolist(), strict=True)
    }
    parents = _by_target(dag)
    found: set[tuple[int, int, int]] = set()
    for i, j in (pair for pair, sure in directed.items() if not sure):
        found.update((min(i, k), j, max(i, k)) for k in parents[j] if k != i and k not in joined[i])
    return found


def undecided_colliders(graph: PartialGraph) -> set[tuple[int, int, int]]:
    """The colliders a → b ← c of unjoined a and c that a graph with a → b – c leaves open.

    Examples
    --------
    >>> undecided_colliders(PartialGraph.from_edges([("a", "b")], [("b", "c")]))
    {(0, 1, 2)}
    """
    joined = neighbours(graph)
    into = [set[int]() for _ in joined]
    for i, j in zip(graph.sources[graph.directed].tolist(), graph.targets[graph.directed].tolist(), strict=True):
        into[j].add(i)
    found: set[tuple[int, int, int]] = set()
    for i, j in zip(graph.sources[~graph.directed].tolist(), graph.targets[~graph.directed].tolist(), strict=True):
        for b, c in ((i, j), (j, i)):
            found.update((min(a, c), b, max(a, c)) for a in into[b] - joined[c])
    return found


class _Closure:
    """Edges on their way from undirected to directed, the strongest first."""

    def __init__(self, graph: PartialGraph, known: BoundConstraints, may_collide: Triples) -> None:
        self.graph, self.known, self.may_collide = graph, known, may_collide
        self.joined = neighbours(graph)
        self.open: list[set[int]] = [set(near) for near in self.joined]
        self.into: list[set[int]] = [set() for _ in self.joined]
        self.out: list[set[int]] = [set() for _ in self.joined]
        self.found: dict[tuple[int, int], tuple[_Strength, bool]] = {}
        self.timed = known.has_tiers
        # The latest tier that leads to a vertex, the earliest that it leads to, and how surely.
        free = known.tier < 0
        self.latest = np.where(free, -1, known.tier).tolist()
        self.earliest = np.where(free, np.iinfo(np.intp).max, known.tier).tolist()
        self.surely: list[_Strength] = [_KNOWN] * known.d
        self.waiting = [*self._claims(), *self._known_pairs()]
        heapify(self.waiting)
        self.given = {(i, j) for _, _, i, j in self.waiting}

    def run(self) -> None:
        while self.waiting:
            strength, derived, i, j = heappop(self.waiting)
            if j in self.out[i]:
                continue
            if j in self.into[i]:
                raise ContradictionError(
                    f"{self.graph.names[i]!r} -> {self.graph.names[j]!r} ({REASONS[strength.reason]}) and the reverse "
                    f"({REASONS[self.found[j, i][0].reason]}) both follow from the directions given"
                )
            self.open[i].remove(j)
            self.open[j].remove(i)
            self.out[i].add(j)
            self.into[j].add(i)
            self.found[i, j] = strength, derived
            for (a, b), premise in self._consequences(i, j):
                follows = strength if premise is None else strength.with_(premise)
                heappush(self.waiting, (follows, True, a, b))

    def result(self) -> PartialGraph:
        graph = self.graph
        ends = np.array(list(self.found), dtype=np.intp).reshape(-1, 2)
        rows = graph.find(ends[:, 0], ends[:, 1])
        sources, targets = graph.sources.copy(), graph.targets.copy()
        delta, probability = graph.delta.copy(), graph.probability.copy()
        directed, reason, derived = graph.directed.copy(), graph.reason.copy(), graph.derived.copy()
        sources[rows], targets[rows], directed[rows] = ends[:, 0], ends[:, 1], True
        strength = np.array([s for s, _ in self.found.values()]).reshape(-1, 3)
        reason[rows] = strength[:, 0].astype(np.int8)
        probability[rows] = np.where(strength[:, 1] > 1, np.nan, 1 - strength[:, 1])
        delta[rows] = np.where(np.isposinf(strength[:, 2]), np.nan, -strength[:, 2])
        derived[rows] = [d for _, d in self.found.values()]
        return PartialGraph.from_arrays(graph.names, sources, targets, directed, reason, delta, probability, derived)

    def _claims(self) -> Iterator[tuple[_Strength, bool, int, int]]:
        graph = self.graph
        for row in np.flatnonzero(graph.directed).tolist():
            # An edge directed for no stated reason is held to be the weakest kind of claim.
            reason = int(graph.reason[row]) if graph.reason[row] != NOTHING else len(REASONS) - 1
            strength = _Strength.of(reason, float(graph.delta[row]), float(graph.probability[row]))
            yield strength, bool(graph.derived[row]), int(graph.sources[row]), int(graph.targets[row])

    def _known_pairs(self) -> Iterator[tuple[_Strength, bool, int, int]]:
        for i, j in known_directions(self.graph, self.known).tolist():
            yield _KNOWN, False, i, j

    def _avoided(self, a: int, b: int, c: int) -> bool:
        """Whether a → b ← c would be a collider that no member may have."""
        if c in self.joined[a] or (min(a, c), b, max(a, c)) in self.may_collide:
            return False
        return not ((a, b) in self.given and (c, b) in self.given)

    def _consequences(self, i: int, j: int) -> Iterator[tuple[tuple[int, int], _Strength | None]]:
        """What follows from i → j, each with the strength of the other premise."""
        into, out, found = self.into, self.out, self.found
        for c in self.open[j]:
            if self._avoided(i, j, c):
                yield (j, c), None
        for c in self.open[i] & out[j]:
            yield (i, c), found[j, c][0]
        for c in into[i] & self.open[j]:
            yield (c, j), found[c, i][0]
        for a in self.open[i] & self.open[j]:
            for c in into[j] & self.open[a]:
                if c != i and self._avoided(i, a, c):
                    yield (a, j), found[c, j][0]
        for b in out[j] - self.joined[i]:
            for a in self.open[b] & self.open[i] & self.joined[j]:
                if self._avoided(i, a, b):
                    yield (a, b), found[j, b][0]
        for c in into[i] - self.joined[j]:
            for a in self.open[j] & self.open[c] & self.joined[i]:
                if self._avoided(c, a, j):
                    yield (a, j), found[c, i][0]
        if self.timed:
            yield from self._through_time(i, j)

    def _through_time(self, i: int, j: int) -> Iterator[tuple[tuple[int, int], _Strength | None]]:
        """What follows from i → j because no path may lead back to an earlier tier."""
        changed = []
        for tier, start, steps, later in (
            (self.latest, (i, j), self.out, True),
            (self.earliest, (j, i), self.into, False),
        ):
            waiting = [start]
            while waiting:
                v, u = waiting.pop()
                if (tier[v] > tier[u]) if later else (tier[v] < tier[u]):
                    tier[u] = tier[v]
                    edge = self.found[(v, u) if later else (u, v)][0]
                    self.surely[u] = self.surely[u].with_(self.surely[v]).with_(edge)
                    changed.append(u)
                    waiting += [(u, w) for w in steps[u]]
        for v in changed:
            if self.latest[v] > self.earliest[v]:
                raise ContradictionError(f"a path through {self.graph.names[v]!r} leads to an earlier tier")
            for u in self.open[v]:
                for a, b in ((u, v), (v, u)):
                    if self.latest[b] > self.earliest[a]:
                        yield (a, b), self.surely[u].with_(self.surely[v])


def known_directions(graph: PartialGraph, known: BoundConstraints) -> NDArray[np.intp]:
    """Pairs (i, j) that are joined and of which knowledge permits only i → j."""
    if known.empty:
        return np.empty((0, 2), dtype=np.intp)
    ends = np.stack([graph.sources, graph.targets], axis=1)
    directed = [known.required[graph.find(known.required[:, 0], known.required[:, 1]) >= 0]]
    if len(known.forbidden):
        # Both ways forbidden and joined nevertheless: then knowledge is silent about the direction.
        forbidden = np.sort(known.forbidden @ np.array([known.d, 1]))
        there, back = (_among(ends @ np.array(step), forbidden) for step in ([known.d, 1], [1, known.d]))
        directed += [ends[back & ~there], ends[there & ~back][:, ::-1]]
    if known.has_tiers:
        tier = known.tier[ends]
        apart = (tier >= 0).all(axis=1) & (tier[:, 0] != tier[:, 1])
        directed.append(np.where((tier[:, 0] < tier[:, 1])[:, None], ends, ends[:, ::-1])[apart])
    return np.unique(np.concatenate(directed), axis=0)


def _among(keys: NDArray[np.intp], ascending: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Which keys are in a long ascending list."""
    place = np.minimum(np.searchsorted(ascending, keys), len(ascending) - 1)
    return np.asarray(ascending[place] == keys)


def neighbours(graph: PartialGraph) -> list[set[int]]:
    """What each vertex is joined to."""
    joined: list[set[int]] = [set() for _ in range(graph.d)]
    for i, j in zip(graph.sources.tolist(), graph.targets.tolist(), strict=True):
        joined[i].add(j)
        joined[j].add(i)
    return joined


def _by_target(dag: DAG) -> list[list[int]]:
    columns = sp.csc_array(dag.weights)
    sources = columns.indices.tolist()
    return [sources[begin:end] for begin, end in pairwise(columns.indptr.tolist())]


def _colliding(dag: DAG) -> NDArray[np.bool_]:
    """Which edges i → j, in the order of ``dag.edges()``, meet another parent of j that i is not joined to."""
    parents = [set(part) for part in _by_target(dag)]
    edges = dag.weights.tocoo()
    joined = [set(near) for near in parents]
    for i, j in zip(edges.row.tolist(), edges.col.tolist(), strict=True):
        joined[i].add(j)
    meets = [
        len(parents[j] & joined[i]) < len(parents[j]) - 1
        for i, j in zip(edges.row.tolist(), edges.col.tolist(), strict=True)
    ]
    return np.array(meets, dtype=bool)
