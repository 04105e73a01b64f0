"""Edges as rows of a table: a list that prints aligned, shows in a notebook and turns into a data frame."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from psidag.system.text import printable_name

#: A NamedTuple whose first two fields are source and target.
Row = TypeVar("Row", bound=tuple[Any, ...])

#: This many rows a notebook shows.
_SHOWN = 20


class EdgeRows(Sequence[Row]):
    """Rows of source, target and values, kept as columns; a column that is not there is None in every row.

    Where there is a column ``directed``, an edge prints as ``a -> b`` or, without a direction, as ``a -- b``.
    """

    _row: ClassVar[type[Any]]
    #: What columns are called in print, where that is shorter than their name; None for those left out of it.
    _headings: ClassVar[Mapping[str, str | None]] = {}
    #: What the rows are that a shortened print leaves out.
    _rest: ClassVar[str] = "more edges"
    #: Marked with a question mark where the direction is open.
    _marked: ClassVar[Sequence[str]] = ()

    def __init__(
        self,
        names: Sequence[str],
        ends: tuple[NDArray[np.integer], NDArray[np.integer]],
        values: Mapping[str, NDArray[Any]],
    ) -> None:
        self._names = tuple(names)
        self._ends = ends
        self._values = dict(values)

    def __len__(self) -> int:
        return len(self._ends[0])

    @overload
    def __getitem__(self, key: int) -> Row: ...
    @overload
    def __getitem__(self, key: slice) -> list[Row]: ...
    def __getitem__(self, key: int | slice) -> Row | list[Row]:
        if isinstance(key, slice):
            return [self[k] for k in range(*key.indices(len(self)))]
        source, target = (self._names[end[key]] for end in self._ends)
        values = {name: column[key] for name, column in self._values.items()}
        plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in values.items()}
        row: Row = self._row(source, target, **plain)
        return row

    def __iter__(self) -> Iterator[Row]:
        return (self[k] for k in range(len(self)))

    def to_pandas(self) -> Any:
        """The table as a pandas DataFrame, with the columns that are there."""
        import pandas as pd

        names = np.array(self._names, dtype=object)
        ends = {key: names[end] for key, end in zip(("source", "target"), self._ends, strict=True)}
        return pd.DataFrame(ends | self._values)

    def to_text(self, limit: int | None = None) -> str:
        """The first rows, aligned."""
        shown = range(len(self) if limit is None else min(limit, len(self)))
        if not shown:
            return "no edges"
        columns = self._columns(shown, "->", "--")
        rows = zip(*([heading, *cells] for heading, cells, _ in columns), strict=True)
        lines = text_table(list(rows), [left for _, _, left in columns])
        return "\n".join([*lines, *self._remarks(shown)])

    def _remarks(self, shown: range) -> list[str]:
        """What is said below the rows."""
        return [f"… and {len(self) - len(shown)} {self._rest}"] if len(shown) < len(self) else []

    def _columns(self, shown: range, arrow: str, line: str) -> list[tuple[str, list[str], bool]]:
        """Each column as its heading, its cells, and whether they stand to the left."""
        source, target = ([printable_name(self._names[end[k]]) for k in shown] for end in self._ends)
        directed = self._values.get("directed")
        columns = [("source", source, True)]
        if directed is not None:
            columns.append(("", [arrow if directed[k] else line for k in shown], True))
        columns.append(("target", target, True))
        open_ = [directed is not None and not directed[k] for k in shown]
        for name, column in self._values.items():
            heading = self._headings.get(name, name)
            if heading is not None:
                texts = [self._text(name, column[k]) for k in shown]
                if name in self._marked and any(open_):
                    texts = [text + ("?" if mark else " ") for text, mark in zip(texts, open_, strict=True)]
                columns.append((heading, texts, column.dtype == object))
        return columns

    def _text(self, name: str, value: Any) -> str:
        """One cell in print."""
        if value is None:
            return ""
        return str(value) if isinstance(value, str | bool | np.bool_) else f"{value:.4g}"

    def _repr_html_(self) -> str:
        """The first rows as a table, for notebooks."""
        shown = range(min(_SHOWN, len(self)))
        if not shown:
            return "<p>no edges</p>"
        columns = self._columns(shown, "→", "—")
        rows = zip(*([heading, *cells] for heading, cells, _ in columns), strict=True)
        notes = "".join(f"<p>{html.escape(line)}</p>" for line in self._remarks(shown))
        return html_table(list(rows)) + notes

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} edges)"


def text_table(rows: Sequence[Sequence[str]], left: Sequence[bool]) -> list[str]:
    """Lines of aligned cells, the first row being the headings; ``left`` says which columns stand to the left.

    Examples
    --------
    >>> text_table([["method", "edges"], ["a", "12"]], [True, False])
    ['method  edges', 'a          12']
    """
    padded = []
    for cells, to_left in zip(zip(*rows, strict=True), left, strict=True):
        width = max(map(len, cells))
        padded.append([cell.ljust(width) if to_left else cell.rjust(width) for cell in cells])
    return ["  ".join(cells).rstrip() for cells in zip(*padded, strict=True)]


def html_table(rows: Sequence[Sequence[str]]) -> str:
    """The same cells as a table for notebooks."""
    head, *body = rows
    top = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
    rest = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in body)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{rest}</tbody></table>"
