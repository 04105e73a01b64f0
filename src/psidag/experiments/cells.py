"""What is run: a problem, a method, a seed and a budget make a cell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from psidag.datasets import load_sachs
from psidag.simulate import Problem, simulate

#: From this size on rows are in single precision: ten thousand columns of them would not fit small machines.
_SINGLE_FROM = 3000


@dataclass(frozen=True)
class ProblemSpec:
    """A simulated problem, or ``graph="Sachs"``: how it is made is all that is kept of it."""

    graph: str
    d: int
    noise: str = "gaussian"
    n: int = 5000
    n_test: int = 10_000

    @property
    def name(self) -> str:
        """Readable, and different for different problems."""
        return f"{self.graph}-d{self.d}-{self.noise}-n{self.n}"

    def make(self, seed: int) -> Problem:
        """The rows, the rows to be judged on, and the truth."""
        if self.graph == SACHS.graph:
            return load_sachs()
        dtype = np.float32 if self.d >= _SINGLE_FROM else np.float64
        return simulate(
            self.graph, self.n, d=self.d, noise=self.noise, n_test=self.n_test, seed=seed, dtype=dtype
        )  # fmt: skip


#: The real data of the paper: 853 cells to learn from, 902 to be judged on.
SACHS = ProblemSpec("Sachs", 11, "real", 853, 902)


@dataclass(frozen=True)
class Cell:
    """One run of one method on one problem.

    Attributes
    ----------
    problem : ProblemSpec
        What is to be learned.
    method : str
        A key of :data:`psidag.experiments.methods.METHODS`.
    seed : int
        Of the problem and of the method.
    seconds : float
        Time budget, on the clock that stands still while an iterate is judged.
    memory : float
        Megabytes of resident memory, data and all, above which the process is killed.
    to_goal : bool
        Stop as soon as the criterion is met, as the paper does for run times.
    """

    problem: ProblemSpec
    method: str
    seed: int
    seconds: float
    memory: float
    to_goal: bool = False

    @property
    def key(self) -> tuple[str, str, int]:
        """What is measured, whatever the budget."""
        return self.problem.name, self.method, self.seed

    @property
    def id(self) -> str:
        """The same for the same cell in every run, readable, and safe in a file."""
        end = "to-goal" if self.to_goal else "to-end"
        return f"{self.problem.name}/{self.method}/seed{self.seed}/{self.seconds:g}s-{end}"
