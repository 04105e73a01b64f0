"""Algorithm 1, the only loop: it runs an engine's moves and keeps the budget, the trace and the status."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, get_args

import numpy as np

from psidag.data.sources import Source
from psidag.errors import InputError
from psidag.graph.constraints import BoundConstraints
from psidag.parallel import Workers
from psidag.solution import Candidate, Round, Status

Callback = Callable[[Round, Candidate], None]
Noise = Literal["equal", "unequal"]


@dataclass(frozen=True, eq=False)
class Task:
    """What an engine is given: data, prior knowledge, the noise model, randomness and threads."""

    source: Source
    constraints: BoundConstraints
    rng: np.random.Generator
    workers: Workers
    noise: Noise = "equal"

    @property
    def d(self) -> int:
        """Number of variables."""
        return self.source.d


def check_noise(noise: str) -> None:
    """Raise unless this is one of the noise models."""
    if noise not in get_args(Noise):
        raise InputError(f"noise must be 'equal' or 'unequal'; got {noise!r}")


def check_time(max_time: float | None) -> None:
    """Raise unless this is a time to stop at, or None."""
    if max_time is not None and not max_time > 0:
        raise InputError(f"max_time must be a positive number of seconds or None; got {max_time!r}")


def equal_noise_only(task: Task, name: str) -> None:
    """Raise if the task asks for noise variances of their own, which the method has no place for."""
    if task.noise != "equal":
        raise InputError(
            f"{name} takes all noise variances to be equal: leave noise='equal', or use solver='sparse' or Golem()"
        )


class Progress(NamedTuple):
    """What one step tells the loop: work done so far, and the DAG if the step closed a round."""

    steps: int
    samples: int
    closed: Candidate | None = None
    loss_projected: float = math.nan
    order_change: float = math.nan
    finished: Status | None = None


class Engine(Protocol):
    """A named choice of moves.

    An engine is a frozen dataclass of its options. A step takes a fraction of a second, so that clocks and
    Ctrl-C are heeded. Rounds are counted, timed and judged by :func:`run` alone.
    """

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def needs_rows(self) -> bool:
        """Whether it samples rows; otherwise moments are all it looks at."""
        ...

    @property
    def max_rounds(self) -> int:
        """After how many rounds it ends at the latest."""
        ...

    @property
    def patience(self) -> int:
        """How many rounds without progress end it; 0 if it ends by its own rule."""
        ...

    @property
    def tol(self) -> float:
        """By what fraction the loss must fall to count as progress."""
        ...

    def init(self, task: Task) -> Any:
        """The state before the first step."""
        ...

    def step(self, task: Task, state: Any) -> tuple[Any, Progress]:
        """The state after a slice of work, and what came of it."""
        ...

    def conclude(self, task: Task, state: Any) -> Candidate:
        """A DAG of a state that has not closed a round."""
        ...

    def finish(self, task: Task, state: Any, best: Candidate) -> Candidate:
        """The best DAG with its last touch."""
        ...


class Outcome(NamedTuple):
    """The best DAG of a run, its trace, why it ended, and the state to go on from."""

    candidate: Candidate
    trace: tuple[Round, ...]
    status: Status
    state: Any


def run(
    engine: Engine,
    task: Task,
    *,
    max_time: float | None = None,
    on_step: Callable[[Progress, Candidate | None], None] | None = None,
    callback: Callback | None = None,
    state: Any = None,
) -> Outcome:
    """Step the engine until the loss stops falling, or the rounds, the time or the data run out.

    The loss has stopped falling when the best of the last ``engine.patience`` rounds is not below the best
    before them by more than ``engine.tol`` times its value. An engine of patience 0 is not judged by its
    loss: it says itself when it has finished, and its last round is the answer.
    """
    check_time(max_time)
    start = time.perf_counter()
    trace: list[Round] = []
    best: Candidate | None = None
    status: Status | None = None
    try:
        if state is None:
            state = engine.init(task)
        while status is None:
            state, progress = engine.step(task, state)
            elapsed = time.perf_counter() - start
            if progress.closed is not None:
                closed = progress.closed
                trace.append(
                    Round(
                        len(trace) + 1,
                        elapsed,
                        progress.steps,
                        progress.samples,
                        float(progress.loss_projected),
                        float(closed.loss),
                        float(progress.order_change),
                    )
                )
                better = not engine.patience or best is None or closed.loss < best.loss
                if better and math.isfinite(closed.loss):
                    best = closed
                if callback is not None:
                    callback(trace[-1], closed)
                status = _judge(engine, trace, progress.finished)
            if on_step is not None:
                on_step(progress, best)
            status = progress.finished or status
            if status is None and max_time is not None and elapsed >= max_time:
                status = Status("time_limit", _time_advice(max_time, trace))
    except KeyboardInterrupt:
        status = Status("interrupted", f"stopped by hand after {len(trace)} rounds; this is the best DAG until then")
        if state is None:
            raise
    if best is None:
        best = engine.conclude(task, state)
    return Outcome(engine.finish(task, state, best), tuple(trace), status, state)


def _judge(engine: Engine, trace: list[Round], finished: Status | None) -> Status | None:
    """Whether the last round was the last one, and why."""
    losses = [r.loss for r in trace]
    if not math.isfinite(losses[-1]):
        return Status(
            "diverged",
            f"the loss is not finite in round {len(trace)}; this is the best DAG before that. Rescale columns of "
            "very different units, or set a smaller step size",
        )
    if finished is not None:
        return finished
    recent, before = losses[-engine.patience :], losses[: -engine.patience]
    if engine.patience and before and min(recent) >= min(before) * (1 - engine.tol):
        best = losses.index(min(losses)) + 1
        return Status("converged", f"the loss has not fallen for {engine.patience} rounds; round {best} was the best")
    if len(trace) >= engine.max_rounds:
        return Status("max_rounds", f"reached max_rounds={engine.max_rounds}{_still_falling(losses)}")
    return None


def _still_falling(losses: list[float]) -> str:
    if len(losses) < 2:
        return ""
    if losses[-1] < losses[-2]:
        percent = 100 * (1 - losses[-1] / losses[-2])
        return f" with the loss still falling {percent:.2g} % a round: raise max_rounds or the time budget"
    return "; the loss was no longer falling"


def _time_advice(max_time: float, trace: list[Round]) -> str:
    if not trace:
        return f"max_time={max_time:g} s was over before the first round ended: give it more time"
    return f"max_time={max_time:g} s was over after {len(trace)} rounds{_still_falling([r.loss for r in trace])}"
