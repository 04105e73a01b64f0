"""Tables in text files, CSV and its relatives, read with pyarrow or without."""

from __future__ import annotations

import csv
import gzip
import io
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from itertools import chain, islice
from typing import Any, BinaryIO, NamedTuple, TextIO

import numpy as np
from numpy.typing import NDArray

from psidag.data.lines import BoundedLines, separator_of
from psidag.data.readers import Block, Cells, Choice, Reader, TableFile, columnwise, readable
from psidag.system.errors import InputError

Floats = NDArray[np.float64]

#: What stands for a missing value, in any case of letters and with blanks around it.
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?", "."})
_MISSING_AS_WRITTEN = sorted(
    {word for plain in MISSING for word in (plain, plain.upper(), plain.title())} | {"NaN", "n/A", "N/a"}
)
_TRUTH = {"true": 1.0, "false": 0.0}
#: Cells that are converted at a time where a file is not all numbers.
_CELLS = 1 << 20
#: Bytes that are taken from a file at a time.
_BUFFER = 1 << 18
#: Cells of the first rows that are looked at to see how numbers are written.
_SAMPLE = 10_000
#: Characters that are parsed at a time.
_CHARACTERS = 1 << 23
_SEPARATORS = {".tsv": "\t", ".tab": "\t"}


class Head(NamedTuple):
    """What the first lines of a file say: its separator, its column names, and what comes before the data."""

    separator: str
    names: tuple[str, ...]
    header: bool
    labelled: bool
    """Whether an unnamed first column holds row labels."""
    decimal: str = "."
    """What stands before the fraction of a number."""


def open_delimited(file: TableFile, choose: Choice) -> Reader:
    """A text file, packed by gzip if its ending says so."""
    head, open_text, notes = delimited_text(file)
    where = file.where
    chosen = choose(head.names, where)
    names = tuple(head.names[k] for k in chosen)
    return Reader(where, names, lambda: read_blocks(open_text, where, head, chosen), {}, names, notes=notes)


def delimited_text(file: TableFile) -> tuple[Head, Callable[[], TextIO], tuple[str, ...]]:
    """What the first lines of a text file say, what opens it, and what there is to note."""
    ending, where = file.ending, file.where

    def open_text() -> TextIO:
        raw = file.open()
        stream: Any = gzip.GzipFile(fileobj=raw) if ending.endswith(".gz") else raw
        bounded = io.BufferedReader(BoundedLines(stream, where), _BUFFER)
        return io.TextIOWrapper(bounded, encoding="utf-8-sig", newline="")

    with readable(where):
        head = read_head(open_text, where, _SEPARATORS.get(ending.removesuffix(".gz")))
    notes: tuple[str, ...] = ()
    if not head.header:
        notes += (f"the first line of {where} is numbers: columns are called x0, x1, …",)
    if head.decimal != ".":
        notes += (f"numbers in {where} are written with a decimal comma",)
    if head.labelled:
        notes += (f"the first column of {where} has no name: taken as row labels and left out",)
    return head, open_text, notes


def as_numbers(cells: Sequence[str]) -> Floats | None:
    """Cells as numbers, with NaN where they are missing; None if some are something else."""
    values, kind, _ = _convert(cells)
    return None if kind in ("text", "boolean") else values


def read_head(open_text: Callable[[], TextIO], name: str, separator: str | None = None) -> Head:
    """Find the separator and the column names.

    The first line is a header unless all its cells are numbers; the numbers 0, 1, 2, … are one, which is
    what pandas writes for columns without names. A first column without a name holds row labels.
    """
    with open_text() as file:
        line = file.readline()
        if not line.strip():
            raise InputError(f"{name} is empty" if not line else f"the first line of {name} is empty")
        found = separator or _between_numbers(line) or separator_of(line) or (" " if " " in line.strip() else ",")
        file.seek(0)
        rows = csv.reader(file, delimiter=found, skipinitialspace=found == " ")
        try:
            first = next(rows)
            sample = list(islice(rows, max(1, _SAMPLE // len(first))))
        except csv.Error as error:
            raise InputError(f"the first lines of {name} cannot be read: {error}") from None
    cells = [cell.strip() for cell in first]
    decimal = _decimal(found, [first, *sample])
    numbers = [str(k) for k in range(len(cells))]
    if all(_is_number(cell.replace(decimal, ".")) for cell in cells) and cells != numbers:
        return Head(found, tuple(f"x{k}" for k in range(len(cells))), False, False, decimal)
    if sample and len(sample[0]) == len(cells) + 1:
        return Head(found, tuple(cells), True, True, decimal)
    labelled = cells[0] == "" and len(cells) > 1
    cells = cells[labelled:]
    if "" in cells:
        raise InputError(f"column {cells.index('') + 1 + labelled} of {name} has no name in the header")
    return Head(found, tuple(cells), True, labelled, decimal)


def _between_numbers(line: str) -> str | None:
    """What separates the numbers, some of which have a decimal comma, in a line of nothing else."""
    for separator in ";\t":
        cells = line.split(separator)
        if len(cells) > 1 and "," in line and all(_is_number(cell.replace(",", ".")) for cell in cells):
            return separator
    return None


def _decimal(separator: str, rows: list[list[str]]) -> str:
    """A comma where it does not separate cells, stands in numbers, and no number has a point; else a point."""
    if separator == ",":
        return "."
    cells = [cell.strip() for row in rows for cell in row]
    if any(_is_number(cell) and "." in cell for cell in cells):
        return "."
    return "," if any("," in cell and _is_number(cell.replace(",", ".")) for cell in cells) else "."


def read_blocks(open_text: Callable[[], TextIO], where: str, head: Head, chosen: Sequence[int]) -> Iterator[Block]:
    """The chosen columns. Lines of numbers are parsed many at a time; from the first others on, cell by cell."""
    with readable(where), open_text() as file:
        line = 0
        if head.header:
            header = csv.reader(file, delimiter=head.separator, skipinitialspace=head.separator == " ")
            next(header)
            line = header.line_num
        parse = _parser(head, chosen)
        while lines := file.readlines(_CHARACTERS):
            try:
                block = parse(lines)
            except ValueError:
                yield from _cell_by_cell(chain(lines, file), where, head, chosen, line)
                return
            line += len(lines)
            yield block


def write_csv(X: NDArray[Any], names: Sequence[str], file: BinaryIO) -> None:
    """Rows with commas between the numbers, and a header."""
    _write_encoded(X, names, ",", file)


def write_tsv(X: NDArray[Any], names: Sequence[str], file: BinaryIO) -> None:
    """The same with tabs."""
    _write_encoded(X, names, "\t", file)


def write_text(X: NDArray[Any], names: Sequence[str], separator: str, file: TextIO) -> None:
    """Rows as text; numbers to the last digit."""
    header = io.StringIO()
    csv.writer(header, delimiter=separator, lineterminator="\n").writerow(names)
    file.write(header.getvalue())
    for row in X.tolist():
        file.write(separator.join(map(repr, row)))
        file.write("\n")


def _write_encoded(X: NDArray[Any], names: Sequence[str], separator: str, file: BinaryIO) -> None:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    write_text(X, names, separator, text)
    text.detach()


def _parser(head: Head, chosen: Sequence[int]) -> Callable[[list[str]], Block]:
    """What turns lines of numbers into a block, or raises a ValueError; with pyarrow ten times as fast."""
    by = _by_arrow if head.separator != " " and find_spec("pyarrow") else _by_numpy
    if by is _by_numpy and head.decimal != ".":
        by = _by_cells
    return partial(by, head=head, chosen=chosen)


def _by_arrow(lines: list[str], head: Head, chosen: Sequence[int]) -> Block:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    text = "".join(lines).encode()
    everything = [str(k) for k in range(len(head.names) + head.labelled)]
    wanted = [str(k + head.labelled) for k in chosen]
    if not text.strip():
        return Block(np.empty((0, len(chosen))), _cells("missing", chosen))
    table = arrow_csv.read_csv(
        pa.BufferReader(text),
        arrow_csv.ReadOptions(column_names=everything, block_size=len(text) + 1),
        arrow_csv.ParseOptions(delimiter=head.separator),
        arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(wanted, pa.float64()),
            include_columns=wanted,
            null_values=_MISSING_AS_WRITTEN,
            decimal_point=head.decimal,
        ),
    )
    cells: tuple[Cells, ...] = tuple(
        "missing" if column.null_count == len(column) else "number" for column in table.columns
    )
    return Block(columnwise([c.to_numpy() for c in table.columns], table.num_rows, np.dtype(np.float64)), cells)


def _by_numpy(lines: list[str], head: Head, chosen: Sequence[int]) -> Block:
    # All columns, not only the chosen ones: asked for some, loadtxt overlooks rows that are too long.
    separator = None if head.separator == " " else head.separator
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that there are no rows is said where it matters
        values: Floats = np.loadtxt(lines, delimiter=separator, comments=None, quotechar='"', ndmin=2)
    if values.shape[1] != len(head.names) + head.labelled:
        raise ValueError("a width that the header does not have")
    return Block(values[:, [k + head.labelled for k in chosen]], _cells("number", chosen))


def _by_cells(lines: list[str], head: Head, chosen: Sequence[int]) -> Block:
    """Of NumPy's reader, which knows the decimal point alone: leave it to the cells."""
    raise ValueError("a decimal comma")


def _cell_by_cell(lines: Iterable[str], where: str, head: Head, chosen: Sequence[int], before: int) -> Iterator[Block]:
    """Blocks of whatever the lines hold; ``before`` of them have gone before."""
    width = len(head.names) + head.labelled
    rows = _full_rows(
        csv.reader(lines, delimiter=head.separator, skipinitialspace=head.separator == " "), where, width, before
    )
    while chunk := list(islice(rows, max(1, _CELLS // width))):
        columns = list(zip(*(row for _, row in chunk), strict=True))
        values = np.full((len(chunk), len(chosen)), np.nan)
        cells: list[Cells] = []
        text = {}
        for k, column in enumerate(chosen):
            raw = columns[column + head.labelled]
            plain = raw if head.decimal == "." else [cell.replace(head.decimal, ".") for cell in raw]
            values[:, k], kind, culprit = _convert(plain)
            cells.append(kind)
            if culprit is not None:
                text[k] = f"line {chunk[culprit][0]}: {raw[culprit]!r}"
        yield Block(values, tuple(cells), text)


def _full_rows(reader: Iterator[list[str]], where: str, width: int, before: int) -> Iterator[tuple[int, list[str]]]:
    """Rows with their line numbers; blank lines are passed over, a row of another width is an error."""
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            line = before + reader.line_num  # type: ignore[attr-defined]
            raise InputError(f"line {line} of {where} cannot be read: {error}") from None
        line = before + reader.line_num  # type: ignore[attr-defined]
        if len(row) == width:
            yield line, row
        elif row and any(cell.strip() for cell in row):
            raise InputError(f"line {line} of {where} has {len(row)} cells, the first line has {width}")


def _convert(cells: Sequence[str]) -> tuple[Floats, Cells, int | None]:
    """Cells as numbers, their kind, and the first cell that is neither number, truth value nor missing."""
    # float() reads 1_2 as 12, which in a table is a label.
    if not any("_" in cell for cell in cells):
        try:
            return np.array(list(map(float, cells))), "number", None
        except ValueError:
            pass
    values = np.full(len(cells), np.nan)
    kind: Cells = "missing"
    for k, cell in enumerate(cells):
        plain = cell.strip().lower()
        if plain in MISSING:
            continue
        if plain in _TRUTH and kind != "number":
            values[k], kind = _TRUTH[plain], "boolean"
        elif _is_number(plain) and kind != "boolean":
            values[k], kind = float(plain), "number"
        else:
            return values, "text", k
    return values, kind, None


def _cells(kind: Cells, columns: Sequence[int]) -> tuple[Cells, ...]:
    return (kind,) * len(columns)


def _is_number(cell: str) -> bool:
    if "_" in cell:
        return False
    try:
        float(cell)
    except ValueError:
        return False
    return True
