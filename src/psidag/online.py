"""Learning from rows that keep coming, with an answer at any time."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from psidag.data.moments import Moments
from psidag.data.rows import PILOT
from psidag.data.sources import Rows, Source, Stream, Summary, Table
from psidag.errors import InputError
from psidag.framework import Engine, Noise, Outcome, Task, run
from psidag.graph.constraints import BoundConstraints
from psidag.parallel import Workers, workers
from psidag.selection import conclude
from psidag.solution import Solution


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
    """

    def __init__(
        self,
        engine: Engine,
        names: Sequence[str],
        constraints: BoundConstraints,
        rng: np.random.Generator,
        *,
        noise: Noise = "equal",
        n_jobs: int | None = None,
    ) -> None:
        self._engine = engine
        self._constraints = constraints
        self._rng = rng
        self._noise = noise
        self._n_jobs = n_jobs
        self._inbox = Inbox()
        self._stream = Stream(self._inbox, names)
        self._moments = Moments(len(names), names)
        self._early: list[Rows] = []
        self._state: Any = None

    def update(self, rows: Rows, sample_weight: Any = None) -> None:
        """Take in rows."""
        if not self._engine.needs_rows:
            self._moments.update(rows, sample_weight)
            return
        if sample_weight is not None:
            raise InputError(
                f"the {self._engine.name} engine cannot weight the rows of a stream; leave sample_weight out"
            )
        self._inbox.put(rows)
        self._early.append(rows)
        if self._state is None and sum(map(len, self._early)) <= PILOT:
            return
        self._early = []
        with workers(self._n_jobs) as threads:
            self._state = self._run(self._stream, threads).state

    def solution(self, threshold: float | None, max_time: float | None = None) -> Solution:
        """The DAG of the rows so far."""
        source: Source = self._stream
        if not self._engine.needs_rows:
            source = Summary(self._moments)
        elif self._early:
            source = Table(np.concatenate(self._early), self._stream.names)
        with workers(self._n_jobs) as threads:
            outcome = self._run(source, threads, max_time)
            return conclude(self._engine.name, self._task(source, threads), outcome, threshold)

    def _run(self, source: Source, threads: Workers, max_time: float | None = None) -> Outcome:
        state = self._state if source is self._stream else None
        return run(self._engine, self._task(source, threads), max_time=max_time, state=state)

    def _task(self, source: Source, threads: Workers) -> Task:
        return Task(source, self._constraints, self._rng, threads, self._noise)
