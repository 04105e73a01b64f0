"""Streams: batches that pass once, matched by the names of their columns and checked as they come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from psidag.data.containers import check_names, check_width, named_rows
from psidag.data.missing import whole_rows
from psidag.data.scans import Rows
from psidag.data.sources import Stream
from psidag.system.errors import InputError, listing


def open_stream(batches: Iterator[Any], names: Sequence[str] | None, missing: str) -> Stream:
    """A stream of checked batches; the first one says how many columns there are and what they are called.

    Batches with names are put in the order of the first one; a column more or less is an error. Batches without names
    are taken by position.
    """
    if missing not in ("error", "drop"):
        raise InputError(f'missing={missing!r} needs all rows at once; a stream can only drop them: missing="drop"')
    first = next(batches, None)
    if first is None:
        raise InputError("the stream gave no batch at all")
    X, own = named_rows(first)
    found = check_names(own or [f"x{j}" for j in range(X.shape[1])], names)
    check_width(X.shape[1], "the stream")

    def checked() -> Iterator[Rows]:
        seen = 0
        for number, batch in enumerate(chain([first], batches)):
            where = f"batch {number} of the stream (from row {seen} on)"
            rows = _aligned(batch, own or found, where)
            seen += len(rows)
            yield whole_rows(rows, found, missing)

    return Stream(checked(), found)


def _aligned(batch: Any, names: tuple[str, ...], where: str) -> Rows:
    """The rows of a batch, its columns in the order of these names."""
    rows, own = named_rows(batch)
    if own is None:
        if rows.shape[1] != len(names):
            raise InputError(f"{where} has {rows.shape[1]} columns, the first batch had {len(names)}")
        return rows
    if own == names:
        return rows
    for here, there, verb in ((names, own, "lacks"), (own, names, "has new")):
        strange = sorted(set(here) - set(there), key=here.index)
        if strange:
            raise InputError(
                f"{where} {verb} columns: {listing(strange)}; all batches must have the columns of the first one, "
                "in any order"
            )
    place = {name: k for k, name in enumerate(own)}
    return rows[:, [place[name] for name in names]]
