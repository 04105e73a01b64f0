"""What the data say against turning an edge: the score's loss when the edge is turned and all around it may follow."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from psidag.graph.order import Order, positions
from psidag.scores.policy import SMALLEST_GAIN
from psidag.stages.refinement import with_parent, without
from psidag.system.parallel import Workers

Floats = NDArray[np.float64]
Parents: TypeAlias = tuple[int, ...]
Pair: TypeAlias = tuple[int, int]
#: A node with its parents, which ascend.
Family: TypeAlias = tuple[int, Parents]
#: What one or two nodes are to have for parents.
Move: TypeAlias = tuple[Family, ...]
#: A search asks for the costs of families, and goes on once they are known.
Asking: TypeAlias = Generator[list[Family], None, float]

#: Edges searched side by side; what their families cost is forgotten afterwards.
_BLOCK = 2000
#: Families handed to a thread at a time.
_CHUNK = 256
#: Steps of one search after the edge was turned.
_STEPS = 12
#: A node of more parents is a hub: it hands none of them on, and only those close to what was changed are looked at.
_HUB = 16


class Costs(Protocol):
    """A score bound to data: what families cost, the price of their edges included."""

    def costs(self, families: Sequence[Family]) -> Floats:
        """The cost of each family; independent of which others are asked for with it."""
        ...


class Memory:
    """Differences found before, each with the edges of which was asked whether they are required."""

    def __init__(self) -> None:
        self._required: frozenset[Pair] = frozenset()
        self._found: dict[Pair, tuple[float, set[Pair]]] = {}

    def recall(self, required: frozenset[Pair]) -> dict[Pair, float]:
        """What is as it was now that these edges are required; all else is forgotten."""
        changed = required ^ self._required
        self._required = required
        self._found = {edge: each for edge, each in self._found.items() if each[1].isdisjoint(changed)}
        return {edge: delta for edge, (delta, _) in self._found.items()}

    def keep(self, edge: Pair, delta: float, asked: set[Pair]) -> None:
        """Remember one more."""
        self._found[edge] = delta, asked


@dataclass(frozen=True, eq=False)
class Profile:
    """Searches for the best graph in which one edge of a DAG points the other way, or is not there.

    The difference Δ of two graphs that differ in one reversal only is no evidence: where an equivalence class leaves
    the direction open, a single reversal can cost much, and nothing when neighbouring edges turn with it. So the edge
    a → b is taken out, and turned in two ways: plainly, and with a and b given each other's parents, which loses no
    likelihood under a score that treats equivalent graphs alike. From both, single edges around it are dropped, turned
    and added while that pays. Each graph seen bounds Δ from above; a search whose bound falls below ``mark`` ends
    there.

    Parameters
    ----------
    parents : sequence of tuples of int
        The parents of each node of the DAG, ascending.
    order : array of shape (d,)
        An order of the DAG.
    allowed : callable, optional
        Whether an edge u → v may stand at all; every edge may by default.
    required : set of pairs
        Edges that must stand.
    mark : float
        The Δ below which nothing is claimed.
    enough : float
        The Δ above which it need not be known any better: edges added around the turned one could make it smaller, but
        not bring it below the mark. On graphs of 60 to 300 nodes that never happened from 100 above the mark on, and a
        third of the time remains.
    memory : Memory, optional
        What profiles found that differ from this one in their required edges alone, asked with the same score.
    """

    parents: Sequence[Parents]
    order: Order
    allowed: Callable[[int, int], bool] | None = None
    required: frozenset[Pair] = frozenset()
    mark: float = 0.0
    enough: float = np.inf
    memory: Memory | None = None
    place: list[int] = field(init=False)
    children: list[list[int]] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "place", positions(self.order).tolist())
        children: list[list[int]] = [[] for _ in self.parents]
        for node, parents in enumerate(self.parents):
            for parent in parents:
                children[parent].append(node)
        object.__setattr__(self, "children", children)

    def differences(self, score: Costs, edges: Sequence[Pair], workers: Workers, *, settled: bool = True) -> Floats:
        """Δ of each edge (a, b) of the DAG: positive where a → b is preferred.

        Parameters
        ----------
        score : Costs
            The score.
        edges : sequence of pairs
            Edges a → b of the DAG.
        workers : Workers
            Threads; they do not change the result.
        settled : bool
            Whether the DAG is a local optimum of this score. If not, the same search is allowed to the graph that
            keeps the edge where Δ is below the mark, so that faults nearby do not count against its direction.
        """
        memory = self.memory
        found = {} if memory is None else memory.recall(self.required)
        new = [edge for edge in edges if edge not in found]
        for start in range(0, len(new), _BLOCK):
            part = new[start : start + _BLOCK]
            known: dict[Family, float] = {}
            asked: list[set[Pair]] = [set() for _ in part]
            searches = [self._turned(a, b, known, about) for (a, b), about in zip(part, asked, strict=True)]
            turned = _side_by_side(searches, known, score, workers)
            if not settled:
                low = np.flatnonzero(turned < self.mark).tolist()
                kept = [self._kept(*part[k], known, asked[k]) for k in low]
                turned[low] -= _side_by_side(kept, known, score, workers)
            for edge, delta, about in zip(part, turned.tolist(), asked, strict=True):
                found[edge] = delta
                if memory is not None:
                    memory.keep(edge, delta, about)
        return np.array([found[edge] for edge in edges], dtype=np.float64)

    def _turned(self, a: int, b: int, known: dict[Family, float], asked: set[Pair]) -> Asking:
        starts = [start for start in (self._plain(a, b, asked), self._covered(a, b, asked)) if start is not None]
        with_a, without_a = (b, self.parents[b]), (b, without(self.parents[b], a))
        yield [with_a, without_a, *(family for start in starts for family in start.families())]
        best = known[without_a] - known[with_a]
        values = [start.difference(known) for start in starts]
        best = min([best, *values])
        for k in np.argsort(values).tolist():
            if best < self.mark:
                break
            best = min(best, (yield from self._climb(starts[k], values[k], (b, a), known)))
        return best

    def _kept(self, a: int, b: int, known: dict[Family, float], asked: set[Pair]) -> Asking:
        start = _Variant(self, {a: self.parents[a], b: self.parents[b]}, asked)
        yield [*start.families()]
        return (yield from self._climb(start, 0.0, (a, b), known))

    def _plain(self, a: int, b: int, asked: set[Pair]) -> _Variant | None:
        start = _Variant(self, {a: with_parent(self.parents[a], b), b: without(self.parents[b], a)}, asked)
        return None if start.leads(a, b) or not self._may(start) else start

    def _covered(self, a: int, b: int, asked: set[Pair]) -> _Variant | None:
        """The edge turned between nodes that share their parents; those of b that descend from a follow b instead."""
        if len(self.parents[a]) + len(self.parents[b]) > _HUB:
            return None
        later = self.between(a, b)
        shared = tuple(sorted({*self.parents[a], *self.parents[b]} - {a} - later))
        changes = {a: with_parent(shared, b), b: shared}
        for x in self.parents[b]:
            if x in later:
                changes[x] = with_parent(self.parents[x], b)
        start = _Variant(self, changes, asked)
        return start if self._may(start) else None

    def _may(self, variant: _Variant) -> bool:
        """Whether prior knowledge leaves the graph open."""
        for v, parents in variant.changed.items():
            before, after = set(self.parents[v]), set(parents)
            gone = [(u, v) for u in before - after]
            variant.asked.update(gone)
            if not self.required.isdisjoint(gone):
                return False
            if self.allowed is not None and not all(self.allowed(u, v) for u in after - before):
                return False
        return True

    def between(self, a: int, b: int) -> set[int]:
        """The descendants of a that stand before b in the order."""
        last, seen, stack = self.place[b], set[int](), [a]
        while stack:
            for x in self.children[stack.pop()]:
                if x not in seen and self.place[x] < last:
                    seen.add(x)
                    stack.append(x)
        return seen

    def _climb(self, variant: _Variant, value: float, held: Pair, known: dict[Family, float]) -> Asking:
        """The difference after the moves that pay: in each step the best ones of nodes that no other touches."""
        for _ in range(_STEPS):
            # Where turning costs very much, further edges do not bring it below the mark.
            for proposed in (variant.fewer, variant.more) if value < self.enough else (variant.fewer,):
                moves = proposed(held)
                nodes = {family[0] for move in moves for family in move}
                now = {v: (v, variant.parents(v)) for v in nodes}
                yield [*(family for move in moves for family in move), *now.values()]
                cost = {v: known[family] for v, family in now.items()}
                gained = 0.0
                paying = []
                for move in moves:
                    change = known[move[0]] - cost[move[0][0]]
                    if len(move) == 2:
                        change += known[move[1]] - cost[move[1][0]]
                    if change < -SMALLEST_GAIN:
                        paying.append((change, move))
                touched: set[int] = set()
                for change, move in sorted(paying):
                    ends = {family[0] for family in move}
                    if touched.isdisjoint(ends):
                        after = variant.after(move)
                        if self._may(after) and not after.cyclic(variant, move):
                            variant, gained = after, gained + change
                            touched |= ends
                if gained:
                    break
            if not gained:
                break
            value += gained
            if value < self.mark:
                break
        return value


@dataclass(eq=False)
class _Variant:
    """A graph that differs from the DAG in the parents of a few nodes."""

    base: Profile
    changed: dict[int, Parents]
    asked: set[Pair]
    """All edges of which was asked whether they are required, in the whole of a search."""

    def parents(self, v: int) -> Parents:
        found = self.changed.get(v)
        return self.base.parents[v] if found is None else found

    def families(self) -> Iterable[Family]:
        for v, parents in self.changed.items():
            yield v, parents
            yield v, self.base.parents[v]

    def difference(self, known: dict[Family, float]) -> float:
        return sum(known[v, parents] - known[v, self.base.parents[v]] for v, parents in self.changed.items())

    def after(self, move: Move) -> _Variant:
        return _Variant(self.base, {**self.changed, **dict(move)}, self.asked)

    def fewer(self, held: Pair) -> list[Move]:
        """Edges into changed nodes dropped or turned, but for the one that is held."""
        moves: list[Move] = []
        for v, own in self.changed.items():
            for u in own if len(own) <= _HUB else self._close_by(v):
                if (u, v) != held:
                    left = (v, without(own, u))
                    moves.append((left,))
                    moves.append((left, (u, with_parent(self.parents(u), v))))
        return moves

    def _close_by(self, v: int) -> list[int]:
        """The parents of a changed node that an edge joins to another one."""
        others = [w for w in self.changed if w != v]
        return [u for u in self.parents(v) if any(u in self.parents(w) or w in self.parents(u) for w in others)]

    def more(self, held: Pair) -> list[Move]:
        """Edges added into changed nodes, from the nodes around."""
        around = {u for v in self.changed for u in (v, *self.parents(v), *self.base.parents[v])}
        return [
            ((v, with_parent(own, u)),)
            for v, own in self.changed.items()
            for u in sorted(around.difference(own, (v,)))
            if v not in self.parents(u)
        ]

    def cyclic(self, before: _Variant, move: Move) -> bool:
        """Whether the edges that a move has added close a cycle."""
        return any(self.leads(v, u) for v, parents in move for u in parents if u not in before.parents(v))

    def leads(self, u: int, v: int) -> bool:
        """Whether a directed path leads from u to v, by a walk up from v that stops before all that was changed."""
        place = self.base.place
        first = min(place[u], *(place[x] for x in self.changed))
        seen, stack = {v}, [v]
        while stack:
            for x in self.parents(stack.pop()):
                if x == u:
                    return True
                if x not in seen and place[x] >= first:
                    seen.add(x)
                    stack.append(x)
        return False


def _side_by_side(searches: list[Asking], known: dict[Family, float], score: Costs, workers: Workers) -> Floats:
    """Run searches in step, so that what they all ask for is computed at once; their results."""
    results = np.empty(len(searches))
    active = list(enumerate(searches))
    while active:
        unknown: dict[Family, None] = {}
        going = []
        for k, search in active:
            try:
                for family in next(search):
                    if family not in known:
                        unknown[family] = None
            except StopIteration as end:
                results[k] = end.value
            else:
                going.append((k, search))
        missing = list(unknown)
        pieces = [missing[i : i + _CHUNK] for i in range(0, len(missing), _CHUNK)]
        for piece, values in zip(pieces, workers.map(score.costs, pieces), strict=True):
            known.update(zip(piece, values.tolist(), strict=True))
        active = going
    return results
