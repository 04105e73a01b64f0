"""From whatever the user holds to a :class:`Source`, with errors that name the column and the remedy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from psidag.data.files import HOLD, FileTable, read_table
from psidag.data.missing import check_missing, complete, complete_scan
from psidag.data.moments import Moments
from psidag.data.scans import Batches, Partitions, Rows
from psidag.data.sources import Adopted, Source, Stream, Summary, answers, in_memory, is_source
from psidag.system.errors import InputError, listing
from psidag.system.parallel import one_blas_thread


@one_blas_thread()
def as_source(
    data: Any,
    *,
    names: Sequence[str] | None = None,
    sample_weight: ArrayLike | None = None,
    missing: str = "error",
    least_rows: int = 2,
) -> Source:
    """Make a source of an array, a table, files, Dask data, an iterator of batches, or :class:`Moments`.

    A source stays what it is. One of your own needs ``names``, ``d`` and ``moments()``; with ``batches()``, which gives
    its rows from the first on whenever it is called, it serves engines that sample rows, too.

    Parameters
    ----------
    data : array, DataFrame, Arrow table, path, Dask array or DataFrame, iterator or Moments
        Arrays and tables are kept as they are, not copied, unless their type has to change. A path (of a file, a
        folder or a pattern) is read by :func:`psidag.data.files.read_table`; what is too large to be held stays in
        its files. The rows of Dask data stay where they are.
    names : sequence of str, optional
        Column names; those of the table, else ``x0 …``, by default.
    sample_weight : array of shape (n,), optional
        Non-negative weights of the rows of a table or array.
    missing : {"error", "drop", "mean", "pairwise"}
        What to do about missing values; see :func:`psidag.data.missing.complete`.
    least_rows : int
        Fewer rows than this in a table or array are an error.
    """
    check_missing(missing)
    own = is_source(data)
    if own or isinstance(data, Moments) or hasattr(data, "__next__"):
        if sample_weight is not None:
            raise InputError("sample_weight goes with an array or a table, not with a stream or with moments")
        if own:
            return data if answers(data) else _adopted(data, missing, least_rows)
        return Summary(data) if isinstance(data, Moments) else _stream(iter(data), names, missing)
    if isinstance(data, str | Path):
        data = read_table(data, hold=HOLD)
    if isinstance(data, FileTable):
        table = data.numbers_only()
        if isinstance(table.X, Batches):
            return _scan(table.X, table.names, names, sample_weight, missing, least_rows)
        data, names = table.X, table.names if names is None else names
    if hasattr(data, "__dask_graph__"):
        from psidag.data.cluster import partitions

        pieces, found = partitions(data)
        return _scan(pieces, found, names, sample_weight, missing, least_rows)
    X, found = as_rows(data, names)
    _check_shape(X, least_rows)
    return complete(X, found, _check_weight(sample_weight, len(X)), missing, least_rows)


def _adopted(own: Any, missing: str, least_rows: int) -> Source:
    """A source of one's own, with answers to what it was not asked by its author."""
    if not hasattr(own, "batches"):
        return Adopted(own)
    names = tuple(map(str, own.names))
    return _scan(
        Batches(lambda: (as_rows(batch)[0] for batch in own.batches())), names, None, None, missing, least_rows
    )


def _scan(
    rows: Partitions,
    found: Sequence[str],
    names: Sequence[str] | None,
    weight: ArrayLike | None,
    missing: str,
    least_rows: int,
) -> Source:
    """A source of rows that stay where they are."""
    if weight is not None:
        raise InputError("sample_weight goes with rows in memory; these stay in their files or on their cluster")
    checked = _check_names(found, names)
    _check_width(len(checked), "the table")
    return complete_scan(rows, checked, missing, least_rows)


def as_rows(data: Any, names: Sequence[str] | None = None) -> tuple[Rows, tuple[str, ...]]:
    """Rows as a float array, and their column names; shapes are checked only as far as needed for that."""
    table = _table(data)
    if table is not None:
        X, found = table
    elif hasattr(data, "tocsr"):
        raise TypeError("sparse input is not supported: a covariance of sparse data is dense; use X.toarray()")
    else:
        X = np.asarray(data)
        if X.dtype.kind == "c":
            raise InputError("Complex data not supported: split it into real and imaginary columns")
        if X.ndim != 2:
            raise InputError(
                f"data must be a table of rows and columns (Expected 2D array, got {X.ndim}D array of shape "
                f"{X.shape}). Reshape your data, e.g. with X.reshape(-1, 1) for one column"
            )
        found = tuple(f"x{j}" for j in range(X.shape[1]))
        X = _as_floating(X, found)
    return X, _check_names(found, names)


def _check_names(found: Sequence[str], names: Sequence[str] | None) -> tuple[str, ...]:
    """The names that were found, or those that were given in their place; each must be there once."""
    if names is not None:
        if len(names) != len(found):
            raise InputError(f"{len(names)} names were given for {len(found)} columns")
        found = tuple(map(str, names))
    doubles = [name for name in dict.fromkeys(found) if found.count(name) > 1] if len(set(found)) < len(found) else []
    if doubles:
        raise InputError(f"column names must be unique; repeated: {listing(doubles)}")
    return tuple(found)


def _table(data: Any) -> tuple[Rows, tuple[str, ...]] | None:
    """The rows and names of a pandas, polars or Arrow table, through narwhals; None for anything else."""
    import narwhals.stable.v2 as nw

    frame = nw.from_native(data, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, nw.DataFrame):
        return None
    names = tuple(str(name) for name in frame.columns)
    text = [
        name
        for name, kind in frame.schema.items()
        if not (kind.is_numeric() or kind == nw.Boolean or kind == nw.Object)
    ]
    if text:
        raise InputError(
            f"columns that are not numbers: {listing([str(name) for name in text])}; leave them out or encode them"
        )
    truth = [name for name, kind in frame.schema.items() if kind == nw.Boolean]
    # As numbers before NumPy sees them: it has no booleans that may be missing.
    frame = frame.with_columns(nw.col(*truth).cast(nw.Float64)) if truth else frame
    return _as_floating(frame.to_numpy(), names), names


def _as_floating(X: NDArray[Any], names: Sequence[str]) -> Rows:
    """float32 and float64 as they are; integers, booleans and numbers in objects as float64."""
    if X.dtype in (np.float32, np.float64):
        return X
    if X.dtype == np.float16:
        return X.astype(np.float32)
    if X.dtype.kind in "OUS":
        text = []
        for j in range(X.shape[1]):
            try:
                X[:, j].astype(np.float64)
            except ValueError:
                text.append(names[j])
            except TypeError as error:
                raise TypeError(f"column {names[j]!r} is not a column of numbers: {error}") from None
        if text:
            raise InputError(f"columns that are not numbers: {listing(text)}; leave them out or encode them")
    elif X.dtype.kind not in "iubf":
        raise TypeError(f"data of type {X.dtype} cannot be taken as numbers")
    return X.astype(np.float64)


def _check_shape(X: Rows, least_rows: int) -> None:
    n, d = X.shape
    if d < 2:
        raise InputError(
            f"Found array with {d} feature(s) (shape=({n}, {d})) while a minimum of 2 is required: "
            "a graph needs at least two columns"
        )
    if n < least_rows:
        raise InputError(
            f"Found array with {n} sample(s) (shape=({n}, {d})) while a minimum of {least_rows} is required: "
            "dependence cannot be seen in fewer rows"
        )


def _check_width(d: int, what: str) -> None:
    if d < 2:
        raise InputError(f"a graph needs at least two columns; {what} has {d}")


def _check_weight(weight: ArrayLike | None, n: int) -> NDArray[np.float64] | None:
    if weight is None:
        return None
    checked = np.asarray(weight, dtype=np.float64)
    if checked.shape != (n,):
        raise InputError(f"sample_weight must hold one weight for each of the {n} rows; got shape {checked.shape}")
    if not np.isfinite(checked).all() or (checked < 0).any():
        row = int(np.flatnonzero(~(np.isfinite(checked) & (checked >= 0)))[0])
        raise InputError(f"sample_weight must be finite and not negative; row {row} has {checked[row]}")
    if not checked.sum() > 0:
        raise InputError("sample_weight is zero everywhere: no row is left to learn from")
    return checked


def _stream(batches: Iterator[Any], names: Sequence[str] | None, missing: str) -> Stream:
    """A stream of checked batches; the first one says how many columns there are and what they are called."""
    if missing not in ("error", "drop"):
        raise InputError(f'missing={missing!r} needs all rows at once; a stream can only drop them: missing="drop"')
    first = next(batches, None)
    if first is None:
        raise InputError("the stream gave no batch at all")
    X, found = as_rows(first, names)
    _check_width(X.shape[1], "the stream")

    def checked() -> Iterator[Rows]:
        seen = 0
        for number, batch in enumerate(chain([first], batches)):
            rows, _ = as_rows(batch)
            if rows.shape[1] != len(found):
                raise InputError(
                    f"batch {number} of the stream (from row {seen} on) has {rows.shape[1]} columns, "
                    f"the first batch had {len(found)}"
                )
            seen += len(rows)
            whole = complete(rows, found, None, missing, 0)
            if in_memory(whole):
                yield whole.X

    return Stream(checked(), found)
