"""Options that several commands share: where data come from and which part of them is wanted."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from psidag.cli.console import note
from psidag.data.files import FileTable, Hold, read_table, table_files
from psidag.data.interventions import NONE, Interventions, Kind
from psidag.data.label_columns import file_columns
from psidag.data.missing import Missing
from psidag.graph.constraints import Constraints
from psidag.system.errors import InputError, listing

if TYPE_CHECKING:
    from psidag.tables.raw import RawTable

TableFile = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help="CSV, TSV, Parquet, Arrow, Excel, .npy, .npz, also .csv.gz; a folder or a pattern; - for standard input.",
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option("--columns", "-c", metavar="NAMES", help="Columns to keep: names or patterns, with commas."),
]
Drop = Annotated[
    list[str] | None,
    typer.Option("--exclude", "--drop", metavar="NAMES", help="Columns to leave out: names or patterns, with commas."),
]
Rows = Annotated[
    str | None, typer.Option("--rows", metavar="FROM:TO", help="Rows to keep, from 0 on, as in 0:1000 or 500:.")
]
Prepare = Annotated[
    bool, typer.Option("--prepare", help="Make numbers of yes/no, categories and dates; leave out ids and text.")
]
MissingValues = Annotated[
    Missing,
    typer.Option("--missing", help="Missing values: refuse, drop rows, fill in the mean, or take pairs as they are."),
]
Interventional = Annotated[
    str | None,
    typer.Option(
        "--interventions", metavar="COLUMN", help="The column that says what was set in each row; no variable."
    ),
]
TargetSeparator = Annotated[
    str, typer.Option(help="With --interventions: what stands between several names in one cell.")
]
ControlWords = Annotated[
    str | None, typer.Option(metavar="WORDS", help="With --interventions: words for nothing was set, with commas.")
]
InterventionKind = Annotated[
    Kind, typer.Option(help="Whether setting cuts a variable off from its causes, or only shifts it.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for machines.")]


def load_table(
    path: str, columns: list[str] | None, drop: list[str] | None, rows: str | None, hold: Hold = None
) -> FileTable:
    """The chosen part of a table, with a note on what was taken as a number; all of it in memory unless ``hold``."""
    table = read_table(path, columns=_names(columns), drop=_names(drop) or (), rows=_slice(rows), hold=hold)
    for sentence in table.notes:
        note(sentence)
    return table


def prepared_table(
    path: str,
    columns: list[str] | None,
    drop: list[str] | None,
    rows: str | None,
    *,
    log: bool = False,
    standardise: bool = False,
) -> FileTable:
    """The chosen part of a table with everything that can be a number as one; each step is a note."""
    from psidag.tables.prepare import prepare

    table = prepare(
        path,
        columns=_names(columns),
        exclude=_names(drop) or (),
        rows=_slice(rows),
        log=log,
        standardise=standardise,
    )
    for sentence in (*table.notes, *table.steps):
        note(sentence)
    return table


def chosen_table(
    path: str,
    columns: list[str] | None,
    drop: list[str] | None,
    rows: str | None,
    *,
    prepare: bool,
    log: bool = False,
    standardise: bool = False,
    hold: Hold = "auto",
) -> FileTable:
    """The columns of numbers to learn from, made of others where that was asked for."""
    if prepare:
        return prepared_table(path, columns, drop, rows, log=log, standardise=standardise)
    if log or standardise:
        raise InputError("--log and --standardise are steps of --prepare: give it, too")
    return load_table(path, columns, drop, rows, hold=hold).numbers_only()


def text_columns(path: str, table: FileTable, rows: str | None) -> RawTable | None:
    """The columns that are not numbers with what is in them; None where there are none, or too much of them."""
    from psidag.data.scans import Batches
    from psidag.tables.raw import raw_table

    if not table.text or isinstance(table.X, Batches) or path == "-" or not all(f.is_file() for f in table_files(path)):
        return None
    # By what they are called to the letter: names may look like patterns.
    exact = [name for name in table.text if not set(name) & set("*?[")]
    return raw_table(path, columns=exact, rows=_slice(rows)) if exact else None


def experiment_of(
    path: str, column: str, rows: str | None, separator: str, none: str | None, kind: Kind
) -> Interventions:
    """What was set in each row, from a column of the table."""
    labels = file_columns(path, [column], _slice(rows))[column]
    words = NONE if none is None else [word.strip() for word in none.split(",")]
    return Interventions(labels, kind=kind, separator=separator, none=words)


def series_of(path: str, group: str | None, rows: str | None) -> list[Any] | None:
    """The value of the column that tells series apart, for each row."""
    if group is None:
        return None
    from psidag.tables.raw import raw_table

    values: list[Any] = raw_table(path, columns=[group], rows=_slice(rows)).columns[group].tolist()
    return values


def with_past(
    table: FileTable, lags: int, series: list[Any] | None, known: Constraints | None
) -> tuple[FileTable, Constraints]:
    """The table with the past beside the present, and what is known together with what time implies."""
    from psidag.tables.lagged import lagged

    past = lagged(table, lags, series)
    note(past.steps[-1])
    if known is None:
        return past, past.constraints
    if known.tiers:
        raise InputError("--lags makes tiers of its own: in the file of --knowledge use edges, exogenous and sinks")
    implied = past.constraints
    return past, replace(known, tiers=implied.tiers, exogenous=[*known.exogenous, *implied.exogenous])


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
