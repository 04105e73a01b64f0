"""How long a method would take at sizes where no run of it met the criterion: seconds a step, times steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from psidag.experiments.summaries import grouped, median
from psidag.experiments.table import Row

#: A step of GOLEM and DAGMA inverts, or exponentiates, a matrix of d × d.
_STEP_POWER = 3.0
#: Below this size, where a handful of steps may do, their number says little about larger ones.
_STEPS_FROM = 50


class Forecast(NamedTuple):
    """Seconds at d: those of a step, timed at one size, times steps to the criterion, counted at others."""

    d: int
    step_seconds: float
    timed_at: int
    steps: float
    counted_at: tuple[int, ...]

    @property
    def seconds(self) -> float:
        """Until the criterion."""
        return self.step_seconds * self.steps

    def __str__(self) -> str:
        timed = "" if self.timed_at == self.d else f", timed at d = {self.timed_at:,}"
        counted = f"{self.counted_at[0]:,} to {self.counted_at[-1]:,}"
        return f"{self.step_seconds:.2g} s a step{timed}, and about {self.steps:,.0f} steps, counted at d = {counted},"


def forecast(runs: Sequence[Row], d: int) -> Forecast | None:
    """What the runs of one method on one kind of graph say about a size beyond; None if too little, or if they differ.

    The steps to the criterion go on by the power of d that fits their medians at all sizes that met it, or stay what
    they were if that falls; the seconds of a step are those at the size itself or, by the cube of d, at the largest.
    """
    # Tables keep five digits.
    full = [row for row in runs if row.steps and math.isclose(row.gradients, row.steps * row.n, rel_tol=1e-4)]
    counted = {
        size: median(row.goal_gradients / row.n for row in group)
        for size, group in sorted(grouped((r for r in full if r.reached), lambda r: r.d).items())
        if size >= _STEPS_FROM
    }
    timed = grouped(full, lambda row: row.d)
    if len(counted) < 2 or not timed:
        return None
    at = d if d in timed else max(timed)
    pace = median(row.seconds / row.steps for row in timed[at]) * (d / at) ** _STEP_POWER
    sizes = tuple(counted)
    power = max(0.0, float(np.polyfit(np.log(sizes), np.log(list(counted.values())), 1)[0]))
    level = math.exp(float(np.mean([math.log(steps) - power * math.log(size) for size, steps in counted.items()])))
    # More steps without meeting the criterion, at this size or a smaller one, know better.
    if any(row.over_budget and row.d <= d and row.steps > level * row.d**power for row in full):
        return None
    return Forecast(d, pace, at, level * d**power, sizes)
