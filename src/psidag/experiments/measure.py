"""One cell, in the process it has to itself: run, judge off the clock, and say what came of it."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psidag.baselines import EqVar
from psidag.experiments.cells import Cell
from psidag.experiments.methods import METHODS, Method
from psidag.experiments.table import GOAL, Point, Row, thinned
from psidag.graph.metrics import edge_errors, relative_gap, squared_loss
from psidag.learning.learn import learn_dag
from psidag.run.loop import Engine, Progress, Task
from psidag.run.status import Candidate, Status
from psidag.simulate import Problem
from psidag.solution import Solution
from psidag.system.errors import DataWarning
from psidag.system.memory import peak_megabytes, reset_peak
from psidag.system.process import Report

#: The next look at an iterate is when the clock has come this much further …
_NEXT_LOOK = 1.08
#: … and looking has not taken longer than the run itself and this many seconds.
_LOOKING_AHEAD = 2.0
#: Weights of at least this many variables and at most this many entries for each are judged row by row; others by the
#: second moments of the rows, the same number by one product of d × d matrices, unless there are more variables than
#: rows.
_WIDE, _SPARSE = 2000, 50
_ROWS_AT_ONCE = 1000
#: Dense iterates of that many variables are judged by this many of the rows, or the judging would take longer than the
#: run.
_ROWS_OF_A_LOOK = 1000
#: The paper's threshold.
_THRESHOLD = 0.3
_STREAM_BATCH = 1024


class Meter:
    """Seconds and memory of the work itself; what happens in ``off`` counts for neither.

    On one thread the clock is the processor's, which other work on the machine does not turn; on several it is the
    one on the wall.
    """

    def __init__(self, threads: int) -> None:
        reset_peak()
        self._held = peak_megabytes()
        self._peak = self._held
        self.clock, self._now = ("processor", time.process_time) if threads == 1 else ("wall", time.perf_counter)
        self._start = self._now()
        self.off_seconds = 0.0

    def seconds(self) -> float:
        """On the clock so far."""
        return self._now() - self._start - self.off_seconds

    def memory(self) -> float:
        """Megabytes: the most held while the clock ran, less what was held before."""
        return max(self._peak, peak_megabytes()) - self._held

    @contextmanager
    def off(self) -> Iterator[None]:
        """The clock stands still."""
        begin = self._now()
        self._peak = max(self._peak, peak_megabytes())
        try:
            yield
        finally:
            reset_peak()
            self.off_seconds += self._now() - begin


class Judge:
    """f on the validation rows, centred by the mean of the training rows, and its gap to that of the true model.

    Without an intercept rows are taken as they are, as in the loss that the paper prints.
    """

    def __init__(self, problem: Problem, intercept: bool = True) -> None:
        assert problem.X_test is not None
        self._X = problem.X_test
        self._mean = problem.X.mean(axis=0, dtype=np.float64) if intercept else np.zeros(problem.d)
        self._moments: NDArray[np.float64] | None = None
        self._dag = problem.dag if problem.model is not None else None
        self.true_loss = math.nan if self._dag is None else squared_loss(self._dag, self._X, mean=self._mean)

    def loss(self, weights: Any) -> float:
        """½ mean |x − Wᵀx|²."""
        d = self._X.shape[1]
        if self._few(weights):
            return squared_loss(weights, self._X, mean=self._mean)
        dense = _dense(weights)
        if d >= len(self._X):
            return self._row_by_row(dense, self._X)
        if self._moments is None:
            centred = self._X - self._mean
            self._moments = centred.T @ centred / len(centred)
        residual = np.eye(d) - dense
        return 0.5 * float(np.vdot(residual, self._moments @ residual))

    def _few(self, weights: Any) -> bool:
        """Whether these are few weights for many variables."""
        d = self._X.shape[1]
        count = np.count_nonzero(weights) if isinstance(weights, np.ndarray) else weights.nnz
        return bool(d >= _WIDE and count <= _SPARSE * d)

    def _row_by_row(self, weights: NDArray[np.floating], X: NDArray[np.floating]) -> float:
        """With products in the precision of the rows, and sums of squares in double precision."""
        W = weights.astype(X.dtype, copy=False)
        total = 0.0
        for start in range(0, len(X), _ROWS_AT_ONCE):
            rows = X[start : start + _ROWS_AT_ONCE] - self._mean.astype(W.dtype)
            rows -= rows @ W
            total += float(np.einsum("ij,ij->", rows, rows, dtype=np.float64))
        return 0.5 * total / len(X)

    def value(self, weights: Any) -> float:
        """The gap (f(W) − f(W*)) / f(W*), or f(W) where the true model is not known."""
        loss = self.loss(weights)
        return loss if math.isnan(self.true_loss) else relative_gap(loss, self.true_loss)

    def look(self, weights: Any) -> float:
        """The same of an iterate: by a part of the rows where it is dense and all of them would take too long."""
        if self._dag is None or self._X.shape[1] < _WIDE or self._few(weights):
            return self.value(weights)
        part = self._X[:_ROWS_OF_A_LOOK]
        return relative_gap(self._row_by_row(_dense(weights), part), squared_loss(self._dag, part, mean=self._mean))


def _dense(weights: Any) -> NDArray[np.floating]:
    found: NDArray[np.floating] = weights if isinstance(weights, np.ndarray) else weights.toarray()
    return found


class Watched:
    """An engine whose iterates are judged between its steps, off the clock, and that ends over its budget.

    An iterate counts after being made acyclic, which is what ``conclude`` does: by ψ for ours, by the smallest
    threshold that breaks all cycles for the others.
    """

    def __init__(self, engine: Engine, method: Method, cell: Cell, judge: Judge, meter: Meter, report: Report) -> None:
        self.engine = engine
        self.name, self.needs_rows = engine.name, engine.needs_rows
        self.max_rounds, self.patience, self.tol = engine.max_rounds, engine.patience, engine.tol
        self.curve: list[Point] = []
        self.steps = 0
        self.gradients = 0.0
        self.stopped: Status | None = None
        self.stopped_at = math.nan
        self._method, self._cell, self._judge, self._meter, self._report = method, cell, judge, meter, report

    def init(self, task: Task) -> Any:
        """The engine's."""
        return self.engine.init(task)

    def step(self, task: Task, state: Any) -> tuple[Any, Progress]:
        """The engine's, and a look at what it has."""
        state, progress = self.engine.step(task, state)
        now = self._meter.seconds()
        with self._meter.off():
            self.steps = progress.steps
            self.gradients = self._count(progress)
            if self._due(now, progress):
                self._look(now, task, state, progress)
            if progress.finished is None:
                self.stopped = self._limit(now)
                if self.stopped is not None:
                    self.stopped_at = now
                    progress = progress._replace(finished=self.stopped)
        return state, progress

    def conclude(self, task: Task, state: Any) -> Candidate:
        """The engine's."""
        return self.engine.conclude(task, state)

    def finish(self, task: Task, state: Any, best: Candidate) -> Candidate:
        """The engine's."""
        return self.engine.finish(task, state, best)

    def add(self, seconds: float, weights: Any) -> None:
        """Judge weights that stand at this time of the clock."""
        point = (seconds, self.gradients, self._judge.look(weights))
        self.curve.append(point)
        self._report(point)

    def _count(self, progress: Progress) -> float:
        """Gradients of single rows: as many as rows were sampled, or n for a gradient over all n."""
        if self._method.gradients == "samples":
            return float(progress.samples)
        return float(progress.steps * self._cell.problem.n) if self._method.gradients == "full" else 0.0

    def _due(self, now: float, progress: Progress) -> bool:
        if progress.closed is None and not self._method.within_rounds:
            return False
        if progress.finished is not None or not self.curve or now >= self._cell.seconds:
            return True
        return now >= _NEXT_LOOK * self.curve[-1][0] and self._meter.off_seconds <= now + _LOOKING_AHEAD

    def _look(self, now: float, task: Task, state: Any, progress: Progress) -> None:
        candidate = progress.closed or self.engine.conclude(task, state)
        if self._method.touch:
            candidate = self.engine.finish(task, state, candidate)
        self.add(now, candidate.weights)

    def _limit(self, now: float) -> Status | None:
        last = self.curve[-1][2] if self.curve else math.nan
        if self._cell.to_goal and last <= GOAL:
            return Status("converged", f"the criterion was met after {now:.3g} s, gap {last:.2g}")
        if now >= self._cell.seconds:
            return Status("time_limit", f"over budget at {now:.0f} s, gap {last:.2f}")
        return None


def measure(order: tuple[Cell, int], report: Report) -> dict[str, Any]:
    """Run a cell on this many threads: the measurements of its row."""
    cell, threads = order
    method = METHODS[cell.method]
    warnings.simplefilter("ignore", DataWarning)
    problem = cell.problem.make(cell.seed)
    judge = Judge(problem, method.intercept)
    engine = method.make(problem, cell.seed)
    _warm_up(threads)
    meter = Meter(threads)
    watched = Watched(engine, method, cell, judge, meter, report)
    data = _fresh_rows(problem, meter) if method.stream else problem.X
    try:
        solution = learn_dag(
            data,
            watched,
            noise="equal",
            evidence=False,  # for directions: no part of what is compared
            random_state=cell.seed,
            n_jobs=threads,
            names=problem.names,
        )
    except MemoryError:
        return _so_far(watched, "over_memory", f"out of memory at {meter.seconds():.0f} s", meter)
    except Exception as error:
        return _so_far(watched, "failed", f"{type(error).__name__}: {error}", meter)
    seconds = meter.seconds()
    found = _so_far(watched, *_ending(watched, cell, solution), meter)
    if watched.stopped is None:
        # The last touch and the choice of edges are on the clock, but what they return is no iterate.
        found |= {"seconds": seconds}
    if math.isnan(judge.true_loss):
        found |= summary([])  # a loss is no gap
    return found | _graph_measures(problem, judge, solution)


def _warm_up(threads: int) -> None:
    """Learn something once: what is imported on first use is not the method's."""
    learn_dag(np.eye(4), EqVar(), noise="equal", evidence=False, n_jobs=threads)


def _fresh_rows(problem: Problem, meter: Meter) -> Iterator[NDArray[Any]]:
    """The endless stream; rows are drawn off the clock, as the rows of a table are."""
    batches = problem.stream(_STREAM_BATCH, np.float32)
    while True:
        with meter.off():
            batch = next(batches)
        yield batch


def _ending(watched: Watched, cell: Cell, solution: Solution) -> tuple[str, str]:
    """Why the run ended: by its own rule, at the criterion, or over its budget."""
    if watched.stopped is None:
        return solution.status.code, solution.status.message
    return "criterion" if watched.stopped.code == "converged" else "over_time", watched.stopped.message


def _so_far(watched: Watched, status: str, message: str, meter: Meter) -> dict[str, Any]:
    seconds = meter.seconds() if watched.stopped is None else watched.stopped_at
    measured = {"seconds": seconds, "memory": meter.memory(), "clock": meter.clock}
    return {"status": status, "message": message} | measured | _summary(watched)


def _summary(watched: Watched) -> dict[str, Any]:
    return summary(watched.curve) | {"gradients": watched.gradients, "steps": watched.steps}


def summary(curve: list[Point]) -> dict[str, Any]:
    """The last value of a curve, and when it first met the criterion."""
    reached = next((point for point in curve if point[2] <= GOAL), (math.nan,) * 3)
    last = curve[-1][2] if curve else math.nan
    return {"gap": last, "goal_seconds": reached[0], "goal_gradients": reached[1], "curve": thinned(curve)}


def _graph_measures(problem: Problem, judge: Judge, solution: Solution) -> dict[str, Any]:
    """The final graph, its edges chosen by evidence, and by the paper's threshold."""
    candidate = solution.candidate
    assert candidate is not None
    large = sp.csr_array(candidate.weights, dtype=np.float64, copy=True)
    large.data[np.abs(large.data) < _THRESHOLD] = 0.0
    large.eliminate_zeros()
    found: dict[str, Any] = {
        "true_edges": problem.dag.n_edges,
        "graph_gap": math.nan if math.isnan(judge.true_loss) else judge.value(solution.dag.weights),
        "loss": judge.loss(solution.dag.weights),
    }
    for suffix, graph in (("", solution.dag), ("_03", large)):
        errors = edge_errors(problem.dag, graph)
        for name in Row.GRAPH_MEASURES:
            found[name + suffix] = getattr(errors, name)
    return found
