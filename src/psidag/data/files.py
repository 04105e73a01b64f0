"""Tables in files: where they are, what kind each column is, and whether they are held or left where they are."""

from __future__ import annotations

import glob
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from psidag.data.formats import endings, format_of, sniffed
from psidag.data.readers import Block, Cells, Choice, Reader, TableFile, joined, readable
from psidag.data.scans import Batches, Rows, array_batches, batch_rows
from psidag.system.errors import InputError

Kind = Literal["number", "integer", "boolean", "text"]

#: How many numbers of a table are held in memory; ``"auto"`` is :data:`HOLD`, None is all of them.
Hold = int | Literal["auto"] | None

#: Numbers of a table that are held in memory if nothing else is said, 256 MB in double precision.
HOLD = 1 << 25


@dataclass(frozen=True, eq=False)
class FileTable:
    """The chosen columns of a file: those that are numbers as an array, the others by name.

    Attributes
    ----------
    names : tuple of str
        Columns of numbers.
    X : array of shape (n, d), or Batches
        Their values, NaN where missing; a ``.npy`` file is memory-mapped. Batches where there are more of them than
        were to be held.
    kinds : mapping of str to str
        Every chosen column, in the order of the file: number, integer, boolean or text.
    text : mapping of str to str
        Columns that are not numbers, each with where that shows.
    notes : tuple of str
        What was done on the way, in sentences.
    steps : tuple of str
        How the columns were made of others, in sentences; solutions keep them.
    """

    names: tuple[str, ...]
    X: Any
    kinds: Mapping[str, Kind]
    text: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()

    def numbers_only(self) -> FileTable:
        """The table itself, or an error that names the columns that are not numbers."""
        if self.text:
            raise _not_numbers(self.text)
        return self

    def blocks(self) -> Batches:
        """The rows in batches, held or not."""
        return self.X if isinstance(self.X, Batches) else array_batches(self.X)


def read_table(
    path: str | Path,
    *,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    rows: slice | None = None,
    hold: Hold = None,
) -> FileTable:
    r"""Read a table from CSV, TSV, Parquet, Arrow, ``.npy`` or ``.npz``, also ``.csv.gz``; ``-`` is standard input.

    Parameters
    ----------
    path : str or Path
        A file, whose ending says the format; a folder, or a pattern such as ``part-*.parquet``, whose files have the
        same columns and are read in the order of their names. Standard input is recognised by its first bytes.
    columns, drop : sequences of str
        Names, or patterns such as ``gene_*``, of the columns to keep and of those to leave out.
    rows : slice, optional
        Which rows to keep.
    hold : int, "auto" or None
        Most numbers to hold in memory, :data:`HOLD` of them by ``"auto"``; a larger table stays in its files and is
        read in batches, again and again. One that takes no more room than its covariance is held in any case. By
        default everything is held.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "t.csv").write_text("dose,effect,who\n1,2.5,Ann\n0,,Bob\n")
    ...     table = read_table(f"{folder}/t.csv", drop=["who"])
    >>> table.names, table.X.tolist()
    (('dose', 'effect'), [[1.0, 2.5], [0.0, nan]])
    """
    reader = open_table(path, Choice(columns, drop))
    hold = HOLD if hold == "auto" else hold
    part = rows or slice(None)
    from_end = min(part.start or 0, part.stop or 0) < 0
    width = len(reader.columns)
    if reader.rows is not None:
        part = slice(*part.indices(reader.rows)[:2])
    most = None if hold is None or (from_end and reader.rows is None) else max(hold, 4 * width**2)
    expected = None if reader.rows is None else max(0, part.stop - part.start)
    large = most is not None and expected is not None and expected * width > most
    if reader.array is not None and not large:
        none: Cells = "missing"
        held = [Block(reader.array[part], next(reader.blocks(), Block(reader.array, (none,) * width)).cells)]
    else:
        blocks = reader.blocks() if from_end and reader.rows is None else _cut(reader.blocks(), part)
        # Of a table that is known to be large the first block says what its columns are like.
        held, ended = _take(blocks, 1 if large else most)
        large = large or not ended
    return _table(reader, held, part, large, from_end and reader.rows is None)


def open_table(path: str | Path, choose: Choice) -> Reader:
    """Open a file, or all files of a folder or a pattern, or what comes from standard input or a pipe."""
    if str(path) == "-":
        return _open_content(sys.stdin.buffer.read(), "standard input", choose)
    where, place = repr(str(path)), Path(path)
    if place.exists() and not place.is_dir() and not place.is_file():
        # A pipe or a device is read once, from its beginning to its end.
        with readable(where):
            return _open_content(place.read_bytes(), where, choose)
    files = table_files(path)
    kinds = {ending_of(file) for file in files}
    if len(kinds) > 1:
        raise InputError(
            f"{where} holds tables of several kinds ({' '.join(sorted(kinds))}): choose with a pattern such as "
            f"{str(place / '*') if place.is_dir() else '*'}{min(kinds)}"
        )
    if place.is_file():
        return _open(place, ending_of(place) or _sniffed(place), where, choose)
    return joined(where, [_open(file, ending_of(file), repr(str(file)), choose) for file in files])


def table_files(path: str | Path) -> list[Path]:
    """The files that a path stands for: itself, the tables of a folder, or those that fit a pattern."""
    where, place = repr(str(path)), Path(path)
    if place.is_dir():
        files = sorted(file for file in place.rglob("*") if _is_table(file.relative_to(place)) and file.is_file())
        if not files:
            raise InputError(f"the folder {where} holds no tables; their endings are {endings()}")
        return files
    if place.exists():
        return [place]
    if glob.has_magic(str(path)):
        files = sorted(file for file in map(Path, glob.glob(str(path), recursive=True)) if file.is_file())
        if not files:
            raise InputError(f"no file fits the pattern {where}")
        return files
    raise InputError(f"there is no file {where}")


def _open_content(content: bytes, where: str, choose: Choice) -> Reader:
    return _open(content, sniffed(content) or ".csv", where, choose)


def _sniffed(place: Path) -> str:
    """The ending that a file without one might have, by its first bytes."""
    with readable(repr(str(place))), place.open("rb") as file:
        return sniffed(file.read(16))


def ending_of(path: Path) -> str:
    """The ending by which the format of a file is known, or the one it has."""
    found = format_of(path.name)
    return path.suffix.lower() if found is None else found[1]


def _is_table(path: Path) -> bool:
    """Whether a file in a folder is a table, by its ending; names that begin with a dot or a bar are for others."""
    return format_of(path.name) is not None and not any(part.startswith((".", "_")) for part in path.parts)


def _open(source: Path | bytes, ending: str, where: str, choose: Choice) -> Reader:
    # What has no ending, and no beginning that says more, is taken for text.
    found = format_of(ending or ".txt")
    if found is None:
        raise InputError(f"cannot read {where}: the ending must be one of {endings()}")
    return found[0].read(TableFile(source, ending, where), choose)


def _cut(blocks: Iterator[Block], part: slice) -> Iterator[Block]:
    """The rows of a slice that counts from the first row on."""
    begin, end, seen = part.start or 0, part.stop, 0
    for block in blocks:
        if end is not None and seen >= end:
            return
        first, last = max(0, begin - seen), len(block.values) if end is None else min(len(block.values), end - seen)
        seen += len(block.values)
        if last > first:
            yield block if last - first == len(block.values) else block._replace(values=block.values[first:last])


def _take(blocks: Iterator[Block], most: int | None) -> tuple[list[Block], bool]:
    """Blocks until they have more than this many numbers, and whether there are no more."""
    held, numbers = [], 0
    for block in blocks:
        held.append(block)
        numbers += block.values.size
        if most is not None and numbers > most:
            return held, False
    return held, True


def _table(reader: Reader, held: list[Block], part: slice, large: bool, slice_held: bool) -> FileTable:
    """The table of these blocks, or, if it is large, one that reads all blocks again and looks like these."""
    text: dict[int, str] = {}
    for block in held:
        text = dict(block.text) | text
    numeric = [k for k in range(len(reader.columns)) if k not in text]
    names = tuple(reader.columns[k] for k in numeric)
    booleans = {k for k in numeric if {block.cells[k] for block in held} - {"missing"} == {"boolean"}}
    sample = _together(held[:1] if large else held, numeric, len(reader.columns))
    if slice_held:
        sample = sample[part]
    kinds = numeric_kinds(names, sample, frozenset(numeric.index(k) for k in booleans))
    order = reader.order or reader.columns
    not_numbers = dict(reader.text) | {reader.columns[k]: culprit for k, culprit in text.items()}
    return FileTable(
        names,
        Batches(partial(_batches, reader, numeric, part)) if large else sample,
        {name: kinds.get(name, "text") for name in order},
        {name: not_numbers[name] for name in order if name in not_numbers},
        reader.notes,
    )


def _together(blocks: list[Block], numeric: list[int], width: int) -> Rows:
    """The numeric columns of all blocks as one array; the blocks are given up one by one."""
    if len(blocks) == 1:
        values = blocks[0].values
        return values if len(numeric) == width else values[:, numeric]
    kind = np.result_type(np.float32, *{block.values.dtype for block in blocks}) if blocks else np.float64
    X: Rows = np.empty((sum(len(block.values) for block in blocks), len(numeric)), dtype=kind)
    start = 0
    for k, block in enumerate(blocks):
        X[start : start + len(block.values)] = block.values if len(numeric) == width else block.values[:, numeric]
        start += len(block.values)
        blocks[k] = block._replace(values=block.values[:0])
    return X


def _batches(reader: Reader, numeric: list[int], part: slice) -> Iterator[Rows]:
    """All rows once more, in batches that are worth their while; text that only shows now is an error."""
    least = max(1, batch_rows(len(numeric)) // 2)
    waiting: list[Rows] = []
    for block in _cut(reader.blocks(), part):
        found = {reader.columns[k]: culprit for k, culprit in block.text.items() if k in numeric}
        if found:
            raise _not_numbers(found)
        waiting.append(block.values if len(numeric) == len(reader.columns) else block.values[:, numeric])
        if sum(map(len, waiting)) >= least:
            yield waiting[0] if len(waiting) == 1 else np.concatenate(waiting)
            waiting = []
    if waiting:
        yield np.concatenate(waiting)


def _not_numbers(text: Mapping[str, str]) -> InputError:
    where = "; ".join(f"{name!r} ({culprit})" for name, culprit in list(text.items())[:5])
    more = f" and {len(text) - 5} more" if len(text) > 5 else ""
    flag = ",".join(text) if len(text) <= 5 else "NAME,NAME,…"
    return InputError(
        f"columns that are not numbers: {where}{more}; leave them out (on the command line: --exclude {flag!r}) "
        "or encode them as numbers (--prepare, psidag.prepare)"
    )


def numeric_kinds(names: Sequence[str], X: Any, booleans: frozenset[int] = frozenset()) -> dict[str, Kind]:
    """For each column of numbers: boolean if it was written so, integer if all values are whole, else number."""
    return {
        name: "boolean" if k in booleans else "integer" if _whole(X[:, k]) else "number" for k, name in enumerate(names)
    }


def _whole(column: Any) -> bool:
    if column.dtype.kind != "f":
        return True
    # Most columns show in their first rows that they are not whole numbers.
    for part in (column[:100], column):
        there = part[np.isfinite(part)]
        if len(there) == 0 or np.any(there != np.floor(there)):
            return False
    return True
