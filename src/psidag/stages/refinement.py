"""Refinement: a graph climbs a score by single edges that are reversed, dropped, added or exchanged."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp

from psidag.graph.constraints import BoundConstraints
from psidag.graph.order import Order, as_adjacency, topological_order
from psidag.scores.policy import SMALLEST_GAIN
from psidag.stages._edges import Edges
from psidag.stages.within_order import parent_lists
from psidag.system.errors import InputError
from psidag.system.parallel import SERIAL, Workers

Parents: TypeAlias = tuple[int, ...]
Query: TypeAlias = tuple[int, Parents]
Pair: TypeAlias = tuple[int, int]

#: Queries that one thread takes at a time. Fixed, so that the work is cut alike on any number of threads.
_QUERIES = 32


class Cost(Protocol):
    """What a graph costs, node by node; bound to the data.

    More methods are used where a score has them: ``costs(queries)``, the costs of many ``(node, parents)`` at once,
    ``promising(node, parents, candidates)``, those of the candidates that are worth trying as a further parent, and
    ``idle(node, parents)``, the parents that should not stay in the end whatever they cost, the first to go first.
    """

    def cost(self, node: int, parents: Parents) -> float:
        """The cost of a node given its parents, which ascend."""
        ...


class Costs:
    """The costs of a score, remembered; those asked for together are computed in parallel."""

    def __init__(self, score: Cost, workers: Workers = SERIAL) -> None:
        self.score = score
        self._workers = workers
        self._held: dict[Query, float] = {}

    def __call__(self, node: int, parents: Parents) -> float:
        """The cost of one node."""
        key = node, parents
        if key not in self._held:
            self._held[key] = float(self.score.cost(node, parents))
        return self._held[key]

    def fetch(self, queries: Iterable[Query]) -> None:
        """Have these costs at hand."""
        new = list(dict.fromkeys(query for query in queries if query not in self._held))
        pieces = [new[start : start + _QUERIES] for start in range(0, len(new), _QUERIES)]
        for piece, found in zip(pieces, self._workers.map(self._several, pieces), strict=True):
            self._held.update(zip(piece, found, strict=True))

    def _several(self, queries: list[Query]) -> list[float]:
        together = getattr(self.score, "costs", None)
        if together is not None:
            return [float(cost) for cost in together(queries)]
        return [float(self.score.cost(*query)) for query in queries]


class Move(NamedTuple):
    """A change of the graph: how much it adds to the score (negative: it pays), edges that go and edges that come."""

    change: float
    removed: tuple[Pair, ...]
    added: tuple[Pair, ...]

    @property
    def heads(self) -> set[int]:
        """The nodes whose parents change."""
        return {j for _, j in self.removed} | {j for _, j in self.added}


class Climb:
    """A graph under a score, and its changes.

    Parameters
    ----------
    score : Cost
        What is to be lowered.
    graph : sparse matrix of shape (d, d)
        Where to begin: ``graph[i, j] != 0`` for i → j. It satisfies the constraints.
    constraints : BoundConstraints
        Prior knowledge.
    workers : Workers
        Threads; they do not change the result.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from psidag.graph.constraints import unconstrained
    >>> class Wanted:
    ...     def cost(self, node, parents):
    ...         return len(parents) if node == 0 else -len(parents)
    >>> climb = Climb(Wanted(), sp.csr_array([[0, 0], [1, 0]]), unconstrained(["x", "y"]))
    >>> climb.round(), climb.edges.parents(0), climb.edges.parents(1)
    (1, (), (0,))
    """

    def __init__(
        self, score: Cost, graph: sp.csr_array, constraints: BoundConstraints, workers: Workers = SERIAL
    ) -> None:
        self.edges = _edges(graph, constraints)
        self.costs = Costs(score, workers)
        self._required = {(int(i), int(j)) for i, j in constraints.required}
        self._forbidden = {(int(i), int(j)) for i, j in constraints.forbidden}
        self.stale: set[int] = set(range(self.edges.d))
        """Nodes whose edges are to be looked at in the next round."""

    def total(self) -> float:
        """The score of the graph."""
        queries = [(j, self.edges.parents(j)) for j in range(self.edges.d)]
        self.costs.fetch(queries)
        return math.fsum(self.costs(*query) for query in queries)

    def graph(self) -> sp.csr_array:
        """The graph as a matrix of ones."""
        parents = [self.edges.parents(j) for j in range(self.edges.d)]
        bounds = np.concatenate([[0], np.cumsum([len(each) for each in parents])])
        tails = np.array([i for each in parents for i in each], dtype=np.int32)
        shape = (self.edges.d, self.edges.d)
        return sp.csr_array(sp.csc_array((np.ones(len(tails)), tails, bounds), shape=shape))

    def order(self) -> Order:
        """An order of the graph that respects the constraints."""
        return np.array(self.edges.order_of(), dtype=np.intp)

    def round(self, additions: bool = True) -> int:
        """Look at all stale nodes and make the changes that pay, the best first; returns how many were made.

        Changes made in one round touch different nodes, so that what they pay adds up.
        """
        looked, self.stale = sorted(self.stale), set()
        paying = [move for move in self.moves(looked, additions) if move.change < -SMALLEST_GAIN]
        made = 0
        touched: set[int] = set()
        for move in sorted(paying):
            ends = {v for pair in (*move.removed, *move.added) for v in pair}
            if touched & ends:
                self.stale |= ends
            elif self.make(move):
                touched |= ends
                made += 1
            else:
                # A cycle that it would close may be open later.
                self.stale |= move.heads
        self.stale |= touched
        if not made:
            self.stale = set()
        return made

    def drop_idle(self) -> int:
        """Take out edges that the score calls idle, one after another at each node; returns how many."""
        idle = getattr(self.costs.score, "idle", None)
        if idle is None:
            return 0
        dropped = 0
        for j in range(self.edges.d):
            while gone := [i for i in idle(j, self.edges.parents(j)) if self.may_go(i, j)]:
                self.edges.remove(gone[0], j)
                dropped += 1
        return dropped

    def moves(self, nodes: Iterable[int], additions: bool = True) -> list[Move]:
        """All changes of single edges at these nodes, whether they pay or not."""
        proposed = self._turns_and_drops(nodes)
        if additions:
            proposed += self._additions(nodes)
        self.costs.fetch(query for _, _, after in proposed for query in after)
        self.costs.fetch((v, self.edges.parents(v)) for v in {q[0] for _, _, after in proposed for q in after})
        found = []
        for removed, added, after in proposed:
            change = sum(self.costs(v, parents) - self.costs(v, self.edges.parents(v)) for v, parents in after)
            found.append(Move(change, removed, added))
        return found

    def make(self, move: Move) -> bool:
        """Change the graph; False, and no change, where that would close a cycle."""
        for i, j in move.removed:
            self.edges.remove(i, j)
        for number, (i, j) in enumerate(move.added):
            if not self.edges.add(i, j):
                self.undo(Move(0.0, move.removed, move.added[:number]))
                return False
        return True

    def undo(self, move: Move) -> None:
        """Take a change back."""
        for i, j in move.added:
            self.edges.remove(i, j)
        for i, j in move.removed:
            self.edges.add(i, j)

    def may(self, i: int, j: int) -> bool:
        """Whether prior knowledge leaves i → j open."""
        return i != j and (i, j) not in self._forbidden and (j, i) not in self._required

    def may_go(self, i: int, j: int) -> bool:
        """Whether prior knowledge leaves it open to take i → j out."""
        return (i, j) not in self._required

    def _turns_and_drops(self, nodes: Iterable[int]) -> list[_Proposal]:
        """Every edge at these nodes turned round, and every edge taken out."""
        edges = self.edges
        proposed: list[_Proposal] = []
        seen: set[Pair] = set()
        for v in nodes:
            around = [(i, v) for i in edges.parents(v)] + [(v, j) for j in edges.children(v)]
            for i, j in around:
                if (i, j) in seen or not self.may_go(i, j):
                    continue
                seen.add((i, j))
                fewer = j, without(edges.parents(j), i)
                proposed.append((((i, j),), (), (fewer,)))
                if self.may(j, i) and not edges.leads(i, j, True):
                    proposed.append((((i, j),), ((j, i),), (fewer, (i, with_parent(edges.parents(i), j)))))
        return proposed

    def _additions(self, nodes: Iterable[int]) -> list[_Proposal]:
        """Further parents for these nodes, two steps away in the graph, and such in the place of others."""
        edges = self.edges
        proposed: list[_Proposal] = []
        for j in nodes:
            parents = edges.parents(j)
            beside = {*parents, *edges.children(j)}
            second = {w for v in beside for w in (*edges.parents(v), *edges.children(v))} - beside - {j}
            candidates = [i for i in sorted(second) if self.may(i, j)]
            for i in self._promising(j, parents, candidates):
                if edges.leads(j, i):
                    continue
                more = with_parent(parents, i)
                proposed.append(((), ((i, j),), ((j, more),)))
                near = {*edges.parents(i), *edges.children(i)}
                proposed += [
                    (((a, j),), ((i, j),), ((j, without(more, a)),)) for a in parents if a in near and self.may_go(a, j)
                ]
        return proposed

    def _promising(self, node: int, parents: Parents, candidates: list[int]) -> Sequence[int]:
        chosen = getattr(self.costs.score, "promising", None)
        if chosen is None or not candidates:
            return candidates
        few: Sequence[int] = chosen(node, parents, candidates)
        return few


#: Edges that go, edges that come, and the nodes that change with their new parents.
_Proposal: TypeAlias = tuple[tuple[Pair, ...], tuple[Pair, ...], tuple[Query, ...]]


def refine(
    score: Cost,
    graph: sp.csr_array,
    constraints: BoundConstraints,
    workers: Workers = SERIAL,
    *,
    max_rounds: int = 1000,
) -> sp.csr_array:
    """The graph after as many changes of single edges as lower the score: a local optimum, as a matrix of ones."""
    climb = Climb(score, graph, constraints, workers)
    for _ in range(max_rounds):
        if not climb.round():
            break
    return climb.graph()


def _edges(graph: sp.csr_array, constraints: BoundConstraints) -> Edges:
    """The graph, with further nodes and edges that stand for the tiers of prior knowledge."""
    d = graph.shape[0]
    pattern = as_adjacency(graph)
    missing = [pair for pair in constraints.required.tolist() if not pattern[pair[0], pair[1]]]
    extra = [pair for pair in constraints.forbidden.tolist() if pattern[pair[0], pair[1]]]
    if missing or extra:
        i, j = (missing or extra)[0]
        names, what = constraints.names, "lacks the required" if missing else "has the forbidden"
        raise InputError(f"the graph to begin with {what} edge {names[i]!r} -> {names[j]!r}")
    before = constraints.precedence
    tails, heads = pattern.nonzero()
    more = before.nonzero()
    beyond = (more[0] >= d) | (more[1] >= d)
    pairs = np.concatenate([tails, more[0][beyond]]), np.concatenate([heads, more[1][beyond]])
    whole = sp.csr_array((np.ones(len(pairs[0]), np.int8), pairs), shape=before.shape)
    return Edges(d, topological_order(whole).astype(np.int32), *parent_lists(whole))


def without(parents: Parents, i: int) -> Parents:
    """The parents but one."""
    at = bisect_left(parents, i)
    return parents[:at] + parents[at + 1 :] if at < len(parents) and parents[at] == i else parents


def with_parent(parents: Parents, i: int) -> Parents:
    """The parents and one more, in ascending order."""
    at = bisect_left(parents, i)
    return (*parents[:at], i, *parents[at:])
