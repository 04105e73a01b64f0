"""Algorithm 1 on the moments with exact moves: the paper's framework without its sampling noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from psidag.graph.order import Order, order_change
from psidag.run.loop import Progress, Task, Work, equal_noise_only
from psidag.run.status import Candidate, Status
from psidag.stages.model import Model, correlations, evident_model
from psidag.stages.orderings import Ordering, Seen, as_ordering, from_data_alone, order_by, reads_model
from psidag.stages.within_order import least_squares_within
from psidag.system.errors import InputError
from psidag.system.parallel import tiles
from psidag.system.tree import stored_array, stored_order

Floats = NDArray[np.float64]

#: Columns of W that one thread updates at a time.
_TILE = 256
#: Work per slice in floating-point operations.
_SLICE = 2e10


class State(NamedTuple):
    """Where the run stands: W is overwritten by the steps of A1, of which ``left`` remain in this round.

    ``model`` has the edges that evidence supports in the order of the round before, for orderings that read it.
    """

    S: Floats
    pull: Floats
    allowed: NDArray[np.bool_]
    W: Floats
    left: int
    steps: int
    last_order: Order | None
    rows: int
    model: Model | None = None


@dataclass(frozen=True)
class Exact:
    """min over DAGs W of  ½ tr (I − W)ᵀS(I − W)  by gradient steps (A1), an order, and least squares within it (A2).

    Parameters
    ----------
    ordering : str or Ordering
        Where the order comes from: "psi" of the weights after A1, as in the paper, or one of its weighted forms;
        "model", the order of lowest residual variance in the model of the round before; "variance" in the covariance
        itself, with no need of A1 (EqVar); or an object of one's own. See :mod:`psidag.stages.orderings`.
    gradient_steps : int
        Steps of A1 a round. Some 30 to 100 give the best orders; with many more A1 forgets where it came from.
    max_rounds, patience, tol :
        Stop after this many rounds, or when the loss has not fallen by the fraction ``tol`` for ``patience`` rounds.

    Notes
    -----
    Steps are W ← W − P S(W − I) / λ with P = diag(S)^−½ and λ the largest eigenvalue of P^½ S P^½: the same scaling of
    sources as in the stochastic engine. O(d³) a step; for up to a few thousand columns.

    Examples
    --------
    >>> from psidag import Exact, learn_dag
    >>> from psidag.simulate import simulate
    >>> problem = simulate("ER2", d=10, n=1000, seed=0)
    >>> solution = learn_dag(problem.X, Exact(ordering="model"), noise="equal", random_state=0)
    >>> problem.compare(solution.dag)["shd"] <= 2
    True

    References
    ----------
    Ziu et al., ψDAG (2024), Algorithm 1.
    """

    name: ClassVar[str] = "exact"
    needs_rows: ClassVar[bool] = False

    ordering: str | Ordering = "psi"
    gradient_steps: int = 50
    max_rounds: int = 20
    patience: int = 2
    tol: float = 1e-4

    def __post_init__(self) -> None:
        as_ordering(self.ordering)
        for name in ("gradient_steps", "max_rounds", "patience"):
            if not getattr(self, name) >= 1:
                raise InputError(f"{name} must be at least 1; got {getattr(self, name)!r}")

    def init(self, task: Task) -> State:
        """The covariance, the scaled step of each source, and W = 0."""
        equal_noise_only(task, self.name)
        moments = task.source.moments(task.workers)
        S = moments.covariance
        sd = np.where(moments.sd > 0, moments.sd, 1.0)
        root = 1 / np.sqrt(sd)
        pull = root**2 / _largest_eigenvalue(S * root * root[:, None], task.rng)
        allowed = task.constraints.allowed()
        return State(S, pull, allowed, np.zeros_like(S), self._to_do(), 0, None, int(moments.count))

    def step(self, task: Task, state: State) -> tuple[State, Progress]:
        """A slice of A1; at its end the order, and A2 exactly."""
        now = min(state.left, max(1, int(_SLICE / (2.0 * task.d**3))))

        def descend(columns: slice) -> None:
            W = state.W[:, columns]
            for _ in range(now):
                gradient = state.S @ W
                gradient -= state.S[:, columns]
                gradient *= state.pull[:, None]
                gradient *= state.allowed[:, columns]
                W -= gradient

        task.workers.map(descend, tiles(task.d, _TILE))
        state = state._replace(left=state.left - now, steps=state.steps + now)
        if state.left:
            return state, Progress(state.steps, state.rows)
        order = self._order(task, state)
        projected = _loss(state.S, state.W * task.constraints.allowed_within(order))
        candidate = self._within(task, state, order)
        changed = math.nan if state.last_order is None else order_change(state.last_order, order)
        ordering = as_ordering(self.ordering)
        done = Status("converged", "the data alone decide the order") if from_data_alone(ordering) else None
        progress = Progress(state.steps, state.rows, candidate, projected, changed, finished=done)
        state = state._replace(W=candidate.weights.copy(), left=self._to_do(), last_order=order)
        return state._replace(model=self._model(task, order) if reads_model(ordering) else None), progress

    def conclude(self, task: Task, state: State) -> Candidate:
        """The order of what A1 has so far, and least squares within it."""
        return self._within(task, state, self._order(task, state))

    def finish(self, task: Task, state: State, best: Candidate) -> Candidate:
        """The best round as it is."""
        return best

    def dump(self, state: State) -> dict[str, Any]:
        """What :meth:`restore` needs."""
        return {key: getattr(state, key) for key in ("W", "pull", "left", "steps", "last_order")}

    def restore(self, task: Task, held: dict[str, Any]) -> State:
        """The state that was dumped."""
        d, last_order = task.d, stored_order(held["last_order"], task.d)
        reads = reads_model(as_ordering(self.ordering))
        return self.init(task)._replace(
            W=stored_array(held["W"], (d, d)),
            pull=stored_array(held["pull"], (d,)),
            left=int(held["left"]),
            steps=int(held["steps"]),
            last_order=last_order,
            model=self._model(task, last_order) if reads and last_order is not None else None,
        )

    def memory(self, n: int, d: int) -> float:
        """Bytes at the most, beside the data."""
        return 90.0 * d**2

    def work(self, d: int) -> Work:
        """Steps are cut into tiles; the order, least squares in it and the choice of edges take some d³ operations."""
        return Work(0.0, 6.0 * d**3)

    def _to_do(self) -> int:
        return 0 if from_data_alone(as_ordering(self.ordering)) else self.gradient_steps

    def _order(self, task: Task, state: State) -> Order:
        seen = Seen(state.W, task.constraints, lambda: np.diag(state.S), lambda: state.S, state.model)
        return order_by(as_ordering(self.ordering), seen)

    def _model(self, task: Task, order: Order) -> Model:
        moments = task.source.moments(task.workers)
        return evident_model(*correlations(moments), moments.count, order, task.constraints, task.workers.remote)

    def _within(self, task: Task, state: State, order: Order) -> Candidate:
        allowed = None if task.constraints.empty else state.allowed
        fit = least_squares_within(state.S, order, allowed)
        return Candidate(order, fit.weights.toarray(), 0.5 * float(fit.residual_variance.sum()))


def _loss(S: Floats, W: Floats) -> float:
    """½ tr (I − W)ᵀS(I − W)."""
    return 0.5 * float(np.trace(S) - 2 * np.vdot(S, W) + np.vdot(W, S @ W))


def _largest_eigenvalue(A: Floats, rng: np.random.Generator) -> float:
    """By power iteration, a little above: a step that is too long diverges, one that is too short loses little."""
    x = rng.normal(size=len(A))
    value = 0.0
    for _ in range(50):
        x = A @ x
        value = float(np.linalg.norm(x))
        if value == 0:
            return 1.0
        x /= value
    return 1.02 * value
