"""Correlations with their scale: the statistic of the search, in the precision that its size allows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psidag.data.moments import Moments
from psidag.data.sources import Source, Table
from psidag.parallel import Workers, tiles

Floats = NDArray[np.float64]

#: From so many columns on, correlations of rows are held in single precision: 400 MB at 10,000 columns.
SINGLE_FROM = 4000
_TILE = 512


@dataclass(frozen=True, eq=False)
class Correlations:
    """Number, mean and standard deviations of rows, and their correlations.

    Attributes
    ----------
    matrix : array of shape (d, d)
        Correlations, in double or single precision; constant columns have none and 1 on the diagonal.
    rows : array of shape (d, n), optional
        The standardised table by columns, in single precision. It is kept where the matrix is in single precision,
        so that what the search accepts can be solved again in double.
    """

    count: float
    mean: Floats
    sd: Floats
    matrix: NDArray[np.floating]
    rows: NDArray[np.float32] | None = None

    @property
    def d(self) -> int:
        """Number of columns."""
        return len(self.sd)

    @property
    def variance(self) -> Floats:
        """Variances of the columns."""
        return self.sd**2

    def block(self, columns: NDArray[np.integer]) -> Floats:
        """The correlations among a few columns in double precision."""
        if self.rows is None:
            return np.asarray(self.matrix[np.ix_(columns, columns)], dtype=np.float64)
        few = self.rows[columns].astype(np.float64)
        block: Floats = few @ few.T
        np.fill_diagonal(block, 1.0)
        return block


def correlations(source: Source, workers: Workers, single_from: int = SINGLE_FROM) -> Correlations:
    """The correlations of a source: of a wide table from its rows in single precision, else from its moments.

    A table of more than twice as many rows as columns takes more room standardised than its moments do.
    """
    if isinstance(source, Table) and source.d >= single_from and len(source) <= 2 * source.d:
        return _single(source, workers)
    return _from_moments(source.moments(workers))


def _from_moments(moments: Moments) -> Correlations:
    sd = moments.sd
    scale = np.sqrt(moments.count) * np.where(sd > 0, sd, np.inf)
    C = np.empty((moments.d, moments.d))
    for part in tiles(moments.d, _TILE):
        C[part] = moments.scatter[part] / scale[part, None] / scale
    np.fill_diagonal(C, 1.0)
    return Correlations(moments.count, moments.mean, sd, C)


def _single(table: Table, workers: Workers) -> Correlations:
    """Standardised columns and their products in single precision; means and deviations in double."""
    X, weight = table.X, table.sample_weight
    n, d = X.shape
    root = np.ones(n) if weight is None else np.sqrt(weight)
    count = float(root @ root)
    mean, sd = np.empty(d), np.empty(d)
    rows = np.empty((d, n), dtype=np.float32)

    def standardise(part: slice) -> None:
        block = np.ascontiguousarray(X[:, part].T, dtype=np.float64)
        mean[part] = block @ (root * root) / count
        block -= mean[part, None]
        # A second pass removes what rounding left in the mean of large values.
        shift = block @ (root * root) / count
        mean[part] += shift
        block -= shift[:, None]
        block *= root
        spread = np.sqrt(np.einsum("ij,ij->i", block, block) / count)
        spread[spread <= 1e-14 * np.abs(mean[part])] = 0.0
        sd[part] = spread
        rows[part] = block / (np.sqrt(count) * np.where(spread > 0, spread, np.inf))[:, None]

    workers.map(standardise, tiles(d, 64))
    C = np.empty((d, d), dtype=np.float32)
    cuts = tiles(d, _TILE)

    def multiply(pair: tuple[slice, slice]) -> None:
        across, down = pair
        np.matmul(rows[across], rows[down].T, out=C[across, down])
        if across != down:
            C[down, across] = C[across, down].T

    workers.map(multiply, [(a, b) for i, a in enumerate(cuts) for b in cuts[i:]])
    np.fill_diagonal(C, 1.0)
    return Correlations(count, mean, sd, C, rows)
