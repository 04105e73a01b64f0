"""Correlations among a few columns at a time: what the regressions of a graph need, in memory of its edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from psidag.data.moments import Moments, check_scale, spread
from psidag.data.sources import Rows, Source, Table, in_memory, is_wide
from psidag.system.parallel import Workers, tiles

Floats = NDArray[np.float64]
Real = TypeVar("Real", bound=np.floating)

#: Columns that are standardised at a time.
_COLUMNS = 64


class Blocks(Protocol):
    """Number, mean and standard deviations of rows, and the correlations among any few of their columns.

    A constant column has a standard deviation of 0, a correlation of 1 with itself and of 0 with the others.
    """

    @property
    def count(self) -> float:
        """Number, or total weight, of the rows."""
        ...

    @property
    def mean(self) -> Floats:
        """Means of the columns."""
        ...

    @property
    def sd(self) -> Floats:
        """Their standard deviations."""
        ...

    @property
    def behind(self) -> int:
        """How many numbers are read for each column of a block; 0 where correlations are held."""
        ...

    def block(self, columns: NDArray[np.integer]) -> Floats:
        """The correlations among the columns; for a table of columns those of each of its rows."""
        ...


class MomentBlocks:
    """Blocks of moments, without a copy of their scatter."""

    def __init__(self, moments: Moments) -> None:
        self.count, self.mean, self.sd = moments.count, moments.mean, moments.sd
        self.behind = 0
        self._scatter = moments.scatter
        self._scale = np.sqrt(moments.count) * np.where(self.sd > 0, self.sd, np.inf)

    def block(self, columns: NDArray[np.integer]) -> Floats:
        """From the scatter."""
        found = self._scatter[columns[..., :, None], columns[..., None, :]]
        scale = self._scale[columns]
        return with_unit_diagonal(found / scale[..., :, None] / scale[..., None, :])


class RowBlocks:
    """Blocks of a table, each computed from the rows when it is asked for."""

    def __init__(self, table: Table, workers: Workers) -> None:
        self._X: Rows = table.X
        self._names = table.names
        weight = table.sample_weight
        self._root = np.ones(len(table)) if weight is None else np.sqrt(weight)
        self.count, self.behind = float(self._root @ self._root), len(table)
        parts = workers.map(lambda part: self._columns(np.arange(part.start, part.stop))[1:], tiles(table.d, _COLUMNS))
        self.mean, self.sd = (np.concatenate(values) for values in zip(*parts, strict=True))

    def block(self, columns: NDArray[np.integer]) -> Floats:
        """From the rows."""
        few = self._columns(columns.ravel())[0].reshape(*columns.shape, -1)
        return with_unit_diagonal(few @ np.swapaxes(few, -1, -2))

    def _columns(self, columns: NDArray[np.integer]) -> tuple[Floats, Floats, Floats]:
        rows = np.ascontiguousarray(self._X[:, columns].T, dtype=np.float64)
        return rows, *standardise(rows, self._root, [self._names[k] for k in columns.tolist()])


def blocks(source: Source, workers: Workers) -> Blocks:
    """The blocks of a source: of a wide table from its rows where moments are not at hand, else from its moments."""
    if in_memory(source) and not source.has_moments and is_wide(len(source), source.d):
        return RowBlocks(source, workers)
    return MomentBlocks(source.moments(workers))


def standardise(columns: Floats, root: Floats, names: Sequence[str]) -> tuple[Floats, Floats]:
    """Columns, one a row, become standardised in place: the product of two of them is their correlation.

    Parameters
    ----------
    columns : array of shape (k, n)
        The columns.
    root : array of shape (n,)
        Square roots of the weights of the rows.
    names : sequence of str
        What the columns are called in errors.

    Returns
    -------
    mean, sd : arrays of shape (k,)
        What was taken out; the deviation of a column that varies by no more than the rounding of its mean is 0, and
        the column becomes 0.
    """
    weight = root * root
    count = float(weight.sum())
    mean = columns @ weight / count
    columns -= mean[:, None]
    # A second pass removes what rounding left in the mean of large values.
    shift = columns @ weight / count
    mean += shift
    columns -= shift[:, None]
    columns *= root
    squares = np.einsum("ij,ij->i", columns, columns)
    check_scale(names, mean, squares, columns.T)
    sd = spread(squares / count, mean)
    columns /= (np.sqrt(count) * np.where(sd > 0, sd, np.inf))[:, None]
    return mean, sd


def with_unit_diagonal(block: NDArray[Real]) -> NDArray[Real]:
    """The block, with ones on the diagonal of its last two axes, in place."""
    np.einsum("...ii->...i", block)[...] = 1.0
    return block
