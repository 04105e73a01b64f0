"""Refinement as an engine: a graph that a search has found goes on under a score that the search could not see."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from psidag.graph.order import order_change
from psidag.run.loop import Progress, Task
from psidag.run.status import Candidate, Status
from psidag.stages.profile import turn_if_better, worth_turning
from psidag.stages.refinement import Climb, Cost, Parents

#: Edges that are tried in one step.
_EDGES = 256
#: A turn is followed up if its beginning costs no more than this many edges: later ones led nowhere (judged in
#: benchmarks/directions.md, "shape: 1,000 columns").
_WORTH = 4.0
#: Passes over all edges at the most; after two of them nothing was found any more.
_PASSES = 4


class State(NamedTuple):
    """The graph, the edges that are still to be turned in this pass, and the parents there were when it began."""

    climb: Climb
    steps: int = 0
    passes: int = 0
    left: tuple[tuple[int, int], ...] = ()
    before: tuple[Parents, ...] = ()
    turned: bool = False


@dataclass(frozen=True, eq=False)
class Refining:
    """A local optimum of a score, by changes of single edges, and by edges turned with all around that must follow.

    Parameters
    ----------
    begin : Candidate
        The graph to begin with, which respects the constraints.
    score : Cost
        What is to be lowered, bound to the data.
    price : float
        What an edge costs in it.
    close : callable
        Gives a graph its weights.
    max_rounds : int
        Rounds of changes at the most.
    """

    name: ClassVar[str] = "refining"
    needs_rows: ClassVar[bool] = False
    patience: ClassVar[int] = 0
    tol: ClassVar[float] = 0.0

    begin: Candidate
    score: Cost
    price: float
    close: Callable[[Candidate], Candidate]
    max_rounds: int = 1000

    def init(self, task: Task) -> State:
        """The graph to begin with."""
        begin = task.constraints.with_required(self.begin.weights)
        return State(Climb(self.score, begin, task.constraints, task.workers))

    def step(self, task: Task, state: State) -> tuple[State, Progress]:
        """A round of changes of single edges; once there are none, some edges turned with what follows."""
        climb, steps = state.climb, state.steps + 1
        if climb.stale:
            climb.round()
            state = state._replace(steps=steps)
            return state, self._progress(state, None)
        if not state.left:
            state = self._next_pass(state)
        now, later = state.left[:_EDGES], state.left[_EDGES:]
        most = _WORTH * self.price
        there = [(i, j) for i, j in now if climb.edges.has(i, j)]
        worth = worth_turning(climb, there, most, self.price)
        turned = [turn_if_better(climb, i, j, most) for i, j in worth if climb.edges.has(i, j)]
        state = state._replace(steps=steps, left=later, turned=state.turned or any(turned))
        ended = not later and not climb.stale and (not state.turned or state.passes >= _PASSES)
        return state, self._progress(state, Status("converged", "no move improves the score") if ended else None)

    def _next_pass(self, state: State) -> State:
        """All edges the first time; later those at nodes whose parents have changed since the pass before."""
        edges = state.climb.edges
        now = tuple(edges.parents(j) for j in range(edges.d))
        changed = {j for j, parents in enumerate(now) if not state.before or parents != state.before[j]}
        left = tuple((i, j) for j, parents in enumerate(now) for i in parents if i in changed or j in changed)
        return state._replace(left=left, before=now, passes=state.passes + 1, turned=False)

    def conclude(self, task: Task, state: State) -> Candidate:
        """The graph as it stands."""
        return self._candidate(state)

    def finish(self, task: Task, state: State, best: Candidate) -> Candidate:
        """The graph with its weights."""
        return self.close(self._candidate(state))

    def _candidate(self, state: State) -> Candidate:
        return Candidate(state.climb.order(), state.climb.graph(), state.climb.total())

    def _progress(self, state: State, finished: Status | None) -> Progress:
        if finished is None:
            return Progress(state.steps, 0)
        closed = self._candidate(state)
        change = order_change(self.begin.order, closed.order)
        return Progress(state.steps, 0, closed, math.nan, change, finished)
