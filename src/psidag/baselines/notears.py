"""NOTEARS: penalised least squares with acyclicity as a smooth constraint, by the augmented Lagrangian."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from psidag.baselines.acyclicity import trace_exponential
from psidag.baselines.baseline import (
    Baseline,
    Floats,
    Regression,
    check_positive,
    cut,
    iterations_at_once,
    regression,
)
from psidag.baselines.owlqn import Descent, Smooth, advance, start
from psidag.run.loop import Progress, Task, equal_noise_only
from psidag.run.status import Candidate, Status
from psidag.system.tree import stored_array

#: Most iterations of one inner minimisation, as in SciPy's L-BFGS-B.
_INNER_LIMIT = 15_000


class State(NamedTuple):
    """The multipliers, the last accepted ``W`` and its h, and the inner minimisation under way."""

    problem: Regression
    W: Floats
    h: float
    rho: float
    alpha: float
    inner: Descent | None
    steps: int


@dataclass(frozen=True)
class Notears(Baseline):
    """min over W of ½ tr (I − W)ᵀS(I − W) + λ₁ |W|₁ subject to h(W) = tr exp(W∘W) − d = 0.

    Each round minimises the augmented Lagrangian, loss + λ₁|W|₁ + ½ρh² + αh, for a ρ large enough to bring h
    down to a quarter, and adds ρh to α.

    Parameters
    ----------
    lambda1 : float
        Weight of the ℓ1 penalty.
    max_rounds : int
        Most dual steps.
    h_tol : float
        Stop when h is no larger.
    rho_max : float
        Stop when ρ has reached this.

    Notes
    -----
    The schedule and its defaults are those of the authors' code. The inner minimiser is OWL-QN on W instead
    of L-BFGS-B on its positive and negative parts: the same problem, a fraction of the time.

    References
    ----------
    Zheng, Aragam, Ravikumar & Xing (2018), "DAGs with NO TEARS: continuous optimization for structure
    learning", Algorithm 1.

    Examples
    --------
    >>> from psidag import learn_dag
    >>> from psidag.simulate import simulate
    >>> problem = simulate("ER2", n=1000, d=10, seed=0)
    >>> learn_dag(problem.X, Notears(), threshold=0.3).status.ok
    True
    """

    name: ClassVar[str] = "NOTEARS"
    _cubes: ClassVar[float] = 20.0
    _matrices: ClassVar[int] = 56

    lambda1: float = 0.1
    max_rounds: int = 100
    h_tol: float = 1e-8
    rho_max: float = 1e16

    def __post_init__(self) -> None:
        check_positive(self, "max_rounds", "h_tol", "rho_max")

    def init(self, task: Task) -> State:
        """W = 0, no multiplier yet."""
        equal_noise_only(task, self.name)
        problem = regression(task, self.lambda1)
        return State(problem, np.zeros((task.d, task.d)), math.inf, 1.0, 0.0, None, 0)

    def step(self, task: Task, state: State) -> tuple[State, Progress]:
        """A slice of the inner minimisation; at its end a larger ρ, or the end of the round."""
        smooth = augmented_lagrangian(state.problem, state.rho, state.alpha)
        inner = state.inner or start(smooth, state.problem.penalty, state.W)
        before = inner.evaluations if state.inner else 0
        inner = advance(smooth, state.problem.penalty, inner, iterations_at_once(task.d))
        state = state._replace(inner=inner, steps=state.steps + inner.evaluations - before)
        if not inner.converged and inner.iterations < _INNER_LIMIT:
            return state, Progress(state.steps, state.problem.rows)
        h = trace_exponential(inner.x)[0]
        if h > 0.25 * state.h and state.rho * 10 < self.rho_max:
            return state._replace(rho=state.rho * 10, inner=None), Progress(state.steps, state.problem.rows)
        if h > 0.25 * state.h:
            state = state._replace(rho=state.rho * 10)
        state = state._replace(W=inner.x, h=h, alpha=state.alpha + state.rho * h, inner=None)
        candidate, remark = cut(task, state.problem, state.W)
        finished = None
        if h <= self.h_tol:
            finished = Status("converged", f"h = {h:.2g}{remark}")
        elif state.rho >= self.rho_max:
            limit = f"rho_max={self.rho_max:g} is reached and h = {h:.2g} is above h_tol"
            finished = Status("max_rounds", f"{limit}: bring columns of very different units in line{remark}")
        return state, Progress(state.steps, state.problem.rows, candidate, finished=finished)

    def conclude(self, task: Task, state: State) -> Candidate:
        """The iterate, made acyclic."""
        return cut(task, state.problem, state.inner.x if state.inner else state.W)[0]

    def dump(self, state: State) -> dict[str, Any]:
        """What :meth:`restore` needs."""
        return {key: getattr(state, key) for key in ("W", "h", "rho", "alpha", "inner", "steps")}

    def restore(self, task: Task, held: dict[str, Any]) -> State:
        """The state that was dumped."""
        shape = (task.d, task.d)
        inner = None
        if held["inner"] is not None:
            x, value, gradient, pairs, iterations, evaluations, converged = held["inner"]
            inner = Descent(
                stored_array(x, shape),
                float(value),
                stored_array(gradient, shape),
                tuple((stored_array(moved, shape), stored_array(turned, shape)) for moved, turned in pairs),
                int(iterations),
                int(evaluations),
                bool(converged),
            )
        W, h, rho, alpha = stored_array(held["W"], shape), float(held["h"]), float(held["rho"]), float(held["alpha"])
        return State(regression(task, self.lambda1), W, h, rho, alpha, inner, int(held["steps"]))


def augmented_lagrangian(problem: Regression, rho: float, alpha: float) -> Smooth:
    """The function loss(W) + ½ρh(W)² + αh(W), with its gradient."""

    def smooth(W: Floats) -> tuple[float, Floats]:
        loss, gradient = problem.loss(W)
        h, towards = trace_exponential(W)
        towards *= rho * h + alpha
        gradient += towards
        gradient *= problem.allowed
        return loss + 0.5 * rho * h * h + alpha * h, gradient

    return smooth
