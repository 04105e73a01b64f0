"""How often each row is in a replicate: drawn in blocks of rows, so that not even the numbers need be held at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from psidag.system.errors import InputError
from psidag.system.parallel import tiles

Resampling = Literal["bootstrap", "subsample"]
Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

#: Rows whose numbers are drawn at a time. Replicates depend on it, and on nothing else about how rows are read.
_ROWS = 1 << 18


class RowCounts:
    """How often each of n rows is in a replicate, by the number of the replicate.

    ``"bootstrap"`` draws as many rows as there are, with replacement: the number of draws that fall into each block of
    rows is multinomial, and so are the draws within a block. ``"subsample"`` draws a fraction of the rows without
    replacement: the number of them in each block is hypergeometric. Replicates 2k and 2k + 1 share no row.

    Parameters
    ----------
    n : int
        Number of rows.
    weight : array of shape (n,), optional
        A row of weight 2 counts as two rows.
    method, fraction, entropy
        As in :class:`~psidag.data.resampling.Resampler`.
    """

    def __init__(
        self, n: int, weight: Floats | None, method: Resampling, fraction: float, entropy: Sequence[int]
    ) -> None:
        self.n = n
        self._weight = weight
        self._method = method
        self._entropy = tuple(entropy)
        self._blocks = tiles(n, _ROWS)
        if method == "bootstrap":
            return
        if weight is not None and np.any(weight != np.round(weight)):
            raise InputError(
                "subsampling takes a weight as the number of times that a row is there, so weights must be whole "
                "numbers: use method='bootstrap' for others"
            )
        units = n if weight is None else int(weight.sum())
        self._size = int(fraction * units)
        if self._size < 2:
            raise InputError(
                f"fraction={fraction:g} of {units} rows leaves fewer than two: raise it, or use method='bootstrap'"
            )

    def all(self, number: int) -> Counts:
        """How often each row is in a replicate."""
        return np.concatenate(list(self.blocks(number)))

    def blocks(self, number: int) -> Iterator[Counts]:
        """The same for one block of rows after the other."""
        return self._drawn(number) if self._method == "bootstrap" else self._chosen(number)

    def tape(self, number: int) -> Tape:
        """The same for as many rows at a time as are asked for."""
        return Tape(self.blocks(number))

    def generator(self, number: int) -> np.random.Generator:
        """The random numbers of a replicate."""
        return np.random.default_rng(np.random.SeedSequence(self._entropy, spawn_key=(number,)))

    def _drawn(self, number: int) -> Iterator[Counts]:
        rng = self.generator(number)
        shares = [self._share(part) for part in self._blocks]
        sums = np.array([share.sum() for share in shares])
        total = max(2, round(float(sums.sum())))
        draws = [total] if len(shares) == 1 else rng.multinomial(total, sums / sums.sum())
        for share, some in zip(shares, draws, strict=True):
            # Of a block that weighs nothing nothing is drawn.
            yield rng.multinomial(some, share / share.sum()) if some else np.zeros(len(share), dtype=np.int64)

    def _share(self, part: slice) -> Floats:
        return np.full(part.stop - part.start, 1.0) if self._weight is None else self._weight[part]

    def _chosen(self, number: int) -> Iterator[Counts]:
        rng = self.generator(number // 2)
        units = [self._units(part) for part in self._blocks]
        sizes = np.array([len(unit) for unit in units])
        first, second = np.array([self._size]), np.array([self._size])
        if len(units) > 1:
            first = rng.multivariate_hypergeometric(sizes, self._size, method="marginals")
            second = rng.multivariate_hypergeometric(sizes - first, self._size, method="marginals")
        for part, unit, a, b in zip(self._blocks, units, first, second, strict=True):
            shuffled = rng.permutation(unit)
            mine = shuffled[a : a + b] if number % 2 else shuffled[:a]
            yield np.bincount(mine, minlength=part.stop - part.start)

    def _units(self, part: slice) -> NDArray[np.intp]:
        """The row behind each unit of a block that a subsample chooses from, counted from the first of the block."""
        rows = np.arange(part.stop - part.start)
        return rows if self._weight is None else np.repeat(rows, self._weight[part].astype(np.intp))


class StratifiedCounts(RowCounts):
    """The same within groups of rows, each of which keeps its number of rows: no condition of an experiment is lost.

    A subsample has as many rows of a group as its fraction says; where that is no whole number chance decides, and the
    two of a pair share no row all the same.

    Parameters
    ----------
    group : array of shape (n,)
        The group of each row, from 0 on.
    weight, method, fraction, entropy
        As in :class:`RowCounts`.
    """

    def __init__(
        self,
        group: NDArray[np.intp],
        weight: Floats | None,
        method: Resampling,
        fraction: float,
        entropy: Sequence[int],
    ) -> None:
        super().__init__(len(group), weight, method, fraction, entropy)
        self._fraction = fraction
        self._groups = by_group(group)

    def _drawn(self, number: int) -> Iterator[Counts]:
        rng, times = self.generator(number), np.zeros(self.n, dtype=np.int64)
        for at in self._groups:
            share = np.ones(len(at)) if self._weight is None else self._weight[at]
            if share.any():
                times[at] = rng.multinomial(max(1, round(float(share.sum()))), share / share.sum())
        yield times

    def _chosen(self, number: int) -> Iterator[Counts]:
        rng, times = self.generator(number // 2), np.zeros(self.n, dtype=np.int64)
        for at in self._groups:
            units = rng.permutation(at if self._weight is None else np.repeat(at, self._weight[at].astype(np.intp)))
            half, chance = self._fraction * len(units), rng.random()
            a, b = int(half + chance), int(half + 1 - chance)
            np.add.at(times, units[a : a + b] if number % 2 else units[:a], 1)
        yield times


def by_group(group: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """The rows of each group, where ``group`` has the number of every row's."""
    return np.split(np.argsort(group, kind="stable"), np.cumsum(np.bincount(group))[:-1])


class Tape:
    """Numbers that come in blocks, taken as many at a time as one likes."""

    def __init__(self, blocks: Iterator[Counts]) -> None:
        self._blocks = blocks
        self._waiting: Counts = np.zeros(0, dtype=np.int64)

    def take(self, n: int) -> Counts:
        """The next n numbers; fewer at the end."""
        while len(self._waiting) < n and (block := next(self._blocks, None)) is not None:
            self._waiting = np.concatenate([self._waiting, block])
        taken, self._waiting = self._waiting[:n], self._waiting[n:]
        return taken
