"""Columns that are no variables but say something of each row: read from a file, or taken out of a table."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from psidag.data.delimited import delimited_text
from psidag.data.excel import excel_columns
from psidag.data.files import ending_of, table_files
from psidag.data.readers import Choice, TableFile, readable
from psidag.system.errors import InputError

Columns = dict[str, list[Any]]

_ARROW = (".parquet", ".arrow", ".feather", ".ipc")
_ARRAYS = (".npy", ".npz")


def file_columns(path: str | Path, names: Sequence[str], rows: slice | None = None) -> Columns:
    r"""The cells of these columns of a file, of all files of a folder, or of a pattern, as they are written.

    Of Parquet and Arrow files nothing else is decoded.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "t.csv").write_text("x,set\n1,dose\n2,\n")
    ...     file_columns(f"{folder}/t.csv", ["set"])
    {'set': ['dose', '']}
    """
    if str(path) == "-" or not all(file.is_file() for file in table_files(path)):
        raise InputError(
            f"the column {names[0]!r} of labels is read beside the numbers: save what comes through a pipe first"
        )
    found: Columns = {name: [] for name in names}
    for file in table_files(path):
        ending, where = ending_of(file), repr(str(file))
        if ending in _ARRAYS:
            raise InputError(f"{where} holds numbers only and has no column {names[0]!r} of labels: give them apart")
        if ending in _ARROW:
            part = _from_arrow(file, ending, names, where)
        elif ending == ".xlsx":
            held = excel_columns(file)
            Choice(names, ())(list(held), where)
            part = {name: list(held[name]) for name in names}
        else:
            part = _from_text(file, ending, names, where)
        for name in names:
            found[name] += part[name]
    return found if rows is None else {name: cells[rows] for name, cells in found.items()}


def taken_out(table: Any, names: Sequence[str]) -> tuple[Any, Columns]:
    """A data frame without these columns, and what they hold."""
    import narwhals.stable.v2 as nw

    frame = nw.from_native(table, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, nw.DataFrame):
        raise InputError(
            f"the column {names[0]!r} is looked for in a data frame or a file; an array has no such column: give the "
            "labels themselves, one for each row"
        )
    Choice(names, ())([str(name) for name in frame.columns], "the table")
    cells = {name: frame[name].to_list() for name in names}
    return frame.drop(list(names)).to_native(), cells


def _from_arrow(file: Path, ending: str, names: Sequence[str], where: str) -> Columns:
    try:
        import pyarrow as pa
        import pyarrow.feather
        import pyarrow.parquet
    except ImportError:
        raise InputError(f"reading {where} needs pyarrow: pip install 'psidag[parquet]'") from None
    with readable(where):
        try:
            if ending == ".parquet":
                schema = pa.parquet.read_schema(str(file))
                Choice(names, ())(schema.names, where)
                table = pa.parquet.read_table(str(file), columns=list(names))
            else:
                table = pa.feather.read_table(str(file), memory_map=True)
                Choice(names, ())(table.column_names, where)
        except pa.ArrowException as error:
            raise InputError(f"{where} cannot be read: {str(error).strip().splitlines()[0]}") from None
    return {name: table.column(name).to_pylist() for name in names}


def _from_text(file: Path, ending: str, names: Sequence[str], where: str) -> Columns:
    head, open_text, _ = delimited_text(TableFile(file, ending, where))
    Choice(names, ())(head.names, where)
    places = {name: head.names.index(name) + head.labelled for name in names}
    found: Columns = {name: [] for name in names}
    with readable(where), open_text() as text:
        reader = csv.reader(text, delimiter=head.separator, skipinitialspace=head.separator == " ")
        if head.header:
            next(reader)
        try:
            for row in reader:
                if not any(cell.strip() for cell in row):
                    continue
                for name, place in places.items():
                    if place >= len(row):
                        raise InputError(f"line {reader.line_num} of {where} ends before the column {name!r}")
                    found[name].append(row[place])
        except csv.Error as error:
            raise InputError(f"line {reader.line_num} of {where} cannot be read: {error}") from None
    return found
