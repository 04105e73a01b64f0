"""From data and labels to a source: rows with what was set in each, wherever they are."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from psidag.data.conditions import Conditions
from psidag.data.containers import as_rows, check_names
from psidag.data.files import FileTable, read_table
from psidag.data.ingest import as_source
from psidag.data.interventions import Interventions
from psidag.data.label_columns import file_columns, taken_out
from psidag.data.labelled import (
    LabelledScan,
    LabelledSummary,
    LabelledTable,
    Piece,
    check_conditions,
    filled_piece,
    is_experiment,
    labelled_batches,
    whole_piece,
)
from psidag.data.missing import filling
from psidag.data.moments import Moments
from psidag.data.scans import Batches, Partitions
from psidag.data.sources import Source, in_memory, is_source
from psidag.data.streams import Waiting
from psidag.system.clock import NEVER, Deadline, TimeOver
from psidag.system.errors import InputError
from psidag.system.parallel import one_blas_thread


@one_blas_thread()
def as_experiment(
    data: Any,
    interventions: Any,
    *,
    names: Sequence[str] | None = None,
    sample_weight: ArrayLike | None = None,
    missing: str = "error",
    least_rows: int = 2,
    deadline: Deadline = NEVER,
    whole: bool = True,
) -> Source:
    """The source of data with what was set in each row; the one without labels if nothing was set in any row.

    Parameters
    ----------
    data, names, sample_weight, missing, least_rows, deadline
        As in :func:`psidag.data.ingest.as_source`.
    interventions : None, str, sequence or Interventions
        What was set in each row, or the name of the column that says so; see
        :class:`~psidag.data.interventions.Interventions`.
    whole : bool
        Whether these are all rows there are, in which every variable must have been left alone now and then; and not a
        batch of them, or rows to be judged.
    """
    given = Interventions.of(interventions)
    take = functools.partial(as_source, names=names, missing=missing, least_rows=least_rows)
    if given is None or is_experiment(data):
        return take(data, sample_weight=sample_weight, deadline=deadline)
    if missing == "pairwise":
        raise InputError('missing="pairwise" has no rows left to go with labels of interventions: "drop" or "mean"')
    if isinstance(data, Moments) or (is_source(data) and not getattr(data, "has_rows", False)):
        raise InputError("interventions go with rows, and moments have none: give the table itself")
    if hasattr(data, "__next__"):
        return _stream(data, given, names, missing, deadline)
    if hasattr(data, "__dask_graph__"):
        return _dask(data, given, names, missing)
    if isinstance(data, str | Path):
        found = file_columns(data, given.columns) if given.columns else {}
        given = given.filled(found)
        data = read_table(data, drop=given_columns(found), hold="auto")
    if isinstance(data, FileTable):
        table = data.numbers_only()
        if isinstance(table.X, Batches):
            return _scan(table.X, check_names(table.names, names), given, missing)
    else:
        data, given = apart(data, given)
    return _table(data, given, take, sample_weight, whole)


def apart(data: Any, given: Interventions) -> tuple[Any, Interventions]:
    """A data frame without the columns of labels, and what they say; what has none is left as it is."""
    if not given.columns:
        return data, given
    rest, found = taken_out(data, given.columns)
    return rest, given.filled(found)


def given_columns(found: dict[str, list[Any]]) -> list[str]:
    """Names to the letter, where they might look like patterns."""
    return [name.replace("[", "[[]") if set(name) & set("*?[") else name for name in found]


def _table(data: Any, given: Interventions, take: Any, sample_weight: ArrayLike | None, whole: bool) -> Source:
    """A table in memory; rows that missing values take away take their labels with them."""
    source: Source = take(data, sample_weight=sample_weight)
    if not in_memory(source):
        raise InputError("interventions go with the rows of a table, of files, of Dask data or of a stream")
    targets = given.bind(source.names)
    rows = data.X if isinstance(data, FileTable) else as_rows(data)[0]
    if len(targets) != len(rows):
        raise InputError(f"there are {len(targets)} labels of interventions for {len(rows)} rows: give one for each")
    if whole and not targets.any and targets.batch is None:
        return source
    left = targets if len(source) == len(rows) else targets.take(np.flatnonzero(~np.isnan(rows).any(axis=1)))
    if whole:
        left.check(len(source))
    labelled = LabelledTable(source.X, source.names, left, source.sample_weight)
    labelled.remarks = (*targets.remarks, *source.remarks)
    return labelled


def _scan(batches: Batches, names: tuple[str, ...], given: Interventions, missing: str) -> Source:
    """Rows that stay in their files, with labels that are held."""
    targets = given.bind(names)
    pieces = Batches(lambda: labelled_batches(batches, targets))  # type: ignore[arg-type, return-value]
    scan = LabelledScan(pieces, names, targets.kind, _without_gaps(batches, names, missing))
    scan.remarks = targets.remarks
    return scan


def _dask(data: Any, given: Interventions, names: Sequence[str] | None, missing: str) -> Source:
    """Dask data whose partitions hold their labels."""
    from psidag.data.cluster import DaskRows, partitions

    if not hasattr(data, "dtypes") or not isinstance(given.labels, str):
        raise InputError(
            "interventions of Dask data stand in a column of a Dask DataFrame, since nobody knows how many rows its "
            'partitions have: interventions="COLUMN"'
        )
    unknown = [name for name in given.columns if name not in data.columns]
    if unknown:
        raise InputError(f"there is no column {unknown[0]!r} in the Dask DataFrame")
    rows, found = partitions(data.drop(columns=list(given.columns)))
    checked = check_names(found, names)
    pieces = DaskRows(data.to_delayed(), functools.partial(_piece, given=given, names=checked))
    return LabelledScan(pieces, checked, given.kind, _without_gaps(rows, checked, missing))


def _without_gaps(rows: Partitions, names: tuple[str, ...], missing: str) -> Callable[[Piece], Piece] | None:
    """What is done to pieces of these rows because values may be missing."""
    if missing == "drop":
        return whole_piece
    fill = filling(rows, names) if missing == "mean" else None
    return None if fill is None else functools.partial(filled_piece, fill=fill)


def _piece(part: Any, given: Interventions, names: tuple[str, ...]) -> Piece:
    """A table with a column of labels as rows and targets."""
    rest, found = taken_out(part, given.columns) if given.columns else (part, {})
    return Piece(as_rows(rest)[0], given.filled(found).bind(names))


def _stream(
    batches: Iterator[Any], given: Interventions, names: Sequence[str] | None, missing: str, deadline: Deadline
) -> Source:
    """All that a stream gives in time, as its statistic."""
    if not isinstance(given.labels, str):
        raise InputError(
            'interventions of a stream stand in a column of its batches, which are tables: interventions="COLUMN"'
        )
    if missing not in ("error", "drop"):
        raise InputError(f'missing={missing!r} needs all rows at once; a stream can only drop them: missing="drop"')
    waiting, conditions = Waiting(iter(batches)), None
    until = deadline.part(0.5) if deadline.seconds is not None else deadline
    while True:
        try:
            batch = waiting.next(until)
        except (StopIteration, TimeOver):
            break
        if conditions is None:
            rest, _ = taken_out(batch, given.columns)
            known = check_names(as_rows(rest)[1], names)
            conditions = Conditions(known, given.kind)
        piece = _piece(batch, given, conditions.names)
        if missing == "drop":
            piece = whole_piece(piece)
        conditions.update(piece.rows, piece.targets)
    if conditions is None:
        raise InputError("the stream gave no batch at all")
    check_conditions(conditions)
    return LabelledSummary(conditions)
