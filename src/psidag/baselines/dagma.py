"""DAGMA: least squares along a central path that a log-determinant keeps among the near-DAGs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from psidag.baselines.acyclicity import inverse
from psidag.baselines.adam import Adam
from psidag.baselines.baseline import (
    Baseline,
    Floats,
    Regression,
    check_positive,
    cut,
    next_stop,
    regression,
    within,
)
from psidag.run.loop import Progress, Task, equal_noise_only
from psidag.run.status import Candidate, Status
from psidag.system.errors import InputError
from psidag.system.tree import stored_array

#: A learning rate halved down to this has no step left in the domain.
_NO_STEP = 1e-16
#: A larger diagonal at the end of the path: variables explain themselves (about 1e-4 is usual).
_OWN_CAUSE = 0.1


class State(NamedTuple):
    """Where the path stands: ``W`` within a stage that began at ``start``, and the last ``move`` of W."""

    problem: Regression
    stage: int
    mu: float
    s: float
    first_rate: float
    rate: float
    start: Floats
    W: Floats
    adam: Adam
    move: Floats | None
    iteration: int
    objective: float
    steps: int


@dataclass(frozen=True)
class Dagma(Baseline):
    """min over W of μ (½ tr (I − W)ᵀS(I − W) + λ₁ |W|₁) + h(W) for falling μ, h(W) = d log s − log det(sI − W∘W).

    h is zero at DAGs and finite only while sI − W∘W is an M-matrix; the path of minimisers for μ → 0 ends at a
    DAG. Each stage is solved by Adam, started from the one before.

    Parameters
    ----------
    lambda1 : float
        Weight of the ℓ1 penalty.
    stages : int
        How many values μ takes (T in the paper).
    mu_init, mu_factor : float
        The first μ, and what it is multiplied by from stage to stage.
    s : sequence of float
        s of each stage; the last one serves for any further stages.
    warm_iter, max_iter : int
        Most iterations of a stage, and of the last one.
    learning_rate, beta1, beta2 : float
        Adam's.
    checkpoint : int
        A round is this many iterations. A stage is over when its objective changes by less than the fraction
        ``tolerance`` in a round.
    tolerance : float
        See ``checkpoint``.

    Notes
    -----
    As in the authors' package the diagonal of W is part of the iterate, and a step that leaves the domain is
    halved in the first stage; in later ones, where s ≤ 0.9, the stage begins anew with half the learning
    rate and s larger by 0.1. Unlike there, a run whose steps are halved away to nothing, or that ends with
    weight on the diagonal, is diverged, with no edges but the required ones. Raw data of large variance do
    that, as Sachs': μ times their variance is not small when the path ends.

    References
    ----------
    Bello, Aragam & Ravikumar (2022), "DAGMA: learning DAGs via M-matrices and a log-determinant acyclicity
    characterization", Algorithm 1.

    Examples
    --------
    >>> from psidag import learn_dag
    >>> from psidag.simulate import simulate
    >>> problem = simulate("ER2", n=1000, d=10, seed=0)
    >>> learn_dag(problem.X, Dagma(), threshold=0.3).status.ok
    True
    """

    name: ClassVar[str] = "DAGMA"
    _matrices: ClassVar[int] = 22

    lambda1: float = 0.03
    stages: int = 5
    mu_init: float = 1.0
    mu_factor: float = 0.1
    s: Sequence[float] = (1.0, 0.9, 0.8, 0.7, 0.6)
    warm_iter: int = 30_000
    max_iter: int = 60_000
    learning_rate: float = 3e-4
    beta1: float = 0.99
    beta2: float = 0.999
    checkpoint: int = 1000
    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        check_positive(self, "stages", "mu_init", "mu_factor", "warm_iter", "max_iter", "learning_rate", "checkpoint")
        if not self.s or not all(value > 0 for value in self.s):
            raise InputError(f"s must be one or more positive numbers; got {self.s!r}")

    def init(self, task: Task) -> State:
        """The first stage, at W = 0."""
        equal_noise_only(task, self.name)
        return self._enter(self._problem(task), 0, np.zeros((task.d, task.d)), 0)

    def step(self, task: Task, state: State) -> tuple[State, Progress]:
        """A slice of iterations, up to the next checkpoint."""
        limit = self.max_iter if state.stage == self.stages - 1 else self.warm_iter
        until = next_stop(task.d, state.iteration, self.checkpoint, limit)
        problem, mu, s, W = state.problem, state.mu, state.s, state.W
        rate, move = state.rate, state.move
        for iteration in range(state.iteration, until):
            inverted = _inverse_in_domain(W, s)
            while inverted is None:
                if move is None or s <= 0.9:
                    steps = state.steps + iteration - state.iteration
                    return self._retry(state, steps), Progress(steps, problem.rows)
                W += rate * move
                rate /= 2
                if rate <= _NO_STEP:
                    failed = _failed(f"left its domain in stage {state.stage + 1} for good")
                    return state, Progress(state.steps, problem.rows, self._no_edges(task), finished=failed)
                W -= rate * move
                inverted = _inverse_in_domain(W, s)
            move = state.adam.direction(_gradient(problem, W, inverted, mu))
            W -= rate * move
            W *= problem.allowed
        steps = state.steps + until - state.iteration
        state = state._replace(rate=rate, move=move, iteration=until, steps=steps)
        if until % self.checkpoint and until < limit:
            return state, Progress(state.steps, problem.rows)
        return self._close(task, state, until == limit)

    def conclude(self, task: Task, state: State) -> Candidate:
        """The iterate, made acyclic."""
        return cut(task, state.problem, state.W)[0]

    def dump(self, state: State) -> dict[str, Any]:
        """What :meth:`restore` needs."""
        kept = state._asdict()
        del kept["problem"]
        return kept | {"adam": state.adam.dump()}

    def restore(self, task: Task, held: dict[str, Any]) -> State:
        """The state that was dumped."""
        shape = (task.d, task.d)
        state = self._enter(self._problem(task), int(held["stage"]), stored_array(held["start"], shape), 0)
        return state._replace(
            s=float(held["s"]),
            first_rate=float(held["first_rate"]),
            rate=float(held["rate"]),
            objective=float(held["objective"]),
            W=stored_array(held["W"], shape),
            adam=state.adam.restore(held["adam"]),
            move=None if held["move"] is None else stored_array(held["move"], shape),
            iteration=int(held["iteration"]),
            steps=int(held["steps"]),
        )

    def _problem(self, task: Task) -> Regression:
        """The regression in which a variable may have a weight on itself."""
        problem = regression(task, self.lambda1)
        np.fill_diagonal(problem.allowed, 1.0)
        np.fill_diagonal(problem.penalty, self.lambda1)
        return problem

    def _enter(self, problem: Regression, stage: int, start: Floats, steps: int) -> State:
        """The beginning of a stage."""
        return State(
            problem=problem,
            stage=stage,
            mu=self.mu_init * self.mu_factor**stage,
            s=self.s[min(stage, len(self.s) - 1)],
            first_rate=self.learning_rate,
            rate=self.learning_rate,
            start=start,
            W=start.copy(),
            adam=Adam(len(start), self.beta1, self.beta2),
            move=None,
            iteration=0,
            objective=math.nan,
            steps=steps,
        )

    def _retry(self, state: State, steps: int) -> State:
        """The same stage again in a larger domain, at half the learning rate."""
        again, rate = self._enter(state.problem, state.stage, state.start, steps), state.first_rate / 2
        return again._replace(s=state.s + 0.1, first_rate=rate, rate=rate)

    def _close(self, task: Task, state: State, at_limit: bool) -> tuple[State, Progress]:
        """The end of a round, and perhaps of a stage or of the whole path."""
        problem, W = state.problem, state.W
        candidate, remark = cut(task, problem, W)
        objective = state.mu * (problem.loss(W)[0] + problem.size(W)) + log_determinant(W, state.s)
        settled = abs(state.objective - objective) <= self.tolerance * abs(state.objective)
        progress = Progress(state.steps, problem.rows, candidate)
        if not (settled or at_limit):
            return state._replace(objective=objective), progress
        if state.stage + 1 < self.stages:
            return self._enter(problem, state.stage + 1, W, state.steps), progress
        own = np.abs(np.diagonal(W)).max()
        if not own <= _OWN_CAUSE:
            failed = _failed(f"ended with a variable as its own cause (weight {own:.2g})")
            return state, progress._replace(closed=self._no_edges(task), finished=failed)
        if settled:
            status = Status("converged", f"the last of {self.stages} stages has settled{remark}")
        else:
            status = Status("max_rounds", f"the last stage still moves: raise max_iter={self.max_iter}{remark}")
        return state, progress._replace(finished=status)

    def _no_edges(self, task: Task) -> Candidate:
        """No edges but the required ones."""
        order = task.constraints.nearest_order(np.arange(task.d))
        return within(task, order, task.constraints.required_matrix.toarray() != 0)


def _failed(what: str) -> Status:
    advice = "so no edges are given: standardise the columns, or use another method"
    return Status("diverged", f"DAGMA {what}, {advice}")


def _inverse_in_domain(W: Floats, s: float) -> Floats | None:
    """2 (sI − W∘W)⁻¹ if that has no negative entry, which makes sI − W∘W an M-matrix; else None."""
    A = W * W
    A *= -0.5
    A.flat[:: len(A) + 1] += 0.5 * s
    inverted = inverse(A)
    return inverted if inverted is not None and inverted.min() >= -1e-16 else None


def _gradient(problem: Regression, W: Floats, inverted: Floats, mu: float) -> Floats:
    """μ (S(W − I) + penalty∘sign W) + W∘invertedᵀ."""
    gradient = problem.S @ W
    gradient -= problem.S
    term = np.sign(W)
    term *= problem.penalty
    gradient += term
    gradient *= mu
    np.multiply(W, inverted.T, out=term)
    gradient += term
    return gradient


def log_determinant(W: Floats, s: float) -> float:
    """h(W) = d log s − log det(sI − W∘W)."""
    sign, logarithm = np.linalg.slogdet(s * np.eye(len(W)) - W * W)
    return len(W) * math.log(s) - float(logarithm) if sign > 0 else math.inf
