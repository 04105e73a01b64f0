"""Tables with all their columns, text and dates included, before they become numbers."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from psidag.data.delimited import MISSING, as_numbers, delimited_text
from psidag.data.files import ending_of, read_table, table_files
from psidag.data.readers import Choice, TableFile, readable
from psidag.system.errors import InputError

#: A column: numbers with NaN where they are missing, or objects with None where they are.
Column: TypeAlias = NDArray[Any]

_ARROW = (".parquet", ".arrow", ".feather", ".ipc")
_TEXT = (".csv", ".tsv", ".tab", ".txt", "")


@dataclass(frozen=True, eq=False)
class RawTable:
    """Columns as they came, by name."""

    columns: Mapping[str, Column]
    notes: tuple[str, ...] = field(default=())

    @property
    def rows(self) -> int:
        """How many there are."""
        return len(next(iter(self.columns.values()), ()))


def raw_table(
    data: Any, *, columns: Sequence[str] | None = None, drop: Sequence[str] = (), rows: slice | None = None
) -> RawTable:
    """The columns of a file, a data frame, a mapping of columns, or an array.

    Parameters
    ----------
    data : path, DataFrame, Arrow table, mapping or array
        Where they come from. A file is read whole.
    columns, drop : sequences of str
        Names or patterns of the columns to keep, and of those to leave out.
    rows : slice, optional
        Which rows to keep.

    Examples
    --------
    >>> raw_table({"sex": ["f", "m", None], "age": [30, 41, 28]}).columns["age"].tolist()
    [30.0, 41.0, 28.0]
    """
    if isinstance(data, RawTable):
        names, held, where, notes = list(data.columns), dict(data.columns), "the table", data.notes
    elif isinstance(data, str | Path):
        held, notes = _from_file(data)
        names, where = list(held), repr(str(data))
    else:
        held, notes = _from_memory(data), ()
        names, where = list(held), "the table"
    chosen = [names[k] for k in Choice(columns, drop)(names, where)]
    part = rows or slice(None)
    return RawTable({name: held[name][part] for name in chosen}, notes)


def _from_file(path: str | Path) -> tuple[dict[str, Column], tuple[str, ...]]:
    files = [Path("-")] if str(path) == "-" else table_files(path)
    ending = "" if str(path) == "-" else ending_of(files[0])
    if str(path) == "-" or not files[0].is_file():
        raise InputError("a table that is to be prepared must be a file, not a stream: save it first")
    where = repr(str(path))
    parts = []
    notes: dict[str, None] = {}
    for file in files:
        if ending.removesuffix(".gz") in _TEXT:
            part, said = _from_text(file, ending)
            notes |= dict.fromkeys(said)
        elif ending in _ARROW:
            part = _from_arrow(file, ending)
        elif ending == ".xlsx":
            from psidag.data.excel import excel_columns

            part = {name: tidy(cells) for name, cells in excel_columns(file).items()}
        else:
            table = read_table(file)
            part = {name: np.asarray(table.X[:, k], dtype=np.float64) for k, name in enumerate(table.names)}
        parts.append(part)
    if any(set(part) != set(parts[0]) for part in parts):
        raise InputError(f"the files of {where} do not have the same columns: leave some of them out")
    if len(parts) == 1:
        return parts[0], tuple(notes)
    return {name: tidy(cell for part in parts for cell in part[name].tolist()) for name in parts[0]}, tuple(notes)


def _from_text(path: Path, ending: str) -> tuple[dict[str, Column], tuple[str, ...]]:
    where = repr(str(path))
    head, open_text, notes = delimited_text(TableFile(path, ending, where))
    Choice(None, ())(head.names, where)  # each name once, or an error that says which is not
    width = len(head.names) + head.labelled
    with readable(where), open_text() as file:
        reader = csv.reader(file, delimiter=head.separator, skipinitialspace=head.separator == " ")
        if head.header:
            next(reader)
        try:
            rows = [row for row in reader if any(cell.strip() for cell in row)]
        except csv.Error as error:
            raise InputError(f"line {reader.line_num} of {where} cannot be read: {error}") from None
    short = next((k for k, row in enumerate(rows) if len(row) != width), None)
    if short is not None:
        raise InputError(f"row {short + 1} of {where} has {len(rows[short])} cells, the header has {width}")
    columns = list(zip(*rows, strict=True)) or [()] * width
    held = {}
    for k, name in enumerate(head.names):
        cells = columns[k + head.labelled]
        numbers = as_numbers([cell.replace(head.decimal, ".") for cell in cells] if head.decimal != "." else cells)
        held[name] = tidy(cells) if numbers is None else numbers
    return held, notes


def _from_arrow(path: Path, ending: str) -> dict[str, Column]:
    try:
        import pyarrow as pa
        import pyarrow.feather
        import pyarrow.parquet
    except ImportError:
        raise InputError(f"reading {str(path)!r} needs pyarrow: pip install 'psidag[parquet]'") from None
    with readable(repr(str(path))):
        try:
            read = pa.parquet.read_table if ending == ".parquet" else pa.feather.read_table
            table = read(str(path))
        except pa.ArrowException as error:
            raise InputError(f"{str(path)!r} cannot be read: {str(error).strip().splitlines()[0]}") from None
    Choice(None, ())(table.column_names, repr(str(path)))
    return {name: tidy(table.column(k).to_pylist()) for k, name in enumerate(table.column_names)}


def _from_memory(data: Any) -> dict[str, Column]:
    if isinstance(data, Mapping):
        held = {str(name): tidy(cells) for name, cells in data.items()}
        if len({len(column) for column in held.values()}) > 1:
            raise InputError("the columns of the table do not have the same length")
        return held
    import narwhals.stable.v2 as nw

    names = getattr(data, "columns", None) if hasattr(data, "iloc") else getattr(data, "column_names", None)
    if names is not None:
        Choice(None, ())([str(name) for name in names], "the table")
    try:
        frame = nw.from_native(data, pass_through=True)
    except ValueError as error:
        raise InputError(f"the table cannot be used: {error}") from None
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, nw.DataFrame):
        return {str(name): tidy(frame[name].to_list()) for name in frame.columns}
    array = np.asarray(data)
    if array.ndim != 2:
        raise InputError("prepare takes a path, a data frame, a mapping of columns, or an array of two dimensions")
    return {f"x{k}": tidy(array[:, k].tolist()) for k in range(array.shape[1])}


def tidy(cells: Iterable[Any]) -> Column:
    """Cells as numbers if all that are there are numbers, else as objects with None where they are missing."""
    held = [None if _is_missing(cell) else cell for cell in cells]
    if all(cell is None or isinstance(cell, int | float | np.number) for cell in held):
        return np.array([np.nan if cell is None else float(cell) for cell in held], dtype=np.float64)
    column = np.empty(len(held), dtype=object)
    column[:] = [cell if cell is None or isinstance(cell, date | datetime) else str(cell).strip() for cell in held]
    return column


def _is_missing(cell: Any) -> bool:
    if cell is None or (isinstance(cell, float) and cell != cell) or type(cell).__name__ in ("NaTType", "NAType"):
        return True
    return isinstance(cell, str) and cell.strip().lower() in MISSING
