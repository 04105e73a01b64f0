"""GOLEM: the Gaussian likelihood with soft penalties for sparsity and acyclicity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from psidag.baselines.acyclicity import inverse, trace_exponential
from psidag.baselines.adam import Adam
from psidag.baselines.baseline import (
    Baseline,
    Floats,
    Regression,
    check_positive,
    cut,
    next_stop,
    regression,
)
from psidag.run.loop import Progress, Task
from psidag.run.status import Candidate, Status
from psidag.scores.gaussian import EQUAL
from psidag.scores.score import SearchScore
from psidag.system.tree import stored_array

#: λ₁ of the paper, by whether noise variances are taken to be equal.
_LAMBDA1 = {True: 0.02, False: 0.002}
#: Adam ends by a number of iterations; if the score falls by more than this per variable and round, say so.
_STILL_FALLING = 1e-3
#: The variance of the noise of a constant.
_TINY = 1e-100


class State(NamedTuple):
    """The phase, its problem, and where Adam stands in it."""

    problem: Regression
    likelihood: SearchScore
    W: Floats
    adam: Adam
    iteration: int
    score: float
    steps: int


@dataclass(frozen=True)
class Golem(Baseline):
    """min over W of  −log-likelihood(W) / n + λ₁ |W|₁ + λ₂ (tr exp(W∘W) − d).

    With R = (I − W)ᵀS(I − W) the likelihood term is ½ d log tr R − log |det(I − W)| for equal noise variances
    (GOLEM-EV) and ½ Σ_j log R_jj − log |det(I − W)| for unequal ones (GOLEM-NV). The score of the task says
    which; NV is started from the solution of EV, as in the paper.

    Parameters
    ----------
    lambda1 : float, optional
        Weight of the ℓ1 penalty; by default 0.02 for equal and 0.002 for unequal noise. The first phase
        of NV always has the former.
    lambda2 : float
        Weight of the acyclicity penalty.
    learning_rate : float
        Adam's.
    max_iter : int
        Iterations of a phase; there is no other end.
    checkpoint : int
        A round is this many iterations.

    References
    ----------
    Ng, Ghassami & Zhang (2020), "On the role of sparsity and DAG constraints for learning linear DAGs",
    equations (2), (3) and (4), appendix F.

    Examples
    --------
    >>> from psidag import learn_dag
    >>> from psidag.simulate import simulate
    >>> problem = simulate("ER2", n=1000, d=10, seed=0)
    >>> learn_dag(problem.X, Golem(max_iter=10_000), threshold=0.3).status.ok
    True
    """

    name: ClassVar[str] = "GOLEM"
    _matrices: ClassVar[int] = 20
    _cubes: ClassVar[float] = 12.0

    lambda1: float | None = None
    lambda2: float = 5.0
    learning_rate: float = 1e-3
    max_iter: int = 100_000
    checkpoint: int = 1000

    def __post_init__(self) -> None:
        check_positive(self, "learning_rate", "max_iter", "checkpoint")

    def init(self, task: Task) -> State:
        """The first phase, at W = 0."""
        return self._enter(task, EQUAL, np.zeros((task.d, task.d)), 0)

    def step(self, task: Task, state: State) -> tuple[State, Progress]:
        """A slice of iterations, up to the next checkpoint."""
        until = next_stop(task.d, state.iteration, self.checkpoint, self.max_iter)
        for _ in range(state.iteration, until):
            gradient = self.gradient(state.problem, state.likelihood, state.W)
            if gradient is None:
                return state, Progress(state.steps, state.problem.rows, finished=_SINGULAR)
            gradient *= state.problem.allowed
            move = state.adam.direction(gradient)
            move *= self.learning_rate
            np.subtract(state.W, move, out=state.W)
        state = state._replace(iteration=until, steps=state.steps + until - state.iteration)
        if until % self.checkpoint and until < self.max_iter:
            return state, Progress(state.steps, state.problem.rows)
        candidate, remark = cut(task, state.problem, state.W)
        score = self.score(state.problem, state.likelihood, state.W)
        progress = Progress(state.steps, state.problem.rows, candidate)
        if until < self.max_iter:
            return state._replace(score=score), progress
        if state.likelihood.name != task.score.name:
            return self._enter(task, task.score, state.W, state.steps), progress
        fall = state.score - score
        if fall > _STILL_FALLING * task.d or math.isnan(fall):
            status = Status("max_rounds", f"the score still falls: raise max_iter={self.max_iter}{remark}")
        else:
            status = Status("converged", f"the score has settled after {self.max_iter} iterations{remark}")
        return state, progress._replace(finished=status)

    def conclude(self, task: Task, state: State) -> Candidate:
        """The iterate, made acyclic."""
        return cut(task, state.problem, state.W)[0]

    def dump(self, state: State) -> dict[str, Any]:
        """What :meth:`restore` needs."""
        kept = {key: getattr(state, key) for key in ("W", "iteration", "score", "steps")}
        return kept | {"noise": state.likelihood.name, "adam": state.adam.dump()}

    def restore(self, task: Task, held: dict[str, Any]) -> State:
        """The state that was dumped."""
        likelihood = task.score if held["noise"] == task.score.name else EQUAL
        state = self._enter(task, likelihood, stored_array(held["W"], (task.d, task.d)), int(held["steps"]))
        return state._replace(
            adam=state.adam.restore(held["adam"]), iteration=int(held["iteration"]), score=float(held["score"])
        )

    def score(self, problem: Regression, likelihood: SearchScore, W: Floats) -> float:
        """What is minimised."""
        variances = _residual_variances(problem, W, problem.loss(W)[1])
        fit = len(W) * math.log(likelihood.typical_variance(variances))
        determinant = float(np.linalg.slogdet(np.eye(len(W)) - W)[1])
        return 0.5 * fit - determinant + problem.size(W) + self.lambda2 * trace_exponential(W)[0]

    def gradient(self, problem: Regression, likelihood: SearchScore, W: Floats) -> Floats | None:
        """S(W − I) / residual variance + (I − W)⁻ᵀ + λ₁ sign W + λ₂ ∇h; None where I − W is singular."""
        d = len(W)
        gradient = problem.S @ W
        gradient -= problem.S
        variances = _residual_variances(problem, W, gradient)
        gradient /= likelihood.noise_variance(variances)
        remainder = -W
        remainder.flat[:: d + 1] += 1.0
        inverted = inverse(remainder)
        if inverted is None:
            return None
        gradient += inverted.T
        term = trace_exponential(W)[1]
        term *= self.lambda2
        gradient += term
        np.sign(W, out=term)
        term *= problem.penalty
        gradient += term
        return gradient

    def _enter(self, task: Task, likelihood: SearchScore, W: Floats, steps: int) -> State:
        """The beginning of a phase."""
        first = likelihood.name != task.score.name
        lambda1 = _LAMBDA1[likelihood.equal_variances] if self.lambda1 is None or first else self.lambda1
        problem = regression(task, lambda1)
        return State(problem, likelihood, W, Adam(task.d, 0.9, 0.999), 0, math.nan, steps)


def _residual_variances(problem: Regression, W: Floats, gradient: Floats) -> Floats:
    """The diagonal of (I − W)ᵀS(I − W) from S(W − I), above zero also where x_j is constant or determined."""
    variances: Floats = np.einsum("ij,ij->j", W, gradient) - gradient.diagonal()
    np.maximum(variances, 1e-12 * problem.S.diagonal(), out=variances)
    variances += _TINY
    return variances


_SINGULAR = Status("diverged", "I − W became singular: standardise the columns, or lower learning_rate")
