"""What every kind of table file offers: its chosen columns, and their rows in blocks, as often as asked for."""

from __future__ import annotations

import io
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

import numpy as np

from psidag.data.scans import Rows
from psidag.system.errors import InputError, listing

#: What the cells of a column are; ``missing`` if a block has none of them.
Cells = Literal["number", "boolean", "text", "missing"]


class Block(NamedTuple):
    """Some rows: numbers, NaN where missing or text; what each column holds; where text was met."""

    values: Rows
    cells: tuple[Cells, ...]
    text: Mapping[int, str] = {}


@dataclass(frozen=True, eq=False)
class Reader:
    """An opened file.

    Attributes
    ----------
    where : str
        What messages call the file.
    columns : tuple of str
        The chosen columns that may be numbers, in the order of the blocks.
    blocks : callable
        Gives the rows in blocks, from the first on, whenever it is called.
    text : mapping of str to str
        Chosen columns that the file itself declares to be something else, each with what.
    order : tuple of str
        All chosen columns, in the order of the file.
    rows : int, optional
        How many rows there are, where the file says so.
    array : array, optional
        The rows, where they are to be had without reading them in.
    notes : tuple of str
        What was decided on the way, in sentences.
    """

    where: str
    columns: tuple[str, ...]
    blocks: Callable[[], Iterator[Block]]
    text: Mapping[str, str] = field(default_factory=dict)
    order: tuple[str, ...] = ()
    rows: int | None = None
    array: Rows | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class TableFile:
    """A file that a table is read from, or what came through a pipe in its place.

    Attributes
    ----------
    content : Path or bytes
        Where it is, or all of it.
    ending : str
        What kind it is, as the end of a name.
    where : str
        What messages call it.
    """

    content: Path | bytes
    ending: str
    where: str

    def open(self) -> BinaryIO:
        """The bytes from the first on; whoever opens them closes them."""
        return io.BytesIO(self.content) if isinstance(self.content, bytes) else self.content.open("rb")


class Choice:
    """Which of the columns of a file are wanted."""

    def __init__(self, columns: Sequence[str] | None, drop: Sequence[str]) -> None:
        self._columns = columns
        self._drop = drop

    def __call__(self, names: Sequence[str], where: str) -> list[int]:
        """The places of the wanted columns among these names, in the order of the file."""
        repeated = [name for name, times in Counter(names).items() if times > 1]
        if repeated:
            raise InputError(
                f"column names must be unique; repeated in {where}: {listing(repeated)}; rename one of them"
            )
        kept = set(names) if self._columns is None else self._matching(self._columns, names, where)
        kept -= self._matching(self._drop, names, where)
        if not kept:
            raise InputError(f"no column of {where} is left")
        return [k for k, name in enumerate(names) if name in kept]

    def _matching(self, patterns: Sequence[str], names: Sequence[str], where: str) -> set[str]:
        found: set[str] = set()
        known = set(names)
        for pattern in patterns:
            hits = {pattern} & known or {name for name in names if fnmatchcase(name, pattern)}
            if not hits:
                close = get_close_matches(pattern, names, 3)
                hint = f"did you mean {listing(close)}?" if close else f"its columns are {listing(names)}"
                raise InputError(f"there is no column {pattern!r} in {where}; {hint}")
            found |= hits
        return found


@contextmanager
def readable(where: str) -> Iterator[None]:
    """Say of a file that cannot be read which one it is, and why."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise InputError(f"{where} is not UTF-8 text (byte {error.start}): convert it first") from None
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise InputError(f"cannot read {where}: {reason}") from None


def joined(where: str, readers: Sequence[Reader]) -> Reader:
    """Files with the same columns as one, one after the other."""
    first = readers[0]
    for other in readers[1:]:
        _check_same_columns(first, other)

    def blocks() -> Iterator[Block]:
        for reader in readers:
            places = [reader.columns.index(name) for name in first.columns]
            same = reader.columns == first.columns
            for block in reader.blocks():
                text = {k: f"{culprit} of {reader.where}" for k, culprit in block.text.items()}
                if same:
                    yield block._replace(text=text)
                else:
                    text = {new: text[old] for new, old in enumerate(places) if old in text}
                    yield Block(block.values[:, places], tuple(block.cells[k] for k in places), text)

    known = [reader.rows for reader in readers if reader.rows is not None]
    return Reader(
        where,
        first.columns,
        blocks,
        {name: f"{kind} in {first.where}" for name, kind in first.text.items()},
        first.order,
        sum(known) if len(known) == len(readers) else None,
        notes=tuple(dict.fromkeys(note for reader in readers for note in reader.notes)),
    )


def _check_same_columns(first: Reader, other: Reader) -> None:
    """Raise unless the files have the same chosen columns, and the same of them as numbers."""
    rule = "files that are read together must have the same columns: leave the file or the column out"
    for here, there in ((first, other), (other, first)):
        lacking = [name for name in here.order if name not in there.order]
        if lacking:
            raise InputError(f"{there.where} has no column {listing(lacking)}, which {here.where} has; {rule}")
        odd = [name for name in here.columns if name in there.text]
        if odd:
            raise InputError(
                f"column {odd[0]!r} is {there.text[odd[0]]} in {there.where}, and numbers in {here.where}; {rule}"
            )


def columnwise(columns: Sequence[Rows], rows: int, dtype: np.dtype[np.floating]) -> Rows:
    """Columns side by side, each contiguous: as they come from their file, and as products like them."""
    block = np.empty((len(columns), rows), dtype=dtype)
    for k, column in enumerate(columns):
        block[k] = column
    return block.T
