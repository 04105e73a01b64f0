"""What the residuals of a graph say about the noise: its tails, and which columns have a shape that is not Gaussian."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psidag.scores.shape import LEAST_ROWS, few_valued, negentropy, shape_p_values
from psidag.system.parallel import Workers, tiles

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

#: Numbers of a table that are looked at, and rows at the least: questions about columns need no more. The first look is
#: at fewer, and is enough if all columns together do not speak against Gaussian noise at the level of ``_CALM``.
_FIRST, _NUMBERS = (1 << 19, 500), (1 << 21, 2000)
_CALM = 1e-3
#: Columns that one thread takes at a time. Fixed, so that the work is cut alike on any number of threads.
_COLUMNS = 64
#: Columns whose noise is called Gaussian although it is not are bounded by Benjamini and Hochberg at this rate.
_RATE = 0.01
#: Residuals this many robust deviations away are outliers, if no more than this share of them are.
_OUTLYING, _MOST_OUTLIERS = 8.0, 0.05
#: Rows from which those deviations are estimated.
_ROUGHLY = 256
#: A residual of less than this share of the deviation of its column is what rounding left.
_NOTHING_LEFT = 1e-6


class NoiseFacts(NamedTuple):
    """Of the residual of each column.

    Attributes
    ----------
    kurtosis : array of shape (d,)
        Fourth moment over the square of the second.
    shaped : boolean array of shape (d,)
        Whether it is not Gaussian, beyond what outliers do.
    valued : boolean array of shape (d,)
        Whether the column has enough different values for its residual to have a shape.
    """

    kurtosis: Floats
    shaped: NDArray[np.bool_]
    valued: NDArray[np.bool_]


def noise_facts(
    X: NDArray[np.floating], weight: Floats | None, mean: Floats, weights: sp.csr_array, workers: Workers
) -> NoiseFacts:
    """Look at the residuals of a graph on rows at equal distances in the table.

    Parameters
    ----------
    X : array of shape (n, d)
        Rows.
    weight : array of shape (n,), optional
        Their weights.
    mean : array of shape (d,)
        Means of the columns.
    weights : sparse array of shape (d, d)
        The graph, fitted: ``weights[i, j]`` for i → j.
    workers : Workers
        Threads; they do not change the result.
    """
    n, d = X.shape
    first, last = (-(-n // max(fewest, numbers // d)) for numbers, fewest in (_FIRST, _NUMBERS))
    if first > 2 * last:
        facts, p_value = _looked(X[::first], None if weight is None else weight[::first], mean, weights, workers)
        if p_value > _CALM and not facts.shaped.any():
            return facts
    return _looked(X[::last], None if weight is None else weight[::last], mean, weights, workers)[0]


def _looked(
    X: NDArray[np.floating], weight: Floats | None, mean: Floats, weights: sp.csr_array, workers: Workers
) -> tuple[NoiseFacts, float]:
    """The facts by these rows, and the p-value of Gaussian noise in all columns (Fisher's, of theirs)."""
    from scipy.special import chdtrc

    given = np.ones(len(X)) if weight is None else weight
    rows, shares = given.sum() ** 2 / float(given @ given), (given / given.sum()).astype(np.float32)
    equations = sp.csr_array(weights.T)
    # Of a table of moderate size one copy serves all parts.
    whole = _by_column(X, mean) if X.size <= _NUMBERS[0] else None

    def look(part: slice) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        few = equations[part]
        if whole is None:
            used, place = np.unique(few.indices, return_inverse=True)
            own, parents = _by_column(X[:, part], mean[part]), _by_column(X[:, used], mean[used])
            # Columns chosen by an index would take a look at all of them.
            few = sp.csr_array((few.data, place, few.indptr), shape=(few.shape[0], len(used)))
        else:
            own, parents = whole[part], whole
        # Squares of the largest and the smallest numbers are out of range.
        size = np.maximum(np.maximum(own.max(axis=1), -own.min(axis=1)), np.finfo(np.float64).tiny)[:, None]
        residual = ((own - few @ parents) / size).astype(np.float32)
        kurtosis, p_values, variance = _tails_and_shape(residual, shares, rows)
        own = (own / size).astype(np.float32)
        left = variance > _NOTHING_LEFT**2 * np.einsum("ij,ij,j->i", own, own, shares)
        valued = left & ~few_valued(np.asarray(X[:, part])) & (rows >= LEAST_ROWS)
        return kurtosis, p_values, valued

    parts = workers.map(look, tiles(X.shape[1], _COLUMNS))
    kurtosis, p_values, valued = (np.concatenate(column) for column in zip(*parts, strict=True))
    p_values = np.where(valued, np.maximum(p_values, np.finfo(np.float64).tiny), 1.0)
    together = float(chdtrc(2 * max(valued.sum(), 1), -2 * np.log(p_values).sum()))
    return NoiseFacts(kurtosis, valued & _discovered(p_values), valued), together


def _by_column(X: NDArray[np.floating], mean: Floats) -> Floats:
    """Centred columns, one behind the other, as all that follows runs along them."""
    return np.ascontiguousarray(X.T, dtype=np.float64) - mean[:, None]


def _tails_and_shape(residual: Singles, shares: Singles, rows: float) -> tuple[Floats, Floats, Floats]:
    """Kurtosis of residuals, one in each row, p-values of their being Gaussian, a few outliers apart, and variances.

    Outliers look like shape, and tell nothing.
    """
    centred, variance = _centred(residual, shares)
    square = centred**2
    kurtosis = np.divide(square**2 @ shares, variance**2, out=np.full(len(residual), 3.0), where=variance > 0)
    p_values = _gaussian_p_values(centred, variance, shares, rows)
    some = residual[:, :: max(1, residual.shape[1] // _ROUGHLY)]
    middle = _middle(some)
    reach = _OUTLYING * 1.4826 * _middle(np.abs(some - middle[:, None]))
    outlying = (residual.max(axis=1) > middle + reach) | (residual.min(axis=1) < middle - reach)
    for j in np.flatnonzero(outlying):
        kept = np.abs(residual[j] - middle[j]) <= reach[j]
        share = shares * kept
        if share.sum() >= 1 - _MOST_OUTLIERS:
            share /= share.sum()
            p_values[j] = _gaussian_p_values(*_centred(residual[j : j + 1], share), share, rows)[0]
    return kurtosis, p_values, variance


def _middle(numbers: Singles) -> Singles:
    return np.sort(numbers, axis=1)[:, numbers.shape[1] // 2]


def _centred(residual: Singles, shares: Singles) -> tuple[Singles, Floats]:
    """Residuals less their means, and their variances."""
    centred = residual - (residual @ shares)[:, None]
    return centred, (centred**2 @ shares).astype(np.float64)


def _gaussian_p_values(centred: Singles, variance: Floats, shares: Singles, rows: float) -> Floats:
    sd = np.sqrt(variance)
    u = centred * np.divide(1, sd, out=np.zeros_like(sd), where=sd > 0).astype(np.float32)[:, None]
    even = 1 / (1 + u * u / 4)
    found = negentropy((even @ shares).astype(np.float64), ((u * even) @ shares).astype(np.float64))
    return np.where(sd > 0, shape_p_values(found, rows), 1.0)


def _discovered(p_values: Floats) -> NDArray[np.bool_]:
    ordered = np.sort(p_values)
    below = np.flatnonzero(ordered <= _RATE * np.arange(1, len(ordered) + 1) / len(ordered))
    return p_values <= (ordered[below[-1]] if len(below) else -1.0)
