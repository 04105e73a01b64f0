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
    moments, rows, complete = seen.moments, seen.rows, int(seen.moments.count)
    constant: list[str] = []
    collinear: list[str] = []
    sd_range = r2_range = None
    r2_median = None
    if len(names) and complete >= 2:
        constant = constant_columns(moments.names, moments.sd)
        alive = np.sqrt(moments.variance[[name not in set(constant) for name in names]])
        if len(alive):
            sd_range = float(alive.min()), float(alive.max())
        if complete > len(names) + 1 and len(alive) > 1 and len(names) <= _MANY:
            collinear = [name for name in collinear_columns(moments) if name not in constant]
            r2 = r_squared(moments)[[name not in set(constant) for name in names]]
            r2_range, r2_median = (float(r2.min()), float(r2.max())), float(np.median(r2))
    duplicate = _duplicates(seen.digests, names)
    twins = {second for _, second in duplicate}
    return Profile(
        rows=rows,
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


class _Seen(NamedTuple):
    """What one pass over the rows finds: gaps and digests of each column, the moments of the complete rows."""

    rows: int
    gaps: NDArray[np.intp]
    infinite: NDArray[np.bool_]
    moments: Moments
    digests: list[bytes]


def _look(table: FileTable) -> _Seen:
    d = len(table.names)
    rows, gaps, infinite = 0, np.zeros(d, np.intp), np.zeros(d, bool)
    moments = Moments(d, table.names)
    hashes = [hashlib.blake2b() for _ in range(d)]
    for block in table.blocks():
        rows += len(block)
        missing, endless = np.isnan(block), np.isinf(block)
        gaps += missing.sum(axis=0)
        infinite |= endless.any(axis=0)
        moments.update(block[~(missing | endless).any(axis=1)])
        for j in range(d):
            # Adding zero makes -0.0 and 0.0 the same bytes.
            hashes[j].update((block[:, j] + 0.0).tobytes())
    return _Seen(rows, gaps, infinite, moments, [found.digest() for found in hashes])


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
