"""What a table is like: types, gaps, columns that say nothing, and what variances give away."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from psidag.data.checks import collinear_columns, constant_columns
from psidag.data.files import FileTable, Kind
from psidag.data.moments import Moments
from psidag.graph.sortability import r_squared
from psidag.system.parallel import tiles

#: Beyond this many columns the regression of each on all others is not worth its time here.
_MANY = 3000


class Profile(NamedTuple):
    """What :func:`profile_table` finds. Ranges are None where they cannot be had."""

    rows: int
    complete_rows: int
    kinds: Mapping[str, Kind]
    missing: Mapping[str, int]
    infinite: list[str]
    constant: list[str]
    duplicate: list[tuple[str, str]]
    collinear: list[str]
    sd_range: tuple[float, float] | None
    r2_range: tuple[float, float] | None
    r2_median: float | None


def profile_table(table: FileTable) -> Profile:
    """Look a table over; statistics are those of its complete rows.

    Sortability is defined against a graph, and here there is none yet. What can be said beforehand is how far
    variances and R² differ: these are what a least-squares learner, and R²-sorting, would sort by.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0, 2.0], [2.0, 0.0, 0.0], [4.0, 1.0, 1.0]])
    >>> profile_table(FileTable(("a", "b", "copy"), X, {})).duplicate
    [('b', 'copy')]
    """
    names = table.names
    seen = _look(table)
    complete = seen.spread.count
    constant: list[str] = []
    collinear: list[str] = []
    sd_range = r2_range = None
    r2_median = None
    if len(names) and complete >= 2:
        sd = seen.spread.sd
        constant = constant_columns(names, sd)
        alive = sd[sd > 0]
        if len(alive):
            sd_range = float(alive.min()), float(alive.max())
        moments = seen.moments
        if moments is not None and complete > len(names) + 1 and len(alive) > 1:
            collinear = [name for name in collinear_columns(moments) if name not in constant]
            r2 = r_squared(moments)[sd > 0]
            r2_range, r2_median = (float(r2.min()), float(r2.max())), float(np.median(r2))
    duplicate = _duplicates(seen.digests, names)
    twins = {second for _, second in duplicate}
    return Profile(
        rows=seen.rows,
        complete_rows=complete,
        kinds=table.kinds,
        missing={names[j]: int(seen.gaps[j]) for j in np.argsort(-seen.gaps, kind="stable") if seen.gaps[j]},
        infinite=[names[j] for j in np.flatnonzero(seen.infinite)],
        constant=constant,
        duplicate=duplicate,
        collinear=[name for name in collinear if name not in twins],
        sd_range=sd_range,
        r2_range=r2_range,
        r2_median=r2_median,
    )


class _Spread:
    """Mean and standard deviation of each column, from blocks of rows."""

    def __init__(self, d: int) -> None:
        self.count, self._mean, self._scatter = 0, np.zeros(d), np.zeros(d)

    def update(self, rows: NDArray[np.floating]) -> None:
        """More rows; few columns are looked at together, so that no copy of all of them is made."""
        total = self.count + len(rows)
        for part in tiles(rows.shape[1], 256) if len(rows) else []:
            few = rows[:, part].astype(np.float64)
            mean = few.mean(axis=0)
            shift = mean - self._mean[part]
            self._scatter[part] += np.square(few - mean).sum(axis=0) + shift**2 * (self.count * len(rows) / total)
            self._mean[part] += shift * (len(rows) / total)
        self.count = total

    @property
    def sd(self) -> NDArray[np.float64]:
        """Zero as in :attr:`Moments.sd`."""
        sd: NDArray[np.float64] = np.sqrt(self._scatter / self.count)
        sd[sd <= 1e-14 * np.abs(self._mean)] = 0.0
        return sd


class _Seen(NamedTuple):
    """What one pass over the rows finds: gaps and digests of each column, and how the complete rows are spread.

    Their moments only where columns are not too many.
    """

    rows: int
    gaps: NDArray[np.intp]
    infinite: NDArray[np.bool_]
    spread: _Spread
    moments: Moments | None
    digests: list[bytes]


def _look(table: FileTable) -> _Seen:
    d = len(table.names)
    rows, gaps, infinite = 0, np.zeros(d, np.intp), np.zeros(d, bool)
    spread = _Spread(d)
    moments = Moments(d, table.names) if d <= _MANY else None
    hashes = [hashlib.blake2b() for _ in range(d)]
    for block in table.blocks():
        rows += len(block)
        missing, endless = np.isnan(block), np.isinf(block)
        gaps += missing.sum(axis=0)
        infinite |= endless.any(axis=0)
        complete = ~(missing | endless).any(axis=1)
        usable = block if complete.all() else block[complete]
        spread.update(usable)
        if moments is not None:
            moments.update(usable)
        for j in range(d):
            # Adding zero makes -0.0 and 0.0 the same bytes.
            hashes[j].update((block[:, j] + 0.0).tobytes())
    return _Seen(rows, gaps, infinite, spread, moments, [found.digest() for found in hashes])


def _duplicates(digests: list[bytes], names: tuple[str, ...]) -> list[tuple[str, str]]:
    """Columns that are equal value by value, each with the first one it equals."""
    first: dict[bytes, str] = {}
    found = []
    for key, name in zip(digests, names, strict=True):
        if key in first:
            found.append((first[key], name))
        else:
            first[key] = name
    return found
