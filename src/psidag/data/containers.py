"""Rows in whatever holds them in memory (arrays, DataFrames, Arrow tables), as one array of floating-point numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psidag.data.scans import Rows
from psidag.system.errors import InputError, listing


def as_rows(data: Any, names: Sequence[str] | None = None) -> tuple[Rows, tuple[str, ...]]:
    """Rows as a float array, and their column names; shapes are checked only as far as needed for that."""
    X, found = named_rows(data)
    return X, check_names(_default_names(X.shape[1]) if found is None else found, names)


def named_rows(data: Any) -> tuple[Rows, tuple[str, ...] | None]:
    """Rows as a float array with their column names, or None where the container has none; NaN is missing."""
    table = _table(data)
    if table is not None:
        return table
    if hasattr(data, "tocsr"):
        raise TypeError("sparse input is not supported: a covariance of sparse data is dense; use X.toarray()")
    X = np.asarray(data)
    if X.dtype.kind == "c":
        raise InputError("Complex data not supported: split it into real and imaginary columns")
    if X.ndim != 2:
        raise InputError(
            f"data must be a table of rows and columns (Expected 2D array, got {X.ndim}D array of shape "
            f"{X.shape}). Reshape your data, e.g. with X.reshape(-1, 1) for one column"
        )
    if np.ma.is_masked(data):
        X = np.where(np.ma.getmaskarray(data), np.nan, X)
    return _as_floating(X, _default_names(X.shape[1])), None


def _default_names(d: int) -> tuple[str, ...]:
    return tuple(f"x{j}" for j in range(d))


def check_width(d: int, what: str) -> None:
    """Raise unless there are two columns, or more."""
    if d < 2:
        raise InputError(f"a graph needs at least two columns; {what} has {d}")


def check_names(found: Sequence[str], names: Sequence[str] | None) -> tuple[str, ...]:
    """The names that were found, or those that were given in their place; each must be there once."""
    if names is not None:
        if len(names) != len(found):
            raise InputError(f"{len(names)} names were given for {len(found)} columns")
        found = tuple(map(str, names))
    doubles = [name for name, times in Counter(found).items() if times > 1]
    if doubles:
        raise InputError(f"column names must be unique; repeated: {listing(doubles)}")
    return tuple(found)


def _table(data: Any) -> tuple[Rows, tuple[str, ...]] | None:
    """The rows and names of a pandas, polars or Arrow table, through narwhals; None for anything else."""
    import narwhals.stable.v2 as nw

    if nw.dependencies.is_pandas_dataframe(data):
        data = _plain(data)
    elif nw.dependencies.is_pyarrow_table(data):
        check_names(data.column_names, None)
    frame = nw.from_native(data, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, nw.DataFrame):
        return None
    names = check_names([str(name) for name in frame.columns], None)
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


def _plain(frame: Any) -> Any:
    """A pandas table with names that are there once, and with the zeros of sparse columns filled in."""
    import pandas as pd

    check_names([str(name) for name in frame.columns], None)
    sparse = {name: kind.subtype for name, kind in frame.dtypes.items() if isinstance(kind, pd.SparseDtype)}
    return frame.astype(sparse) if sparse else frame


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
