"""Options that several commands share: where data come from and which part of them is wanted."""

from __future__ import annotations

from typing import Annotated

import typer

from psidag.cli.console import note
from psidag.data.files import FileTable, read_table
from psidag.system.errors import InputError, listing

TableFile = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help="CSV, TSV, Parquet, Arrow, .npy, .npz, also .csv.gz; a folder or a pattern; - for standard input.",
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option("--columns", "-c", metavar="NAMES", help="Columns to keep: names or patterns, with commas."),
]
Drop = Annotated[
    list[str] | None,
    typer.Option("--drop", metavar="NAMES", help="Columns to leave out: names or patterns, with commas."),
]
Rows = Annotated[
    str | None, typer.Option("--rows", metavar="FROM:TO", help="Rows to keep, from 0 on, as in 0:1000 or 500:.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for machines.")]


def load_table(
    path: str, columns: list[str] | None, drop: list[str] | None, rows: str | None, hold: int | None = None
) -> FileTable:
    """The chosen part of a table, with a note on what was taken as a number; all of it in memory unless ``hold``."""
    table = read_table(path, columns=_names(columns), drop=_names(drop) or (), rows=_slice(rows), hold=hold)
    for sentence in table.notes:
        note(sentence)
    return table


def note_kinds(table: FileTable) -> None:
    """Say which columns were not real numbers to begin with."""
    for kind, word in (("boolean", "true/false"), ("integer", "whole-number")):
        found = [name for name, what in table.kinds.items() if what == kind]
        if found:
            note(f"{word} columns are taken as numbers: {listing(found)}")


def _names(given: list[str] | None) -> list[str] | None:
    return None if given is None else [name.strip() for part in given for name in part.split(",") if name.strip()]


def _slice(given: str | None) -> slice | None:
    if given is None:
        return None
    try:
        start, stop = (int(part) if part.strip() else None for part in given.split(":"))
    except ValueError:
        raise InputError(f"--rows must look like 0:1000, :1000 or 500:; got {given!r}") from None
    return slice(start, stop)
