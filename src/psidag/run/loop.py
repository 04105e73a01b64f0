"""Algorithm 1, the only loop: it runs an engine's moves and keeps the budget, the trace and the status."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import scipy.sparse as sp

from psidag.data.sources import Source
from psidag.graph.constraints import BoundConstraints
from psidag.run.status import Candidate, Round, Status
from psidag.scores.gaussian import EQUAL
from psidag.scores.score import SearchScore
from psidag.system.clock import NEVER, Deadline, TimeOver
from psidag.system.errors import InputError, is_number
from psidag.system.interrupts import Interrupts
from psidag.system.memory import as_text, in_use
from psidag.system.parallel import Workers

Callback = Callable[[Round, Candidate], None]


@dataclass(frozen=True, eq=False)
class Task:
    """What an engine is given: data, prior knowledge, the score, randomness and threads.

    ``start`` is a DAG that satisfies the constraints, for an engine that can begin at one; its entries are edges,
    whatever they weigh.
    """

    source: Source
    constraints: BoundConstraints
    rng: np.random.Generator
    workers: Workers
    score: SearchScore = EQUAL
    start: sp.csr_array | None = None

    @property
    def d(self) -> int:
        """Number of variables."""
        return self.source.d

    @property
    def deadline(self) -> Deadline:
        """When the answer is to be there."""
        return self.workers.deadline

    def until(self, deadline: Deadline) -> Task:
        """The same task with another deadline."""
        return replace(self, workers=self.workers.until(deadline))


class Work(NamedTuple):
    """Floating-point operations: of a step at the least, and from where a search stands to chosen edges."""

    step: float = 0.0
    close: float = 0.0


def check_time(max_time: float | None) -> None:
    """Raise unless this is a time to stop at, or None."""
    if max_time is not None and not (is_number(max_time) and max_time > 0):
        raise InputError(f"max_time must be a positive number of seconds or None; got {max_time!r}")


def equal_noise_only(task: Task, name: str) -> None:
    """Raise if the task asks for noise variances of their own, which the method has no place for."""
    if not task.score.equal_variances:
        raise InputError(
            f"{name} takes all noise variances to be equal: leave noise='equal', or use solver='sparse' or Golem()"
        )


class Progress(NamedTuple):
    """Work done so far, the DAG if the step closed a round, and of long work what is done now, and which share."""

    steps: int
    samples: int
    closed: Candidate | None = None
    loss_projected: float = math.nan
    order_change: float = math.nan
    finished: Status | None = None
    doing: str = ""
    share: float = math.nan


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


class Resumable(Protocol):
    """An engine whose runs can be continued by another process."""

    def dump(self, state: Any) -> dict[str, Any]:
        """What a state is made of besides what :meth:`Engine.init` finds again: numbers, text, arrays, tuples."""
        ...

    def restore(self, task: Task, held: dict[str, Any]) -> Any:
        """The state that was dumped, to the last bit; ValueError if it does not fit the task."""
        ...


@runtime_checkable
class Laborious(Protocol):
    """An engine whose steps are long for many columns, and says so."""

    def work(self, d: int) -> Work:
        """What it takes for d columns."""
        ...


@runtime_checkable
class Candid(Protocol):
    """An engine that can say how far a search had come that was cut short."""

    def standing(self, state: Any) -> str:
        """In a few words; empty if there is nothing to say."""
        ...


class Snapshot(NamedTuple):
    """A run between two steps: the engine's state, the trace, the best DAG, seconds so far, and how it ended if so."""

    state: Any
    trace: tuple[Round, ...] = ()
    best: Candidate | None = None
    seconds: float = 0.0
    verdict: Status | None = None


class Keeper(Protocol):
    """Who keeps snapshots of a run, for another process to go on from."""

    def begin(self, engine: Engine, task: Task) -> Snapshot | None:
        """Where the run stands already, or None if it is new."""
        ...

    def keep(self, at: Snapshot, *, last: bool) -> None:
        """Called between any two steps; what is not worth keeping yet is let go, except at the end."""
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
    max_memory: int | None = None,
    on_step: Callable[[Progress, Candidate | None], None] | None = None,
    callback: Callback | None = None,
    keeper: Keeper | None = None,
    state: Any = None,
) -> Outcome:
    """Step the engine until the loss stops falling, or the rounds, the time, the memory or the data run out.

    The loss has stopped falling when the best of the last ``engine.patience`` rounds is not below the best
    before them by more than ``engine.tol`` times its value. An engine of patience 0 is not judged by its
    loss: it says itself when it has finished, and its last round is the answer.

    The time is that of the task's deadline, or ``max_time`` seconds from now. What cannot end in time is not begun, and
    threads leave their work between two pieces; unless there is a keeper, for whom steps are whole.
    """
    check_time(max_time)
    start = time.perf_counter()
    if max_time is not None:
        task = task.until(Deadline(max_time))
    work = engine.work(task.d) if isinstance(engine, Laborious) else Work()
    search = task.deadline.before(work.close)
    inside, task = task.until(search if keeper is None else NEVER), task.until(NEVER)
    at = (None if keeper is None else keeper.begin(engine, task)) or Snapshot(state)
    before, status, between, begun = at.seconds, at.verdict, True, at.state is not None
    if status is None:
        _check_memory(engine, task, max_memory)
    try:
        if status is None and not search.affords(work.step):
            raise TimeOver
        if at.state is None and status is None:
            at = at._replace(state=engine.init(inside))
        with _interrupts_wait(keeper is not None) as heed_interrupts:
            while status is None:
                between = False
                state, progress = engine.step(inside, at.state)
                elapsed = time.perf_counter() - start
                at = _advance(engine, at._replace(state=state, seconds=before + elapsed), progress)
                between = begun = True
                if callback is not None and progress.closed is not None:
                    callback(at.trace[-1], progress.closed)
                if on_step is not None:
                    on_step(progress, at.best)
                heed_interrupts()
                status = at.verdict or _over(at.trace, search, work, max_memory)
                if keeper is not None:
                    keeper.keep(at, last=status is not None)
    except KeyboardInterrupt:
        if at.state is None:
            raise
        status = Status("interrupted", f"stopped by hand after {len(at.trace)} rounds; this is the best DAG until then")
        if keeper is not None and between:
            keeper.keep(at, last=True)
    except TimeOver:
        status = Status("time_limit", _time_advice(search, at.trace))
    except MemoryError:
        # A step that was cut off leaves a state that nobody can use, but the best DAG stands.
        if at.best is None:
            raise
        status = Status("memory_limit", f"memory ran out{_so_far(at.trace)}: use fewer columns or a larger machine")
    if status.code == "time_limit" and not begun:
        return Outcome(_nothing(task), at.trace, _too_little_time(search, task.d), at.state)
    status = _with_standing(engine, at.state, status)
    best = engine.conclude(task, at.state) if at.best is None else at.best
    return Outcome(engine.finish(task, at.state, best), at.trace, status, at.state)


def _with_standing(engine: Engine, state: Any, status: Status) -> Status:
    """What ended a run before its time, and how it stood then."""
    standing = engine.standing(state) if not status.ok and isinstance(engine, Candid) else ""
    return status._replace(message=f"{status.message}; {standing}") if standing else status


def _nothing(task: Task) -> Candidate:
    """What there is to say where time was over before the first step: required edges, if there are any."""
    order = task.constraints.nearest_order(np.arange(task.d))
    return Candidate(order, sp.csr_array((task.d, task.d)), math.inf, threshold=0.0)


def _advance(engine: Engine, at: Snapshot, progress: Progress) -> Snapshot:
    """What a step adds to the run: a round if it closed one, and the verdict."""
    if progress.closed is None:
        return at._replace(verdict=progress.finished)
    closed, losses = progress.closed, (float(progress.loss_projected), float(progress.closed.loss))
    number, changed = len(at.trace) + 1, float(progress.order_change)
    trace = (*at.trace, Round(number, at.seconds, progress.steps, progress.samples, *losses, changed))
    better = not engine.patience or at.best is None or closed.loss < at.best.loss
    best = closed if better and math.isfinite(closed.loss) else at.best
    return at._replace(trace=trace, best=best, verdict=_judge(engine, trace, progress.finished))


def _over(trace: tuple[Round, ...], search: Deadline, work: Work, max_memory: int | None) -> Status | None:
    """Whether a budget is used up, or would be by another step."""
    if search.over or not search.affords(work.step):
        return Status("time_limit", _time_advice(search, trace))
    held = None if max_memory is None else in_use()
    if max_memory is not None and held is not None and held > max_memory:
        passed = f"{as_text(held)} in use is more than max_memory={as_text(max_memory)}"
        return Status("memory_limit", f"{passed}{_so_far(trace)}: raise it, or use fewer columns")
    return None


def _check_memory(engine: Engine, task: Task, max_memory: int | None) -> None:
    """Raise before anything is begun that cannot fit."""
    predict = getattr(engine, "memory", None)
    held = in_use()
    if max_memory is None or predict is None or held is None:
        return
    needed = float(predict(int(task.source.count or 0), task.d))
    if held + needed > max_memory:
        raise InputError(
            f"the {engine.name} engine needs about {as_text(needed)} for {task.d} columns, beside {as_text(held)} that "
            f"are in use, and max_memory is {as_text(max_memory)}: raise it, leave columns out, or choose an engine "
            "that needs less"
        )


@contextmanager
def _interrupts_wait(wanted: bool) -> Iterator[Callable[[], None]]:
    """Ctrl-C waits for the end of the step, so that what it leaves can be gone on from; a second one does not wait.

    So does SIGTERM where the command line heeds it.
    """
    pressed: list[int] = []
    before: dict[int, Any] = {}

    def note(signum: int, frame: FrameType | None) -> None:
        pressed.append(signum)
        if len(pressed) > 1:
            before[signum](signum, frame)

    def heed() -> None:
        if pressed:
            before[pressed[0]](pressed[0], None)

    if wanted and threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(number)
            if handler is signal.default_int_handler or isinstance(handler, Interrupts):
                before[number] = handler
                signal.signal(number, note)
    try:
        yield heed
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)


def _judge(engine: Engine, trace: tuple[Round, ...], finished: Status | None) -> Status | None:
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


def _so_far(trace: tuple[Round, ...]) -> str:
    return f" after {len(trace)} rounds; this is the best DAG until then" if trace else " before the first round ended"


def _too_little_time(deadline: Deadline, d: int) -> Status:
    few = f"max_time={deadline.seconds:g} s is not enough for a first step with {d} columns"
    return Status("time_limit", f"{few}: give it more time, or use another engine")


def _time_advice(deadline: Deadline, trace: tuple[Round, ...]) -> str:
    limit = f"max_time={deadline.seconds:g} s was over"
    if not trace:
        return f"{limit} before the first round ended: give it more time"
    return f"{limit} after {len(trace)} rounds{_still_falling([r.loss for r in trace])}"
