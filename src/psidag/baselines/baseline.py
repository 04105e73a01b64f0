"""What the baselines share: the loss on moments, an end by their own rule, and how cycles are cut."""

from __future__ import annotations

import sys
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from psidag.graph.acyclic import break_cycles
from psidag.graph.order import Order
from psidag.run.loop import Task, Work
from psidag.run.status import Candidate
from psidag.stages.within_order import least_squares_within
from psidag.system.errors import InputError

Floats = NDArray[np.float64]


class Baseline:
    """An engine that looks at moments only and ends by its own rule, not when the loss stops falling."""

    needs_rows: ClassVar[bool] = False
    max_rounds: int = sys.maxsize
    patience: ClassVar[int] = 0
    tol: ClassVar[float] = 0.0
    _matrices: ClassVar[int] = 9
    _cubes: ClassVar[float] = 6.0

    def finish(self, task: Task, state: Any, best: Candidate) -> Candidate:
        """The last round as it is."""
        return best

    def dump(self, state: Any) -> dict[str, Any]:
        """What :meth:`restore` needs: nothing, where there is only one step."""
        return {}

    def restore(self, task: Task, held: dict[str, Any]) -> Any:
        """The state that was dumped."""
        return None

    def memory(self, n: int, d: int) -> float:
        """Bytes at the most, beside the data: this many matrices of d × d numbers."""
        return 8.0 * self._matrices * d**2

    def work(self, d: int) -> Work:
        """A step is this many times d³ operations at the least; to cut cycles and to choose edges takes a few more."""
        return Work(self._cubes * d**3, 4.0 * d**3)


class Regression(NamedTuple):
    """The loss ½ tr (I − W)ᵀS(I − W), the ℓ1 penalty of each weight, and which weights there may be.

    Weights that are ruled out, the diagonal among them, stay zero; required ones are not penalised.
    """

    S: Floats
    penalty: Floats
    allowed: Floats
    rows: int

    def loss(self, W: Floats) -> tuple[float, Floats]:
        """Loss and gradient S(W − I)."""
        gradient = self.S @ W
        gradient -= self.S
        return 0.5 * float(np.vdot(W, gradient) - np.trace(gradient)), gradient

    def size(self, W: Floats) -> float:
        """Σ penalty |W|."""
        return float(np.vdot(self.penalty, np.abs(W)))


def regression(task: Task, lambda1: float) -> Regression:
    """The penalised regression of a task."""
    if not lambda1 >= 0:
        raise InputError(f"lambda1 must not be negative; got {lambda1!r}")
    allowed = task.constraints.allowed()
    penalty = np.where(allowed, lambda1, 0.0)
    penalty[task.constraints.required[:, 0], task.constraints.required[:, 1]] = 0.0
    moments = task.source.moments(task.workers)
    return Regression(moments.covariance, penalty, allowed.astype(np.float64), int(moments.count))


def cut(task: Task, problem: Regression, W: Floats) -> tuple[Candidate, str]:
    """The iterate cut to a DAG by the smallest threshold that does it, and a remark if that is not 0."""
    dag = break_cycles(W, constraints=task.constraints)
    remark = f"; weights below {dag.threshold:.2g} were dropped to break cycles" if dag.threshold > 0 else ""
    return Candidate(dag.order, dag.weights, problem.loss(dag.weights)[0]), remark


def within(task: Task, order: Order, allowed: NDArray[np.bool_] | None) -> Candidate:
    """Each variable regressed on all before it, or on those of them that are allowed as its parents."""
    fit = least_squares_within(task.source.moments(task.workers).covariance, order, allowed)
    return Candidate(order, fit.weights, 0.5 * float(fit.residual_variance.sum()))


def iterations_at_once(d: int) -> int:
    """How many iterations of a dozen products of d × d matrices make a slice of a tenth of a second or less.

    No more than 100, so that who watches the run between slices sees it move.
    """
    return max(1, min(100, int(2e8 / d**3)))


def next_stop(d: int, iteration: int, checkpoint: int, limit: int) -> int:
    """Where a slice ends that begins after ``iteration``: at a checkpoint or the limit at the latest."""
    return min(iteration + iterations_at_once(d), iteration - iteration % checkpoint + checkpoint, limit)


def check_positive(options: object, *names: str) -> None:
    """Raise unless the named options are positive numbers."""
    for name in names:
        value = getattr(options, name)
        if not value > 0:
            raise InputError(f"{name} must be positive; got {value!r}")
