"""Edges as rows of a table: a list that prints aligned and turns into a data frame."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

#: A NamedTuple whose first two fields are source and target and whose others are numbers.
Row = TypeVar("Row", bound=tuple[Any, ...])


class EdgeRows(Sequence[Row]):
    """Rows of source, target and numbers, kept as columns; a column that is not there is None in every row."""

    _row: ClassVar[type[Any]]
    #: What columns are called in print, where that is shorter than their name.
    _headings: ClassVar[Mapping[str, str]] = {}
    #: What the rows are that a shortened print leaves out.
    _rest: ClassVar[str] = "more edges"

    def __init__(
        self,
        names: Sequence[str],
        ends: tuple[NDArray[np.integer], NDArray[np.integer]],
        values: Mapping[str, NDArray[np.float64]],
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
        row: Row = self._row(source, target, **{name: float(column[key]) for name, column in self._values.items()})
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
        columns = [
            [heading, *(self._names[end[k]] for k in shown)]
            for heading, end in zip(("source", "target"), self._ends, strict=True)
        ]
        columns += [
            [self._headings.get(name, name), *(f"{column[k]:.4g}" for k in shown)]
            for name, column in self._values.items()
        ]
        widths = [max(map(len, column)) for column in columns]
        lines = [
            "  ".join(
                cell.ljust(width) if place < 2 else cell.rjust(width)
                for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
            ).rstrip()
            for cells in zip(*columns, strict=True)
        ]
        if len(shown) < len(self):
            lines.append(f"… and {len(self) - len(shown)} {self._rest}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} edges)"
