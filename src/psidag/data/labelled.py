"""Sources whose rows say what was set in them, wherever the rows are."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from psidag.data.conditions import Conditions
from psidag.data.interventions import Kind, Targets, refuse_always_set
from psidag.data.missing import note_dropped
from psidag.data.moments import TILE, Moments
from psidag.data.scans import Rows, SummedOnce
from psidag.data.sources import Source, Table
from psidag.system.errors import InputError
from psidag.system.parallel import SERIAL, Workers

Floats = NDArray[np.float64]
Part = TypeVar("Part")


class Piece(NamedTuple):
    """Some rows, and what was set in each."""

    rows: Rows
    targets: Targets


class LabelledTable(Table):
    """Rows in memory, and what was set in each."""

    def __init__(self, X: Rows, names: Sequence[str], targets: Targets, sample_weight: Floats | None = None) -> None:
        super().__init__(X, names, sample_weight)
        self.targets = targets
        self._conditions: Conditions | None = None

    def conditions(self, workers: Workers | None = None) -> Conditions:
        """The rows by what was set in them, gone through once."""
        if self._conditions is None:
            empty = Conditions(self.names, self.targets.kind)
            self._conditions = empty.update(self.X, self.targets, self.sample_weight, workers, held=True)
        return self._conditions

    def moments(self, workers: Workers | None = None) -> Moments:
        """The moments of all rows, without differences between batches."""
        if self._moments is None:
            self._moments = self.conditions(workers).moments()
        return self._moments

    def free(self, node: int) -> NDArray[np.bool_]:
        """Of each row whether a node was left alone in it."""
        free = np.ones(len(self), dtype=bool)
        free[self.targets.rows_of(node)] = False
        return free

    def free_rows(self, node: int, columns: NDArray[np.intp]) -> Floats:
        """These columns in the rows in which a node was not set."""
        return np.asarray(self.X[np.flatnonzero(self.free(node))[:, None], columns], dtype=np.float64)

    def controls(self) -> NDArray[np.intp]:
        """The rows in which nothing was set."""
        return np.flatnonzero(self.targets.condition == 0)


class LabelledSummary:
    """The statistic of an experiment, with no rows to look at one by one."""

    has_rows = holds_rows = can_resample = False
    can_reread = has_moments = True

    def __init__(self, conditions: Conditions) -> None:
        self._conditions = conditions
        self._moments = conditions.moments()
        self.names = conditions.names

    @property
    def d(self) -> int:
        """Number of columns."""
        return len(self.names)

    @property
    def count(self) -> float:
        """Number of rows."""
        return self._moments.count

    def conditions(self, workers: Workers | None = None) -> Conditions:
        """The rows by what was set in them."""
        return self._conditions

    def moments(self, workers: Workers | None = None) -> Moments:
        """Of all rows, without differences between batches."""
        return self._moments


class LabelledScan(SummedOnce):
    """Rows that stay where they are, and what was set in each: gone through once for their statistic.

    Parameters
    ----------
    pieces : Partitions of Piece
        The rows.
    names : sequence of str
        Column names.
    kind : {"perfect", "shift"}
        What setting does.
    prepare : callable, optional
        What is done to each piece before it is used.
    """

    has_rows = can_reread = can_resample = True
    holds_rows = False

    def __init__(
        self, pieces: Any, names: Sequence[str], kind: Kind, prepare: Callable[[Piece], Piece] | None = None
    ) -> None:
        self._pieces, self._prepare = pieces, prepare
        self.names, self.kind = tuple(names), kind
        self.remarks: tuple[str, ...] = ()
        """What was done about labels that leave something open; solutions keep it."""
        self._conditions: Conditions | None = None
        self._moments: Moments | None = None

    def over(self, pieces: Any) -> LabelledScan:
        """The same columns in other rows, which are prepared already."""
        return LabelledScan(pieces, self.names, self.kind)

    def pieces(self) -> Iterator[Piece]:
        """All rows once more, from the first on, with what was set in them."""
        for piece in self._pieces:
            yield piece if self._prepare is None else self._prepare(piece)

    def batches(self) -> Iterator[Rows]:
        """All rows once more, from the first on."""
        return (piece.rows for piece in self.pieces() if len(piece.rows))

    def conditions(self, workers: Workers | None = None) -> Conditions:
        """The rows by what was set in them, from one pass, made once."""
        if self._conditions is None:
            wide = self._pieces.here and self.d > TILE
            work = functools.partial(
                _gathered, names=self.names, kind=self.kind, prepare=self._prepare, workers=workers if wide else None
            )
            found: Conditions = self._pieces.reduce(work, Conditions.merge, None if wide else workers)
            check_conditions(found)
            self._conditions, self.count = found, found.total
            if found.left_out:
                self.remarks += (note_dropped(found.left_out, found.left_out + round(found.total)),)
        return self._conditions

    def moments(self, workers: Workers | None = None) -> Moments:
        """Of all rows, without differences between batches."""
        if self._moments is None:
            self._moments = self.conditions(workers).moments()
        return self._moments


def is_experiment(source: Source) -> bool:
    """Whether the rows of a source say what was set in them."""
    return hasattr(source, "conditions")


def conditions_of(source: Source, workers: Workers | None = None) -> Conditions | None:
    """The statistic of an experiment where a source is one and something was set in some row; else None."""
    ask = getattr(source, "conditions", None)
    found: Conditions | None = None if ask is None else ask(workers)
    return found if found is not None and found.settings else None


def groups_of(source: LabelledTable | LabelledScan) -> NDArray[np.intp]:
    """For each row the number of its condition and batch, counted as they come."""
    pieces = [Piece(source.X, source.targets)] if isinstance(source, LabelledTable) else source.pieces()
    known: dict[tuple[Any, Any], int] = {}
    found: list[int] = []
    for _, targets in pieces:
        settings = (targets.conditions[k] for k in targets.condition.tolist())
        batches = repeat(None, len(targets)) if targets.batch is None else targets.batch.tolist()
        found += [known.setdefault(key, len(known)) for key in zip(settings, batches, strict=True)]
    return np.array(found, dtype=np.intp)


def check_conditions(found: Conditions) -> None:
    """Raise where values are missing, or an equation has no rows to be learned from."""
    moments = found.moments()
    if not np.isfinite(moments.mean).all():
        bad = [found.names[j] for j in np.flatnonzero(~np.isfinite(moments.mean))]
        raise InputError(
            f'missing or infinite values in {bad[0]!r}: choose missing="drop" or "mean", or leave the column out'
        )
    if found.total < 2:
        raise InputError(f"{found.total:g} rows are too few: dependence cannot be seen in fewer than 2")
    targets = {column for setting in found.settings for column in setting}
    refuse_always_set({found.names[j]: found.count(j) for j in sorted(targets)})


def labelled_batches(batches: Iterable[Rows], targets: Targets) -> Iterator[Piece]:
    """Batches of rows with the part of the labels that belongs to each."""
    start = 0
    for rows in batches:
        part = np.arange(start, start + len(rows))
        start += len(rows)
        if start > len(targets):
            raise InputError(f"there are {len(targets)} labels of interventions and more rows: give one for each")
        yield Piece(rows, targets.take(part))
    if start != len(targets):
        raise InputError(f"there are {len(targets)} labels of interventions for {start} rows: give one for each")


def whole_piece(piece: Piece) -> Piece:
    """The rows of a piece without missing values."""
    kept = ~np.isnan(piece.rows).any(axis=1)
    return piece if kept.all() else Piece(piece.rows[kept], piece.targets.take(np.flatnonzero(kept)))


def filled_piece(piece: Piece, fill: Callable[[Rows], Rows]) -> Piece:
    """A piece whose gaps are filled in."""
    return Piece(fill(piece.rows), piece.targets)


def _gathered(
    piece: Piece,
    names: tuple[str, ...],
    kind: Kind,
    prepare: Callable[[Piece], Piece] | None,
    workers: Workers | None,
) -> Conditions:
    rows, targets = piece if prepare is None else prepare(piece)
    with np.errstate(invalid="ignore", over="ignore"):  # what is not finite shows in the mean, and is named then
        found = Conditions(names, kind).update(rows, targets, None, workers or SERIAL)
    found.left_out = len(piece.rows) - len(rows)
    return found
