"""Numbers as a table of the kind that somebody gave: pandas, polars or Arrow, with names and row labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def labelled(values: NDArray[np.float64], names: Sequence[str], like: Any) -> Any:
    """A table of these values of the same kind as ``like``, with its row labels if it has as many rows.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"a": [1.0], "b": [2.0]}, index=["first"])
    >>> labelled(np.array([[3.0, 4.0]]), ["a", "b"], frame).loc["first", "b"]
    np.float64(4.0)
    """
    columns = {name: values[:, k] for k, name in enumerate(names)}
    kind = _kind(like)
    if kind == "pandas":
        import pandas as pd

        return pd.DataFrame(columns, index=like.index if len(like) == len(values) else None)
    if kind == "polars":
        import polars as pl

        return pl.DataFrame(columns)
    if kind == "pyarrow":
        import pyarrow as pa

        return pa.table(columns)
    return values


def labelled_column(values: NDArray[np.float64], name: str, like: Any) -> Any:
    """A column of these values as ``like`` has them."""
    kind = _kind(like)
    if kind == "pandas":
        return labelled(values[:, None], [name], like)[name]
    if kind == "polars":
        return labelled(values[:, None], [name], like)[name]
    if kind == "pyarrow":
        import pyarrow as pa

        return pa.array(values)
    return values


def _kind(like: Any) -> str:
    """The library that a table is from."""
    library = type(like).__module__.partition(".")[0]
    return library if hasattr(like, "columns") or hasattr(like, "schema") else ""
