"""Algorithm 1 on the moments, with dense moves that leave no sampling noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from psidag.errors import InputError
from psidag.framework import Progress, Task
from psidag.graph.order import Order, order_change
from psidag.parallel import tiles
from psidag.solution import Candidate, Status
from psidag.stages.projection import project
from psidag.stages.residual_variance import variance_order
from psidag.stages.within_order import least_squares_within

Floats = NDArray[np.float64]

#: Work per slice in floating-point operations: a fraction of a second, so that clocks and Ctrl-C are heeded.
_SLICE = 1e10
_COLUMNS = 256


class State(NamedTuple):
    """Where the run stands between two slices: A1's weights, its steps left, and the order of the round before."""

    S: Floats
    allowed: NDArray[np.bool_]
    curvature: float
    weights: Floats
    left: int
    last_order: Order | None = None
    steps: int = 0


@dataclass(frozen=True, eq=False)
class Exact:
    """min over DAGs W of  ½ tr (I − W)ᵀ S (I − W),  the loss on the whole table, S its covariance.

    A1 is some steps of gradient descent, W ← W − S(W − I)/‖S‖₂ with a zero diagonal; ψ gives an order; A2 solves all
    regressions within it by one Cholesky factorisation. It is the paper's algorithm without its sampling noise,
    for up to a few thousand columns. With few rows for each column prefer ``solver="sparse"``: regression on
    the whole order overfits by about d/(2n).

    Parameters
    ----------
    order_by : {"psi", "residual_variance"}
        ψ of A1's weights, or the order of lowest residual variance, which needs no A1 and is better where the
        noise variances are equal.
    gradient_steps : int
        Steps of A1 a round. Some 30 to 100 give the best orders.
    max_rounds, patience, tol :
        Stop after so many rounds, or when the loss has not fallen by the fraction ``tol`` for ``patience`` rounds.

    References
    ----------
    Ziu et al., ψDAG (2024), Algorithm 1.
    """

    name: ClassVar[str] = "exact"
    needs_rows: ClassVar[bool] = False

    order_by: Literal["psi", "residual_variance"] = "psi"
    gradient_steps: int = 50
    max_rounds: int = 20
    patience: int = 2
    tol: float = 1e-6

    def __post_init__(self) -> None:
        if self.order_by not in ("psi", "residual_variance"):
            raise InputError(f"order_by must be 'psi' or 'residual_variance'; got {self.order_by!r}")
        for name in ("gradient_steps", "max_rounds", "patience"):
            if not getattr(self, name) >= 1:
                raise InputError(f"{name} must be at least 1; got {getattr(self, name)!r}")

    def init(self, task: Task) -> State:
        """The covariance and its largest eigenvalue; W₀ = 0."""
        S = task.source.moments(task.workers).covariance
        steps = self.gradient_steps if self.order_by == "psi" else 0
        return State(S, task.constraints.allowed(), _largest_eigenvalue(S), np.zeros_like(S), steps)

    def step(self, task: Task, state: State) -> tuple[State, Progress]:
        """A slice of A1; at its end ψ, A2, and the end of the round."""
        if state.left:
            count = min(state.left, max(1, int(_SLICE / (2.0 * task.d**3))))
            weights = _descend(task, state, count)
            state = state._replace(weights=weights, left=state.left - count, steps=state.steps + count)
        if state.left:
            return state, Progress(state.steps, 0)
        order = self._order(task, state)
        projected = _loss(state.S, state.weights * task.constraints.allowed_within(order))
        candidate = _within(task, state, order)
        last = state.last_order
        change = math.nan if last is None else order_change(last, order)
        settled = self.order_by != "psi" or (last is not None and bool(np.all(last == order)))
        finished = Status("converged", "the order no longer changes") if settled else None
        state = state._replace(weights=candidate.weights, left=self.gradient_steps, last_order=order)
        return state, Progress(state.steps, 0, candidate, projected, change, finished)

    def conclude(self, task: Task, state: State) -> Candidate:
        """ψ and A2 for the weights that A1 has so far."""
        return _within(task, state, self._order(task, state))

    def finish(self, task: Task, state: State, best: Candidate) -> Candidate:
        """Nothing is left to do: A2 was exact."""
        return best

    def _order(self, task: Task, state: State) -> Order:
        if self.order_by == "psi":
            return project(state.weights, constraints=task.constraints)
        return variance_order(state.S, task.constraints)


def _descend(task: Task, state: State, count: int) -> Floats:
    """Some steps W ← W − S(W − I)/‖S‖₂, each column by itself."""
    new = np.empty_like(state.weights)

    def work(part: slice) -> None:
        columns, allowed = state.weights[:, part].copy(), state.allowed[:, part]
        identity = np.arange(part.start, part.stop), np.arange(part.stop - part.start)
        for _ in range(count):
            columns[identity] -= 1.0
            gradient = state.S @ columns
            columns[identity] += 1.0
            columns -= gradient / state.curvature
            columns *= allowed
        new[:, part] = columns

    task.workers.map(work, tiles(task.d, _COLUMNS))
    return new


def _within(task: Task, state: State, order: Order) -> Candidate:
    allowed = None if task.constraints.empty else state.allowed
    fit = least_squares_within(state.S, order, allowed)
    return Candidate(order, fit.weights.toarray(), 0.5 * float(fit.residual_variance.sum()))


def _loss(S: Floats, W: Floats) -> float:
    remainder = np.eye(len(S)) - W
    return 0.5 * float(np.einsum("ij,ij->", remainder, S @ remainder))


def _largest_eigenvalue(S: Floats) -> float:
    """‖S‖₂ from above, by the power method with a margin: a longer step would diverge."""
    vector = np.ones(len(S)) / math.sqrt(len(S))
    value = 0.0
    for _ in range(100):
        image = S @ vector
        value = float(np.linalg.norm(image))
        if value == 0.0:
            return 1.0
        vector = image / value
    return 1.05 * value
