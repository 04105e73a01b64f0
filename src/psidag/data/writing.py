"""Tables to files."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psidag.system.atomic import replacing
from psidag.system.errors import InputError

_ENDINGS = (".csv", ".tsv", ".npy", ".npz", ".parquet")


def check_table_path(path: str) -> str:
    """The ending of a table that can be written, or an error."""
    ending = ".csv" if path == "-" else Path(path).suffix.lower()
    if ending not in _ENDINGS:
        raise InputError(f"cannot write rows to {path!r}: the ending must be one of {' '.join(_ENDINGS)}")
    return ending


def write_table(X: NDArray[Any], names: Sequence[str], path: str) -> None:
    """Write rows, whole or not at all; the ending says the format, ``-`` is CSV on standard output.

    ``.npy`` has no place for names.
    """
    ending = check_table_path(path)
    if path == "-":
        _write_text(X, names, ",", sys.stdout)
        return
    with replacing(path) as file:
        if ending in (".csv", ".tsv"):
            text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
            _write_text(X, names, "," if ending == ".csv" else "\t", text)
            text.detach()
        elif ending == ".npy":
            np.save(file, X)
        elif ending == ".npz":
            np.savez(file, X=X, names=np.array(names))
        else:
            _write_parquet(X, names, path, file)


def _write_text(X: NDArray[Any], names: Sequence[str], separator: str, file: Any) -> None:
    header = io.StringIO()
    csv.writer(header, delimiter=separator, lineterminator="\n").writerow(names)
    file.write(header.getvalue())
    for row in X.tolist():
        file.write(separator.join(map(repr, row)))
        file.write("\n")


def _write_parquet(X: NDArray[Any], names: Sequence[str], path: str, file: Any) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise InputError(f"writing {path!r} needs pyarrow: pip install 'psidag[parquet]'") from None
    pq.write_table(pa.table({name: X[:, j] for j, name in enumerate(names)}), file)
