"""Parquet and Arrow files, through pyarrow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, BinaryIO

import numpy as np

from psidag.data.files import FileTable, Kind, numeric_kinds
from psidag.errors import InputError


def read_arrow(
    open_binary: Callable[[], BinaryIO], ending: str, name: str, choose: Callable[[Sequence[str]], list[int]]
) -> FileTable:
    """The chosen columns of a Parquet, Arrow or Feather file; others are not decoded where the format allows it."""
    try:
        import pyarrow as pa
    except ImportError:
        raise InputError(f"reading {name} needs pyarrow: pip install 'psidag[parquet]'") from None
    try:
        with open_binary() as file:
            table = _parquet(file, choose) if ending == ".parquet" else _ipc(file, choose)
    except pa.ArrowException as error:
        raise InputError(f"{name} is not a readable {ending} file: {str(error).splitlines()[0]}") from None
    numbers: dict[str, Any] = {}
    booleans: set[int] = set()
    kinds: dict[str, Kind] = {}
    text: dict[str, str] = {}
    for column_name, column in zip(table.column_names, table.columns, strict=True):
        kind = column.type
        if pa.types.is_boolean(kind):
            booleans.add(len(numbers))
        if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind):
            column = column.cast(pa.float64(), safe=False)
        elif pa.types.is_null(kind):
            column = column.cast(pa.float64())
        elif not pa.types.is_floating(kind):
            kinds[column_name] = "text"
            text[column_name] = f"of type {kind}"
            continue
        kinds[column_name] = "number"
        numbers[column_name] = column.to_numpy()
    X = np.column_stack(list(numbers.values())) if numbers else np.empty((table.num_rows, 0))
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float32 if X.dtype == np.float16 else np.float64)
    kinds |= numeric_kinds(list(numbers), X, frozenset(booleans))
    return FileTable(tuple(numbers), X, {n: kinds[n] for n in table.column_names}, text)


def _parquet(file: BinaryIO, choose: Callable[[Sequence[str]], list[int]]) -> Any:
    import pyarrow.parquet as pq

    source = pq.ParquetFile(file)
    names = source.schema_arrow.names
    wanted = [names[k] for k in choose(names)]
    return source.read(columns=wanted).select(wanted)


def _ipc(file: BinaryIO, choose: Callable[[Sequence[str]], list[int]]) -> Any:
    import pyarrow as pa

    try:
        table = pa.ipc.open_file(file).read_all()
    except pa.ArrowInvalid:
        file.seek(0)
        table = pa.ipc.open_stream(file).read_all()
    return table.select(choose(table.column_names))
