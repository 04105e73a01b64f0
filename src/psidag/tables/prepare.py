"""From a table as it comes to columns of numbers, with a sentence about each step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psidag.data.files import FileTable, Kind
from psidag.system.errors import InputError, listing
from psidag.tables.kinds import Seen, look, sentinel
from psidag.tables.raw import raw_table

#: Skewness from which the logarithm of a positive column is taken, where that is asked for.
_SKEWED = 1.0


@dataclass(frozen=True, eq=False)
class Prepared(FileTable):
    """A table of numbers that says in its ``steps`` how it became one; whatever takes a table takes it.

    ``groups`` has the columns that were made of one column of categories, by its name.
    """

    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __str__(self) -> str:
        head = f"{len(self.X)} rows, {len(self.names)} columns of numbers"
        return "\n".join([head, *(f"  {step}" for step in self.steps)])


def prepare(
    table: Any,
    *,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    rows: slice | None = None,
    log: bool = False,
    standardise: bool = False,
) -> Prepared:
    """Turn a messy table into columns of numbers: nothing is guessed silently, each step is recorded.

    Yes/no columns become 1 and 0; a column of up to twenty categories becomes one such column for each of them but the
    most common and those with next to no rows; dates become days; values such as −999 that stand apart become missing.
    Ids, columns of one value, copies, free text, empty columns and words that most rows lack are left out. Missing
    values stay missing: ``missing=`` of the learner says what becomes of them.

    Parameters
    ----------
    table : path, DataFrame, Arrow table, mapping of columns, or array
        Held in memory as a whole.
    columns, exclude : sequences of str
        Names or patterns of the columns to keep, and of those to leave out.
    rows : slice, optional
        Which rows to keep.
    log : bool
        Take the logarithm of positive columns with a long tail to the right.
    standardise : bool
        Bring all columns to mean 0 and variance 1; weights then count in standard deviations.

    Returns
    -------
    Prepared
        A table to learn from; ``print`` shows the steps.

    Examples
    --------
    >>> table = {"id": ["a1", "b7", "c3", "d9"], "smoker": ["yes", "no", "no", "yes"], "age": [30, 41, -999, 28]}
    >>> print(prepare(table))
    4 rows, 2 columns of numbers
      'id' left out: an id, different in every row
      'smoker': yes = 1, no = 0
    """
    raw = raw_table(table, columns=columns, drop=exclude, rows=rows)
    steps: list[str] = []
    held: dict[str, NDArray[np.float64]] = {}
    kinds: dict[str, Kind] = {}
    groups: dict[str, tuple[str, ...]] = {}
    first: dict[bytes, str] = {}
    for name, column in raw.columns.items():
        seen = look(name, column)
        made, said = _numbers(name, seen)
        steps += said
        if len(made) > 1:
            groups[name] = tuple(made)
        for key, values in made.items():
            if key in held or (key != name and key in raw.columns):
                raise InputError(f"the categories of {name!r} would make a second column {key!r}: rename one of them")
            print_of = (values + 0.0).tobytes()
            if print_of in first:
                steps.append(f"{key!r} left out: a copy of {first[print_of]!r}")
                continue
            first[print_of] = key
            held[key], said = _reshaped(
                key, values, log=log and seen.kind in ("number", "few values"), standardise=standardise
            )
            kinds[key] = "boolean" if seen.kind in ("yes/no", "category") else "number"
            steps += said
    if not held:
        raise InputError(f"no column of numbers is left of {listing(list(raw.columns))}")
    X = np.column_stack(list(held.values()))
    return Prepared(tuple(held), X, kinds, {}, raw.notes, tuple(steps), groups=groups)


def columns_made(name: str, seen: Seen) -> list[NDArray[np.float64]]:
    """The columns of numbers that a column becomes; copies are not looked for."""
    return list(_numbers(name, seen)[0].values())


def _numbers(name: str, seen: Seen) -> tuple[dict[str, NDArray[np.float64]], list[str]]:
    """The columns of numbers that one column becomes, and what was done."""
    reasons = {
        "id": "an id, different in every row",
        "constant": "the same value in every row",
        "empty": "no values",
        "text": f"text with {seen.distinct} different values",
    }
    if seen.kind in reasons:
        return {}, [f"{name!r} left out: {reasons[seen.kind]}"]
    if mostly_missing(seen):
        rows = seen.missing + seen.filled
        return {}, [f"{name!r} left out: only {seen.filled:,} of {rows:,} rows have a value"]
    if seen.kind == "category":
        return _indicators(name, seen)
    values = seen.values if seen.values is not None else np.empty(0)
    if seen.kind == "date":
        return {name: values}, [f"{name!r}: days since 1970-01-01"]
    if seen.kind == "yes/no" and seen.levels:
        return {name: values}, [f"{name!r}: {seen.levels[0]} = 1, {seen.levels[1]} = 0"]
    said = [f"{name!r}: {seen.said}"] if seen.said else []
    code = sentinel(values)
    if code is not None:
        times = int((values == code).sum())
        values = np.where(values == code, np.nan, values)
        said.append(f"{name!r}: {code:g} taken as missing ({times} times)")
    return {name: values}, said


def mostly_missing(seen: Seen) -> bool:
    """Whether these are words that most rows lack, such as remarks: to ask for them would cost most of the rows."""
    return bool(seen.levels) and seen.missing > seen.filled


def _indicators(name: str, seen: Seen) -> tuple[dict[str, NDArray[np.float64]], list[str]]:
    """A column of 1 and 0 for each category but the most common one and those that are too rare to tell anything."""
    common, *others = seen.levels
    kept = others[: len(others) - seen.rare]
    if not kept:
        alike = seen.filled - sum(str(cell) != common for cell in seen.cells if cell is not None)
        reason = (
            f"{alike:,} of {seen.filled:,} rows have {common!r}" if 2 * alike > seen.filled else "too few rows for each"
        )
        return {}, [f"{name!r} left out: {seen.distinct} categories, and {reason}"]
    made = {
        f"{name}={level}": np.array([np.nan if cell is None else float(str(cell) == level) for cell in seen.cells])
        for level in kept
    }
    if len(made) == 1:
        said = f"{name!r}: {kept[0]!r} = 1, {common!r} = 0"
    else:
        said = f"{name!r}: a column of 1 and 0 for each of {listing(list(made))}; all 0 is {common!r}"
    if seen.rare:
        said += f", or one of {seen.rare} rare others" if seen.rare > 1 else f", or {seen.levels[-1]!r}, which is rare"
    if len(made) > 1:
        said += ". Edges among these columns come from the coding: no row has two"
    return made, [said]


def _reshaped(
    name: str, values: NDArray[np.float64], *, log: bool, standardise: bool
) -> tuple[NDArray[np.float64], list[str]]:
    said = []
    there = values[np.isfinite(values)]
    if log and long_tailed(there):
        values = np.log(values)
        there = np.log(there)
        said.append(f"{name!r}: its logarithm, for it has a long tail to the right")
    if standardise and len(there) and there.std() > 0:
        said.append(f"{name!r}: minus {there.mean():.6g}, divided by {there.std():.6g}")
        values = (values - there.mean()) / there.std()
    return values, said


def long_tailed(values: NDArray[np.float64]) -> bool:
    """Whether these finite numbers are positive, skewed to the right, and less so once their logarithm is taken."""
    if len(values) < 3 or values.min() <= 0:
        return False
    return _skewness(values) > max(_SKEWED, abs(_skewness(np.log(values))))


def _skewness(values: NDArray[np.float64]) -> float:
    centred = values - values.mean()
    spread = float(np.sqrt(np.mean(centred**2)))
    return float(np.mean(centred**3)) / spread**3 if spread > 0 else 0.0
