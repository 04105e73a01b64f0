"""Parquet and Arrow files, through pyarrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from psidag.data.readers import Block, Choice, Reader, TableFile, columnwise, readable
from psidag.data.scans import batch_rows
from psidag.system.errors import InputError


def open_columnar(file: TableFile, choose: Choice) -> Reader:
    """A Parquet, Arrow or Feather file; columns that are not chosen are not decoded."""
    ending, where = file.ending, file.where
    try:
        import pyarrow as pa
    except ImportError:
        raise InputError(f"reading {where} needs pyarrow: pip install 'psidag[parquet]'") from None
    kind = _Parquet if ending == ".parquet" else _Ipc
    with readable(where):
        try:
            with file.open() as content:
                opened = kind(content)
                schema, rows = opened.schema, opened.rows
        except pa.ArrowException as error:
            raise InputError(f"{where} is not a readable {ending} file: {_first_line(error)}") from None
    chosen = [schema.field(k) for k in choose(schema.names, where)]
    text = {field.name: f"of type {field.type}" for field in chosen if not _is_numeric(field.type)}
    numeric = [field for field in chosen if field.name not in text]
    narrow = all(field.type in (pa.float32(), pa.float16()) for field in numeric)
    dtype: np.dtype[Any] = np.dtype(np.float32 if narrow and numeric else np.float64)
    names = tuple(field.name for field in numeric)

    def blocks() -> Iterator[Block]:
        with readable(where), file.open() as content:
            source = kind(content)
            for part in range(source.parts):
                try:
                    for batch in source.read(part, names, batch_rows(len(names))):
                        yield _block(batch, names, dtype)
                except (OSError, pa.ArrowException) as error:
                    raise InputError(
                        f"{source.part_name} {part} of {where} cannot be read: {_first_line(error)}; write the file "
                        "anew, or leave it out"
                    ) from None

    return Reader(where, names, blocks, text, tuple(field.name for field in chosen), rows)


def write_parquet(X: NDArray[Any], names: Sequence[str], file: BinaryIO) -> None:
    """Rows as a Parquet file."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise InputError("writing Parquet needs pyarrow: pip install 'psidag[parquet]'") from None
    pq.write_table(pa.table({name: X[:, j] for j, name in enumerate(names)}), file)


class _Parquet:
    """A Parquet file by its row groups."""

    part_name = "row group"

    def __init__(self, file: BinaryIO) -> None:
        import pyarrow.parquet as pq

        self._file = pq.ParquetFile(file, page_checksum_verification=True)
        self.schema = self._file.schema_arrow
        self.parts = self._file.num_row_groups
        self.rows: int | None = self._file.metadata.num_rows

    def read(self, part: int, names: tuple[str, ...], size: int) -> Iterator[Any]:
        yield from self._file.iter_batches(size, row_groups=[part], columns=list(names))


class _Ipc:
    """An Arrow file by its record batches; a stream, which has no table of contents, as one part."""

    part_name = "record batch"

    def __init__(self, file: BinaryIO) -> None:
        import pyarrow as pa

        self._source = file
        self.rows: int | None = None
        try:
            whole = pa.ipc.open_file(file)
            self.schema, self.parts, self._stream = whole.schema, whole.num_record_batches, False
        except pa.ArrowInvalid:
            file.seek(0)
            self.schema, self.parts, self._stream = pa.ipc.open_stream(file).schema, 1, True

    def read(self, part: int, names: tuple[str, ...], size: int) -> Iterator[Any]:
        import pyarrow as pa

        options = pa.ipc.IpcReadOptions(included_fields=[self.schema.get_field_index(name) for name in names])
        self._source.seek(0)
        if self._stream:
            batches = iter(pa.ipc.open_stream(self._source, options=options))
        else:
            batches = iter([pa.ipc.open_file(self._source, options=options).get_batch(part)])
        for batch in batches:
            for start in range(0, batch.num_rows, size):
                yield batch.slice(start, size)


def _block(batch: Any, names: tuple[str, ...], dtype: np.dtype[Any]) -> Block:
    import pyarrow as pa

    columns, cells = [], []
    for name in names:
        column = batch.column(name)
        truth = pa.types.is_boolean(column.type)
        if truth or pa.types.is_decimal(column.type) or pa.types.is_null(column.type):
            column = column.cast(pa.float64(), safe=False)
        columns.append(column.to_numpy(zero_copy_only=False))
        cells.append("boolean" if truth else "number")
    return Block(columnwise(columns, batch.num_rows, dtype), tuple(cells))  # type: ignore[arg-type]


def _is_numeric(kind: Any) -> bool:
    import pyarrow as pa

    known = pa.types
    return bool(
        known.is_floating(kind)
        or known.is_integer(kind)
        or known.is_boolean(kind)
        or known.is_decimal(kind)
        or known.is_null(kind)
    )


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n")[0]
