"""Rows that stay where they are, in files or on a cluster, and are gone through as often as needed."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from psidag.data.moments import TILE, Moments
from psidag.system.parallel import SERIAL, Workers

Rows = NDArray[np.floating]
Part = TypeVar("Part")

#: Numbers in a batch: what a core works on at a time stays in its cache, or nearly.
_BATCH = 1 << 20


def batch_rows(d: int) -> int:
    """How many rows of d columns make a batch."""
    return max(256, _BATCH // max(1, d))


class Partitions(Protocol):
    """Rows in one or more pieces that can be gone through again, or reduced without being brought together."""

    @property
    def here(self) -> bool:
        """Whether the pieces come to this process, rather than the work to them."""
        ...

    def __iter__(self) -> Iterator[Rows]: ...

    def reduce(
        self, work: Callable[[Rows], Part], merge: Callable[[Part, Part], Part], workers: Workers | None = None
    ) -> Part:
        """What ``work`` makes of each piece, merged in an order that does not depend on who is first.

        Both functions must be pure; ``work`` may run in another thread or process.
        """
        ...


class Batches:
    """Pieces that a function gives anew whenever it is called."""

    here = True

    def __init__(self, read: Callable[[], Iterator[Rows]]) -> None:
        self._read = read

    def __iter__(self) -> Iterator[Rows]:
        return self._read()

    def reduce(
        self, work: Callable[[Rows], Part], merge: Callable[[Part, Part], Part], workers: Workers | None = None
    ) -> Part:
        """Pieces are read in this thread while others work on those before."""
        return functools.reduce(merge, (workers or SERIAL).stream(work, self))


def array_batches(X: Rows) -> Batches:
    """The rows of an array as batches; nothing is copied."""
    step = batch_rows(X.shape[1])
    return Batches(lambda: (X[start : start + step] for start in range(0, max(1, len(X)), step)))


class _Summed(NamedTuple):
    """How many rows were read, and the moments of those that were kept."""

    read: int
    moments: Moments

    def merge(self, other: _Summed) -> _Summed:
        return _Summed(self.read + other.read, self.moments.merge(other.moments))


class SummedOnce:
    """What sources have in common whose number of rows is known once they have been gone through."""

    names: tuple[str, ...]
    count: float | None = None

    @property
    def d(self) -> int:
        """Number of columns."""
        return len(self.names)

    @property
    def has_moments(self) -> bool:
        """Whether the rows have been gone through."""
        return self.count is not None


class Scan(SummedOnce):
    """A source whose rows are never all in memory.

    Parameters
    ----------
    partitions : Partitions
        The rows.
    names : sequence of str
        Column names.
    prepare : callable, optional
        What is done to each piece before it is used; it may leave out rows. Pure, as it may run anywhere.
    check : callable, optional
        Called once with the number of rows read and the moments of those kept; raises if they are no good.
    """

    has_rows = can_reread = can_resample = True
    holds_rows = False

    def __init__(
        self,
        partitions: Partitions,
        names: Sequence[str],
        prepare: Callable[[Rows], Rows] | None = None,
        check: Callable[[int, Moments], None] | None = None,
    ) -> None:
        self._partitions = partitions
        self.names = tuple(names)
        self._prepare = prepare
        self._check = check
        self.remarks: tuple[str, ...] = ()
        """What was done to make the rows whole, known once they have been gone through; solutions keep it."""
        self._moments: Moments | None = None

    def batches(self) -> Iterator[Rows]:
        """All rows once more, from the first on."""
        for rows in self._partitions:
            kept = rows if self._prepare is None else self._prepare(rows)
            if len(kept):
                yield kept

    def moments(self, workers: Workers | None = None) -> Moments:
        """The moments of all rows, from one pass, made once."""
        if self._moments is None:
            # The scatter of a wide batch takes more room than the batch: one at a time, shared out by tiles.
            wide = self._partitions.here and self.d > TILE
            work = functools.partial(
                _summed, names=self.names, prepare=self._prepare, workers=workers if wide else None
            )
            found = self._partitions.reduce(work, _Summed.merge, None if wide else workers)
            if self._check is not None:
                self._check(found.read, found.moments)
            self._moments, self.count = found.moments, found.moments.count
        return self._moments


def _summed(
    rows: Rows, names: tuple[str, ...], prepare: Callable[[Rows], Rows] | None, workers: Workers | None
) -> _Summed:
    kept = rows if prepare is None else prepare(rows)
    with np.errstate(invalid="ignore", over="ignore"):  # what is not finite shows in the mean, and is named then
        return _Summed(len(rows), Moments(len(names), names).update(kept, workers=workers or SERIAL))
