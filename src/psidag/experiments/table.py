"""The results: one row a cell, appended as it comes, readable after any kind of end."""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar

from psidag.experiments.cells import SACHS, Cell
from psidag.system.errors import InputError

#: The criterion of the paper: f(x) − f(x̄) ≤ 0.1 · f(x̄).
GOAL = 0.1
#: Most points of a curve that are kept.
_MOST_POINTS = 40

#: Seconds on the clock, gradients of single rows, gap.
Point = tuple[float, float, float]


@dataclass(frozen=True)
class Row:
    """What came of one cell; what was not measured is nan.

    ``seconds`` is the whole run, ``gap`` that of its last iterate made acyclic, ``goal_seconds`` and
    ``goal_gradients`` when an iterate first met the criterion. The graph measures, SHD and the like, are of the final
    graph, with edges chosen by evidence and, under ``_03``, by the paper's threshold; ``graph_gap`` is of the former.
    ``clock`` is the processor's time on one thread and the wall's on several. ``memory`` is in megabytes, data not
    counted. ``recorded`` rows come from the table that is shipped.
    """

    GRAPH_MEASURES: ClassVar[tuple[str, ...]] = (
        "learned_edges", "shd", "missing", "extra", "reversed", "tpr", "fpr", "fdr",
    )  # fmt: skip

    graph: str
    d: int
    noise: str
    n: int
    method: str
    seed: int
    status: str
    message: str = ""
    id: str = ""
    budget: float = math.nan
    to_goal: bool = False
    seconds: float = math.nan
    goal_seconds: float = math.nan
    goal_gradients: float = math.nan
    gap: float = math.nan
    steps: int = 0
    gradients: float = math.nan
    memory: float = math.nan
    true_edges: int = 0
    graph_gap: float = math.nan
    loss: float = math.nan
    learned_edges: float = math.nan
    shd: float = math.nan
    missing: float = math.nan
    extra: float = math.nan
    reversed: float = math.nan
    tpr: float = math.nan
    fpr: float = math.nan
    fdr: float = math.nan
    learned_edges_03: float = math.nan
    shd_03: float = math.nan
    missing_03: float = math.nan
    extra_03: float = math.nan
    reversed_03: float = math.nan
    tpr_03: float = math.nan
    fpr_03: float = math.nan
    fdr_03: float = math.nan
    threads: int = 1
    at_once: int = 1
    clock: str = ""
    machine: str = ""
    curve: tuple[Point, ...] = ()
    recorded: bool = False

    @property
    def key(self) -> tuple[str, str, int]:
        """What was measured, whatever the budget."""
        return f"{self.graph}-d{self.d}-{self.noise}-n{self.n}", self.method, self.seed

    @property
    def reached(self) -> bool:
        """Whether an iterate met the criterion."""
        return self.goal_seconds == self.goal_seconds

    @property
    def returned(self) -> bool:
        """Whether the graph that was returned meets the criterion, whatever the iterates did."""
        return self.graph_gap <= GOAL

    @property
    def over_budget(self) -> bool:
        """Whether a limit ended it."""
        return self.status in ("over_time", "over_memory")

    @property
    def failed(self) -> bool:
        """Whether it never met the criterion although no limit ended it."""
        return not self.reached and not self.over_budget

    def answers(self, cell: Cell) -> bool:
        """Whether running the cell would tell nothing new."""
        if self.key != cell.key or (self.status == "criterion" and not cell.to_goal):
            return False
        if self.over_budget:
            return self.budget >= cell.seconds
        # The last step of a run may end a little after its budget.
        return self.seconds <= cell.seconds or self.budget == cell.seconds or not math.isfinite(self.seconds)

    def as_dict(self) -> dict[str, Any]:
        """For JSON: None for what is not a finite number."""
        return {key: _plain(value) for key, value in asdict(self).items() if key != "recorded"}

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> Row:
        """The row of a dictionary; fields it does not know are left out."""
        known = {field.name for field in fields(cls)}
        values = {key: _number(value) for key, value in given.items() if key in known}
        values["curve"] = tuple(tuple(map(_number, point)) for point in given.get("curve", ()))
        return cls(**values)


class ResultTable:
    """Rows in a file of JSON lines. A line that a kill has torn is not a row, and is run again.

    Examples
    --------
    >>> import tempfile
    >>> table = ResultTable(Path(tempfile.mkdtemp()) / "results.jsonl")
    >>> table.append(Row("ER2", 10, "gaussian", 5000, "sparse", 0, "converged"))
    >>> [row.method for row in table.rows()]
    ['sparse']
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def rows(self) -> list[Row]:
        """All rows that were written to their end."""
        if not self.path.exists():
            return []
        return _parse(self.path.read_text(encoding="utf-8"), str(self.path))

    def append(self, row: Row) -> None:
        """Add a row, and let the disk have it before going on."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab+") as file:
            if file.tell() and not _ends_line(file):
                file.write(b"\n")
            file.write(json.dumps(row.as_dict(), ensure_ascii=False, allow_nan=False).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())


def recorded_rows(n: int) -> list[Row]:
    """Rows of the run that comes with psidag: those of problems with this many rows to learn from, and of real data."""
    file = resources.files("psidag.experiments") / "recorded.jsonl"
    if not file.is_file():
        return []
    rows = _parse(file.read_text(encoding="utf-8"), "recorded.jsonl")
    return [replace(row, recorded=True) for row in rows if row.n in (n, SACHS.n)]


def merged(rows: Iterable[Row], recorded: Iterable[Row] = ()) -> list[Row]:
    """One row for each problem, method and seed: one that no limit ended, or else the one of the largest budget.

    Recorded rows only where there is none of one's own that is as good.
    """
    best: dict[tuple[str, str, int], Row] = {}
    for row in [*rows, *recorded]:
        other = best.get(row.key)
        if other is None or _worth(row) > _worth(other):
            best[row.key] = row
    return list(best.values())


def write_csv(rows: Sequence[Row], path: Path) -> None:
    """The table without its curves, for spreadsheets."""
    names = [field.name for field in fields(Row) if field.name not in ("curve", "id")]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        for row in sorted(rows, key=lambda r: (r.graph, r.noise, r.d, r.method, r.seed)):
            writer.writerow([_short(getattr(row, name)) for name in names])


def thinned(curve: Sequence[Point]) -> tuple[Point, ...]:
    """At most a few dozen points, evenly spaced in the logarithm of time, with first, last and the criterion's."""
    if len(curve) <= _MOST_POINTS:
        return tuple(_rounded(point) for point in curve)
    keep = {0, len(curve) - 1, next((k for k, point in enumerate(curve) if point[2] <= GOAL), 0)}
    low, high = math.log(max(curve[0][0], 1e-6)), math.log(max(curve[-1][0], 1e-6))
    target = low
    for k, point in enumerate(curve):
        if math.log(max(point[0], 1e-6)) >= target:
            keep.add(k)
            target += (high - low) / (_MOST_POINTS - 3)
    return tuple(_rounded(curve[k]) for k in sorted(keep))


def _worth(row: Row) -> tuple[bool, float]:
    return not row.over_budget, row.budget if row.over_budget else 0.0


def _parse(text: str, name: str) -> list[Row]:
    rows = []
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if not line.strip():
            continue
        try:
            rows.append(Row.from_dict(json.loads(line)))
        except json.JSONDecodeError:
            continue  # torn by a kill while it was written
        except TypeError as error:
            raise InputError(f"line {number + 1} of {name} is not a row of results: {error}") from None
    return rows


def _ends_line(file: Any) -> bool:
    file.seek(-1, os.SEEK_END)
    return bool(file.read(1) == b"\n")


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.5g}") if math.isfinite(value) else None
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value


def _number(value: Any) -> Any:
    return math.nan if value is None else value


def _short(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value:.5g}" if math.isfinite(value) else ""
    return value


def _rounded(point: Point) -> Point:
    seconds, gradients, gap = (float(f"{value:.4g}") for value in point)
    return seconds, gradients, gap
