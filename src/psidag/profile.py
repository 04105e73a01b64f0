"""What a table is like: types, gaps, columns that say nothing, and what variances give away."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from psidag.data.checks import collinear_columns, column_sd, constant_columns
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
    X, names = table.X, table.names
    gaps, infinite = np.isnan(X), np.isinf(X)
    usable = ~(gaps | infinite).any(axis=1)
    counts = gaps.sum(axis=0)
    complete = X if usable.all() else X[usable]
    constant: list[str] = []
    collinear: list[str] = []
    sd_range = r2_range = None
    r2_median = None
    if len(names) and len(complete) >= 2:
        sd = column_sd(complete)
        constant = constant_columns(names, sd)
        alive = sd[sd > 0]
        if len(alive):
            sd_range = float(alive.min()), float(alive.max())
        if len(complete) > len(names) + 1 and len(alive) > 1 and len(names) <= _MANY:
            moments = Moments.from_rows(complete, names)
            collinear = [name for name in collinear_columns(moments) if name not in constant]
            r2 = r_squared(moments)[sd > 0]
            r2_range, r2_median = (float(r2.min()), float(r2.max())), float(np.median(r2))
    duplicate = _duplicates(X, names)
    twins = {second for _, second in duplicate}
    return Profile(
        rows=len(X),
        complete_rows=int(usable.sum()),
        kinds=table.kinds,
        missing={names[j]: int(counts[j]) for j in np.argsort(-counts, kind="stable") if counts[j]},
        infinite=[names[j] for j in np.flatnonzero(infinite.any(axis=0))],
        constant=constant,
        duplicate=duplicate,
        collinear=[name for name in collinear if name not in twins],
        sd_range=sd_range,
        r2_range=r2_range,
        r2_median=r2_median,
    )


def _duplicates(X: NDArray[np.floating], names: tuple[str, ...]) -> list[tuple[str, str]]:
    """Columns that are equal value by value, each with the first one it equals."""
    first: dict[bytes, str] = {}
    found = []
    for j, name in enumerate(names):
        # Adding zero makes -0.0 and 0.0 the same bytes.
        key = hashlib.blake2b((X[:, j] + 0.0).tobytes()).digest()
        if key in first:
            found.append((first[key], name))
        else:
            first[key] = name
    return found
