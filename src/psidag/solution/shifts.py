"""Experiments as a test: the shift of every variable that a model predicts, against the one that was observed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from psidag.data.conditions import Means
from psidag.graph.dag import DAG
from psidag.solution.effects import intervene
from psidag.solution.solution import Solution

Floats = NDArray[np.float64]


class Shift(NamedTuple):
    """How far one variable moved when others were set, against controls.

    ``predicted`` comes from a model that was fitted without these rows. ``unexplained`` is the shift that the causes of
    the variable in that model do not account for, in standard errors; ``off_target`` marks variables that are no
    descendants of what was set and moved by themselves.
    """

    target: str
    variable: str
    predicted: float
    observed: float
    standard_error: float
    unexplained: float
    descendant: bool
    off_target: bool = False


class InterventionChecks(tuple[Shift, ...]):
    """The shifts of all variables under all targets; ``pandas.DataFrame(checks)`` makes a table of it."""

    __slots__ = ()

    @property
    def correlation(self) -> float:
        """Between predicted and observed shifts, each in standard errors; nan where none was predicted."""
        x, y = self._scaled()
        return float(np.corrcoef(x, y)[0, 1]) if len(x) > 1 and x.std() > 0 and y.std() > 0 else math.nan

    @property
    def explained(self) -> float:
        """Share of the squared observed shifts, in standard errors, that the predictions account for."""
        x, y = self._scaled()
        total = float(y @ y)
        return 1 - float((y - x) @ (y - x)) / total if total > 0 else math.nan

    @property
    def off_targets(self) -> list[tuple[str, str]]:
        """``(target, variable)`` of variables that moved though nothing in the model leads there from the target."""
        return [(shift.target, shift.variable) for shift in self if shift.off_target]

    def _scaled(self) -> tuple[Floats, Floats]:
        rows = [shift for shift in self if shift.standard_error > 0]
        scale = np.array([shift.standard_error for shift in rows])
        return tuple(np.array([shift[k] for shift in rows]) / scale for k in (2, 3))

    def __str__(self) -> str:
        off = self.off_targets
        lines = [
            f"{len(self)} shifts under {len({shift.target for shift in self})} targets left out of the fit",
            f"  predicted against observed: correlation {self.correlation:.2f}, {self.explained:.0%} of squared shifts",
        ]
        if off:
            named = ", ".join(f"{variable} under {target}" for target, variable in off[:8])
            more = f" and {len(off) - 8} more" if len(off) > 8 else ""
            lines.append(f"  likely off-targets: {named}{more}")
        return "\n".join(lines)


def shifts_of(solution: Solution, control: Means, condition: Means) -> list[Shift]:
    """The shift of every variable that was not set, with the mean of what was set as it was observed."""
    names, dag = solution.names, solution.dag
    values = {j: float(condition.mean[j]) for j in condition.setting}
    predicted = intervene(solution.model, values).mean - solution.model.mean
    observed = condition.mean - control.mean
    # Of a few rows the variance is hardly known: that of one row of controls goes with them.
    variance = (condition.n * condition.variance + control.variance) / max(condition.n, 1.0)
    error = np.sqrt(variance / max(condition.n, 1.0) + control.variance / max(control.n, 1.0))
    left = observed - dag.weights.T @ observed
    noise = np.sqrt(np.maximum(solution.residual_variance, 1e-300) * (1 / condition.n + 1 / max(control.n, 1.0)))
    below = _descendants(dag, condition.setting)
    label = "+".join(names[j] for j in condition.setting)
    return [
        Shift(
            label, names[j], float(predicted[j]), float(observed[j]), float(error[j]), float(left[j] / noise[j]),
            j in below,
        )
        for j in range(dag.d)
        if j not in condition.setting
    ]  # fmt: skip


def _descendants(dag: DAG, columns: Sequence[int]) -> set[int]:
    return {dag.index(name) for j in columns for name in dag.descendants(dag.names[j])}
