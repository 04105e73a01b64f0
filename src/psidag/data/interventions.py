"""Experiments: in which rows a variable was set by somebody instead of by its causes."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from psidag.system.errors import InputError, listing

Kind = Literal["perfect", "shift"]

#: Words for rows in which nothing was set, whatever their case.
NONE = ("control", "controls", "none", "non-targeting", "observational")


@dataclass(frozen=True, eq=False)
class Interventions:
    """What was set in which row, in the words of whoever did the experiment.

    Parameters
    ----------
    labels : str or sequence
        For each row None, the name of the variable that was set, or several names; or the name of the column of the
        table that holds them, which then is no variable.
    kind : {"perfect", "shift"}
        ``"perfect"``: where a variable was set its causes do not act on it, so that these rows tell nothing about its
        equation. ``"shift"``: its causes go on acting, and only its mean is another one in these rows.
    separator : str
        What stands between several names in one text. A text that is itself a name is never taken apart.
    none : sequence of str
        Texts that mean that nothing was set, beside empty ones and missing values.

    Examples
    --------
    >>> targets = Interventions([None, "dose", "dose+diet", "control"], separator="+").bind(("dose", "diet", "weight"))
    >>> targets.conditions
    ((), (0,), (0, 1))
    >>> targets.condition.tolist(), targets.rows_of(0).tolist()
    ([0, 1, 2, 0], [1, 2])
    """

    labels: str | Sequence[Any] | NDArray[Any]
    kind: Kind = "perfect"
    separator: str = ","
    none: Sequence[str] = NONE

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise InputError(f"kind must be 'perfect' or 'shift'; got {self.kind!r}")
        if not isinstance(self.separator, str) or not self.separator:
            raise InputError(f"separator must be a text that stands between names; got {self.separator!r}")

    def bind(self, names: Sequence[str]) -> Targets:
        """The targets in terms of these columns; an error names the first label that is none of them."""
        if isinstance(self.labels, str):
            raise InputError(f"the column {self.labels!r} with the targets goes with a table that has this column")
        words = {word.strip().casefold() for word in (*self.none, "")}
        doubtful = [name for name in names if name.strip().casefold() in words]
        if doubtful:
            raise InputError(
                f"{doubtful[0]!r} is a column and a word for rows in which nothing was set: rename the column, or "
                "give other words as none="
            )
        index = {name: k for k, name in enumerate(names)}
        known: dict[Any, tuple[int, ...]] = {}
        numbers: dict[tuple[int, ...], int] = {(): 0}
        condition = np.empty(len(self.labels), dtype=np.int32)
        for row, label in enumerate(self.labels):
            key = label if isinstance(label, str) or label is None else _parts(label)
            if key not in known:
                known[key] = _columns(key, index, words, self.separator, row)
            condition[row] = numbers.setdefault(known[key], len(numbers))
        return Targets(tuple(names), tuple(numbers), condition, self.kind)


@dataclass(frozen=True, eq=False)
class Targets:
    """Which columns were set in which row.

    Attributes
    ----------
    names : tuple of str
        The columns.
    conditions : tuple of tuples of int
        The sets of columns that were set together; the first is the empty one.
    condition : array of int
        The condition of each row.
    kind : {"perfect", "shift"}
        What setting does; see :class:`Interventions`.
    """

    names: tuple[str, ...]
    conditions: tuple[tuple[int, ...], ...]
    condition: NDArray[np.int32]
    kind: Kind = "perfect"

    def __len__(self) -> int:
        return len(self.condition)

    @property
    def any(self) -> bool:
        """Whether anything was set in any row."""
        return len(self.conditions) > 1

    @cached_property
    def columns(self) -> tuple[int, ...]:
        """The columns that were set in some row."""
        return tuple(sorted({column for each in self.conditions for column in each}))

    def rows_of(self, column: int) -> NDArray[np.intp]:
        """The rows in which a column was set."""
        within = np.array([column in each for each in self.conditions])
        return np.flatnonzero(within[self.condition])

    def tells_apart(self, a: int, b: int) -> bool:
        """Whether one of two columns was ever set without the other: only then do experiments direct their edge."""
        return any((a in each) != (b in each) for each in self.conditions)

    def check(self, rows: int) -> None:
        """Raise unless there is a label for each row and every equation has rows to be learned from."""
        if len(self) != rows:
            raise InputError(f"there are {len(self)} labels of interventions for {rows} rows: give one for each")
        if self.kind == "shift":
            return
        always = [self.names[j] for j in self.columns if rows - len(self.rows_of(j)) < 2]
        if always:
            raise InputError(
                f"{listing(always)} was set in every row, so that nothing tells what drives it: leave it out of the "
                "interventions, or give rows in which it was left alone"
            )

    def take(self, rows: NDArray[np.integer]) -> Targets:
        """The targets of some of the rows."""
        return Targets(self.names, self.conditions, self.condition[rows], self.kind)


def _parts(label: Any) -> tuple[str, ...] | None:
    """Several names as a tuple; a missing value as None."""
    if isinstance(label, float) and np.isnan(label):
        return None
    if isinstance(label, Iterable):
        return tuple(str(part) for part in label)
    raise InputError(f"a label of an intervention is None, a name or several names; got {label!r}")


def _columns(
    label: str | tuple[str, ...] | None, index: dict[str, int], none: set[str], separator: str, row: int
) -> tuple[int, ...]:
    if label is None:
        return ()
    if isinstance(label, str):
        if label in index:
            return (index[label],)
        if label.strip().casefold() in none:
            return ()
        label = tuple(part.strip() for part in label.split(separator))
    unknown = [part for part in label if part not in index]
    if unknown:
        close = difflib.get_close_matches(unknown[0], index, n=1)
        meant = f"did you mean {close[0]!r}?" if close else f"columns are {listing(list(index))}"
        raise InputError(
            f"the intervention {unknown[0]!r} in row {row} is none of the columns ({meant}). Rows in which nothing was "
            f"set are None, empty, or one of {listing(sorted(none - {''}))}; several names stand with {separator!r} "
            "between them"
        )
    return tuple(sorted({index[part] for part in label}))
