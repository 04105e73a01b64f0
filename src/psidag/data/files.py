"""Tables in files: which columns there are, which of them are wanted, and what kind each is."""

from __future__ import annotations

import gzip
import io
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, BinaryIO, Literal, TextIO

import numpy as np

from psidag.data.delimited import read_columns, read_head
from psidag.data.numpy_files import load_numpy
from psidag.errors import InputError, listing

Kind = Literal["number", "integer", "boolean", "text"]

#: File endings that are read as tables.
TABLE_ENDINGS = (".csv", ".tsv", ".tab", ".txt", ".parquet", ".arrow", ".feather", ".ipc", ".npy", ".npz")
_SEPARATORS = {".tsv": "\t", ".tab": "\t"}
_ARROW = (".parquet", ".arrow", ".feather", ".ipc")
_MAGIC = {
    b"PAR1": ".parquet",
    b"ARROW1": ".arrow",
    b"\x93NUMPY": ".npy",
    b"PK\x03\x04": ".npz",
    b"\x1f\x8b": ".csv.gz",
}


@dataclass(frozen=True, eq=False)
class FileTable:
    """The chosen columns of a file: those that are numbers as an array, the others by name.

    Attributes
    ----------
    names : tuple of str
        Columns of numbers.
    X : array of shape (n, d)
        Their values, NaN where missing; a ``.npy`` file is memory-mapped.
    kinds : mapping of str to str
        Every chosen column, in the order of the file: number, integer, boolean or text.
    text : mapping of str to str
        Columns that are not numbers, each with where that shows.
    notes : tuple of str
        What was done on the way, in sentences.
    """

    names: tuple[str, ...]
    X: Any
    kinds: Mapping[str, Kind]
    text: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def numbers_only(self) -> FileTable:
        """The table itself, or an error that names the columns that are not numbers."""
        if not self.text:
            return self
        where = "; ".join(f"{name!r} ({culprit})" for name, culprit in list(self.text.items())[:5])
        more = f" and {len(self.text) - 5} more" if len(self.text) > 5 else ""
        flag = ",".join(self.text) if len(self.text) <= 5 else "NAME,NAME,…"
        raise InputError(
            f"columns that are not numbers: {where}{more}; leave them out (on the command line: --drop {flag!r}) "
            "or encode them as numbers"
        )


def read_table(
    path: str | Path,
    *,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    rows: slice | None = None,
) -> FileTable:
    r"""Read a table from CSV, TSV, Parquet, Arrow, ``.npy`` or ``.npz``, also ``.csv.gz``; ``-`` is standard input.

    Parameters
    ----------
    path : str or Path
        The ending says the format. Standard input is recognised by its first bytes.
    columns, drop : sequences of str
        Names, or patterns such as ``gene_*``, of the columns to keep and of those to leave out.
    rows : slice, optional
        Which rows to keep.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "t.csv").write_text("dose,effect,who\n1,2.5,Ann\n0,,Bob\n")
    ...     table = read_table(f"{folder}/t.csv", drop=["who"])
    >>> table.names, table.X.tolist()
    (('dose', 'effect'), [[1.0, 2.5], [0.0, nan]])
    """
    held: bytes | None = None
    if str(path) == "-":
        name, held = "standard input", sys.stdin.buffer.read()
        ending = next((end for magic, end in _MAGIC.items() if held.startswith(magic)), ".csv")
    else:
        path = Path(path)
        name, ending = repr(str(path)), "".join(path.suffixes[-2:]) if path.suffix == ".gz" else path.suffix
        if path.is_dir():
            raise InputError(f"{name} is a folder; give a file")
        if not path.exists():
            raise InputError(f"there is no file {name}")
    ending = ending.lower()

    def open_binary() -> BinaryIO:
        return io.BytesIO(held) if held is not None else Path(path).open("rb")

    choose = _Choice(name, columns, drop)
    try:
        if ending in _ARROW:
            from psidag.data.columnar import read_arrow

            table = read_arrow(open_binary, ending, name, choose)
        elif ending in (".npy", ".npz"):
            table = _read_numpy(held if held is not None else path, ending, name, choose)
        elif ending.removesuffix(".gz") in (".csv", ".tsv", ".tab", ".txt", ""):
            table = _read_text(open_binary, ending, name, choose)
        else:
            raise InputError(f"cannot read {name}: the ending must be one of {' '.join(TABLE_ENDINGS)}")
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not UTF-8 text (byte {error.start}): convert it first") from None
    except (OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise InputError(f"cannot read {name}: {reason}") from None
    if rows is None:
        return table
    return FileTable(table.names, table.X[rows], table.kinds, table.text, table.notes)


class _Choice:
    """Which of the columns of a file are wanted."""

    def __init__(self, where: str, columns: Sequence[str] | None, drop: Sequence[str]) -> None:
        self._where = where
        self._columns = columns
        self._drop = drop

    def __call__(self, names: Sequence[str]) -> list[int]:
        """The places of the wanted columns among these names, in the order of the file."""
        repeated = [name for name, times in Counter(names).items() if times > 1]
        if repeated:
            raise InputError(f"column names must be unique; repeated in {self._where}: {listing(repeated)}")
        kept = set(names) if self._columns is None else self._matching(self._columns, names)
        kept -= self._matching(self._drop, names)
        if not kept:
            raise InputError(f"no column of {self._where} is left")
        return [k for k, name in enumerate(names) if name in kept]

    def _matching(self, patterns: Sequence[str], names: Sequence[str]) -> set[str]:
        found: set[str] = set()
        for pattern in patterns:
            hits = {pattern} & set(names) or {name for name in names if fnmatchcase(name, pattern)}
            if not hits:
                close = get_close_matches(pattern, names, 3)
                hint = f"did you mean {listing(close)}?" if close else f"its columns are {listing(names)}"
                raise InputError(f"there is no column {pattern!r} in {self._where}; {hint}")
            found |= hits
        return found


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


def _read_text(
    open_binary: Callable[[], BinaryIO], ending: str, name: str, choose: Callable[[Sequence[str]], list[int]]
) -> FileTable:
    def open_text() -> TextIO:
        raw = open_binary()
        stream: Any = gzip.GzipFile(fileobj=raw) if ending.endswith(".gz") else raw
        return io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")

    head = read_head(open_text, name, _SEPARATORS.get(ending.removesuffix(".gz")))
    chosen = choose(head.names)
    found = read_columns(open_text, name, head, chosen)
    notes = () if head.header else (f"the first line of {name} is numbers: columns are called x0, x1, …",)
    if head.labelled:
        notes = (f"the first column of {name} has no name: taken as row labels and left out",)
    numeric = [k for k in range(len(chosen)) if k not in found.text]
    names = [head.names[k] for k in chosen]
    X = found.values[:, numeric] if found.text else found.values
    booleans = frozenset(new for new, old in enumerate(numeric) if old in found.booleans)
    kinds = numeric_kinds([names[k] for k in numeric], X, booleans)
    return FileTable(
        tuple(names[k] for k in numeric),
        X,
        {name: kinds.get(name, "text") for name in names},
        {names[k]: culprit for k, culprit in found.text.items()},
        notes,
    )


def _read_numpy(
    source: str | Path | bytes, ending: str, name: str, choose: Callable[[Sequence[str]], list[int]]
) -> FileTable:
    names: Sequence[str] | None = None
    try:
        held = load_numpy(source, ending)
        if ending == ".npz":
            arrays = held
            tables = [key for key, array in arrays.items() if array.ndim == 2]
            if "X" not in tables and len(tables) != 1:
                raise InputError(f"{name} must hold one table, or one named X; it holds {listing(list(arrays))}")
            key = "X" if "X" in tables else tables[0]
            names = next((list(map(str, arrays[k])) for k in ("names", "columns") if k in arrays), None)
            held = arrays[key]
    except InputError:
        raise
    except Exception as error:
        # NumPy and zipfile raise a dozen kinds of errors over broken files.
        raise InputError(f"{name} is not a readable {ending} file: {' '.join(str(error).split())}") from None
    if held.ndim != 2 or held.dtype.kind not in "fiub":
        raise InputError(f"{name} must hold a table of numbers; it holds {held.dtype} of shape {held.shape}")
    if names is None:
        names = [f"x{k}" for k in range(held.shape[1])]
    elif len(names) != held.shape[1]:
        raise InputError(f"{name} holds {len(names)} names for {held.shape[1]} columns")
    chosen = choose(names)
    if len(chosen) < len(names):
        held = held[:, chosen]
        names = [names[k] for k in chosen]
    kinds: dict[str, Kind]
    if held.dtype.kind == "b":
        kinds = dict.fromkeys(names, "boolean")
    else:
        kinds = numeric_kinds(names, held)
    if held.dtype not in (np.float32, np.float64):
        held = held.astype(np.float64)
    return FileTable(tuple(names), held, kinds)
