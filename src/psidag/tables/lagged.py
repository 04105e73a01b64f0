"""Rows in time: each variable beside its own past, with the knowledge that the past comes first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psidag.data.files import FileTable, Kind
from psidag.data.scans import Batches
from psidag.graph.constraints import Constraints
from psidag.system.errors import InputError
from psidag.tables.prepare import prepare
from psidag.tables.raw import RawTable, raw_table


@dataclass(frozen=True, eq=False)
class Lagged(FileTable):
    """A table with the past beside the present.

    Attributes
    ----------
    constraints : Constraints
        What time implies: earlier columns in earlier tiers, and nothing points at the past. (That ``x[t-1]`` causes
        ``y[t-1]`` is the same as that ``x`` causes ``y``, and is learned there.)
    """

    constraints: Constraints = field(default_factory=Constraints)


def lagged(table: Any, lags: int = 1, group: str | Sequence[Any] | None = None) -> Lagged:
    """Put the values of earlier rows beside each row: columns ``x``, ``x[t-1]``, ``x[t-2]``, …

    Rows must be in the order of time. The first rows, which have no past, are left out; consecutive rows share
    values, which regression on the past allows for.

    Parameters
    ----------
    table : path, DataFrame, Arrow table, mapping of columns, array, or prepared table
        What is not numbers is prepared first; see :func:`psidag.prepare`.
    lags : int
        How many rows to look back.
    group : str or sequence, optional
        The column (which is left out of the variables), or a value for each row, that tells series apart: the past
        of one is never taken from another.

    Returns
    -------
    Lagged
        A table to learn from, with ``constraints`` to give to the learner.

    Examples
    --------
    >>> import numpy as np
    >>> table = lagged({"x": [1.0, 2.0, 3.0, 4.0, 7.0], "who": ["a", "a", "a", "b", "b"]}, lags=1, group="who")
    >>> table.names, table.X.tolist()
    (('x', 'x[t-1]'), [[2.0, 1.0], [3.0, 2.0], [7.0, 4.0]])
    """
    if isinstance(lags, bool) or not isinstance(lags, int | np.integer) or lags < 1:
        raise InputError(f"lags must be a whole number from 1 on; got {lags!r}")
    numbers, series = _split(table, group)
    X = np.asarray(numbers.X, dtype=np.float64)
    if len(series) != len(X):
        raise InputError(f"group has {len(series)} values for {len(X)} rows")
    kept = [rows for rows in _by_series(series) if len(rows) > lags]
    if not kept:
        raise InputError(f"no series has more than {lags} rows: there is no past to look back to")
    pieces = [np.column_stack([X[rows][lags - back : len(rows) - back] for back in range(lags + 1)]) for rows in kept]
    names = [_named(name, back) for back in range(lags + 1) for name in numbers.names]
    twice = [name for name in numbers.names if name in names[len(numbers.names) :]]
    if twice:
        raise InputError(f"the table already has a column {twice[0]!r}: rename it")
    past = names[len(numbers.names) :]
    d = len(numbers.names)
    tiers = [names[back * d : (back + 1) * d] for back in range(lags, -1, -1)]
    kinds: dict[str, Kind] = {_named(name, b): kind for b in range(lags + 1) for name, kind in numbers.kinds.items()}
    apart = "" if group is None else f", in {len(kept)} series"
    step = f"each row beside the {'one' if lags == 1 else lags} before it{apart}"
    return Lagged(
        tuple(names),
        np.concatenate(pieces),
        kinds,
        {},
        numbers.notes,
        (*numbers.steps, step),
        Constraints(tiers=tiers, exogenous=past),
    )


def _named(name: str, back: int) -> str:
    return f"{name}[t-{back}]" if back else name


def _split(table: Any, group: str | Sequence[Any] | None) -> tuple[FileTable, NDArray[Any]]:
    """The variables as numbers, and the series that each row belongs to."""
    series: Any = group
    if isinstance(table, FileTable):
        numbers = table.numbers_only()
        if isinstance(numbers.X, Batches):
            raise InputError("a table that is to be lagged must fit in memory: choose columns or rows of it")
        if isinstance(group, str):
            raise InputError("of a table that is prepared already, give the group as one value for each row")
    else:
        raw = raw_table(table)
        if isinstance(group, str):
            if group not in raw.columns:
                raise InputError(f"there is no column {group!r} to tell series apart by")
            series = raw.columns[group].tolist()
            raw = RawTable({name: column for name, column in raw.columns.items() if name != group}, raw.notes)
        numbers = prepare(raw)
    if series is None:
        return numbers, np.zeros(len(numbers.X), dtype=np.intp)
    labels: dict[Any, int] = {}
    return numbers, np.array([labels.setdefault(value, len(labels)) for value in series], dtype=np.intp)


def _by_series(series: NDArray[Any]) -> list[NDArray[np.intp]]:
    """The rows of each series, in the order of the table."""
    order = np.argsort(series, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(series[order])) + 1) if len(order) else []
