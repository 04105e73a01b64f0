"""What the residuals of a graph say about the noise: its tails, and which columns have a shape that is not Gaussian."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psidag.scores.shape import LEAST_ROWS, few_valued, negentropy, shape_p_values
from psidag.system.parallel import Workers, tiles

Floats = NDArray[np.float64]

#: Numbers of a table that are looked at, and rows at the least: questions about columns need no more.
_NUMBERS, _FEWEST = 1 << 21, 2000
#: Columns that one thread takes at a time. Fixed, so that the work is cut alike on any number of threads.
_COLUMNS = 64
#: Columns whose noise is called Gaussian although it is not are bounded by Benjamini and Hochberg at this rate.
_RATE = 0.01
#: Residuals so many robust deviations away are outliers, if no more than this share of them are.
_OUTLYING, _MOST_OUTLIERS = 8.0, 0.05
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
        Whether the column has so many values that its residual can have a shape.
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
    step = -(-n // max(_FEWEST, _NUMBERS // d))
    X, weight = X[::step], None if weight is None else weight[::step]
    shares = np.full(len(X), 1 / len(X)) if weight is None else weight / weight.sum()
    rows = 1 / float(shares @ shares)
    columns = sp.csc_array(weights)

    def look(part: slice) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        few = columns[:, part]
        used = np.unique(few.indices)
        own = np.asarray(X[:, part], dtype=np.float64) - mean[part]
        residual = own - np.asarray(X[:, used] - mean[used], dtype=np.float64) @ few[used].toarray()
        # Squares of the largest and the smallest numbers are out of range.
        size = np.maximum(np.abs(own).max(axis=0), np.finfo(np.float64).tiny)
        own, residual = own / size, residual / size
        left = residual.std(axis=0) > _NOTHING_LEFT * own.std(axis=0)
        valued = left & ~few_valued(np.asarray(X[:, part])) & (rows >= LEAST_ROWS)
        return _kurtosis(residual, shares), _gaussian_p_values(residual, shares, rows), valued

    parts = workers.map(look, tiles(d, _COLUMNS))
    kurtosis, p_values, valued = (np.concatenate(column) for column in zip(*parts, strict=True))
    return NoiseFacts(kurtosis, valued & _discovered(np.where(valued, p_values, 1.0)), valued)


def _kurtosis(residual: Floats, shares: Floats) -> Floats:
    square = (residual - shares @ residual) ** 2
    variance = shares @ square
    fourth = shares @ square**2
    return np.asarray(np.divide(fourth, variance**2, out=np.full(len(variance), 3.0), where=variance > 0))


def _gaussian_p_values(residual: Floats, shares: Floats, rows: float) -> Floats:
    """Of Gaussian residuals, a few outliers apart: they look like shape, and tell nothing."""
    middle = np.median(residual, axis=0)
    deviation = np.abs(residual - middle)
    scale = 1.4826 * np.median(deviation, axis=0)
    kept = (deviation <= _OUTLYING * scale) * shares[:, None]
    total = kept.sum(axis=0)
    kept = np.where(total >= 1 - _MOST_OUTLIERS, kept, shares[:, None])
    kept /= kept.sum(axis=0)
    u = residual - (kept * residual).sum(axis=0)
    sd = np.sqrt((kept * u**2).sum(axis=0))
    u = np.divide(u, sd, out=np.zeros_like(u), where=sd > 0)
    even = 1 / (1 + u * u / 4)
    found = negentropy((kept * even).sum(axis=0), (kept * (u * even)).sum(axis=0))
    return np.where(sd > 0, shape_p_values(found, rows), 1.0)


def _discovered(p_values: Floats) -> NDArray[np.bool_]:
    ordered = np.sort(p_values)
    below = np.flatnonzero(ordered <= _RATE * np.arange(1, len(ordered) + 1) / len(ordered))
    return p_values <= (ordered[below[-1]] if len(below) else -1.0)
