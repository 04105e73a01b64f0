"""The kinds of files that tables are read from and written to; one entry of a table each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, BinaryIO, NamedTuple

from numpy.typing import NDArray

from psidag.data.arrays import open_array, write_archive, write_array
from psidag.data.columnar import open_columnar, write_parquet
from psidag.data.delimited import open_delimited, write_csv, write_tsv
from psidag.data.excel import open_excel
from psidag.data.readers import Choice, Reader, TableFile


class TableFormat(NamedTuple):
    """How the tables of some files are read and written.

    Attributes
    ----------
    endings : tuple of str
        How the names of such files end, in small letters.
    read : callable
        Gives a :class:`~psidag.data.readers.Reader` of the chosen columns of a file.
    write : callable, optional
        Writes rows and the names of their columns to an open file.
    beginnings : mapping of bytes to str
        First bytes of such files, each with the ending that they stand for: what comes from a pipe has no name.
    """

    endings: tuple[str, ...]
    read: Callable[[TableFile, Choice], Reader]
    write: Callable[[NDArray[Any], Sequence[str], BinaryIO], None] | None = None
    beginnings: Mapping[bytes, str] = {}


#: The formats by name. Another one is one more entry.
FORMATS: dict[str, TableFormat] = {
    "csv": TableFormat((".csv",), open_delimited, write_csv),
    "tsv": TableFormat((".tsv", ".tab"), open_delimited, write_tsv),
    "text": TableFormat((".txt",), open_delimited),
    "packed text": TableFormat(
        (".csv.gz", ".tsv.gz", ".tab.gz", ".txt.gz"), open_delimited, beginnings={b"\x1f\x8b": ".csv.gz"}
    ),
    "parquet": TableFormat((".parquet",), open_columnar, write_parquet, {b"PAR1": ".parquet"}),
    "arrow": TableFormat((".arrow", ".feather", ".ipc"), open_columnar, beginnings={b"ARROW1": ".arrow"}),
    "array": TableFormat((".npy",), open_array, write_array, {b"\x93NUMPY": ".npy"}),
    "archive": TableFormat((".npz",), open_array, write_archive, {b"PK\x03\x04": ".npz"}),
    "excel": TableFormat((".xlsx",), open_excel),
}


def format_of(name: str) -> tuple[TableFormat, str] | None:
    """The format of a file by its name, and the ending that says so; None if there is none."""
    lower = name.lower()
    fitting = [(len(end), key, end) for key, entry in FORMATS.items() for end in entry.endings if lower.endswith(end)]
    if not fitting:
        return None
    _, key, ending = max(fitting)
    return FORMATS[key], ending


def sniffed(content: bytes) -> str:
    """The ending that the first bytes of a file stand for; empty if they tell nothing."""
    beginnings = {magic: ending for entry in FORMATS.values() for magic, ending in entry.beginnings.items()}
    return next((ending for magic, ending in beginnings.items() if content.startswith(magic)), "")


def endings(*, written: bool = False) -> str:
    """The endings that are read, or written, for messages."""
    chosen = [entry for entry in FORMATS.values() if entry.write is not None or not written]
    return " ".join(ending for entry in chosen for ending in entry.endings if not ending.endswith(".gz"))
