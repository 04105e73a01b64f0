"""From whatever the user holds to a :class:`Source`, with errors that name the column and the remedy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from psidag.data.containers import as_rows, check_names, check_width
from psidag.data.files import FileTable, Hold, read_table
from psidag.data.missing import check_missing, complete, complete_scan
from psidag.data.moments import Moments
from psidag.data.scans import Batches, Partitions, Rows
from psidag.data.sources import Adopted, Source, Summary, answers, is_source
from psidag.data.streams import open_stream
from psidag.system.clock import NEVER, Deadline
from psidag.system.errors import InputError
from psidag.system.parallel import one_blas_thread


@one_blas_thread()
def as_source(
    data: Any,
    *,
    names: Sequence[str] | None = None,
    sample_weight: ArrayLike | None = None,
    missing: str = "error",
    least_rows: int = 2,
    hold: Hold = "auto",
    deadline: Deadline = NEVER,
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
    hold : int, "auto" or None
        How many numbers of files are held in memory; see :func:`psidag.data.files.read_table`.
    deadline : Deadline
        When the first batch of a stream has to be there.
    """
    check_missing(missing)
    own = is_source(data)
    if own or isinstance(data, Moments) or hasattr(data, "__next__"):
        if sample_weight is not None:
            raise InputError("sample_weight goes with an array or a table, not with a stream or with moments")
        if own:
            return data if answers(data) else _adopted(data, missing, least_rows)
        return Summary(data) if isinstance(data, Moments) else open_stream(iter(data), names, missing, deadline)
    if isinstance(data, str | Path):
        data = read_table(data, hold=hold)
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
    checked = check_names(found, names)
    check_width(len(checked), "the table")
    return complete_scan(rows, checked, missing, least_rows)


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


def _check_weight(weight: ArrayLike | None, n: int) -> NDArray[np.float64] | None:
    if weight is None:
        return None
    if np.ma.is_masked(weight):
        raise InputError("sample_weight has masked entries: give every row a weight, 0 to leave it out")
    checked = np.asarray(weight, dtype=np.float64)
    if checked.shape != (n,):
        raise InputError(f"sample_weight must hold one weight for each of the {n} rows; got shape {checked.shape}")
    if not np.isfinite(checked).all() or (checked < 0).any():
        row = int(np.flatnonzero(~(np.isfinite(checked) & (checked >= 0)))[0])
        raise InputError(f"sample_weight must be finite and not negative; row {row} has {checked[row]}")
    if not checked.sum() > 0:
        raise InputError("sample_weight is zero everywhere: no row is left to learn from")
    return checked
