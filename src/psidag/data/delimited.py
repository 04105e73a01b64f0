"""Tables in text files, CSV and its relatives, read without pandas or pyarrow."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple, TextIO

import numpy as np
from numpy.typing import NDArray

from psidag.errors import InputError

Floats = NDArray[np.float64]

#: What stands for a missing value, in any case of letters and with blanks around it.
_MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?", "."})
_TRUTH = {"true": 1.0, "false": 0.0}
#: Cells that are converted at a time where a file is not all numbers.
_CELLS = 1 << 20


class Head(NamedTuple):
    """What the first lines of a file say: its separator, its column names, and what comes before the data."""

    separator: str
    names: tuple[str, ...]
    header: bool
    labelled: bool
    """Whether an unnamed first column holds row labels."""


class Columns(NamedTuple):
    """Columns as numbers (NaN where missing or not a number); which were booleans, and which hold text."""

    values: Floats
    booleans: frozenset[int]
    text: dict[int, str]
    """For a column that is not numbers, its first such cell: ``line 4: 'red'``."""


def read_head(open_text: Callable[[], TextIO], name: str, separator: str | None = None) -> Head:
    """Find the separator and the column names.

    The first line is a header unless all its cells are numbers; the numbers 0, 1, 2, … are one, which is
    what pandas writes for columns without names. A first column without a name holds row labels.
    """
    with open_text() as file:
        line = file.readline()
        if not line.strip():
            raise InputError(f"{name} is empty" if not line else f"the first line of {name} is empty")
        found = separator or max(",\t;|", key=line.count)
        if separator is None and not line.count(found):
            found = " " if " " in line.strip() else ","
        file.seek(0)
        rows = csv.reader(file, delimiter=found, skipinitialspace=found == " ")
        try:
            first, second = next(rows), next(rows, [])
        except csv.Error as error:
            raise InputError(f"the first lines of {name} cannot be read: {error}") from None
    cells = [cell.strip() for cell in first]
    numbers = [str(k) for k in range(len(cells))]
    if all(_is_number(cell) for cell in cells) and cells != numbers:
        return Head(found, tuple(f"x{k}" for k in range(len(cells))), header=False, labelled=False)
    if len(second) == len(cells) + 1:
        return Head(found, tuple(cells), header=True, labelled=True)
    labelled = cells[0] == "" and len(cells) > 1
    cells = cells[labelled:]
    if "" in cells:
        raise InputError(f"column {cells.index('') + 1 + labelled} of {name} has no name in the header")
    return Head(found, tuple(cells), header=True, labelled=labelled)


def read_columns(open_text: Callable[[], TextIO], name: str, head: Head, chosen: Sequence[int]) -> Columns:
    """The chosen columns. A file of numbers is parsed in one go; any other one is read again, cell by cell."""
    try:
        return Columns(_all_numbers(open_text, head, chosen), frozenset(), {})
    except ValueError:
        return _cell_by_cell(open_text, name, head, chosen)


def _all_numbers(open_text: Callable[[], TextIO], head: Head, chosen: Sequence[int]) -> Floats:
    with open_text() as file:
        if head.header:
            next(file)
        # All columns, not only the chosen ones: asked for some, loadtxt overlooks rows that are too long.
        separator = None if head.separator == " " else head.separator
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that there are no rows is said where it matters
            values: Floats = np.loadtxt(file, delimiter=separator, comments=None, quotechar='"', ndmin=2)
    if values.shape[1] != len(head.names) + head.labelled:
        raise ValueError("a width that the header does not have")
    return values[:, [k + head.labelled for k in chosen]]


def _cell_by_cell(open_text: Callable[[], TextIO], name: str, head: Head, chosen: Sequence[int]) -> Columns:
    width = len(head.names) + head.labelled
    blocks: list[Floats] = []
    kinds: dict[int, set[str]] = {k: set() for k in range(len(chosen))}
    text: dict[int, str] = {}
    with open_text() as file:
        reader = csv.reader(file, delimiter=head.separator, skipinitialspace=head.separator == " ")
        if head.header:
            next(reader)
        rows = _full_rows(reader, name, width)
        while chunk := list(islice(rows, max(1, _CELLS // width))):
            lines = [line for line, _ in chunk]
            cells = list(zip(*(row for _, row in chunk), strict=True))
            block = np.full((len(chunk), len(chosen)), np.nan)
            for k, column in enumerate(chosen):
                if k in text:
                    continue
                raw = cells[column + head.labelled]
                block[:, k], kind, culprit = _convert(raw)
                kinds[k].add(kind)
                if culprit is not None:
                    text[k] = f"line {lines[culprit]}: {raw[culprit]!r}"
            blocks.append(block)
    values = np.concatenate(blocks) if blocks else np.empty((0, len(chosen)))
    booleans = frozenset(k for k, found in kinds.items() if found - {"missing"} == {"boolean"})
    return Columns(values, booleans, text)


def _full_rows(reader: Iterator[list[str]], name: str, width: int) -> Iterator[tuple[int, list[str]]]:
    """Rows with their line numbers; blank lines are passed over, a row of another width is an error."""
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise InputError(f"line {reader.line_num} of {name} cannot be read: {error}") from None  # type: ignore[attr-defined]
        line = reader.line_num  # type: ignore[attr-defined]
        if len(row) == width:
            yield line, row
        elif row and any(cell.strip() for cell in row):
            raise InputError(f"line {line} of {name} has {len(row)} cells, the first line has {width}")


def _convert(cells: Sequence[str]) -> tuple[Floats, str, int | None]:
    """Cells as numbers, their kind, and the first cell that is neither number, truth value nor missing."""
    # float() reads 1_2 as 12, which in a table is a label.
    if not any("_" in cell for cell in cells):
        try:
            return np.array(list(map(float, cells))), "number", None
        except ValueError:
            pass
    values = np.full(len(cells), np.nan)
    kind = "missing"
    for k, cell in enumerate(cells):
        plain = cell.strip().lower()
        if plain in _MISSING:
            continue
        if plain in _TRUTH and kind != "number":
            values[k], kind = _TRUTH[plain], "boolean"
        elif _is_number(plain) and kind != "boolean":
            values[k], kind = float(plain), "number"
        else:
            return values, "text", k
    return values, kind, None


def _is_number(cell: str) -> bool:
    if "_" in cell:
        return False
    try:
        float(cell)
    except ValueError:
        return False
    return True
