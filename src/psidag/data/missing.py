"""What to do about missing values: refuse, drop rows, fill in means, or use each pair of columns as it is."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from psidag.data.moments import Moments
from psidag.data.sources import Rows, Source, Summary, Table
from psidag.errors import DataWarning, InputError, listing

Missing = Literal["error", "drop", "mean", "pairwise"]
Floats = NDArray[np.float64]

_BLOCK_ROWS = 4096
#: Lowest eigenvalue of repaired correlations.
_FLOOR = 1e-6


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
    gaps, first = _find_gaps(X, names)
    if not gaps.any():
        return Table(X, names, weight)
    empty = [names[int(j)] for j in np.flatnonzero(gaps == len(X))]
    if missing != "error" and empty:
        raise InputError(f"columns without a single value: {listing(empty)}; leave them out")
    if missing == "drop":
        return _drop(X, names, weight, gaps, least_rows)
    if missing == "mean":
        return _fill(X, names, weight)
    if missing == "pairwise":
        if weight is not None:
            raise InputError('missing="pairwise" does not go with sample_weight: choose "drop" or "mean"')
        return Summary(pairwise_moments(X, names))
    raise InputError(
        f"Input X contains NaN: {_where(gaps, first, names, len(X))}. Choose what to do about missing values: "
        'missing="drop" (leave out rows), "mean" (fill in) or "pairwise" (use what is there), --missing on the '
        "command line; or leave the columns out"
    )


def pairwise_moments(X: Rows, names: Sequence[str]) -> Moments:
    """Moments from all values there are: each correlation from the rows that have both columns.

    Correlations come from the rows of each pair, variances from all rows of each column. Such a matrix need
    not be positive definite: eigenvalues of the correlations below 10⁻⁶ are raised to it and the diagonal is
    brought back to one. The number of rows is the harmonic mean of the numbers behind the
    pairs. Unbiased if values are missing at random; the fewer rows a pair has, the noisier.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0], [2.0, np.nan], [3.0, 6.0], [4.0, 8.0]])
    >>> moments = pairwise_moments(X, ["a", "b"])
    >>> moments.mean.tolist(), round(moments.count)
    ([2.5, 5.333333333333333], 3)
    """
    d = len(names)
    present = ~np.isnan(X)
    centre = np.sum(X, axis=0, dtype=np.float64, where=present) / np.maximum(present.sum(axis=0), 1)
    both, sums, squares, products = (np.zeros((d, d)) for _ in range(4))
    for start in range(0, len(X), _BLOCK_ROWS):
        block = X[start : start + _BLOCK_ROWS] - centre
        there = (~np.isnan(block)).astype(np.float64)
        block = np.where(there > 0, block, 0.0)
        both += there.T @ there
        sums += block.T @ there
        squares += (block**2).T @ there
        products += block.T @ block
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
    R = _repair(R)
    pairs = both[~np.eye(d, dtype=bool)]
    count = float(len(pairs) / np.sum(1 / pairs)) if len(pairs) else float(both[0, 0])
    return Moments.from_covariance(R * np.outer(sd, sd), count, centre, names)


def _repair(R: Floats) -> Floats:
    """The correlations with negative eigenvalues raised to a floor and ones on the diagonal."""
    value, vector = np.linalg.eigh(R)
    if value[0] >= _FLOOR:
        return R
    fixed = (vector * np.maximum(value, _FLOOR)) @ vector.T
    scale = np.sqrt(np.diag(fixed))
    repaired: Floats = fixed / np.outer(scale, scale)
    return repaired


def _find_gaps(X: Rows, names: Sequence[str]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """How many values each column misses and the first row of it; infinite ones are an error that names them."""
    d = X.shape[1]
    nan, infinite = (_Flaws(np.zeros(d, np.intp), np.full(d, -1)) for _ in range(2))
    for start in range(0, len(X), _BLOCK_ROWS):
        block = X[start : start + _BLOCK_ROWS]
        finite = np.isfinite(block)
        if not finite.all():
            missing = np.isnan(block)
            nan.note(missing, start)
            infinite.note(~finite & ~missing, start)
    if infinite.times.any():
        culprits = _where(*infinite, names, len(X))
        raise InputError(f"Input X contains infinity: {culprits}. Replace these values, or leave rows or columns out")
    return nan.times, nan.first


class _Flaws(NamedTuple):
    """How many flawed cells each column has, and the row of its first one."""

    times: NDArray[np.intp]
    first: NDArray[np.intp]

    def note(self, flawed: NDArray[np.bool_], start: int) -> None:
        fresh = flawed.any(axis=0) & (self.first < 0)
        self.first[fresh] = start + flawed[:, fresh].argmax(axis=0)
        self.times[:] += flawed.sum(axis=0)


def _where(count: NDArray[np.intp], first: NDArray[np.intp], names: Sequence[str], n: int) -> str:
    culprits = np.flatnonzero(count)
    shown = ", ".join(f"{names[j]!r} in {count[j]} of {n} rows (first row {first[j]})" for j in culprits[:5])
    return shown + (f" and {len(culprits) - 5} more columns" if len(culprits) > 5 else "")


def _drop(X: Rows, names: Sequence[str], weight: Floats | None, gaps: NDArray[np.intp], least_rows: int) -> Table:
    kept = ~np.isnan(X).any(axis=1)
    n, left = len(X), int(kept.sum())
    if left < least_rows:
        worst = np.argsort(-gaps, kind="stable")[:5]
        emptiest = ", ".join(f"{names[j]!r} misses {gaps[j]}" for j in worst if gaps[j])
        raise InputError(
            f'missing="drop" leaves {left} of {n} rows ({emptiest}): leave out the emptiest columns, or choose '
            '"pairwise" or "mean"'
        )
    warnings.warn(f"rows with missing values were left out: {n - left} of {n}", DataWarning, stacklevel=2)
    return Table(X[kept], names, None if weight is None else weight[kept])


def _fill(X: Rows, names: Sequence[str], weight: Floats | None) -> Table:
    there = ~np.isnan(X)
    weights = there if weight is None else there * weight[:, None]
    total = weights.sum(axis=0, dtype=np.float64)
    sums = np.where(there, X, 0.0)
    mean = np.einsum("ij,ij->j", sums, weights, dtype=np.float64) / np.where(total > 0, total, 1.0)
    filled: Rows = np.where(there, X, mean.astype(X.dtype))
    return Table(filled, names, weight)
