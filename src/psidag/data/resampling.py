"""Rows drawn again: what one replicate of the bootstrap, or of subsampling, learns from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from psidag.data.moments import Moments
from psidag.data.sources import Source, Summary, Table, in_memory, is_wide
from psidag.system.errors import InputError
from psidag.system.parallel import Workers, tiles

Resampling = Literal["bootstrap", "subsample"]
Floats = NDArray[np.float64]

#: Rows are gathered in blocks of about this many numbers.
_BLOCK = 1 << 21


class Resampler:
    """Replicates of a source, by number: the same number gives the same rows, whatever was drawn before.

    ``"bootstrap"`` draws as many rows as there are, with replacement (Efron 1979): rows are weighted by how often they
    were drawn, and one product of matrices gives the moments of a replicate. Of moments without rows it is the
    parametric bootstrap: the moments of as many Gaussian rows of this covariance, by the decomposition of Bartlett
    (1933), without the rows.

    ``"subsample"`` draws a fraction of the rows without replacement. Replicates 2k and 2k + 1 are a complementary pair:
    they have no row in common (Shah & Samworth 2013).

    Parameters
    ----------
    source : Table or Summary
        Where rows are drawn from. A row of weight 2 counts as two rows.
    method : {"bootstrap", "subsample"}
        How.
    fraction : float
        Share of the rows in a subsample, at most ½; the bootstrap has no use for it.
    entropy : sequence of int
        The seed.
    """

    def __init__(self, source: Source, method: Resampling, fraction: float, entropy: Sequence[int]) -> None:
        if method not in get_args(Resampling):
            raise InputError(f"method must be 'bootstrap' or 'subsample'; got {method!r}")
        if not 0 < fraction <= 0.5:
            raise InputError(
                f"fraction must be above 0 and at most 0.5, so that subsamples come in disjoint pairs; got {fraction!r}"
            )
        self._method = method
        self._fraction = fraction
        self._entropy = tuple(entropy)
        if in_memory(source):
            self._table, self._moments = source, None
            self._units = _units(source, method)
            if method == "subsample" and fraction * len(self._units) < 2:
                raise InputError(
                    f"fraction={fraction:g} of {len(self._units)} rows leaves fewer than two: raise it, or use "
                    "method='bootstrap'"
                )
        elif source.can_resample and not source.has_rows:
            if method == "subsample":
                raise InputError("moments have no rows to choose from: give the table, or use method='bootstrap'")
            self._moments = source.moments()
            value, vector = np.linalg.eigh(self._moments.covariance)
            self._root: Floats = vector * np.sqrt(np.maximum(value, 0.0))
        else:
            raise InputError(
                "the rows of a stream pass only once and cannot be drawn again: put them into a table, or give their "
                "Moments"
            )

    def draw(self, number: int, workers: Workers, *, needs_rows: bool = False) -> Source:
        """Replicate ``number``, counted from 0: as a table where rows are needed or few, else as moments."""
        if self._moments is not None:
            return Summary(self._gaussian(self._moments, self._generator(number)))
        X, names = self._table.X, self._table.names
        times = self.row_counts(number)
        chosen = np.flatnonzero(times)
        weight = times[chosen].astype(np.float64)
        # A table of few rows takes no more room than its moments do, and wide ones are searched in single precision.
        if needs_rows or is_wide(len(chosen), len(names)):
            return Table(X[chosen], names, weight)
        moments = Moments(len(names), names)
        for part in tiles(len(chosen), max(256, _BLOCK // len(names))):
            moments.update(X[chosen[part]], weight[part], workers)
        return Summary(moments)

    def row_counts(self, number: int) -> NDArray[np.int64]:
        """How often each row of the table is in a replicate."""
        if self._method == "bootstrap":
            weight = self._table.sample_weight
            share = np.full(len(self._table), 1.0) if weight is None else weight
            total = max(2, round(float(share.sum())))
            return self._generator(number).multinomial(total, share / share.sum())
        size = int(self._fraction * len(self._units))
        shuffled = self._generator(number // 2).permutation(self._units)
        first = size * (number % 2)
        return np.bincount(shuffled[first : first + size], minlength=len(self._table))

    def _generator(self, number: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(self._entropy, spawn_key=(number,)))

    def _gaussian(self, moments: Moments, rng: np.random.Generator) -> Moments:
        """Of n Gaussian rows: a mean of variance S / n and the scatter FA(FA)ᵀ, where S = FFᵀ and A is Bartlett's."""
        d, freedom = moments.d, max(1, round(moments.count) - 1)
        rank = min(d, freedom)
        A = np.tril(rng.normal(size=(d, rank)), -1)
        A[np.arange(rank), np.arange(rank)] = np.sqrt(rng.chisquare(freedom - np.arange(rank)))
        spread = self._root @ A
        drawn = Moments(d, moments.names)
        drawn.count = moments.count
        drawn.mean = moments.mean + self._root @ rng.normal(size=d) / np.sqrt(moments.count)
        drawn.scatter = spread @ spread.T
        return drawn


def _units(table: Table, method: Resampling) -> NDArray[np.intp]:
    """The row behind each unit that a subsample chooses from."""
    rows = np.arange(len(table))
    weight = table.sample_weight
    if weight is None or method == "bootstrap":
        return rows
    if np.any(weight != np.round(weight)):
        raise InputError(
            "subsampling takes a weight as the number of times that a row is there, so weights must be whole numbers: "
            "use method='bootstrap' for others"
        )
    return np.repeat(rows, weight.astype(np.intp))
