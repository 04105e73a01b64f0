"""Experiments: in which rows a variable was set by somebody instead of by its causes."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from psidag.system.errors import DataWarning, InputError, listing

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
        Texts that mean that nothing was set, beside empty ones and missing values. Among several names they add none:
        ``"dose,control"`` is ``"dose"``.
    targets : mapping of str to names, optional
        Where labels are names of conditions: what was set in each of them, as a name, several names, or None. Words for
        nothing need not be among them.
    batch : str or sequence, optional
        For each row the batch it comes from, or the name of the column that says so: then every equation has an
        intercept for each batch, and differences of means between batches tell nothing.

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
    targets: Mapping[str, Any] | Sequence[tuple[str, Any]] | None = None
    batch: str | Sequence[Any] | NDArray[Any] | None = None

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise InputError(f"kind must be 'perfect' or 'shift'; got {self.kind!r}")
        if not isinstance(self.separator, str) or not self.separator:
            raise InputError(f"separator must be a text that stands between names; got {self.separator!r}")
        if isinstance(self.none, str):
            raise InputError(f"none is a list of words for rows in which nothing was set; got the text {self.none!r}")
        if self.targets is not None:
            object.__setattr__(self, "targets", _settings(self.targets))

    @classmethod
    def of(cls, given: Any) -> Interventions | None:
        """What a caller gave as ``interventions``: None, labels, the name of a column, or all of it."""
        return given if given is None or isinstance(given, Interventions) else cls(given)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table that hold labels or batches, which are no variables."""
        return tuple(given for given in (self.labels, self.batch) if isinstance(given, str))

    def filled(self, found: Mapping[str, Sequence[Any] | NDArray[Any]]) -> Interventions:
        """With what those columns hold."""

        def held(given: Any) -> Any:
            return found[given] if isinstance(given, str) else given

        return replace(self, labels=held(self.labels), batch=held(self.batch))

    def bind(self, names: Sequence[str]) -> Targets:
        """The targets in terms of these columns; an error names the first label that is none of them."""
        if isinstance(self.labels, str):
            raise InputError(f"the column {self.labels!r} with the targets goes with a table that has this column")
        if self.labels is None or not hasattr(self.labels, "__len__") or len(getattr(self.labels, "shape", (0,))) != 1:
            got = f"a table of shape {self.labels.shape}" if hasattr(self.labels, "shape") else repr(self.labels)
            raise InputError(
                "interventions is the name of a column, or a label for each row: None, a name or several names; "
                f"got {got}"
            )
        words = {word.strip().casefold() for word in (*self.none, "")}
        doubtful = [name for name in names if name.strip().casefold() in words]
        if doubtful:
            raise InputError(
                f"{doubtful[0]!r} is a column and a word for rows in which nothing was set: rename the column, or "
                "give other words as none=, --control-words on the command line"
            )
        index = {name: k for k, name in enumerate(names)}
        known: dict[Any, tuple[int, ...]] = {}
        numbers: dict[tuple[int, ...], int] = {(): 0}
        condition = np.empty(len(self.labels), dtype=np.int32)
        unsaid = said = 0
        for row, label in enumerate(self.labels):
            key = label if isinstance(label, str) or label is None else _parts(label, row)
            if key not in known:
                known[key] = self._meant(key, index, words, row)
            condition[row] = numbers.setdefault(known[key], len(numbers))
            empty = key is None or (isinstance(key, str) and not key.strip())
            unsaid, said = unsaid + empty, said + (not empty and not known[key])
        remarks: tuple[str, ...] = ()
        if unsaid and said:
            remarks = (
                f"{unsaid} rows have no label of what was set and {said} say that nothing was: both are taken as rows "
                "in which nothing was set",
            )
            warnings.warn(remarks[0], DataWarning, stacklevel=2)
        batch = None if self.batch is None else _codes(self.batch, len(condition))
        return Targets(tuple(names), tuple(numbers), condition, self.kind, batch, remarks)

    def _meant(self, label: Any, index: dict[str, int], none: set[str], row: int) -> tuple[int, ...]:
        """The columns that a label stands for."""
        if self.targets is not None and label is not None:
            if isinstance(label, str) and label in self.targets:
                label = self.targets[label]  # type: ignore[call-overload]
            elif not (isinstance(label, str) and label.strip().casefold() in none):
                raise InputError(
                    f"the condition {label!r} in row {row} is not among those whose targets are given: "
                    f"{listing(list(self.targets))}"
                )
        return _columns(label, index, none, self.separator, row)


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
    batch : array, optional
        The batch of each row.
    remarks : tuple of str
        What was done about labels that leave something open; solutions keep it.
    """

    names: tuple[str, ...]
    conditions: tuple[tuple[int, ...], ...]
    condition: NDArray[np.int32]
    kind: Kind = "perfect"
    batch: NDArray[Any] | None = None
    remarks: tuple[str, ...] = ()

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

    def rows_in(self, condition: int) -> list[tuple[Any, NDArray[np.intp]]]:
        """The rows of a condition, batch by batch."""
        at = self._rows[self._bounds[condition] : self._bounds[condition + 1]]
        if self.batch is None:
            return [(None, at)] if len(at) else []
        of = self.batch[at]
        return [(label, at[of == label]) for label in sorted(set(of.tolist()), key=str)]

    @cached_property
    def _rows(self) -> NDArray[np.intp]:
        return np.argsort(self.condition, kind="stable")

    @cached_property
    def _bounds(self) -> NDArray[np.intp]:
        return np.searchsorted(self.condition[self._rows], np.arange(len(self.conditions) + 1))

    def check(self, rows: int) -> None:
        """Raise unless there is a label for each row and every equation has rows to be learned from."""
        if len(self) != rows:
            raise InputError(f"there are {len(self)} labels of interventions for {rows} rows: give one for each")
        if self.kind == "shift":
            return
        refuse_always_set({self.names[j]: rows - len(self.rows_of(j)) for j in self.columns})

    def take(self, rows: NDArray[np.integer]) -> Targets:
        """The targets of some of the rows."""
        batch = None if self.batch is None else self.batch[rows]
        return Targets(self.names, self.conditions, self.condition[rows], self.kind, batch)


def refuse_always_set(free: Mapping[str, float]) -> None:
    """Raise where the equation of a variable has fewer than two rows, in which nobody set it, to be learned from."""
    always = [name for name, rows in free.items() if rows < 2]
    if always:
        but = "" if all(free[name] == 0 for name in always) else " but one"
        raise InputError(
            f"{listing(always)} was set in every row{but}, so that nothing tells what drives it: leave it out of the "
            "interventions, or give rows in which it was left alone"
        )


def _settings(given: Any) -> dict[str, Any]:
    """What was set in each condition; an error where two with the same name differ."""
    found: dict[str, Any] = {}
    pairs = list(given.items() if isinstance(given, Mapping) else given)
    for pair in pairs:
        if isinstance(pair, str) or len(pair) != 2:
            raise InputError(f"targets has a name and what was set for each condition, as a mapping; got {given!r}")
        name, targets = pair
        if not (targets is None or isinstance(targets, Iterable)):
            raise InputError(f"targets of the condition {name!r} are a name, several names or None; got {targets!r}")
        meant = targets if isinstance(targets, str) or targets is None else tuple(targets)
        if name in found and found[name] != meant:
            raise InputError(f"the condition {name!r} is there twice, with targets {found[name]!r} and {meant!r}")
        found[name] = meant
    return found


def _codes(batch: Any, rows: int) -> NDArray[Any]:
    """The batch of each row as an array, in which no row is without one."""
    if isinstance(batch, str):
        raise InputError(f"the column {batch!r} with the batches goes with a table that has this column")
    labels = np.asarray([str(label) for label in batch])
    if len(labels) != rows:
        raise InputError(f"there are {len(labels)} batches for {rows} rows: give one for each")
    return labels


def _is_missing(label: Any) -> bool:
    """Whether this is a value that is not there: NaN of any kind, or what pandas and polars write for it."""
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(label, float | np.floating) and bool(np.isnan(label))


def _parts(label: Any, row: int) -> tuple[str, ...] | None:
    """Several names as a tuple; a missing value as None."""
    if _is_missing(label):
        return None
    if isinstance(label, Iterable) and not isinstance(label, bytes):
        return tuple("" if _is_missing(part) else str(part) for part in label)
    raise InputError(
        f"a label of an intervention is None, a name or several names, and names are text; got {label!r} in row {row}"
    )


def _columns(
    label: str | tuple[str, ...] | None, index: dict[str, int], none: set[str], separator: str, row: int
) -> tuple[int, ...]:
    if label is None:
        return ()
    if isinstance(label, str):
        parts = tuple(part.strip() for part in label.split(separator))
        if label in index:
            if len(parts) > 1 and all(part in index for part in parts):
                raise InputError(
                    f"the intervention {label!r} in row {row} is the name of a column, and of several with "
                    f"{separator!r} between them: give the names as a list, or another separator, --target-separator "
                    "on the command line"
                )
            return (index[label],)
        if label.strip().casefold() in none:
            return ()
        label = parts
    named = [part for part in label if part in index or part.strip().casefold() not in none]
    unknown = [part for part in named if part not in index]
    if unknown:
        raise InputError(
            f"the intervention {unknown[0]!r} in row {row} is none of the columns ({_meant(unknown[0], index)}). Rows "
            f"in which nothing was set are None, empty, or one of {listing(sorted(none - {''}))} (none=, "
            f"--control-words); several names stand with {separator!r} between them (separator=, --target-separator)"
            f"{_within(index, separator)}. Rows in which something was set that is no column are to be left out"
        )
    return tuple(sorted({index[part] for part in named}))


def _meant(unknown: str, index: dict[str, int]) -> str:
    """What may have been meant by a name that is no column."""
    folded = {name.casefold(): name for name in index}
    close = difflib.get_close_matches(unknown.strip().casefold(), folded, n=1)
    return f"did you mean {folded[close[0]]!r}?" if close else f"columns are {listing(list(index))}"


def _within(index: dict[str, int], separator: str) -> str:
    """What to do about columns that have the separator in their names."""
    having = [name for name in index if separator in name]
    return f", which is part of the name of {listing(having, 2)}: use another one" if having else ""
