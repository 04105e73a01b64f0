"""Rows drawn again: what one replicate of the bootstrap, or of subsampling, learns from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from psidag.data.labelled import LabelledScan, LabelledTable, Piece, groups_of, is_experiment
from psidag.data.moments import Moments
from psidag.data.row_counts import Counts, Resampling, RowCounts, StratifiedCounts
from psidag.data.scans import Batches, Rows, Scan
from psidag.data.sources import Source, Summary, Table, in_memory, is_wide, read_again
from psidag.system.errors import InputError
from psidag.system.parallel import Workers, tiles

Floats = NDArray[np.float64]

#: Rows are gathered in blocks of about this many numbers.
_BLOCK = 1 << 21
#: Numbers of the moments of replicates that are summed in one pass over rows that stay where they are, 512 MB.
_HELD = 1 << 26


class Resampler:
    """Replicates of a source, by number: the same number gives the same rows, whatever was drawn before.

    ``"bootstrap"`` draws as many rows as there are, with replacement (Efron 1979): rows are weighted by how often they
    were drawn, and one product of matrices gives the moments of a replicate. Of moments without rows it is the
    parametric bootstrap: the moments of as many Gaussian rows of this covariance, by the decomposition of Bartlett
    (1933), without the rows.

    ``"subsample"`` draws a fraction of the rows without replacement. Replicates 2k and 2k + 1 are a complementary pair:
    they have no row in common (Shah & Samworth 2013).

    Rows of an experiment are drawn within each condition, so that none is lost: how many rows it has was planned.

    Rows that stay where they are give the replicates of a table that holds them. One pass sums up as many replicates as
    there is room for, so :meth:`read` goes before :meth:`draw`, one group of :meth:`groups` at a time.

    Parameters
    ----------
    source : Source
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
        check_resampling(source)
        self._source = source
        self._summed: dict[int, Moments] = {}
        if source.has_rows:
            n = len(source) if in_memory(source) else round(source.moments().count)
            weight = source.sample_weight if in_memory(source) else None
            self._counts = RowCounts(n, weight, method, fraction, entropy)
            if isinstance(source, LabelledTable | LabelledScan):
                self._counts = StratifiedCounts(groups_of(source), weight, method, fraction, entropy)
            return
        if method == "subsample":
            raise InputError("moments have no rows to choose from: give the table, or use method='bootstrap'")
        self._counts = RowCounts(0, None, method, fraction, entropy)
        value, vector = np.linalg.eigh(source.moments().covariance)
        self._root: Floats = vector * np.sqrt(np.maximum(value, 0.0))

    def groups(self, numbers: range, *, needs_rows: bool = False) -> Iterator[range]:
        """Numbers of replicates in groups that are read at a time."""
        size = len(numbers) if self._at_hand(needs_rows) else _HELD // self._source.d**2
        return (numbers[part] for part in tiles(len(numbers), max(1, size)))

    def read(
        self, numbers: range, workers: Workers, check: Callable[[], None] = lambda: None, *, needs_rows: bool = False
    ) -> None:
        """Sum up the moments of these replicates if that takes a pass over the rows; ``check`` may end it."""
        self._summed = {}
        source = self._source
        if self._at_hand(needs_rows) or not read_again(source):
            return
        tapes = {number: self._counts.tape(number) for number in numbers}
        summed = {number: Moments(source.d, source.names) for number in numbers}

        def add(number: int) -> None:
            times = tapes[number].take(len(rows))
            chosen = np.flatnonzero(times)
            summed[number].update(rows[chosen], times[chosen])

        seen = 0
        for rows in source.batches():
            check()
            workers.map(add, numbers)
            seen += len(rows)
        self._check_same(seen)
        self._summed = summed

    def draw(self, number: int, workers: Workers, *, needs_rows: bool = False) -> Source:
        """Replicate ``number``, counted from 0: as a table where rows are needed or few, else as moments."""
        source = self._source
        if in_memory(source):
            return self._of_table(source, self._counts.all(number), workers, needs_rows)
        if not source.has_rows:
            return Summary(self._gaussian(source.moments(), self._counts.generator(number)))
        if isinstance(source, LabelledScan):
            return source.over(Batches(lambda: self._repeated_pieces(number, source)))  # type: ignore[arg-type, return-value]
        if needs_rows:
            return Scan(Batches(lambda: self._repeated(number)), source.names)
        if number not in self._summed:
            self.read(range(number, number + 1), workers)
        return Summary(self._summed[number])

    def row_counts(self, number: int) -> Counts:
        """How often each row is in a replicate."""
        return self._counts.all(number)

    def _at_hand(self, needs_rows: bool) -> bool:
        """Whether a replicate is drawn without a pass over rows, or takes its own."""
        return needs_rows or not read_again(self._source) or is_experiment(self._source)

    def _check_same(self, seen: int) -> None:
        if seen != self._counts.n:
            raise InputError(f"{seen} rows were read where there were {self._counts.n} before: have the data changed?")

    def _repeated(self, number: int) -> Iterator[Rows]:
        """The rows of a replicate that stay where they are, each as often as it is drawn."""
        tape, source = self._counts.tape(number), self._source
        for rows in source.batches() if read_again(source) else ():
            yield np.repeat(rows, tape.take(len(rows)), axis=0)

    def _repeated_pieces(self, number: int, source: LabelledScan) -> Iterator[Piece]:
        """The same, with what was set in each."""
        tape = self._counts.tape(number)
        for rows, targets in source.pieces():
            at = np.repeat(np.arange(len(rows)), tape.take(len(rows)))
            yield Piece(rows[at], targets.take(at))

    def _of_table(self, table: Table, times: Counts, workers: Workers, needs_rows: bool) -> Source:
        X, names = table.X, table.names
        chosen = np.flatnonzero(times)
        weight = times[chosen].astype(np.float64)
        if isinstance(table, LabelledTable):
            return LabelledTable(X[chosen], names, table.targets.take(chosen), weight)
        # A table of few rows takes no more room than its moments do, and wide ones are searched in single precision.
        if needs_rows or is_wide(len(chosen), len(names)):
            return Table(X[chosen], names, weight)
        moments = Moments(len(names), names)
        for part in tiles(len(chosen), max(256, _BLOCK // len(names))):
            moments.update(X[chosen[part]], weight[part], workers)
        return Summary(moments)

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


def check_resampling(source: Source) -> None:
    """Raise unless replicates can be drawn from a source."""
    if not source.can_resample:
        raise InputError(
            "the rows of a stream pass only once and cannot be drawn again: put them into a table or files, or give "
            "their Moments"
        )
