"""Sort-and-regress: what a column's variance, its R², or chance alone says about the order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from psidag.baselines.baseline import Baseline, within
from psidag.graph.sortability import r_squared
from psidag.run.loop import Progress, Task
from psidag.run.status import Candidate, Status
from psidag.system.errors import InputError


@dataclass(frozen=True)
class SortRegress(Baseline):
    """Sort the variables by a score, lowest first, then regress each on those before it.

    The honest yardstick: a method that does no better has only found what the units, or the R², of simulated
    data give away, or nothing at all (``by="random"``).

    Parameters
    ----------
    by : {"variance", "r2", "random"}
        The score: the variance of a column, its R² given all other columns, or a random number.

    References
    ----------
    Reisach, Seiler & Weichwald (2021), "Beware of the simulated DAG!"; Reisach, Tami, Seiler, Chambaz &
    Weichwald (2023), "A scale-invariant sorting criterion to find a causal order in additive noise models".

    Examples
    --------
    >>> from psidag import learn_dag
    >>> from psidag.simulate import simulate
    >>> problem = simulate("ER2", n=1000, d=10, seed=0)
    >>> solution = learn_dag(problem.X, SortRegress("variance"))
    >>> bool((np.diff(problem.X.var(axis=0)[solution.order]) >= 0).all())
    True
    """

    name: ClassVar[str] = "sort-and-regress"

    by: Literal["variance", "r2", "random"] = "variance"

    def __post_init__(self) -> None:
        if self.by not in ("variance", "r2", "random"):
            raise InputError(f"by must be 'variance', 'r2' or 'random'; got {self.by!r}")

    def init(self, task: Task) -> None:
        """There is only one step, and nothing to keep."""

    def step(self, task: Task, state: None) -> tuple[None, Progress]:
        """All of it."""
        moments = task.source.moments(task.workers)
        done = Status("converged", f"ordered by {self.by}")
        return None, Progress(task.d, int(moments.count), self.conclude(task, state), finished=done)

    def conclude(self, task: Task, state: None) -> Candidate:
        """The regressions within the order."""
        moments = task.source.moments(task.workers)
        if self.by == "variance":
            score = moments.variance
        elif self.by == "r2":
            score = r_squared(moments)
        else:
            score = task.rng.random(task.d)
        known = task.constraints
        order = known.nearest_order(np.argsort(score, kind="stable"))
        return within(task, order, None if known.empty else known.allowed())
