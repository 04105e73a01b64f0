"""What stands between a table and an answer: kinds of columns, codes, outliers, order in time, too few rows."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from psidag.data.files import FileTable
from psidag.data.scans import Batches
from psidag.tables.kinds import ColumnKind, look, sentinel
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
_FEW_ROWS = 30


class Checkup(NamedTuple):
    """What :func:`examine` finds beside the profile."""

    kinds: Mapping[str, ColumnKind]
    sentinels: Mapping[str, float]
    outliers: Mapping[str, int]
    slow: Mapping[str, float]
    """Columns that are like themselves in the row before, with that correlation."""
    transposed: bool
    positive: frozenset[str] = frozenset()
    """Columns with outliers of which a logarithm can be taken."""
    text_gaps: int = 0
    """Missing values in columns that are not numbers."""


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
    text_gaps = 0
    for name, column in raw.columns.items() if raw is not None else ():
        seen = look(name, column)
        kinds[name] = seen.kind
        text_gaps += seen.missing if seen.kind not in ("id", "text", "constant", "empty") else 0
    if not isinstance(table.X, Batches) and len(table.names) <= _LOOKED_AT:
        for k, name in enumerate(table.names):
            values = np.asarray(table.X[:, k], dtype=np.float64)
            kinds[name] = look(name, values).kind
            if kinds[name] not in ("number", "few values"):
                continue
            code = sentinel(values)
            if code is not None:
                codes[name] = code
                values = np.where(values == code, np.nan, values)
            far = _outliers(values)
            if far and kinds[name] == "number":
                outliers[name] = far
                if np.nanmin(values) > 0:
                    positive.add(name)
            like = _like_the_row_before(values)
            if like is not None and like > max(_SLOW, 4 / np.sqrt(len(values))):
                slow[name] = like
    return Checkup(kinds, codes, outliers, slow, _transposed(found, kinds), frozenset(positive), text_gaps)


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
    usable = len(found.kinds) - len(text) - len(found.infinite)
    wanted = {"yes/no", "category", "date", "number"}
    usable += sum(kind in wanted for name, kind in checkup.kinds.items() if name in text)
    if path == "-" or checkup.transposed or usable < 2 or found.rows < 2:
        return None
    parts = ["psidag", "fit", path, *flags]
    empty = [name for name, gaps in found.missing.items() if gaps == found.rows]
    odd = {"id", "constant", "empty"} & set(checkup.kinds.values())
    if text or odd or empty or checkup.sentinels or found.duplicate:
        parts.append("--prepare")
    if found.infinite:
        parts += ["--exclude", ",".join(found.infinite)]
    if len(found.missing) > len(empty) or checkup.sentinels or checkup.text_gaps:
        enough = found.complete_rows >= max(50, 5 * len(found.kinds))
        parts += ["--missing", "drop" if enough and not checkup.sentinels else "pairwise"]
    if not chooses_noise and units_factor(found) > _UNITS:
        parts += ["--noise", "unequal"]
    return shlex.join([*parts, "-o", "graph.json", "--report", "graph.html"])


def units_factor(found: Profile) -> float:
    """The largest standard deviation over the smallest."""
    if found.sd_range is None:
        return 1.0
    low, high = found.sd_range
    return high / low if low else float("inf")


def rows_advice(rows: int, columns: int) -> str:
    """Whether this many rows are enough for this many columns.

    Examples
    --------
    >>> rows_advice(5, 2)
    '5 for 2 columns: too few to tell an edge from chance'
    """
    counts = f"{rows:,} for {columns:,} column{'s' * (columns != 1)}"
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


def _like_the_row_before(values: NDArray[np.float64]) -> float | None:
    """The correlation of a column with itself one row earlier; None where it cannot be had."""
    before, after = values[:-1], values[1:]
    both = np.isfinite(before) & np.isfinite(after)
    if both.sum() < _FEW_ROWS:
        return None
    a, b = before[both] - before[both].mean(), after[both] - after[both].mean()
    scale = float(np.sqrt(a @ a) * np.sqrt(b @ b))
    return float(a @ b) / scale if scale > 0 else None


def _transposed(found: Profile, kinds: Mapping[str, ColumnKind]) -> bool:
    """Whether rows look like variables: far fewer of them than columns, each with a label of its own."""
    first = next(iter(found.kinds), None)
    labelled = first is not None and found.kinds[first] == "text" and kinds.get(first) == "id"
    return labelled and len(found.kinds) > 5 * max(found.rows, 1)
