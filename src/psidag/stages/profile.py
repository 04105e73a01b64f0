"""Profile differences: what the best graph without an edge costs more than the graph that has it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from psidag.scores.policy import SMALLEST_GAIN
from psidag.stages.refinement import Climb, Move, Pair, Parents, with_parent, without

#: When one edge is forbidden, the graph around it makes this many changes at the most.
_LOCAL_MOVES = 40


def reversal(climb: Climb, i: int, j: int) -> float:
    """What it adds to the score to turn i → j round and change nothing else; inf where that is not possible."""
    edges = climb.edges
    if not (climb.may_go(i, j) and climb.may(j, i)) or edges.leads(i, j, True):
        return math.inf
    after = [(j, without(edges.parents(j), i)), (i, with_parent(edges.parents(i), j))]
    climb.costs.fetch([*after, (i, edges.parents(i)), (j, edges.parents(j))])
    return sum(climb.costs(v, parents) - climb.costs(v, edges.parents(v)) for v, parents in after)


def profile_difference(climb: Climb, i: int, j: int, enough: float = -math.inf) -> float:
    """How much the best graph without i → j costs more than the graph, the rest searched again around the edge.

    Two ways lead there, and the better one counts: the edge turned round (or taken out, where that closes a cycle); and
    both ends given all parents of each other, so that nothing is lost, before the edge is turned round, which makes
    superfluous ones drop out. From both, changes of single edges follow while they pay. A negative difference says that
    the graph was no local optimum. The graph is afterwards what it was before.

    Parameters
    ----------
    climb : Climb
        The graph, under its score.
    i, j : int
        An edge of it.
    enough : float
        A difference that is less than this need not be known any better: where turning the edge round alone costs no
        more, that is the answer, an upper bound.

    Returns
    -------
    float
        inf for an edge that prior knowledge requires.
    """
    if not climb.may_go(i, j):
        return math.inf
    alone = reversal(climb, i, j)
    if alone <= enough:
        return alone
    lowest = alone
    for start in (_turned_alone, _turned_whole):
        made = start(climb, i, j)
        change = math.fsum(move.change for move in made)
        if math.isfinite(change):
            made += _descend(climb, {v for move in made for v in move.heads}, (i, j))
            lowest = min(lowest, math.fsum(move.change for move in made))
        for move in reversed(made):
            climb.undo(move)
        if lowest <= enough:
            break
    return lowest


def worth_turning(climb: Climb, edges: Sequence[Pair], most: float, price: float) -> list[Pair]:
    """Those edges that may be turned round, in one of the ways of :func:`profile_difference`, for less than ``most``.

    What superfluous edges cost, ``price`` each, does not count: they will drop out. All costs are asked for at once.
    """
    ways: list[tuple[Pair, dict[int, Parents]]] = []
    for i, j in edges:
        own, other = climb.edges.parents(i), climb.edges.parents(j)
        between = [p for p in other if p != i and climb.edges.leads(i, p)]
        shared = tuple(sorted({*own, *other} - {i, *between}))
        whole = {i: with_parent(shared, j), j: shared}
        whole |= {p: with_parent(climb.edges.parents(p), j) for p in between}
        ways += [((i, j), whole), ((i, j), {i: with_parent(own, j), j: without(other, i)})]
    families = [(v, new) for _, way in ways for v, new in way.items()]
    climb.costs.fetch([*families, *((v, climb.edges.parents(v)) for v, _ in families)])
    found: dict[Pair, None] = {}
    for pair, way in ways:
        change = sum(climb.costs(v, new) - climb.costs(v, climb.edges.parents(v)) for v, new in way.items())
        more = sum(len(new) - len(climb.edges.parents(v)) for v, new in way.items())
        if change - price * max(more, 0) < most:
            found[pair] = None
    return list(found)


def turn_if_better(climb: Climb, i: int, j: int, most: float) -> bool:
    """Turn an edge round in either way of :func:`profile_difference`, and keep what follows if the score is lower.

    Single changes do not lead there where the graph with the edge turned is worse until others have followed.

    Parameters
    ----------
    climb : Climb
        The graph, under its score; changed only where that pays.
    i, j : int
        An edge of it.
    most : float
        A way whose beginning costs more than this is not followed.
    """
    if not climb.may_go(i, j):
        return False
    for start in (_turned_whole, _turned_alone):
        made = start(climb, i, j)
        change = math.fsum(move.change for move in made)
        if change < most:
            made += _descend(climb, {v for move in made for v in move.heads}, (i, j))
            change = math.fsum(move.change for move in made)
        if change < -SMALLEST_GAIN:
            climb.stale |= {v for move in made for pair in (*move.removed, *move.added) for v in pair}
            return True
        for move in reversed(made):
            climb.undo(move)
    return False


def _turned_alone(climb: Climb, i: int, j: int) -> list[Move]:
    """The edge turned round, or taken out where it cannot be."""
    turned = _priced(climb, ((i, j),), ((j, i),)) if climb.may(j, i) else None
    return [turned or _priced(climb, ((i, j),), ()) or Move(math.inf, (), ())]


def _turned_whole(climb: Climb, i: int, j: int) -> list[Move]:
    """The edge turned round, with both ends given all parents of each other that they may have."""
    edges = climb.edges
    made: list[Move] = []

    def change(removed: Sequence[Pair], added: Sequence[Pair]) -> None:
        move = _priced(climb, tuple(removed), tuple(pair for pair in added if climb.may(*pair)))
        if move is not None:
            made.append(move)

    own, other = edges.parents(i), edges.parents(j)
    # Parents of j that descend from i stand in the way: j comes to stand before them as well.
    between = [p for p in other if p != i and climb.may_go(p, j) and edges.leads(i, p)]
    change([(i, j), *((p, j) for p in between)], [])
    if not made:
        return [Move(math.inf, (), ())]
    for pair in [(j, i), *((j, p) for p in between), *((p, j) for p in own), *((p, i) for p in other)]:
        if not edges.has(*pair) and pair[0] != pair[1]:
            change([], [pair])
    for v in (j, i):
        _prune(climb, v, made)
    return made


def _prune(climb: Climb, node: int, made: list[Move]) -> None:
    """Take parents out, the most superfluous first, while that pays."""
    while True:
        parents = climb.edges.parents(node)
        fewer = {i: without(parents, i) for i in parents if climb.may_go(i, node)}
        if not fewer:
            return
        climb.costs.fetch((node, rest) for rest in fewer.values())
        change, i = min((climb.costs(node, rest) - climb.costs(node, parents), i) for i, rest in fewer.items())
        if change >= -SMALLEST_GAIN:
            return
        move = Move(change, ((i, node),), ())
        climb.make(move)
        made.append(move)


def _descend(climb: Climb, nodes: set[int], banned: Pair) -> list[Move]:
    """Make the change that pays best, at these nodes and those it touches, again and again; not the banned edge."""
    made: list[Move] = []
    for _ in range(_LOCAL_MOVES):
        for move in sorted(climb.moves(sorted(nodes))):
            if move.change >= -SMALLEST_GAIN:
                return made
            if banned not in move.added and climb.make(move):
                made.append(move)
                nodes |= {v for pair in (*move.removed, *move.added) for v in pair}
                break
        else:
            return made
    return made


def _priced(climb: Climb, removed: tuple[Pair, ...], added: tuple[Pair, ...]) -> Move | None:
    """A change that has been made, with what it costs; None, and no change, where it closes a cycle."""
    heads = {j for _, j in (*removed, *added)}
    before = {v: climb.edges.parents(v) for v in heads}
    if not climb.make(Move(0.0, removed, added)):
        return None
    climb.costs.fetch([(v, climb.edges.parents(v)) for v in heads])
    change = math.fsum(climb.costs(v, climb.edges.parents(v)) - climb.costs(v, before[v]) for v in sorted(heads))
    return Move(change, removed, added)
