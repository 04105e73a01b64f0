"""What kind of column this is: numbers, yes/no, categories, dates, ids, text, one value only, or nothing."""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from psidag.tables.raw import Column

ColumnKind = Literal["number", "yes/no", "few values", "category", "date", "id", "text", "constant", "empty"]

#: A text column with at most this many values is one of categories.
MOST_CATEGORIES = 20
#: Rows that a category needs to get a column of its own; a tenth of the rows where these are few.
_RARE = 5
_YES = ("yes", "y", "true", "t", "on", "1", "positive", "present", "ja", "si", "oui")
_NAMED_ID = re.compile(r"(?i)(^|[^a-z])(id|ids|uuid|guid|rownames?|unnamed: 0)$|^(key|index|idx|row|nr|no|code)$")
#: What many rows make an id, and a few may be called by chance: patient_no, but also cancer_no.
_NUMBERED = re.compile(r"(?i)[^a-z](key|index|idx|row|nr|no|code)$|.code?$")
_MANY_ROWS = 20
#: A column that counts years, days or steps up is time, not an id.
_NAMED_TIME = re.compile(r"(?i)(^|[^a-z])(year|jahr|month|week|day|date|time|quarter|period|step|t|yr|hour)s?$")
#: Numbers as spreadsheets show them: $1,234.50, 12 %, 1 234.
_SHOWN = re.compile(r"[-+(]?\s*[$€£¥]?\s*[-+]?(\d{1,3}([,'\u00a0\u202f ]\d{3})+|\d+)(\.\d+)?\s*[%$€£¥]?\s*\)?")
_FORMATS = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%Y/%m/%d")
#: Values that stand for "not known" in many tables, where they lie apart from all others.
_SENTINELS = {sign * int(digit * times) for sign in (-1, 1) for digit in "98" for times in (2, 3, 4, 5, 6)} | {-1, -9}


class Seen(NamedTuple):
    """A column, looked at."""

    kind: ColumnKind
    missing: int
    distinct: int
    values: NDArray[np.float64] | None = None
    """Numbers, where the column can be read as such: dates as days since 1970, yes/no as 1 and 0."""
    levels: tuple[str, ...] = ()
    """Of yes/no: what is 1 and what is 0. Of categories: the most common first."""
    cells: tuple[Any, ...] = ()
    """Of categories, what each row has."""
    rare: int = 0
    """Of categories, how many of the last levels have next to no rows."""
    said: str = ""
    """How numbers were read, where they were not written plainly."""
    filled: int = 0
    """How many rows have a value; of columns of words only."""


def look(name: str, column: Column) -> Seen:
    """Tell the kind of a column.

    Examples
    --------
    >>> look("smoker", np.array(["no", "yes", None, "no"], dtype=object)).kind
    'yes/no'
    """
    if column.dtype != object:
        return _look_at_numbers(name, column)
    there = [cell for cell in column.tolist() if cell is not None]
    gaps = len(column) - len(there)
    counts: dict[Any, int] = {}
    for cell in there:
        counts[cell] = counts.get(cell, 0) + 1
    if not there:
        return Seen("empty", gaps, 0)
    if len(counts) == 1:
        return Seen("constant", gaps, 1)
    days = _days(column)
    if days is not None:
        return Seen("date", gaps, len(counts), days)
    shown = _as_shown(column)
    if shown is not None:
        return Seen("number", gaps, len(counts), shown, said="signs of money, per cent and thousands left out")
    levels = tuple(str(level) for level in sorted(counts, key=lambda level: (-counts[level], str(level))))
    if len(levels) == 2:
        yes = next((level for level in levels if level.lower() in _YES), max(levels))
        no = next(level for level in levels if level != yes)
        values = np.array([np.nan if cell is None else float(str(cell) == yes) for cell in column.tolist()])
        return Seen("yes/no", gaps, 2, values, (yes, no), filled=len(there))
    if all(_SHOWN.fullmatch(level) for level in levels):
        return Seen("text", gaps, len(levels))
    if len(levels) == len(there) and len(there) > 2:
        return Seen("id", gaps, len(levels))
    if len(levels) <= MOST_CATEGORIES:
        rare = sum(count < min(_RARE, len(there) / 10) for count in counts.values())
        return Seen("category", gaps, len(levels), None, levels, tuple(column.tolist()), rare, filled=len(there))
    return Seen("text", gaps, len(levels))


def _look_at_numbers(name: str, column: NDArray[np.float64]) -> Seen:
    there = column[~np.isnan(column)]
    gaps = len(column) - len(there)
    if not len(there):
        return Seen("empty", gaps, 0)
    distinct = len(np.unique(there))
    if distinct == 1:
        return Seen("constant", gaps, 1)
    if distinct == 2 and (len(there) > 2 or set(there.tolist()) == {0.0, 1.0}):
        return Seen("yes/no", gaps, 2, column)
    finite = there[np.isfinite(there)]
    whole = len(finite) == len(there) and bool(np.all(finite == np.floor(finite)))
    if whole and distinct == len(there) and len(there) > 2:
        counting = gaps == 0 and len(there) >= 10 and bool(np.all(np.diff(there) == 1))
        named = _NAMED_ID.search(name) or (len(there) >= _MANY_ROWS and _NUMBERED.search(name))
        if named or (counting and not names_time(name)):
            return Seen("id", gaps, distinct, column)
    return Seen("few values" if whole and distinct <= 10 else "number", gaps, distinct, column)


def names_time(name: str) -> bool:
    """Whether a column is called like one of time.

    Examples
    --------
    >>> names_time("year"), names_time("yearly income")
    (True, False)
    """
    return _NAMED_TIME.search(name) is not None


def sentinel(values: NDArray[np.float64]) -> float | None:
    """A value such as −999 that stands for "not known": repeated, and farther from the rest than the rest is wide.

    Examples
    --------
    >>> sentinel(np.array([1.5, 2.0, -999, 3.5, -999, 2.5]))
    -999.0
    """
    there = values[np.isfinite(values)]
    if len(there) < 4:
        return None
    for value in (float(there.min()), float(there.max())):
        rest = there[there != value]
        times = len(there) - len(rest)
        if value not in _SENTINELS or times < 2 or times > len(there) // 2 or len(np.unique(rest)) < 3:
            continue
        width = float(rest.max() - rest.min())
        if min(abs(value - rest.min()), abs(value - rest.max())) > width:
            return value
    return None


def _days(column: Column) -> NDArray[np.float64] | None:
    """Days since 1970, if all cells that are there are dates in one way of writing."""
    cells = column.tolist()
    if all(cell is None or isinstance(cell, date) for cell in cells):
        return np.array([np.nan if cell is None else _since_1970(cell) for cell in cells])
    if any(cell is not None and not isinstance(cell, str) for cell in cells):
        return None
    first = next(cell for cell in cells if cell is not None)
    if not re.match(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}", first):
        return None
    found = [days for form in (None, *_FORMATS) if (days := _parsed(cells, form)) is not None]
    # 03/04/2020 alone may be in March or in April: what can be read in two ways is not read.
    if not found or any(not np.array_equal(found[0], other, equal_nan=True) for other in found[1:]):
        return None
    return found[0]


def _as_shown(column: Column) -> NDArray[np.float64] | None:
    """Numbers with signs of money, per cent or thousands, if all cells that are there are such.

    ``"1,234"`` alone may be a thousand or a decimal comma: a column of nothing else is not read.
    """
    cells = column.tolist()
    if any(cell is not None and not (isinstance(cell, str) and _SHOWN.fullmatch(cell)) for cell in cells):
        return None
    there = [cell for cell in cells if cell is not None]
    if all(re.fullmatch(r"\D*\d{1,3},\d{3}\D*", cell) for cell in there):
        return None
    bare = [None if cell is None else re.sub(r"[^\d.]", "", cell) for cell in cells]
    below = [cell is not None and ("-" in cell or cell.startswith("(")) for cell in cells]
    sizes = np.array([np.nan if cell is None else float(cell) for cell in bare])
    return np.where(below, -sizes, sizes)


def _parsed(cells: list[str | None], form: str | None) -> NDArray[np.float64] | None:
    try:
        moments = [
            None if cell is None else datetime.fromisoformat(cell) if form is None else datetime.strptime(cell, form)
            for cell in cells
        ]
    except ValueError:
        return None
    return np.array([np.nan if moment is None else _since_1970(moment) for moment in moments])


def _since_1970(moment: date) -> float:
    if isinstance(moment, datetime):
        return (moment.replace(tzinfo=None) - datetime(1970, 1, 1)).total_seconds() / 86400
    return float((moment - date(1970, 1, 1)).days)
