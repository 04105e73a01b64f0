"""Tables in NumPy's own files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from psidag.data.numpy_files import load_numpy
from psidag.data.readers import Block, Cells, Choice, Reader, TableFile, readable
from psidag.data.scans import batch_rows
from psidag.system.errors import InputError, listing


def open_array(file: TableFile, choose: Choice) -> Reader:
    """A ``.npy`` file, memory-mapped, or the table in an ``.npz`` file."""
    source, ending, where = file.content, file.ending, file.where
    with readable(where):
        names, held = _load(source, ending, where)
    if held.ndim != 2 or held.dtype.kind not in "fiub":
        raise InputError(f"{where} must hold a table of numbers; it holds {held.dtype} of shape {held.shape}")
    if names is None:
        names = [f"x{k}" for k in range(held.shape[1])]
    elif len(names) != held.shape[1]:
        raise InputError(f"{where} holds {len(names)} names for {held.shape[1]} columns")
    chosen = choose(names, where)
    cell: Cells = "boolean" if held.dtype.kind == "b" else "number"
    mapped = isinstance(source, Path) and ending == ".npy"
    plain = len(chosen) == len(names) and held.dtype in (np.float32, np.float64)

    def blocks() -> Iterator[Block]:
        step = batch_rows(held.shape[1])
        for start in range(0, len(held), step):
            # Mapped anew for each block, so that the pages of those before it can go.
            rows = np.asarray((_load(source, ending, where)[1] if mapped else held)[start : start + step])
            if not plain:
                rows = rows[:, chosen]
                rows = rows.astype(np.float32 if rows.dtype in (np.float16, np.float32) else np.float64)
            yield Block(rows.copy() if mapped else rows, (cell,) * len(chosen))

    columns = tuple(names[k] for k in chosen)
    return Reader(where, columns, blocks, {}, columns, len(held), held if plain else None)


def write_array(X: NDArray[Any], names: Sequence[str], file: BinaryIO) -> None:
    """Rows as a ``.npy`` file, which has no place for names."""
    np.save(file, X)


def write_archive(X: NDArray[Any], names: Sequence[str], file: BinaryIO) -> None:
    """Rows and names as a ``.npz`` file."""
    np.savez(file, X=X, names=np.array(names))


def _load(source: Path | bytes, ending: str, where: str) -> tuple[Sequence[str] | None, Any]:
    names: Sequence[str] | None = None
    try:
        held = load_numpy(source, ending)
        if ending == ".npz":
            arrays = held
            tables = [key for key, array in arrays.items() if array.ndim == 2]
            if "X" not in tables and len(tables) != 1:
                raise InputError(f"{where} must hold one table, or one named X; it holds {listing(list(arrays))}")
            key = "X" if "X" in tables else tables[0]
            names = next((list(map(str, arrays[k])) for k in ("names", "columns") if k in arrays), None)
            held = arrays[key]
    except InputError:
        raise
    except Exception as error:
        # NumPy and zipfile raise a dozen kinds of errors over broken files.
        raise InputError(f"{where} is not a readable {ending} file: {' '.join(str(error).split())}") from None
    return names, held
