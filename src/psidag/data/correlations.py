"""Correlations with their scale: the statistic of the search, held as far as its size allows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from psidag.data._entries import Entries
from psidag.data.blocks import standardise, with_unit_diagonal
from psidag.data.moments import Moments
from psidag.data.sources import Source, Table, in_memory, is_wide
from psidag.system.errors import InputError
from psidag.system.memory import machine_memory
from psidag.system.parallel import Workers, one_blas_thread, tiles

Floats = NDArray[np.float64]

#: From this many columns on, correlations of rows are held in single precision: 400 MB at 10,000 columns.
SINGLE_FROM = 4000
#: What the correlations may take of the machine's memory.
_SHARE = 0.25
_TILE = 512
#: Products that correlations of rounded rows may take, beside those of the moments: a tenth of a second.
_PRODUCTS = 1e9
#: Standardised numbers are rounded to steps of this size, of which what other units change is a millionth part. They
#: leave less than 1e-17 of a variance, so that columns which add up still do.
_STEPS = 2.0**28
#: What the correlations of a column add up to is known to this many digits.
_DIGITS = 9
#: Rows that are rounded at a time.
_ROWS = 4096


@dataclass(frozen=True, eq=False)
class Correlations:
    """Number, mean and standard deviations of rows, and their correlations.

    Attributes
    ----------
    matrix : array of shape (d, d), optional
        Correlations, in double or single precision; constant columns have none and 1 on the diagonal. None where
        they are not held but computed from ``rows`` when they are asked for.
    rows : array of shape (d, n), optional
        The standardised table by columns, in single precision. It is kept where the matrix is in single precision,
        so that what the search accepts can be solved again in double.
    """

    count: float
    mean: Floats
    sd: Floats
    matrix: NDArray[np.floating] | None
    rows: NDArray[np.float32] | None = None

    @property
    def d(self) -> int:
        """Number of columns."""
        return len(self.sd)

    @property
    def variance(self) -> Floats:
        """Variances of the columns."""
        return self.sd**2

    @cached_property
    def own_order(self) -> NDArray[np.intp]:
        """The columns by how much each is correlated with all: a sequence that does not depend on how they stand."""
        if self.matrix is not None:
            return _by_correlation(self.matrix)
        # The variance of each column given to rows by the size of all that is in them.
        size = np.zeros(self.behind)
        for part in tiles(self.d, _TILE):
            size += np.square(self.columns[part]).sum(axis=0, dtype=np.float64)
        weight = np.concatenate([np.square(self.columns[part]) @ size for part in tiles(self.d, _TILE)])
        return np.argsort(np.round(weight, _DIGITS), kind="stable")

    @cached_property
    def entries(self) -> Entries:
        """The correlations as the kernels take them."""
        if self.matrix is None:
            return Entries(columns=self.rows)
        if self.matrix.dtype == np.float32:
            return Entries(single=self.matrix)
        return Entries(double=self.matrix.astype(np.float64, copy=False))

    @property
    def columns(self) -> NDArray[np.float32]:
        """The standardised table by columns, where it is kept."""
        if self.rows is None:
            raise InputError("correlations that come from moments have no rows behind them")
        return self.rows

    @property
    def behind(self) -> int:
        """How many numbers are read for each column of a block."""
        return 0 if self.rows is None else self.rows.shape[1]

    def among(self, columns: NDArray[np.integer]) -> NDArray[np.floating]:
        """The correlations among a few columns, as the search sees them; for a table of columns those of each row."""
        if self.matrix is not None:
            return np.asarray(self.matrix[columns[..., :, None], columns[..., None, :]])
        return _products(self.columns[columns])

    def block(self, columns: NDArray[np.integer]) -> Floats:
        """The same in double precision."""
        if self.rows is None:
            return np.asarray(self.among(columns), dtype=np.float64)
        few = self.rows[columns].astype(np.float64)
        # Rounding to single precision has left norms of not quite one: copies would not be collinear.
        norm = np.linalg.norm(few, axis=-1, keepdims=True)
        return np.asarray(_products(few / np.where(norm > 0, norm, 1.0)))


def correlations(
    source: Source, workers: Workers, single_from: int = SINGLE_FROM, max_memory: float | None = None
) -> Correlations:
    """The correlations of a source: of a wide table from its rows in single precision, else from its moments.

    Those of a wide table are held whole if they take no more than ``max_memory`` bytes, by default a quarter of the
    machine's memory. A table of more than twice as many rows as columns takes more room standardised than its
    moments do. Of smaller tables the standardised rows are rounded first: the same table in other units then has
    the same correlations, to the last bit but for rare exceptions, and the search makes the same moves.
    """
    whole = fits_whole(source, max_memory)
    if in_memory(source) and (not whole or (source.d >= single_from and is_wide(len(source), source.d))):
        data = _standardised(source, workers)
        return _multiplied(data, workers) if whole else data
    if in_memory(source) and float(len(source)) * source.d**2 <= _PRODUCTS:
        return _from_rounded(source, source.moments(workers))
    return _from_moments(source.moments(workers))


def fits_whole(source: Source, max_memory: float | None = None) -> bool:
    """Whether the correlations of a source are to be held; those of moments are, and of tables with many rows."""
    if not in_memory(source) or not is_wide(len(source), source.d):
        return True
    return matrix_fits(source.d, max_memory)


def matrix_fits(d: int, max_memory: float | None = None) -> bool:
    """Whether d x d correlations in single precision fit, by default into a quarter of the machine's memory."""
    return 4.0 * d * d <= (_SHARE * machine_memory() if max_memory is None else max_memory)


def _from_moments(moments: Moments) -> Correlations:
    sd = moments.sd
    scale = np.sqrt(moments.count) * np.where(sd > 0, sd, np.inf)
    C = np.empty((moments.d, moments.d))
    for part in tiles(moments.d, _TILE):
        C[part] = moments.scatter[part] / scale[part, None] / scale
    np.fill_diagonal(C, 1.0)
    return Correlations(moments.count, moments.mean, sd, C)


@one_blas_thread()
def _from_rounded(table: Table, moments: Moments) -> Correlations:
    """Correlations of rounded standardised rows."""
    mean, sd = moments.mean, moments.sd
    scale = np.where(sd > 0, sd, np.inf)
    root = None if table.sample_weight is None else np.sqrt(table.sample_weight)[:, None]
    # Sums round alike, however the columns stand in the table.
    order = _by_correlation(_from_moments(moments).among(np.arange(table.d)))
    place = np.argsort(order)
    C = np.zeros((table.d, table.d))
    for start in range(0, len(table), _ROWS):
        part = slice(start, start + _ROWS)
        rows = np.rint((np.asarray(table.X[part], dtype=np.float64) - mean) / scale * _STEPS) / _STEPS
        if root is not None:
            rows *= root[part]
        rows = rows[:, order]
        C += rows.T @ rows
    norm = np.sqrt(np.diag(C))
    norm[norm == 0] = np.inf
    C = with_unit_diagonal(C / norm[:, None] / norm)[np.ix_(place, place)]
    return Correlations(moments.count, mean, sd, (C + C.T) / 2)


def _by_correlation(matrix: NDArray[np.floating]) -> NDArray[np.intp]:
    weight = np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64)
    return np.argsort(np.round(weight, _DIGITS), kind="stable")


def _products(few: NDArray[np.floating]) -> NDArray[np.floating]:
    """Correlations from standardised columns in the last two axes."""
    return with_unit_diagonal(few @ np.swapaxes(few, -1, -2))


def _standardised(table: Table, workers: Workers) -> Correlations:
    """Standardised columns in single precision; means and deviations in double."""
    X, weight = table.X, table.sample_weight
    n, d = X.shape
    root = np.ones(n) if weight is None else np.sqrt(weight)
    count = float(root @ root)
    mean, sd = np.empty(d), np.empty(d)
    rows = np.empty((d, n), dtype=np.float32)

    def take_in(part: slice) -> None:
        block = np.ascontiguousarray(X[:, part].T, dtype=np.float64)
        mean[part], sd[part] = standardise(block, root, table.names[part])
        rows[part] = block

    workers.map(take_in, tiles(d, 64))
    return Correlations(count, mean, sd, None, rows)


def _multiplied(data: Correlations, workers: Workers) -> Correlations:
    """The same with all products of its columns."""
    d, rows = data.d, data.columns
    C = np.empty((d, d), dtype=np.float32)
    cuts = tiles(d, _TILE)

    def multiply(pair: tuple[slice, slice]) -> None:
        across, down = pair
        np.matmul(rows[across], rows[down].T, out=C[across, down])
        if across != down:
            C[down, across] = C[across, down].T

    workers.map(multiply, [(a, b) for i, a in enumerate(cuts) for b in cuts[i:]])
    np.fill_diagonal(C, 1.0)
    return Correlations(data.count, data.mean, data.sd, C, rows)
