"""Learning from rows that keep coming, with an answer at any time."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from psidag.data.conditions import Conditions
from psidag.data.interventions import Kind as Manner
from psidag.data.interventions import Targets
from psidag.data.labelled import LabelledSummary, check_conditions
from psidag.data.moments import Moments
from psidag.data.rows import PILOT
from psidag.data.sources import Rows, Source, Stream, Summary, Table
from psidag.learning.plan import Budget, Learned, Options, Plan, as_generator
from psidag.solution import Solution
from psidag.system.archive import Kind, damage_named, read_archive, write_archive
from psidag.system.clock import Deadline
from psidag.system.errors import InputError, is_number
from psidag.system.parallel import Jobs, Workers, workers

_KIND = Kind("psidag-stream", 1, "psidag stream")


class Inbox:
    """An iterator over batches that are put in from outside; it ends whenever it is empty."""

    def __init__(self) -> None:
        self._batches: deque[Rows] = deque()

    def put(self, batch: Rows) -> None:
        """Add a batch."""
        self._batches.append(batch)

    def __iter__(self) -> Inbox:
        return self

    def __next__(self) -> Rows:
        if not self._batches:
            raise StopIteration
        return self._batches.popleft()


class OnlineLearner:
    """Takes in rows and gives the DAG of all rows so far when asked.

    An engine that needs rows takes its stochastic gradients on each batch as it comes (before the first
    thousand rows are there it learns from those it has). For any other engine the moments are kept, and it
    runs when the answer is asked for.

    With a ``half_life`` a row weighs half as much after this many more rows, a quarter after twice as many: the
    answer is that of a window which moves on. Only moments forget.
    """

    def __init__(
        self,
        options: Options,
        names: Sequence[str],
        *,
        n_jobs: Jobs = None,
        kind: Manner | None = None,
    ) -> None:
        self._moments = Moments(len(names), names)
        # What setting does, where rows say what was set in them.
        self._conditions = None if kind is None else Conditions(names, kind)
        self._plan = Plan.of(options, self._source(), options.origin("PsiDAG().partial_fit(data)"))
        self._engine = engine = self._plan.engine
        self._rng = as_generator(options.random_state)
        self._max_time = options.max_time
        self._n_jobs = n_jobs
        self._half_life = half_life = options.half_life
        if half_life is not None and not (is_number(half_life) and half_life > 0):
            raise InputError(
                f"half_life must be a positive number of rows, or None to forget nothing; got {half_life!r}"
            )
        if half_life is not None and engine.needs_rows:
            raise InputError(
                f"the {engine.name} engine cannot forget; half_life goes with engines on moments, such as 'sparse'"
            )
        self._inbox = Inbox()
        self._stream = Stream(self._inbox, names)
        self._early: list[Rows] = []
        self._state: Any = None
        first = getattr(engine, "rows_at_once", None)
        self._enough = PILOT + (1 if first is None else first(len(names)))

    def _source(self) -> Source:
        """What is known of the rows so far."""
        return Summary(self._moments) if self._conditions is None else LabelledSummary(self._conditions)

    def update(self, rows: Rows, sample_weight: Any = None, targets: Targets | None = None) -> None:
        """Take in rows, with what was set in each if that is said from the first batch on."""
        if (targets is None) != (self._conditions is None):
            raise InputError(
                "give interventions with every batch, None for rows in which nothing was set, or with none"
            )
        if self._conditions is not None and targets is not None:
            if self._half_life is not None:
                raise InputError("half_life does not go with interventions: rows of an experiment are not forgotten")
            self._conditions.update(rows, targets, sample_weight)
            return
        if not self._engine.needs_rows:
            if self._half_life is not None:
                sample_weight = self._age(rows, sample_weight, self._half_life)
            self._moments.update(rows, sample_weight)
            return
        if sample_weight is not None:
            raise InputError(
                f"the {self._engine.name} engine cannot weight the rows of a stream; leave sample_weight out"
            )
        self._inbox.put(rows)
        self._early.append(rows)
        if self._state is None and sum(map(len, self._early)) < self._enough:
            return
        self._early = []
        with workers(self._n_jobs) as threads:
            self._state = self._search(self._stream, threads).outcome.state

    def solution(self) -> Solution:
        """The DAG of the rows so far."""
        source: Source = self._stream
        if not self._engine.needs_rows:
            source = self._source()
            if self._conditions is not None:
                check_conditions(self._conditions)
        elif self._early:
            source = Table(np.concatenate(self._early), self._stream.names)
        with workers(self._n_jobs) as threads:
            return self._plan.solution(self._search(source, threads, self._max_time))

    def save(self, path: str | Path) -> None:
        """Write what is known of the rows so far, and where the random numbers stand, to one file."""
        if self._engine.needs_rows:
            raise InputError(
                f"the {self._engine.name} engine has no state that could be saved: use an engine on moments, such as "
                "'sparse', or keep its solution with solution_.save"
            )
        moments = self._moments
        head: dict[str, Any] = {"names": moments.names, "random": self._rng.bit_generator.state}
        if self._conditions is None:
            head["count"] = moments.count
            arrays = {"mean": moments.mean, "scatter": moments.scatter}
        else:
            head["experiment"], arrays = self._conditions.stored()
        write_archive(path, _KIND, head, arrays)

    def restore(self, known: Moments | Conditions, random: Any) -> None:
        """Go on from what :func:`load_stream` has read."""
        if self._engine.needs_rows:
            raise InputError(f"the {self._engine.name} engine cannot go on from saved moments; use 'sparse' or 'exact'")
        try:
            self._rng.bit_generator.state = random
        except (TypeError, ValueError, KeyError, OverflowError):
            raise InputError(
                "the random numbers of the saved stream are of another kind: give random_state as it was given then"
            ) from None
        if isinstance(known, Conditions):
            self._conditions = known
        else:
            self._moments = known

    def _age(self, rows: Rows, sample_weight: ArrayLike | None, half_life: float) -> ArrayLike:
        """Let the rows so far fade behind these; returns the weights of these."""
        fading: NDArray[np.float64] = 0.5 ** (np.arange(len(rows), -1, -1) / half_life)
        self._moments.forget(float(fading[0]))
        return fading[1:] if sample_weight is None else fading[1:] * np.asarray(sample_weight, dtype=np.float64)

    def _search(self, source: Source, threads: Workers, max_time: float | None = None) -> Learned:
        state = self._state if source is self._stream else None
        return self._plan.search(source, self._rng, threads, Budget(Deadline(max_time), state=state))


def load_stream(path: str | Path) -> tuple[Moments | Conditions, Any]:
    """The statistic and the state of the random numbers that :meth:`OnlineLearner.save` has written."""
    head, arrays = read_archive(path, _KIND)
    with damage_named(repr(str(path))):
        names = tuple(map(str, head["names"]))
        if "experiment" in head:
            return Conditions.restored(names, head["experiment"], arrays), head["random"]
        moments = Moments(len(names), names)
        mean, scatter = (arrays[key].astype(np.float64) for key in ("mean", "scatter"))
        if mean.shape != moments.mean.shape or scatter.shape != moments.scatter.shape:
            raise ValueError("the moments do not fit the columns")
        if not (np.isfinite(mean).all() and np.isfinite(scatter).all() and 0 <= head["count"] < np.inf):
            raise ValueError("moments that are not finite")
        moments.count, moments.mean, moments.scatter = float(head["count"]), mean, scatter
        return moments, head["random"]
