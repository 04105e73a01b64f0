"""What stands between a table and an answer: kinds of columns, codes, outliers, order in time, too few rows."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from psidag.data.files import FileTable
from psidag.data.scans import Batches
from psidag.tables.kinds import ColumnKind, look, names_time, sentinel
from psidag.tables.prepare import columns_made, long_tailed
from psidag.tables.profile import Profile
from psidag.tables.raw import RawTable

#: This many columns are looked at one by one.
_LOOKED_AT = 5000
#: Robust standard deviations from the median that make an outlier.
_FAR = 10.0
#: Correlation with the row before that makes a column one that moves slowly.
_SLOW = 0.3
#: Factor between standard deviations from which one noise variance for all is hard to believe.
_UNITS = 10.0
#: Rows below which next to nothing can be learned.
_HARDLY_ANY = 10
#: Rows below which order in time cannot be told from chance.
FEW_ROWS = 30
#: What names that stand for themselves on the command line do not hold.
_PATTERN = ",*?["


class Series(NamedTuple):
    """Rows that follow each other in time: all of them, or within each value of a column."""

    time: str
    group: str | None = None


class Checkup(NamedTuple):
    """What :func:`examine` finds beside the profile."""

    kinds: Mapping[str, ColumnKind]
    sentinels: Mapping[str, float]
    outliers: Mapping[str, int]
    slow: Mapping[str, float]
    """Columns that are like themselves in the row before, with that correlation."""
    transposed: bool
    positive: frozenset[str] = frozenset()
    """Columns with outliers to the right, which a logarithm would draw in."""
    word_gaps: Mapping[str, int] = MappingProxyType({})
    """Missing values in columns that are not numbers, but would become some."""
    complete: int | None = None
    """Rows without a gap in all these columns but empty ones; None where rows are not held."""
    usable: int | None = None
    """The same, with codes taken as missing, and without the columns that are missing in most rows."""
    seldom: tuple[str, ...] = ()
    """Columns of numbers that are missing in most rows."""
    series: Series | None = None
    """The column of time that rises from row to row, and the one that tells several series apart."""
    sorted_by: str | None = None
    """A column of time that rises, with several rows to a value."""
    kept: frozenset[str] = frozenset()
    """Columns that are not numbers, but would become some."""
    made: int = 0
    """How many columns of numbers the table would have once prepared."""


def examine(table: FileTable, raw: RawTable | None, found: Profile) -> Checkup:
    """Look at columns one by one, where they are held and not too many; text only where it was read.

    Examples
    --------
    >>> from psidag.tables.profile import profile_table
    >>> X = np.array([[1.0, 7], [2, 8], [-999, 9], [3, 6], [-999, 5], [2.5, 7]])
    >>> table = FileTable(("dose", "effect"), X, {})
    >>> dict(examine(table, None, profile_table(table)).sentinels)
    {'dose': -999.0}
    """
    kinds: dict[str, ColumnKind] = {}
    codes: dict[str, float] = {}
    outliers: dict[str, int] = {}
    slow: dict[str, float] = {}
    positive: set[str] = set()
    lacks: dict[str, NDArray[np.bool_]] = {}
    times: dict[str, NDArray[np.float64]] = {}
    groups: dict[str, NDArray[Any]] = {}
    made = 0
    for name, column in raw.columns.items() if raw is not None else ():
        seen = look(name, column)
        kinds[name] = seen.kind
        columns = columns_made(name, seen)
        made += len(columns)
        if columns:
            lacks[name] = np.isnan(columns[0])
        if seen.kind == "date" and seen.values is not None and not set(name) & set(_PATTERN):
            times[name] = seen.values
        elif seen.kind in ("category", "text"):
            groups[name] = np.unique(np.asarray(column, dtype=str), return_inverse=True)[1]
    words = {name: int(gaps.sum()) for name, gaps in lacks.items() if gaps.any()}
    held = not isinstance(table.X, Batches) and len(table.names) <= _LOOKED_AT
    if held:
        for k, name in enumerate(table.names):
            values = np.asarray(table.X[:, k], dtype=np.float64)
            seen = look(name, values)
            kinds[name] = seen.kind
            made += len(columns_made(name, seen))
            if names_time(name) and not set(name) & set(_PATTERN):
                times[name] = values
            elif kinds[name] == "few values" or bool(np.all(values == np.round(values))):
                groups[name] = values
            if kinds[name] not in ("number", "few values"):
                continue
            if (code := sentinel(values)) is not None:
                codes[name] = code
                values = np.where(values == code, np.nan, values)
            far = _outliers(values)
            if far and kinds[name] == "number":
                outliers[name] = far
                if long_tailed(values[np.isfinite(values)]):
                    positive.add(name)
            like = _like_the_row_before(values)
            if like is not None and like > max(_SLOW, 4 / np.sqrt(len(values))):
                slow[name] = like
    checkup = Checkup(
        kinds,
        codes,
        outliers,
        slow,
        _transposed(found, kinds),
        frozenset(positive),
        words,
        series=_series(times, groups),
        sorted_by=next((name for name, values in times.items() if _rises(values)), None),
        kept=frozenset(lacks),
        made=made,
    )
    return checkup._replace(**_complete(table, checkup, lacks)) if held else checkup


def _complete(table: FileTable, checkup: Checkup, lacks: Mapping[str, NDArray[np.bool_]]) -> dict[str, Any]:
    """How many rows are without gaps, in which columns words and numbers alike count."""
    X = np.asarray(table.X)
    finite = np.isfinite(X)
    complete = ~np.any([*lacks.values(), np.zeros(len(X), dtype=bool)], axis=0)
    seldom = []
    usable = complete.copy()
    for k, name in enumerate(table.names):
        if checkup.kinds[name] == "empty":
            continue
        complete &= finite[:, k]
        there = finite[:, k] & (X[:, k] != checkup.sentinels.get(name, np.nan))
        if 2 * there.sum() < len(X):
            seldom.append(name)
        else:
            usable &= there
    return {"complete": int(complete.sum()), "usable": int(usable.sum()), "seldom": tuple(seldom)}


def without_oddities(table: FileTable, checkup: Checkup) -> FileTable:
    """The table without ids, and with codes for missing values as such: what --prepare would learn from.

    Spread and collinearity of what is left are those that matter; the table itself where nothing is odd.
    """
    kept = [k for k, name in enumerate(table.names) if checkup.kinds.get(name) != "id"]
    if len(kept) == len(table.names) and not checkup.sentinels:
        return table
    X = np.asarray(table.X, dtype=np.float64)[:, kept]
    names = tuple(table.names[k] for k in kept)
    for name, code in checkup.sentinels.items():
        column = X[:, names.index(name)]
        column[column == code] = np.nan
    return FileTable(names, X, {name: table.kinds[name] for name in names if name in table.kinds})


def next_command(
    path: str, flags: list[str], found: Profile, checkup: Checkup, text: Mapping[str, str], *, chooses_noise: bool
) -> str | None:
    """The command to run next on this table, as it is typed; None where there is none."""
    usable = len(found.kinds) - len(text) - len(found.infinite) + len(checkup.kept)
    if path == "-" or checkup.transposed or usable < 2 or found.rows < 2:
        return None
    empty = [name for name, gaps in found.missing.items() if gaps == found.rows]
    series = checkup.series if usable > 3 and slow_rows(checkup) else None
    # Time is no variable where the past stands beside each row.
    spared = [*found.infinite, *([] if series is None else [series.time])]
    # Sums are those of all columns: without some that are seldom there they may be none.
    more = [name for name in checkup.seldom or found.collinear if name not in spared and not set(name) & set(_PATTERN)]
    if usable - len(spared) - len(more) > 1:
        spared += more
    aside = {*spared, *([] if series is None or series.group is None else [series.group])}
    kinds = {kind for name, kind in checkup.kinds.items() if name not in aside}
    parts = ["psidag", "fit", path, *flags]
    if set(text) - aside or empty or {"id", "constant", "empty"} & kinds or checkup.sentinels or found.duplicate:
        parts.append("--prepare")
    if spared:
        parts += ["--exclude", ",".join(spared)]
    if series is not None:
        parts += ["--lags", "1", *([] if series.group is None else ["--group", series.group])]
    if set(found.missing) - {*empty, *spared} or checkup.sentinels or checkup.word_gaps:
        left = found.complete_rows if checkup.usable is None else checkup.usable
        enough = max(50, min(5 * len(found.kinds), found.rows / 2))
        parts += ["--missing", "drop" if left >= enough else "pairwise"]
    if not chooses_noise and units_factor(found) > _UNITS:
        parts += ["--noise", "unequal"]
    return shlex.join([*parts, "-o", "graph.json", "--report", "graph.html"])


def slow_rows(checkup: Checkup) -> bool:
    """Whether most columns are like themselves in the row before."""
    moving = [kind for kind in checkup.kinds.values() if kind in ("number", "few values")]
    return len(checkup.slow) >= max(2, len(moving) / 2)


def units_factor(found: Profile) -> float:
    """The largest standard deviation over the smallest."""
    if found.sd_range is None:
        return 1.0
    low, high = found.sd_range
    return high / low if low else float("inf")


def rows_advice(rows: int, columns: int, made: int | None = None) -> str:
    """Whether this many rows are enough for this many columns, of which preparing would make another number.

    Examples
    --------
    >>> rows_advice(5, 2)
    '5 for 2 columns: too few to tell an edge from chance'
    """
    counts = f"{rows:,} for {columns:,} column{'s' * (columns != 1)}"
    if made is not None and made != columns and made > 1:
        counts, columns = f"{counts}, {made:,} once prepared", made
    if columns < 2:
        return f"{counts}: a graph needs two columns"
    if rows < _HARDLY_ANY:
        advice = "too few to tell an edge from chance"
    elif rows <= columns:
        advice = "only the strongest edges can be told from chance"
    elif rows < 10 * columns:
        advice = "strong edges can be seen, weak ones cannot"
    else:
        advice = "enough for all but weak edges"
    return f"{counts}: {advice}" + ("; if rows are the variables, transpose the table" if 5 * rows < columns else "")


def _outliers(values: NDArray[np.float64]) -> int:
    there = values[np.isfinite(values)]
    if len(there) < 10:
        return 0
    centre = np.median(there)
    spread = 1.4826 * float(np.median(np.abs(there - centre)))
    return int((np.abs(there - centre) > _FAR * spread).sum()) if spread > 0 else 0


def _rises(values: NDArray[np.float64]) -> bool:
    """Whether a column never falls from row to row, and is no constant."""
    return len(values) > 2 and bool(np.all(np.diff(values) >= 0)) and values[-1] > values[0]


def _series(times: Mapping[str, NDArray[np.float64]], groups: Mapping[str, NDArray[Any]]) -> Series | None:
    """The first column of time that rises in every row, or else in every row of each value of another column."""
    for name, values in times.items():
        if _rises(values) and bool(np.all(np.diff(values) > 0)):
            return Series(name)
    for name, values in times.items():
        for group, labels in groups.items():
            new = labels[1:] != labels[:-1]
            series = int(new.sum()) + 1
            # Each value in rows that follow each other, three of them on average; time goes back where another begins.
            if not 1 < series == len(np.unique(labels)) <= len(labels) / 3:
                continue
            steps = np.diff(values)
            if np.all(steps[~new] > 0) and np.any(steps[new] <= 0):
                return Series(name, group)
    return None


def _like_the_row_before(values: NDArray[np.float64]) -> float | None:
    """The correlation of a column with itself one row earlier; None where it cannot be had."""
    before, after = values[:-1], values[1:]
    both = np.isfinite(before) & np.isfinite(after)
    if both.sum() < FEW_ROWS:
        return None
    a, b = before[both] - before[both].mean(), after[both] - after[both].mean()
    scale = float(np.sqrt(a @ a) * np.sqrt(b @ b))
    return float(a @ b) / scale if scale > 0 else None


def _transposed(found: Profile, kinds: Mapping[str, ColumnKind]) -> bool:
    """Whether rows look like variables: far fewer of them than columns, each with a label of its own."""
    first = next(iter(found.kinds), None)
    labelled = first is not None and found.kinds[first] == "text" and kinds.get(first) == "id"
    return labelled and len(found.kinds) > 5 * max(found.rows, 1)
