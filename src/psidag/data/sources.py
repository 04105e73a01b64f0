"""Where rows come from: a table that can be read again, a stream that passes once, or moments without rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from psidag.data.moments import Moments
from psidag.errors import InputError

Rows = NDArray[np.floating]

_SUM_AT_ONCE = 2048


class Source(Protocol):
    """Anything a graph can be learned from."""

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def d(self) -> int: ...

    def moments(self) -> Moments:
        """Count, mean and scatter of all rows there are (for a stream: that have passed)."""
        ...


class Table:
    """Rows in memory or memory-mapped, readable as often as one likes; never written to."""

    def __init__(
        self, X: Rows, names: Sequence[str], sample_weight: NDArray[np.float64] | None = None
    ) -> None:
        self.X = X
        self.names = tuple(names)
        self.sample_weight = sample_weight
        self._moments: Moments | None = None

    @property
    def d(self) -> int:
        """Number of columns."""
        return self.X.shape[1]

    def __len__(self) -> int:
        return len(self.X)

    def moments(self) -> Moments:
        """The moments of all rows, computed once."""
        if self._moments is None:
            self._moments = Moments.from_rows(self.X, self.names, self.sample_weight)
        return self._moments


class Stream:
    """Batches that pass once. The running moments of what has passed are kept; the rows are not."""

    def __init__(self, batches: Iterator[Rows], names: Sequence[str]) -> None:
        self._batches = batches
        self.names = tuple(names)
        self.mean = np.zeros(len(self.names))
        """Running mean of the rows that have passed."""
        self._count = 0
        self._moments = Moments(len(self.names), self.names)
        self._waiting: list[Rows] = []
        self._unsummed: list[Rows] = []

    @property
    def d(self) -> int:
        """Number of columns."""
        return len(self.names)

    def take(self, n: int) -> Rows:
        """The next n rows, or fewer if the stream has ended."""
        have = sum(map(len, self._waiting))
        while have < n:
            batch = next(self._batches, None)
            if batch is None:
                break
            self._waiting.append(batch)
            have += len(batch)
        rows = np.concatenate(self._waiting) if self._waiting else np.empty((0, self.d))
        self._waiting = [rows[n:]] if len(rows) > n else []
        taken = rows[:n]
        if len(taken):
            self._count += len(taken)
            self.mean = self.mean + (taken - self.mean).sum(axis=0) / self._count
            self._unsummed.append(taken)
            # The scatter is d x d: adding a few thousand rows at once costs little more than adding one.
            if sum(map(len, self._unsummed)) >= _SUM_AT_ONCE:
                self.moments()
        return taken

    def moments(self) -> Moments:
        """The moments of the rows that have passed so far."""
        if self._unsummed:
            self._moments.update(np.concatenate(self._unsummed))
            self._unsummed = []
        return self._moments


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

    def moments(self) -> Moments:
        """The given moments."""
        return self._moments


def needs_rows(source: Source, engine: str) -> Table | Stream:
    """The source if it has rows to sample, else an error that says which engines do without."""
    if isinstance(source, Table | Stream):
        return source
    raise InputError(
        f"the {engine} engine samples rows, and a covariance or Moments has none: "
        'give it the table itself, or use solver="exact" or solver="sparse"'
    )
