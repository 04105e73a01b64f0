"""Streams: batches that pass once, matched by the names of their columns and checked as they come."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from psidag.data.containers import check_names, check_width, named_rows
from psidag.data.missing import whole_rows
from psidag.data.scans import Rows
from psidag.data.sources import Punctual, Stream
from psidag.system.clock import NEVER, Deadline, TimeOver
from psidag.system.errors import InputError, listing


def open_stream(
    batches: Iterator[Any], names: Sequence[str] | None, missing: str, deadline: Deadline = NEVER
) -> Stream:
    """A stream of checked batches; the first one says how many columns there are and what they are called.

    Batches with names are put in the order of the first one; a column more or less is an error. Batches without names
    are taken by position.
    """
    if missing not in ("error", "drop"):
        raise InputError(f'missing={missing!r} needs all rows at once; a stream can only drop them: missing="drop"')
    source = Waiting(batches)
    try:
        first = source.next(deadline)
    except StopIteration:
        raise InputError("the stream gave no batch at all") from None
    except TimeOver:
        raise InputError(f"max_time={deadline.seconds:g} s was over before the stream gave its first batch") from None
    X, own = named_rows(first)
    found = check_names(own or [f"x{j}" for j in range(X.shape[1])], names)
    check_width(X.shape[1], "the stream")
    return Stream(_Checked(first, source, own or found, found, missing), found)


class _Checked(Punctual):
    """The batches of a stream, the first one again, as rows that are in order and whole."""

    def __init__(self, first: Any, source: Waiting, own: tuple[str, ...], names: tuple[str, ...], missing: str) -> None:
        self._first = [first]
        self._source = source
        self._own, self._names, self._missing = own, names, missing
        self._number = self._seen = 0

    def __next__(self) -> Rows:
        batch = self._first.pop() if self._first else self._source.next(self.deadline)
        where = f"batch {self._number} of the stream (from row {self._seen} on)"
        rows = _aligned(batch, self._own, where)
        self._number += 1
        self._seen += len(rows)
        return whole_rows(rows, self._names, self._missing)


class Waiting:
    """Items of an iterator that may keep one waiting.

    Where there is a deadline it is asked in a thread of its own, one item at a time; an item that comes too late is the
    next one to be given.
    """

    def __init__(self, items: Iterator[Any]) -> None:
        self._items = items
        self._asked = False
        self._answers: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()

    def next(self, deadline: Deadline) -> Any:
        """The next item; StopIteration at the end, TimeOver if it does not come in time."""
        if deadline.seconds is None and not self._asked:
            return next(self._items)
        if not self._asked:
            self._asked = True
            threading.Thread(target=self._ask, name="psidag-stream", daemon=True).start()
        try:
            kind, answer = self._answers.get(timeout=None if deadline.seconds is None else max(0.0, deadline.left))
        except queue.Empty:
            raise TimeOver from None
        self._asked = False
        if kind == "item":
            return answer
        raise answer

    def _ask(self) -> None:
        try:
            self._answers.put(("item", next(self._items)))
        except BaseException as error:
            self._answers.put(("error", error))


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
