"""Where rows come from: a table in memory, a scan of files or of a cluster, a stream that passes once, or moments."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from psidag.data.moments import Moments
from psidag.data.scans import Rows as Rows
from psidag.data.scans import Scan
from psidag.system.errors import InputError
from psidag.system.parallel import Workers

_SUM_AT_ONCE = 2048


class Source(Protocol):
    """Anything a graph can be learned from."""

    @property
    def names(self) -> tuple[str, ...]:
        """Column names."""
        ...

    @property
    def d(self) -> int:
        """Number of columns."""
        ...

    def moments(self, workers: Workers | None = None) -> Moments:
        """Count, mean and scatter of all rows there are (for a stream: that have come)."""
        ...

    @property
    def has_moments(self) -> bool:
        """Whether the moments are at hand without another look at the rows."""
        ...


class Table:
    """Rows in memory or memory-mapped, readable as often as one likes; never written to."""

    def __init__(self, X: Rows, names: Sequence[str], sample_weight: NDArray[np.float64] | None = None) -> None:
        self.X = X
        self.names = tuple(names)
        self.sample_weight = sample_weight
        self._moments: Moments | None = None

    @property
    def d(self) -> int:
        """Number of columns."""
        return int(self.X.shape[1])

    def __len__(self) -> int:
        return len(self.X)

    @property
    def has_moments(self) -> bool:
        """Whether they have been computed."""
        return self._moments is not None

    def moments(self, workers: Workers | None = None) -> Moments:
        """The moments of all rows, computed once."""
        if self._moments is None:
            self._moments = Moments.from_rows(self.X, self.names, self.sample_weight, workers)
        return self._moments


class Stream:
    """Batches that pass once. The running moments of what has passed are kept; the rows are not."""

    def __init__(self, batches: Iterator[Rows], names: Sequence[str]) -> None:
        self._batches = batches
        self.names = tuple(names)
        self.mean = np.zeros(len(self.names))
        """Running mean of the rows that have come."""
        self._count = 0
        self._moments = Moments(len(self.names), self.names)
        self._waiting: list[Rows] = []
        self._unsummed: list[Rows] = []

    @property
    def d(self) -> int:
        """Number of columns."""
        return len(self.names)

    def take(self, n: int, *, partial: bool = False) -> Rows:
        """The next n rows; if fewer are to be had, those (``partial``) or none, and they go on waiting."""
        have = sum(map(len, self._waiting))
        while have < n and (batch := next(self._batches, None)) is not None:
            self._note(batch)
            self._waiting.append(batch)
            have += len(batch)
        if have < n and not partial:
            return np.empty((0, self.d))
        rows = np.concatenate(self._waiting) if self._waiting else np.empty((0, self.d))
        self._waiting = [rows[n:]] if len(rows) > n else []
        return rows[:n]

    def give_back(self, rows: Rows) -> None:
        """Put rows that were taken last in front of those that are waiting."""
        self._waiting.insert(0, rows)

    @property
    def has_moments(self) -> bool:
        """They are kept as rows come."""
        return True

    def drain(self, deadline: float | None = None) -> None:
        """Take in all there is, until ``time.perf_counter()`` reaches the deadline; only moments are kept."""
        while len(self.take(_SUM_AT_ONCE, partial=True)):
            if deadline is not None and time.perf_counter() >= deadline:
                break

    def moments(self, workers: Workers | None = None) -> Moments:
        """The moments of the rows that have come so far."""
        if self._unsummed:
            self._moments.update(np.concatenate(self._unsummed), workers=workers)
            self._unsummed = []
        return self._moments

    def _note(self, batch: Rows) -> None:
        """Count a batch in; the scatter, d x d, waits until a few thousand rows can be added at once."""
        self._count += len(batch)
        if self._count:
            self.mean = self.mean + (batch - self.mean).sum(axis=0) / self._count
        self._unsummed.append(batch)
        if sum(map(len, self._unsummed)) >= _SUM_AT_ONCE:
            self.moments()


class Summary:
    """Moments given as such, with no rows behind them."""

    def __init__(self, moments: Moments) -> None:
        self._moments = moments

    @property
    def names(self) -> tuple[str, ...]:
        """Column names."""
        return self._moments.names

    @property
    def d(self) -> int:
        """Number of columns."""
        return self._moments.d

    @property
    def has_moments(self) -> bool:
        """They are all there is."""
        return True

    def moments(self, workers: Workers | None = None) -> Moments:
        """The given moments."""
        return self._moments


def needs_rows(source: Source, engine: str) -> Table | Scan | Stream:
    """The source if it has rows to sample, else an error that says which engines do without."""
    if isinstance(source, Table | Scan | Stream):
        return source
    raise InputError(
        f"the {engine} engine samples rows, and a covariance or Moments has none: "
        'give it the table itself, or use solver="exact" or solver="sparse"'
    )
