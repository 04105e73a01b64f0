"""Columns compared with all columns: in small integers where the processor is fast with them, then exactly.

A column x of unit length is held in steps of a quarter of its standard deviation, cut off at 31 of them. What is held
is g x + e with e orthogonal to x; for most columns g is 1 and |e| is 0.072. The product of two such columns is g g'
times their correlation up to an error of about |e| / √n from each. So a pair is passed over only where its small
product lies four standard errors below the bar (one in 30,000 of those that just reach it), and computed exactly
otherwise. Columns that lose more, because of far outliers, are compared in single precision throughout.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psidag.search._compare import BLOCK, STEP, STRIP, available, compare, confirm, kernels, pack, quantise
from psidag.system.parallel import Workers, tiles

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int32]

#: The step of the small integers, in standard deviations of a column.
_STEP = 0.25
#: The largest |e|, and the smallest g, of a column that is compared in small integers.
_LOST, _GAIN = 0.1, 0.9
#: Standard errors below the bar at which a pair is passed over.
_DOUBT = 4.0
#: Fewer rows than this are mostly padding.
_LEAST_ROWS = 192
#: Bytes of a cache line.
_LINE = 64
#: What other processes are sent, or find in files.
_WRITTEN = ("columns", "small", "start")
#: Where more columns than this share are compared in single precision, all of them are.
_COARSE = 0.25
#: Columns that one thread takes at a time, a multiple of BLOCK.
_COLUMNS = 1024


@dataclass(frozen=True, eq=False)
class Compared:
    """The columns that nodes are compared with.

    Attributes
    ----------
    columns : array of shape (d, n)
        Columns of unit length, or zero.
    small : array of int8, optional
        The same in small integers, as the kernels take them, zeros where a column is ``coarse``; None where that is of
        no use.
    start : array of int
        What the sums of each column begin with.
    coarse : array of int
        Columns that are compared in single precision.
    gain, error : float
        The smallest g and the largest length of e of the others.
    folder : TemporaryDirectory, optional
        Where other processes find the columns and their small integers, for as long as these are there.
    """

    columns: Singles
    small: NDArray[np.int8] | None = None
    start: Ints | None = None
    coarse: NDArray[np.intp] | None = None
    gain: float = 1.0
    error: float = 0.0
    folder: TemporaryDirectory[str] | None = None

    def shared(self, where: str | Path) -> Compared:
        """The same for processes that see this folder, too: they map what is written there, and read what they need."""
        folder = TemporaryDirectory(dir=where, prefix="psidag-columns-")
        for name in _WRITTEN:
            if getattr(self, name) is not None:
                np.save(Path(folder.name, f"{name}.npy"), getattr(self, name))
        return replace(self, folder=folder)

    def __reduce__(self) -> tuple[Any, ...]:
        """To another process goes what is in no folder that it sees."""
        found: dict[str, Any]
        if self.folder is None:
            found = {name: getattr(self, name) for name in _WRITTEN}
        else:
            files = {name: Path(self.folder.name, f"{name}.npy") for name in _WRITTEN}
            found = {name: file for name, file in files.items() if getattr(self, name) is not None}
        return _arrived, (found, self.coarse, self.gain, self.error)

    @classmethod
    def of(cls, columns: Singles, workers: Workers) -> Compared:
        """In small integers if the processor is fast with them and the columns lose little by it.

        On a cluster that has a folder the columns are left there.
        """
        found, folder = cls._here(columns, workers), getattr(workers.remote, "folder", None)
        return found if folder is None else found.shared(folder)

    @classmethod
    def _here(cls, columns: Singles, workers: Workers) -> Compared:
        d, n = columns.shape
        if not available() or n < _LEAST_ROWS:
            return cls(columns)
        blocks = -(-d // BLOCK)
        small = _aligned((blocks * (BLOCK // STRIP), STRIP * _width(n)), np.int8)
        start = _aligned((blocks * BLOCK,), np.int32)
        gain, error = np.empty(d, np.float32), np.empty(d, np.float32)

        def work(part: slice) -> None:
            rows = columns[part]
            few, sums, gain[part], error[part] = _small(rows, np.ones(len(rows), np.float32))
            rough = ~_fine(gain[part], error[part])
            few[rough], sums[rough] = 0, 0
            last = -(-part.stop // BLOCK)
            pack(few, small[part.start // STRIP : last * BLOCK // STRIP], start[part.start : last * BLOCK], sums)

        workers.map(work, tiles(d, _COLUMNS))
        fine = _fine(gain, error)
        coarse = np.flatnonzero(~fine)
        if len(coarse) > _COARSE * d:
            return cls(columns)
        return cls(columns, small, start, coarse, float(gain[fine].min()), float(error[fine].max()))

    def matches(
        self, left: Singles, level: Floats, first: int = 0, above: bool = False
    ) -> tuple[NDArray[np.intp], Ints, Singles]:
        """Rows, columns and squares of the products r = left · columns with r² > level.

        Only columns from ``first`` on are looked at; with ``above``, row i stands for column ``first + i``, and only
        columns beyond it are.
        """
        if self.small is None or self.start is None or self.coarse is None:
            return _above(*_products(left, self.columns, level, first), first, above)
        n = left.shape[1]
        length = np.linalg.norm(left, axis=1)
        small, _, gain, error = _small(left, length)
        bar = np.divide(np.sqrt(level), length, out=np.full(len(left), np.inf), where=length > 0)
        lowest = bar * gain * self.gain - _DOUBT * np.sqrt((error**2 + self.error**2) / n)
        # Where rounding could hide what is looked for, the integers are of no use.
        fine = _fine(gain, error) & (lowest > 0.5 * bar)
        bound = np.where(fine, np.minimum(lowest * n / _STEP**2, 2**30), 2**30).astype(np.int32)
        row, column = _compared(small, self.small, self.start, bound, first if above else -len(left))
        square = np.empty(len(row), np.float32)
        kept = confirm(left, self.columns, level.astype(np.float32), row, column, square)
        found = [(row[:kept].astype(np.intp), column[:kept], square[:kept])]
        rough = np.flatnonzero(~fine)
        if len(rough):
            r, c, s = _products(left[rough], self.columns, level[rough], first)
            found.append(_above(rough[r], c, s, first, above))
        if fine.any() and len(self.coarse):
            some = np.flatnonzero(fine)
            r, c, s = _products(left[some], self.columns[self.coarse], level[some])
            r, c = some[r], self.coarse[c].astype(np.int32)
            later = c >= first
            found.append(_above(r[later], c[later], s[later], first, above))
        rows, columns, squares = (np.concatenate(each) for each in zip(*found, strict=True))
        # By row and column, whichever way they were found.
        order = np.lexsort((columns, rows))
        return rows[order], columns[order], squares[order]


def _arrived(found: dict[str, Any], coarse: NDArray[np.intp] | None, gain: float, error: float) -> Compared:
    """What was sent to this process, or left in a folder for it."""
    arrays = {name: np.load(at, mmap_mode="r") if isinstance(at, Path) else at for name, at in found.items()}
    return Compared(**arrays, coarse=coarse, gain=gain, error=error)


def _fine(gain: Singles, error: Singles) -> NDArray[np.bool_]:
    return np.asarray((gain >= _GAIN) & (error <= _LOST))


def _aligned(shape: tuple[int, ...], kind: type[np.int8 | np.int32]) -> NDArray[Any]:
    """An empty array that begins with a cache line: the kernels read whole ones, by far faster."""
    size = math.prod(shape) * np.dtype(kind).itemsize
    held = np.empty(size + _LINE, np.int8)
    begin = -held.ctypes.data % _LINE
    return held[begin : begin + size].view(kind).reshape(shape)


def _width(n: int) -> int:
    """How many small integers stand for n numbers."""
    return int(-(-n // STEP) * STEP)


def _small(rows: Singles, length: Singles) -> tuple[NDArray[np.int8], Ints, Singles, Singles]:
    """Rows of these lengths in small integers, with their sums and what they lose: g, and the length of e."""
    m, n = rows.shape
    small = np.empty((m, _width(n)), np.int8)
    sums, gain, error = np.empty(m, np.int32), np.empty(m, np.float32), np.empty(m, np.float32)
    step = (length * np.float32(_STEP / math.sqrt(n))).astype(np.float32)
    quantise(rows, step, small, sums, gain, error)
    return small, sums, gain, error


def _compared(
    left: NDArray[np.int8], right: NDArray[np.int8], start: Ints, bound: Ints, beyond: int
) -> tuple[Ints, Ints]:
    """The pairs that the fastest kernel lists, with as much room as they take."""
    room, kernel = 64 * len(left), list(kernels().values())[-1]
    while True:
        row, column = np.empty(room, np.int32), np.empty(room, np.int32)
        count = compare(left, right, start, bound, beyond, row, column, kernel)
        if count <= room:
            return row[:count].copy(), column[:count].copy()
        room = count


def _products(left: Singles, columns: Singles, level: Floats, first: int = 0) -> tuple[NDArray[np.intp], Ints, Singles]:
    """The same in single precision, by the BLAS."""
    bar = level.astype(np.float32)[:, None]
    found = [(np.empty(0, np.intp), np.empty(0, np.int32), np.empty(0, np.float32))]
    for part in tiles(len(columns) - first, _COLUMNS):
        squares = left @ columns[first + part.start : first + part.stop].T
        squares *= squares
        row, column = np.nonzero(squares > bar)
        found.append((row, (column + part.start + first).astype(np.int32), squares[row, column]))
    rows, cols, strengths = (np.concatenate(each) for each in zip(*found, strict=True))
    return rows, cols, strengths


def _above(
    row: NDArray[np.intp], column: Ints, square: Singles, first: int, above: bool
) -> tuple[NDArray[np.intp], Ints, Singles]:
    if not above:
        return row, column, square
    beyond = column > row + first
    return row[beyond], column[beyond], square[beyond]
