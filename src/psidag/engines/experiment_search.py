"""Graphs of experiments: the sparse search on all rows, refined on the rows in which each variable was left alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from psidag.data.conditions import Conditions
from psidag.data.labelled import LabelledTable
from psidag.engines.refining import Refining
from psidag.engines.refining import State as RefiningState
from psidag.engines.sparse import Sparse
from psidag.engines.sparse_state import State as SparseState
from psidag.run.loop import Progress, Task
from psidag.run.status import Candidate
from psidag.scores.gaussian import UNEQUAL
from psidag.scores.named import Noise, as_score
from psidag.scores.score import SearchScore
from psidag.scores.shape import LEAST_ROWS, few_valued, shape_p_values
from psidag.scores.targeted import TargetedScore
from psidag.solution.noise import NoiseModel
from psidag.stages.free_regressions import free_regressions
from psidag.system.errors import InputError
from psidag.system.tree import stored_order

#: Noise is taken to be not Gaussian where a Gaussian one is this improbable, over all columns together.
_LEVEL = 0.01


class State(NamedTuple):
    """Where it stands: in the search on all rows, or in the refinement of the graph that this has ended with."""

    data: Conditions
    price: float
    search: SparseState
    begin: Candidate | None = None
    refining: RefiningState | None = None
    noise: NoiseModel = NoiseModel("auto", "unequal", "")


@dataclass(frozen=True, eq=False)
class ExperimentSearch:
    """A DAG of low score  Σ_j n_j log v_j + c |P_j|  over the rows in which j was not set (Hauser & Bühlmann 2012).

    All rows together have nearly the right skeleton, since whatever was set goes on causing its effects, and many more
    rows than those in which nothing was set; so the search begins on them, under the unequal score. From there single
    edges change, and edges turn with all around them, under the score that is asked for.

    Parameters
    ----------
    search : Sparse
        The search on all rows.
    asked : str or score
        The noise: one variance for all with ``"equal"``; with ``"nongaussian"`` the shape of the noise counts, where it
        is not Gaussian, which takes rows in memory. ``"auto"`` is ``"unequal"``: experiments direct edges without the
        help of assumptions on the noise.
    """

    name: ClassVar[str] = "sparse"
    needs_rows: ClassVar[bool] = False
    patience: ClassVar[int] = 0
    tol: ClassVar[float] = 0.0

    search: Sparse
    asked: Noise = "auto"

    @property
    def max_rounds(self) -> int:
        """Those of the search, and one more."""
        return self.search.max_rounds + 1

    def init(self, task: Task) -> State:
        """The rows by what was set in them, and the search before its first step."""
        data: Conditions = task.source.conditions(task.workers)  # type: ignore[attr-defined]
        search = self.search.init(_unequal(task))
        return State(data, search.penalty, search, noise=self._noise())

    def step(self, task: Task, state: State) -> tuple[State, Progress]:
        """A step of the search, or of the refinement once that has ended."""
        if state.begin is not None:
            return self._refine(task, state, state.begin)
        search, progress = self.search.step(_unequal(task), state.search)
        state = state._replace(search=search)
        if progress.finished is None:
            return state, progress
        begin = progress.closed or self.search.conclude(_unequal(task), search)
        return state._replace(begin=begin), progress._replace(finished=None)

    def conclude(self, task: Task, state: State) -> Candidate:
        """The graph as it stands."""
        if state.begin is None or state.refining is None:
            return state.begin or self.search.conclude(_unequal(task), state.search)
        return Candidate(state.refining.climb.order(), state.refining.climb.graph(), math.inf)

    def finish(self, task: Task, state: State, best: Candidate) -> Candidate:
        """The weights of each equation over its free rows."""
        found = best if state.refining is None else self.conclude(task, state)._replace(loss=best.loss)
        rule = f"by evidence in the search and on the rows in which each was left alone, penalty {state.price:.2f}"
        weights, fitted = free_regressions(state.data, task.constraints.with_required(found.weights), rule)
        return Candidate(found.order, weights, best.loss, fitted)

    def dump(self, state: State) -> dict[str, Any]:
        """The state of the search; a refinement, which takes seconds, is begun again."""
        held = None if state.begin is None else (state.begin.order, sp.csr_array(state.begin.weights), state.begin.loss)
        return {"search": self.search.dump(state.search), "begin": held}

    def restore(self, task: Task, held: dict[str, Any]) -> State:
        """The state that was dumped."""
        state = self.init(task)._replace(search=self.search.restore(_unequal(task), held["search"]))
        if held["begin"] is None:
            return state
        order, weights, loss = held["begin"]
        checked = stored_order(order, task.d)
        if checked is None or weights.shape != (task.d, task.d):
            raise ValueError("a DAG that does not fit the columns")
        return state._replace(begin=Candidate(checked, weights, float(loss)))

    def memory(self, n: int, d: int) -> float:
        """Bytes at the most, beside the data."""
        return self.search.memory(n, d) + 8.0 * d * d

    def _refine(self, task: Task, state: State, begin: Candidate) -> tuple[State, Progress]:
        if state.refining is None:
            return self._begin(task, state, begin), Progress(state.search.steps, 0)
        engine = self._engine(begin, state.refining.climb.costs.score, state.price)
        refining, progress = engine.step(task, state.refining)
        closed = progress.closed
        if closed is not None:
            closed = closed._replace(loss=_loss(self._score, closed.loss, state.data))
        steps = state.search.steps + progress.steps
        return state._replace(refining=refining), progress._replace(steps=steps, closed=closed)

    def _begin(self, task: Task, state: State, begin: Candidate) -> State:
        """The refinement before its first step, under the score that the noise of the graph so far speaks for."""
        edges = task.constraints.with_required(begin.weights)
        weights, fitted = free_regressions(state.data, edges, "")
        shape = self.asked == "nongaussian"
        shaped = self._shaped(task, state.data, weights) if shape else np.zeros(task.d, bool)
        rows = task.source.free_rows if isinstance(task.source, LabelledTable) else None
        score = TargetedScore(
            state.data, state.price, self._score, fitted.residual_variance, shaped=shaped, rows=rows
        )  # fmt: skip
        refining = self._engine(begin, score, state.price).init(task)
        names = tuple(task.source.names[j] for j in np.flatnonzero(shaped).tolist())
        noise = replace(state.noise, shape=names, contradicted=shape and not names)
        return state._replace(refining=refining, noise=noise)

    @property
    def _score(self) -> SearchScore:
        """The score of the refinement."""
        return UNEQUAL if self.asked in ("auto", "nongaussian") else as_score(self.asked)

    def _noise(self) -> NoiseModel:
        """What the noise is taken to be."""
        if not isinstance(self.asked, str):
            return NoiseModel(self.asked.name, self.asked.name, "a score of one's own")
        if self.asked == "auto":
            return NoiseModel("auto", "unequal", "experiments direct edges without assumptions on the noise")
        return NoiseModel(self.asked, "equal" if self.asked == "equal" else "unequal", "asked for")

    def _engine(self, begin: Candidate, score: Any, price: float) -> Refining:
        return Refining(begin, score, price, lambda found: found)

    def _shaped(self, task: Task, data: Conditions, weights: sp.csr_array) -> Any:
        """The columns whose noise is not Gaussian, in the rows in which they were left alone."""
        source = task.source
        if not isinstance(source, LabelledTable):
            raise InputError("noise='nongaussian' with interventions takes rows in memory: give the table itself")
        plain = TargetedScore(data, 0.0, UNEQUAL)
        every = TargetedScore(data, 0.0, UNEQUAL, shaped=np.ones(task.d, bool), rows=source.free_rows)
        columns = sp.csc_array(weights)
        found = ~few_valued(source.X)
        for j in np.flatnonzero(found).tolist():
            parents = tuple(sorted(columns.indices[columns.indptr[j] : columns.indptr[j + 1]].tolist()))
            n = data.count(j)
            gain = (plain.cost(j, parents) - every.cost(j, parents)) / (2 * max(n, 1.0))
            found[j] = n >= LEAST_ROWS and float(shape_p_values(np.array(gain), n)) < _LEVEL / task.d
        return found


def _unequal(task: Task) -> Task:
    return replace(task, score=UNEQUAL)


def _loss(score: SearchScore, total: float, data: Conditions) -> float:
    """The score of a graph on the scale that the trace of the search has."""
    n, d = max(data.total, 1.0), data.d
    if score.own_variances:
        return 0.5 * d * math.exp(min(total / (n * d), 700.0))
    return 0.5 * total / n
