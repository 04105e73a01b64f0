"""Batches of centred rows for a stochastic learner, and rows set aside to judge it by."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from psidag.data.moments import Moments
from psidag.data.scans import Rows, Scan
from psidag.data.sources import Source, Stream, Table, in_memory, read_again
from psidag.system.parallel import Workers

Floats = NDArray[np.float64]

#: Rows of a stream that are set aside; a stream that is shorter is kept whole and treated as a table.
PILOT = 1000
#: At most this many rows of a table are set aside: the loss is known well enough from them.
_MOST_HELD_OUT = 2000


class RowFeed(Protocol):
    """Rows to learn from, and rows to judge by."""

    batch_size: int
    samples: int
    sd: Floats
    """Standard deviation of each column."""
    different: float
    """How many rows there are to learn from before they come again; no end of them in a stream."""

    def take(self) -> Rows | None:
        """The next batch, centred if that was asked for, and weighted; None when a stream has ended."""
        ...

    def loss(self, W: NDArray[np.floating]) -> float:
        """½ mean |x − Wᵀx|² over the rows set aside."""
        ...


def feed(
    source: Source,
    batch_size: int,
    holdout: float,
    rng: np.random.Generator,
    workers: Workers,
    *,
    centred: bool = True,
) -> RowFeed:
    """Rows of a table or a scan in shuffled epochs, or of a stream as they come; less their mean if ``centred``."""
    if in_memory(source):
        return TableFeed(source, batch_size, holdout, rng, workers, centred)
    if read_again(source):
        return ScanFeed(source, batch_size, holdout, rng, workers, centred)
    stream = cast("Stream", source)
    stream.workers = workers
    # Without a first batch behind the pilot there would be nothing to measure the curvature by.
    # Where rows are slow to come, what there is at half of the time has to do.
    whole, stream.deadline = stream.deadline, stream.deadline.part(0.5)
    rows = stream.take(PILOT + batch_size, partial=True)
    stream.deadline = whole
    stream.check_rows()
    if len(rows) == PILOT + batch_size:
        stream.give_back(rows[PILOT:])
        return StreamFeed(stream, rows[:PILOT], batch_size, centred)
    return TableFeed(Table(rows, source.names), batch_size, holdout, rng, workers, centred)


def _loss(rows: Rows, W: NDArray[np.floating]) -> float:
    """½ mean |x − Wᵀx|² of centred rows."""
    residual = rows - rows @ W
    return 0.5 * float(np.einsum("ij,ij->", residual, residual, dtype=np.float64)) / max(1, len(rows))


def _check_numbers(chosen: NDArray[np.intp], n: int) -> None:
    """Raise unless these are numbers of some of n rows."""
    if chosen.dtype.kind != "i" or chosen.ndim != 1 or np.any((chosen < 0) | (chosen >= n)):
        raise ValueError("rows that are not there")


class TableFeed:
    """Shuffled epochs over a table. Rows are gathered, centred and weighted batch by batch; nothing is copied."""

    def __init__(
        self,
        table: Table,
        batch_size: int,
        holdout: float,
        rng: np.random.Generator,
        workers: Workers,
        centred: bool = True,
    ) -> None:
        moments = table.moments(workers)
        self._table = table
        self._mean = moments.mean if centred else np.zeros(table.d)
        self._root_weight: Floats | None = None
        if table.sample_weight is not None:
            self._root_weight = np.sqrt(table.sample_weight * (len(table) / table.sample_weight.sum()))
        self._rng = rng
        shuffled = rng.permutation(len(table))
        aside = min(_MOST_HELD_OUT, round(holdout * len(table)))
        # With a handful of rows there is nothing to spare: they are judged by what they learn from.
        self._aside = shuffled[:aside] if aside else shuffled
        self._held_out = self._rows(self._aside)
        self._training = shuffled[aside:]
        self._next = 0
        self.batch_size = min(batch_size, len(self._training))
        self.samples = 0
        self.sd = moments.sd
        self.different = float(len(self._training))

    def take(self) -> Rows:
        """The next batch of the epoch, or the first of a new one."""
        if self._next + self.batch_size > len(self._training):
            self._training = self._rng.permutation(self._training)
            self._next = 0
        chosen = self._training[self._next : self._next + self.batch_size]
        self._next += self.batch_size
        self.samples += self.batch_size
        return self._rows(chosen)

    def loss(self, W: NDArray[np.floating]) -> float:
        """½ mean |x − Wᵀx|² over the rows set aside."""
        return _loss(self._held_out.astype(W.dtype), W)

    def dump(self) -> dict[str, Any]:
        """Where the epoch stands, for :meth:`restore`."""
        return {"aside": self._aside, "training": self._training, "next": self._next, "samples": self.samples}

    def restore(self, held: dict[str, Any]) -> None:
        """Go on where another feed of the same rows stood; ValueError if it is not of the same rows."""
        aside, training = held["aside"], held["training"]
        if len(aside) != len(self._aside) or len(training) != len(self._training):
            raise ValueError("rows that are not those of the table")
        for chosen in (aside, training):
            _check_numbers(chosen, len(self._table))
        self._aside, self._training = aside, training
        self._held_out = self._rows(aside)
        self._next, self.samples = int(held["next"]), int(held["samples"])

    def _rows(self, chosen: NDArray[np.intp]) -> Floats:
        rows: Floats = np.asarray(self._table.X[chosen], dtype=np.float64) - self._mean
        if self._root_weight is not None:
            rows *= self._root_weight[chosen, None]
        return rows


class ScanFeed:
    """Epochs over rows that are read again and again, shuffled within what is read at a time.

    The rows set aside are spread over all of them, whatever the order they are stored in.
    """

    def __init__(
        self,
        scan: Scan,
        batch_size: int,
        holdout: float,
        rng: np.random.Generator,
        workers: Workers,
        centred: bool = True,
    ) -> None:
        moments = scan.moments(workers)
        self._scan = scan
        self._mean = moments.mean if centred else np.zeros(scan.d)
        self._rng = rng
        self._n = n = int(moments.count)
        aside = min(_MOST_HELD_OUT, round(holdout * n))
        self._aside = np.sort(rng.choice(n, aside, replace=False)) if aside else np.arange(0)
        self._held_out = self._judged_by(self._gather(self._aside))
        self._batches = self._epochs()
        self._position = 0
        self._waiting = np.empty((0, scan.d))
        self._numbers = np.arange(0)
        self.batch_size = max(1, min(batch_size, n - aside))
        self.samples = 0
        self.sd = moments.sd
        self.different = float(max(1, n - aside))

    def take(self) -> Rows:
        """The next rows of the epoch, or of a new one."""
        while len(self._waiting) < self.batch_size:
            numbers, rows = next(self._batches)
            self._numbers = np.concatenate([self._numbers, numbers])
            self._waiting = np.concatenate([self._waiting, rows])
        taken, self._waiting = self._waiting[: self.batch_size], self._waiting[self.batch_size :]
        self._numbers = self._numbers[self.batch_size :]
        self.samples += self.batch_size
        return taken

    def loss(self, W: NDArray[np.floating]) -> float:
        """½ mean |x − Wᵀx|² over the rows set aside."""
        return _loss(self._held_out.astype(W.dtype), W)

    def dump(self) -> dict[str, Any]:
        """Where the epoch stands, for :meth:`restore`: numbers of rows, and of the batches that were read."""
        return {
            "aside": self._aside,
            "waiting": self._numbers,
            "position": self._position,
            "samples": self.samples,
        }

    def restore(self, held: dict[str, Any]) -> None:
        """Go on where another feed of the same rows stood, which are read again; ValueError if it is not of them."""
        aside, waiting, position = held["aside"], held["waiting"], int(held["position"])
        for chosen in (aside, waiting):
            _check_numbers(chosen, self._n)
        if len(aside) != len(self._aside) or np.any(np.diff(aside) <= 0) or position < 0:
            raise ValueError("an epoch of other rows")
        self._aside = aside
        found = self._gather(np.concatenate([aside, waiting]))
        self._held_out = self._judged_by(found[: len(aside)])
        # A copy, so that the rest of what was gathered can go.
        self._waiting, self._numbers = found[len(aside) :].copy(), waiting
        self._batches, self._position = self._epochs(position), position
        self.samples = int(held["samples"])

    def _epochs(self, skipped: int = 0) -> Iterator[tuple[NDArray[np.intp], Floats]]:
        """Batches of the rows that are not set aside, shuffled, with their numbers; the first few are skipped."""
        while True:
            for start, rows in itertools.islice(self._numbered(), skipped, None):
                self._position += 1
                stop = start + len(rows)
                first, last = np.searchsorted(self._aside, (start, stop))
                numbers = self._rng.permutation(np.setdiff1d(np.arange(start, stop), self._aside[first:last]))
                yield numbers, rows[numbers - start] - self._mean
            self._position = skipped = 0

    def _gather(self, numbers: NDArray[np.intp]) -> Floats:
        """Rows by their numbers, centred, from one more pass."""
        found = np.empty((len(numbers), self._scan.d))
        for start, rows in self._numbered():
            here = np.flatnonzero((numbers >= start) & (numbers < start + len(rows)))
            found[here] = rows[numbers[here] - start] - self._mean
        return found

    def _judged_by(self, aside: Floats) -> Floats:
        """The rows set aside or, where there is nothing to spare, those of the first batch."""
        return aside if len(aside) else next(self._scan.batches()) - self._mean

    def _numbered(self) -> Iterator[tuple[int, Rows]]:
        """All batches, each with the number of its first row."""
        start = 0
        for rows in self._scan.batches():
            yield start, rows
            start += len(rows)


class StreamFeed:
    """Rows as they come, centred by the running mean; the first ones are set aside."""

    different = math.inf

    def __init__(self, stream: Stream, pilot: Rows, batch_size: int, centred: bool = True) -> None:
        self._stream = stream
        self._pilot = pilot
        self._centred = centred
        self.batch_size = batch_size
        self.samples = 0
        self.sd = Moments.from_rows(pilot).sd

    def take(self) -> Rows | None:
        """The next rows, or None at the end of the stream."""
        rows = self._stream.take(self.batch_size)
        self.samples += len(rows)
        return rows - self._mean if len(rows) else None

    def loss(self, W: NDArray[np.floating]) -> float:
        """½ mean |x − Wᵀx|² over the rows set aside."""
        return _loss((self._pilot - self._mean).astype(W.dtype), W)

    @property
    def _mean(self) -> Floats:
        return self._stream.mean if self._centred else np.zeros(self._stream.d)


def typical_scale(sd: Floats) -> float:
    """The geometric mean of the standard deviations that are not zero; 1 if all are."""
    return math.exp(float(np.log(sd[sd > 0]).mean())) if np.any(sd > 0) else 1.0
