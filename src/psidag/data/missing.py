"""What to do about missing values: refuse, drop rows, fill in means, or use each pair of columns as it is."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from psidag.data.moments import Moments
from psidag.data.scans import Partitions, Rows, Scan, array_batches
from psidag.data.sources import Source, Summary, Table, in_memory
from psidag.system.errors import DataWarning, InputError, listing

Missing = Literal["error", "drop", "mean", "pairwise"]
Floats = NDArray[np.float64]

#: Lowest eigenvalue of repaired correlations.
_FLOOR = 1e-6
#: Share in a direction of negative variance from which a column is named.
_BLAMED = 0.1


def check_missing(missing: str) -> None:
    """Raise unless this is one of the choices."""
    if missing not in get_args(Missing):
        raise InputError(f"missing must be one of {listing(get_args(Missing))}; got {missing!r}")


def complete(X: Rows, names: Sequence[str], weight: Floats | None, missing: str, least_rows: int) -> Source:
    """A source without missing values, made of rows that may have some.

    Parameters
    ----------
    X : array of shape (n, d)
        Rows; NaN is missing, infinity is always an error. Never written to.
    names : sequence of str
        Column names.
    weight : array of shape (n,), optional
        Weights of the rows.
    missing : {"error", "drop", "mean", "pairwise"}
        ``"drop"`` leaves out rows with a missing value. ``"mean"`` puts in the mean of the column, which
        makes its relations look weaker. ``"pairwise"`` takes each correlation from the rows that have both
        columns; see :func:`pairwise_moments`.
    least_rows : int
        Fewer rows than this are not enough.
    """
    gaps = _find_gaps(array_batches(X), names)
    if not gaps.times.any():
        return Table(X, names, weight)
    if missing == "error":
        raise _refusal(gaps, names)
    if missing == "drop":
        return _drop(X, names, weight, gaps, least_rows)
    _refuse_empty(gaps, names)
    if missing == "mean":
        return _fill(X, names, weight)
    if weight is not None:
        raise InputError('missing="pairwise" does not go with sample_weight: choose "drop" or "mean"')
    return Summary(*_of_pairs(array_batches(X), names))


def complete_scan(rows: Partitions, names: Sequence[str], missing: str, least_rows: int) -> Source:
    """As :func:`complete`, for rows that stay where they are.

    Flaws show when the rows are gone through for their moments. ``"mean"`` takes a pass more for the means,
    ``"pairwise"`` needs two and leaves no rows.
    """
    if missing == "mean":
        return Scan(rows, names, filling(rows, names))
    if missing == "pairwise":
        gaps = _find_gaps(rows, names)
        if gaps.times.any():
            _refuse_empty(gaps, names)
            return Summary(*_of_pairs(rows, names))

    def check(read: int, moments: Moments) -> None:
        if not np.isfinite(moments.mean).all() or moments.count < least_rows:
            gaps = _find_gaps(rows, names)
            if gaps.times.any() and missing == "error":
                raise _refusal(gaps, names)
            if gaps.times.any():
                _refuse_empty(gaps, names)
                raise _nothing_left(gaps, names, int(moments.count))
            if read < least_rows:
                raise InputError(f"{read} rows are too few: dependence cannot be seen in fewer than {least_rows}")
        if read > moments.count:
            scan.remarks = (note_dropped(read - int(moments.count), read),)

    scan = Scan(rows, names, _whole_rows if missing == "drop" else None, check)
    return scan


def filling(rows: Partitions, names: Sequence[str]) -> Callable[[Rows], Rows] | None:
    """What puts the means of the columns, from one pass over all rows, in the place of gaps; None if there are none."""
    gaps = _find_gaps(rows, names)
    if not gaps.times.any():
        return None
    _refuse_empty(gaps, names)
    return functools.partial(_filled, mean=_column_means(rows))


def pairwise_moments(rows: Partitions, names: Sequence[str]) -> Moments:
    """Moments from all values there are: each correlation from the rows that have both columns.

    Correlations come from the rows of each pair, variances from all rows of each column. Such a matrix need
    not be positive definite: eigenvalues of the correlations below 10⁻⁶ are raised to it and the diagonal is
    brought back to one. The number of rows is the harmonic mean of the numbers behind the
    pairs. Unbiased if values are missing at random; the fewer rows a pair has, the noisier.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0], [2.0, np.nan], [3.0, 6.0], [4.0, 8.0]])
    >>> moments = pairwise_moments(array_batches(X), ["a", "b"])
    >>> moments.mean.tolist(), round(moments.count)
    ([2.5, 5.333333333333333], 3)
    """
    return _of_pairs(rows, names)[0]


def _of_pairs(rows: Partitions, names: Sequence[str]) -> tuple[Moments, list[str]]:
    """The moments, and a sentence if correlations of different rows had to be made to fit together."""
    d = len(names)
    centre = _column_means(rows)
    both, sums, squares, products = rows.reduce(functools.partial(_pair_sums, centre=centre), _Sums.merge)
    if np.any(both < 2):
        i, j = np.argwhere(both < 2)[0]
        raise InputError(
            f'columns {names[i]!r} and {names[j]!r} share {int(both[i, j])} rows, and missing="pairwise" needs two '
            "for every pair: leave one of them out"
        )
    mean = sums / both
    variance = np.maximum(squares / both - mean**2, 0.0)
    # Correlations within each pair's own rows stay within [-1, 1], which covariances of mixed rows do not.
    R = (products / both - mean * mean.T) / np.sqrt(np.maximum(variance * variance.T, np.finfo(float).tiny))
    sd = np.sqrt(np.diag(variance))
    R[sd == 0] = R[:, sd == 0] = 0.0
    np.fill_diagonal(R, 1.0)
    R, worst = _repair(R)
    remarks = []
    if len(worst):
        remarks.append(
            "correlations that come from different rows do not fit together, and were adjusted: edges among "
            f"{listing([names[j] for j in worst])} may be nothing but that; leave one of these columns out, or choose "
            "missing='drop'"
        )
        warnings.warn(remarks[0], DataWarning, stacklevel=2)
    pairs = both[~np.eye(d, dtype=bool)]
    count = float(len(pairs) / np.sum(1 / pairs)) if len(pairs) else float(both[0, 0])
    return Moments.from_covariance(R * np.outer(sd, sd), count, centre, names), remarks


class _Sums(tuple[Floats, ...]):
    """Arrays that are added up entry by entry."""

    __slots__ = ()

    def merge(self, other: _Sums) -> _Sums:
        return _Sums(a + b for a, b in zip(self, other, strict=True))


def _pair_sums(rows: Rows, centre: Floats) -> _Sums:
    """For each pair of columns, over the rows that have both: their number, and sums of x, x² and xy."""
    block = rows - centre
    there = (~np.isnan(block)).astype(np.float64)
    block = np.where(there > 0, block, 0.0)
    return _Sums((there.T @ there, block.T @ there, (block**2).T @ there, block.T @ block))


def _column_sums(rows: Rows) -> _Sums:
    present = ~np.isnan(rows)
    return _Sums((np.sum(rows, axis=0, dtype=np.float64, where=present), present.sum(axis=0).astype(np.float64)))


def _column_means(rows: Partitions) -> Floats:
    """The mean of each column over the rows that have it."""
    total, number = rows.reduce(_column_sums, _Sums.merge)
    mean: Floats = total / np.maximum(number, 1)
    return mean


def _repair(R: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """The correlations with negative eigenvalues raised to a floor and ones on the diagonal; who was in the way."""
    value, vector = np.linalg.eigh(R)
    if value[0] >= _FLOOR:
        return R, np.empty(0, np.intp)
    fixed = (vector * np.maximum(value, _FLOOR)) @ vector.T
    scale = np.sqrt(np.diag(fixed))
    repaired: Floats = fixed / np.outer(scale, scale)
    # An eigenvalue of zero is that of columns that add up; below it, none but contradictions are.
    blame = (vector[:, value < -_FLOOR] ** 2).max(axis=1, initial=0.0)
    worst = np.flatnonzero(blame > _BLAMED)
    return repaired, worst[np.argsort(-blame[worst], kind="stable")]


class _Gaps(NamedTuple):
    """Of this many rows: how many values each column misses, or has infinite, and the first row of it."""

    rows: int
    times: NDArray[np.intp]
    first: NDArray[np.intp]
    infinite: NDArray[np.intp]
    first_infinite: NDArray[np.intp]

    def merge(self, other: _Gaps) -> _Gaps:
        def earlier(a: NDArray[np.intp], b: NDArray[np.intp]) -> NDArray[np.intp]:
            return np.where((a < 0) & (b >= 0), b + self.rows, a)

        return _Gaps(
            self.rows + other.rows,
            self.times + other.times,
            earlier(self.first, other.first),
            self.infinite + other.infinite,
            earlier(self.first_infinite, other.first_infinite),
        )


def _gaps_of(rows: Rows) -> _Gaps:
    none, nowhere = np.zeros(rows.shape[1], np.intp), np.full(rows.shape[1], -1)
    finite = np.isfinite(rows)
    if finite.all():
        return _Gaps(len(rows), none, nowhere, none, nowhere)
    missing = np.isnan(rows)
    flaws = []
    for flawed in (missing, ~finite & ~missing):
        times = flawed.sum(axis=0)
        flaws += [times, np.where(times > 0, flawed.argmax(axis=0), -1)]
    return _Gaps(len(rows), *flaws)


def _find_gaps(rows: Partitions, names: Sequence[str]) -> _Gaps:
    """What is missing where; infinite values are an error that names them."""
    gaps = rows.reduce(_gaps_of, _Gaps.merge)
    if gaps.infinite.any():
        culprits = _where(gaps.infinite, gaps.first_infinite, names, gaps.rows)
        raise InputError(f"Input X contains infinity: {culprits}. Replace these values, or leave rows or columns out")
    return gaps


def _refusal(gaps: _Gaps, names: Sequence[str]) -> InputError:
    return InputError(
        f"Input X contains NaN: {_where(gaps.times, gaps.first, names, gaps.rows)}. Choose what to do about missing "
        'values: missing="drop" (leave out rows), missing="mean" (fill in) or missing="pairwise" (use what is there); '
        "or leave the columns out"
    )


def _refuse_empty(gaps: _Gaps, names: Sequence[str]) -> None:
    empty = [names[int(j)] for j in np.flatnonzero(gaps.times == gaps.rows)]
    if empty:
        raise InputError(f"columns without a single value: {listing(empty)}; leave them out")


def _nothing_left(gaps: _Gaps, names: Sequence[str], left: int) -> InputError:
    worst = np.argsort(-gaps.times, kind="stable")[:5]
    emptiest = ", ".join(f"{names[j]!r} misses {gaps.times[j]}" for j in worst if gaps.times[j])
    return InputError(
        f'missing="drop" leaves {left} of {gaps.rows} rows ({emptiest}): leave out the emptiest columns, or choose '
        '"pairwise" or "mean"'
    )


def note_dropped(dropped: int, n: int) -> str:
    """Warn of rows that were left out, with the sentence that solutions keep."""
    said = f"rows with missing values were left out: {dropped} of {n}"
    warnings.warn(said, DataWarning, stacklevel=2)
    return said


def _where(count: NDArray[np.intp], first: NDArray[np.intp], names: Sequence[str], n: int) -> str:
    culprits = np.flatnonzero(count)
    shown = ", ".join(f"{names[j]!r} in {count[j]} of {n} rows (first row {first[j]})" for j in culprits[:5])
    return shown + (f" and {len(culprits) - 5} more columns" if len(culprits) > 5 else "")


def _drop(X: Rows, names: Sequence[str], weight: Floats | None, gaps: _Gaps, least_rows: int) -> Table:
    kept = ~np.isnan(X).any(axis=1)
    n, left = len(X), int(kept.sum())
    if left < least_rows:
        _refuse_empty(gaps, names)
        raise _nothing_left(gaps, names, left)
    whole = Table(X[kept], names, None if weight is None else weight[kept])
    whole.remarks = (note_dropped(n - left, n),)
    return whole


def whole_rows(X: Rows, names: Sequence[str], missing: str) -> Rows:
    """The rows of a batch without missing values; with ``"drop"`` none may be left, which other batches make up for."""
    source = complete(X, names, None, missing, 0)
    return source.X if in_memory(source) else X[:0]


def _whole_rows(rows: Rows) -> Rows:
    kept = ~np.isnan(rows).any(axis=1)
    return rows if kept.all() else rows[kept]


def _filled(rows: Rows, mean: Floats) -> Rows:
    filled: Rows = np.where(np.isnan(rows), mean.astype(rows.dtype), rows)
    return filled


def _fill(X: Rows, names: Sequence[str], weight: Floats | None) -> Table:
    there = ~np.isnan(X)
    weights = there if weight is None else there * weight[:, None]
    total = weights.sum(axis=0, dtype=np.float64)
    sums = np.where(there, X, 0.0)
    mean = np.einsum("ij,ij->j", sums, weights, dtype=np.float64) / np.where(total > 0, total, 1.0)
    return Table(_filled(X, mean), names, weight)
