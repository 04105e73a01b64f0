"""Tables in Excel files: the first sheet, whose first row names the columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from psidag.data.readers import Block, Cells, Choice, Reader, TableFile, columnwise
from psidag.data.scans import Rows
from psidag.system.errors import InputError


def excel_columns(path: str | Path) -> dict[str, list[Any]]:
    """The columns of the first sheet with their cells as they are: numbers, text, dates, or None."""
    try:
        import openpyxl
    except ImportError:
        raise InputError(f"reading {str(path)!r} needs openpyxl: pip install 'psidag[excel]'") from None
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        rows = [list(row) for row in book.worksheets[0].iter_rows(values_only=True)]
        book.close()
    except Exception as error:  # openpyxl, zipfile and the XML parser have a dozen kinds of errors
        raise InputError(f"{str(path)!r} is not a readable Excel file: {' '.join(str(error).split())}") from None
    rows = [row for row in rows if any(cell is not None for cell in row)]
    if not rows:
        raise InputError(f"the first sheet of {str(path)!r} is empty")
    header, body = rows[0], rows[1:]
    used = [k for k, name in enumerate(header) if name is not None or any(k < len(row) and row[k] for row in body)]
    nameless = [k for k in used if header[k] is None]
    if nameless:
        raise InputError(f"column {nameless[0] + 1} of the first sheet of {str(path)!r} has no name in its first row")
    names = [str(header[k]).strip() for k in used]
    twice = [name for k, name in enumerate(names) if name in names[:k]]
    if twice:
        raise InputError(f"column names must be unique; repeated in {str(path)!r}: {twice[0]!r}; rename one of them")
    return {name: [row[k] if k < len(row) else None for row in body] for name, k in zip(names, used, strict=True)}


def open_excel(file: TableFile, choose: Choice) -> Reader:
    """The columns that hold numbers, and for the others where that shows."""
    where = file.where
    if isinstance(file.content, bytes):
        raise InputError(f"{where} cannot be read as an Excel file: give its path")
    held = excel_columns(file.content)
    chosen = [list(held)[k] for k in choose(list(held), where)]
    text: dict[str, str] = {}
    numbers: dict[str, Rows] = {}
    kinds: list[Cells] = []
    for name in chosen:
        cells = held[name]
        culprit = next((k for k, cell in enumerate(cells) if not isinstance(cell, int | float | None)), None)
        if culprit is not None:
            text[name] = f"row {culprit + 2}: {str(cells[culprit])!r}"
            continue
        numbers[name] = np.array([np.nan if cell is None else float(cell) for cell in cells])
        there = {type(cell) for cell in cells if cell is not None}
        kinds.append("boolean" if there == {bool} else "number" if there else "missing")
    rows = len(held[chosen[0]])
    values = columnwise(list(numbers.values()), rows, np.dtype(np.float64))
    return Reader(where, tuple(numbers), lambda: iter([Block(values, tuple(kinds))]), text, tuple(chosen), rows)
