"""Where rows come from: a table in memory, a scan of files or of a cluster, a stream that passes once, or moments.

Sources are told apart by the questions they answer, not by their type, so that a source of one's own is one more row:

=========  ========  ==========  ==========  ============
source     has_rows  holds_rows  can_reread  can_resample
=========  ========  ==========  ==========  ============
Table      yes       yes         yes         yes
Scan       yes       no          yes         yes
Stream     yes       no          no          no
Summary    no        no          yes         yes
=========  ========  ==========  ==========  ============
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray

from psidag.data.moments import Moments
from psidag.data.scans import Rows as Rows
from psidag.data.scans import Scan, SummedOnce
from psidag.system.clock import NEVER, Deadline, TimeOver
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

    @property
    def has_rows(self) -> bool:
        """Whether there are rows behind it that can be looked at."""
        ...

    @property
    def holds_rows(self) -> bool:
        """Whether its rows are at hand all at once, as ``X`` with ``sample_weight``."""
        ...

    @property
    def can_reread(self) -> bool:
        """Whether what it gives can be had again; of a stream it cannot."""
        ...

    @property
    def can_resample(self) -> bool:
        """Whether replicates can be drawn from it."""
        ...

    @property
    def count(self) -> float | None:
        """Number of rows, where it is known without going through them."""
        ...


def is_wide(n: float, d: int) -> bool:
    """Whether a table is wide: of so few rows that, standardised, it takes less room than its moments do."""
    return n <= 2 * d


class Table:
    """Rows in memory or memory-mapped, readable as often as one likes; never written to."""

    has_rows = holds_rows = can_reread = can_resample = True

    def __init__(self, X: Rows, names: Sequence[str], sample_weight: NDArray[np.float64] | None = None) -> None:
        self.X = X
        self.names = tuple(names)
        self.sample_weight = sample_weight
        self.remarks: tuple[str, ...] = ()
        """What was done to make the rows whole; solutions keep it."""
        self._moments: Moments | None = None

    @property
    def d(self) -> int:
        """Number of columns."""
        return int(self.X.shape[1])

    def __len__(self) -> int:
        return len(self.X)

    @property
    def count(self) -> float:
        """Number of rows."""
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


class Punctual(ABC):
    """An iterator that heeds a deadline: it raises :class:`TimeOver` instead of making anybody wait longer."""

    deadline: Deadline = NEVER

    def __iter__(self) -> Punctual:
        return self

    @abstractmethod
    def __next__(self) -> Rows: ...


class Stream:
    """Batches that pass once. The running moments of what has passed are kept; the rows are not."""

    has_rows, count = True, None
    holds_rows = can_reread = can_resample = False

    def __init__(self, batches: Iterator[Rows], names: Sequence[str]) -> None:
        self._batches = batches
        self.names = tuple(names)
        self.mean = np.zeros(len(self.names))
        """Running mean of the rows that have come."""
        self._count = 0
        self._moments = Moments(len(self.names), self.names)
        self._waiting: list[Rows] = []
        self._unsummed: list[Rows] = []
        self.deadline = NEVER
        """When no more rows are waited for."""
        self.workers: Workers | None = None
        """Who sums them as they come."""

    @property
    def d(self) -> int:
        """Number of columns."""
        return len(self.names)

    def check_rows(self, least: int = 2) -> None:
        """Raise unless enough rows have come for anything to be learned."""
        if self._count < least:
            raise InputError(
                f"the stream gave {self._count} rows, and dependence cannot be seen in fewer than {least}: see whether "
                'its batches are empty, or emptied by missing="drop"'
            )

    def take(self, n: int, *, partial: bool = False) -> Rows:
        """The next n rows; if fewer are to be had in time, those (``partial``) or none, and they go on waiting."""
        have = sum(map(len, self._waiting))
        while have < n and not self.deadline.over and (batch := self._next()) is not None:
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

    def drain(self) -> None:
        """Take in all there is, in time; only moments are kept."""
        while len(self.take(_SUM_AT_ONCE, partial=True)):
            pass

    def _next(self) -> Rows | None:
        """The next batch; None at the end, and when time is over before it comes."""
        if isinstance(self._batches, Punctual):
            self._batches.deadline = self.deadline
        try:
            return next(self._batches, None)
        except TimeOver:
            return None

    def moments(self, workers: Workers | None = None) -> Moments:
        """The moments of the rows that have come so far."""
        if self._unsummed:
            self._moments.update(np.concatenate(self._unsummed), workers=workers, quick=True)
            self._unsummed = []
        return self._moments

    def _note(self, batch: Rows) -> None:
        """Count a batch in; the scatter, d x d, waits until a few thousand rows can be added at once."""
        self._count += len(batch)
        if self._count:
            self.mean = self.mean + (batch - self.mean).sum(axis=0) / self._count
        self._unsummed.append(batch)
        if sum(map(len, self._unsummed)) >= _SUM_AT_ONCE:
            self.moments(self.workers)


class Summary:
    """Moments given as such, with no rows behind them."""

    has_rows = holds_rows = False
    can_reread = can_resample = True

    def __init__(self, moments: Moments, remarks: Sequence[str] = ()) -> None:
        self._moments = moments
        self.remarks = tuple(remarks)

    @property
    def count(self) -> float:
        """Number of rows behind the moments."""
        return self._moments.count

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


class Adopted(SummedOnce):
    """A source of one's own that offers ``names``, ``d`` and ``moments()`` and has no rows to show."""

    has_rows = holds_rows = False
    can_reread = can_resample = True

    def __init__(self, own: Any) -> None:
        self._own = own
        self.names: tuple[str, ...] = tuple(map(str, own.names))
        self._moments: Moments | None = None

    def moments(self, workers: Workers | None = None) -> Moments:
        """Its moments, asked for once."""
        if self._moments is None:
            found = self._own.moments()
            if not isinstance(found, Moments) or found.d != self.d:
                raise InputError(f"moments() of a source must give Moments of its {self.d} columns; got {found!r}")
            self._moments, self.count = found, found.count
        return self._moments


def is_source(data: Any) -> bool:
    """Whether an object says that graphs can be learned from it: it has ``names``, ``d`` and ``moments()``."""
    known = hasattr(data, "names") and hasattr(data, "d") and callable(getattr(data, "moments", None))
    return known and not isinstance(data, type)


def answers(source: Any) -> TypeGuard[Source]:
    """Whether a source answers all that may be asked of one."""
    questions = ("has_moments", "has_rows", "holds_rows", "can_reread", "can_resample", "count")
    return all(hasattr(source, name) for name in questions)


def in_memory(source: Source) -> TypeGuard[Table]:
    """Whether a source holds its rows."""
    return source.holds_rows


def passes_once(source: Source) -> TypeGuard[Stream]:
    """Whether a source is a stream."""
    return not source.can_reread


def read_again(source: Source) -> TypeGuard[Scan]:
    """Whether the rows of a source stay where they are and are gone through as often as asked for."""
    return source.has_rows and source.can_reread and not source.holds_rows


def needs_rows(source: Source, engine: str) -> Source:
    """The source if it has rows to sample, else an error that says which engines do without."""
    if source.has_rows:
        return source
    raise InputError(
        f"the {engine} engine samples rows, and a covariance or Moments has none: "
        'give it the table itself, or use solver="exact" or solver="sparse"'
    )
