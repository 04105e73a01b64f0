"""From rows to the numbers that figures and claims share: times to the criterion, their growth, measures of graphs."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from psidag.experiments.table import Row

Key = TypeVar("Key", bound=Hashable)

#: Growth is fitted from this size on where that leaves two sizes: below it starting up is what is measured.
_FIT_FROM = 50


class Timing(NamedTuple):
    """Times of several seeds to the criterion; a run that never met it counts as infinite.

    ``bound`` is what is known where the median is infinite: it takes longer than this.
    """

    median: float
    low: float
    high: float
    reached: int
    runs: int
    bound: float
    over_budget: int

    @property
    def failed(self) -> int:
        """Runs that ended by their own rule without ever meeting the criterion."""
        return self.runs - self.reached - self.over_budget


class Growth(NamedTuple):
    """Seconds ~ d^slope between two sizes, the medians behind it, and sizes where the criterion was not met in time."""

    slope: float
    first: int
    last: int
    medians: dict[int, float]
    beyond: dict[int, float]

    def at(self, d: int) -> float:
        """The seconds to expect at a larger size, by the line through the last two: growth steepens with size."""
        before, last = sorted(self.medians)[-2:]
        slope = math.log(self.medians[last] / self.medians[before]) / math.log(last / before)
        return self.medians[last] * math.pow(d / last, slope)


def grouped(rows: Iterable[Row], by: Callable[[Row], Key]) -> dict[Key, list[Row]]:
    """Rows by something, in the order in which it first occurs."""
    groups: dict[Key, list[Row]] = defaultdict(list)
    for row in rows:
        groups[by(row)].append(row)
    return dict(groups)


def problem_of(row: Row) -> tuple[str, int, str]:
    """Graph, size and noise."""
    return row.graph, row.d, row.noise


def timing(rows: Sequence[Row], value: Callable[[Row], float] = lambda row: row.goal_seconds) -> Timing:
    """Of the runs of one method on one kind of problem."""
    values = [value(row) if row.reached else math.inf for row in rows]
    late = [row.seconds for row in rows if not row.reached and math.isfinite(row.seconds)]
    return Timing(
        median=median(values),
        low=min(values, default=math.nan),
        high=max(values, default=math.nan),
        reached=sum(row.reached for row in rows),
        runs=len(rows),
        bound=min(late, default=math.nan),
        over_budget=sum(row.over_budget and not row.reached for row in rows),
    )


def growth(rows: Iterable[Row]) -> Growth | None:
    """How the time of one method grows with d; None if fewer than two sizes met the criterion."""
    sizes = {d: timing(group) for d, group in sorted(grouped(rows, lambda row: row.d).items())}
    medians = {d: found.median for d, found in sizes.items() if math.isfinite(found.median)}
    beyond = {d: found.bound for d, found in sizes.items() if math.isinf(found.median)}
    large = {d: seconds for d, seconds in medians.items() if d >= _FIT_FROM}
    fitted = large if len(large) >= 2 else medians
    if len(fitted) < 2:
        return None
    slope = float(np.polyfit(np.log(list(fitted)), np.log(list(fitted.values())), 1)[0])
    return Growth(slope, min(fitted), max(fitted), medians, beyond)


def fall(row: Row) -> float:
    """The power of the number of gradients by which the gap of one run falls; nan if there are too few points."""
    points = [(gradients, gap) for _, gradients, gap in row.curve if gradients > 0 and gap > 0]
    if len(points) < 5:
        return math.nan
    gradients, gaps = np.log(points).T
    return float(np.polyfit(gradients, gaps, 1)[0])


def best_iterate(row: Row) -> float:
    """The lowest gap of the iterates."""
    return min((gap for _, _, gap in row.curve), default=math.nan)


def median(values: Iterable[float]) -> float:
    """The median, which may be infinite; nan of nothing."""
    ordered = sorted(value for value in values if not math.isnan(value))
    if not ordered:
        return math.nan
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    low, high = ordered[middle - 1], ordered[middle]
    return low if low == high else (low + high) / 2


def shown_seconds(seconds: float) -> str:
    """Seconds, minutes or hours to two or three digits."""
    if math.isnan(seconds):
        return "–"
    if math.isinf(seconds):
        return "never"
    if seconds < 120:
        return f"{seconds:.2g} s" if seconds < 9.95 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:,.0f} h"
