"""Algorithm 3: ψDAG by stochastic gradients, from a table or a live stream."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from psidag.data.rows import RowFeed, feed, typical_scale
from psidag.data.sources import needs_rows
from psidag.graph.order import Order, check_order, order_change
from psidag.run.loop import Progress, Task, equal_noise_only
from psidag.run.status import Candidate, Status
from psidag.stages.descent import Batch, Descent, Mask, Matrix, start, step
from psidag.stages.projection import project, source_weights, target_weights
from psidag.stages.steps import Measured, StepRule, Universal
from psidag.stages.within_order import least_squares_within
from psidag.system.errors import InputError
from psidag.system.tree import stored_array, stored_order

#: Work per slice in floating-point operations: a fraction of a second, so that clocks and Ctrl-C are heeded.
_SLICE = 4e9
#: What a step costs apart from its products, in the same unit.
_OVERHEAD = 1e7
#: An average longer than this share of the radius lies against the ball.
_AGAINST_BALL = 0.9


class State(NamedTuple):
    """Where the run stands between two slices.

    ``order`` is the one A2 keeps, or None in A1; ``last_order`` that of the round before.
    """

    feed: RowFeed
    scale: NDArray[np.float64]
    radius: float
    descent: Descent
    order: Order | None
    last_order: Order | None
    left: int
    steps: int
    loss_projected: float


@dataclass(frozen=True, eq=False)
class Stochastic:
    """min over DAGs W of  E ½ |x − Wᵀx|²  by stochastic gradients (A1), ψ, and gradients within the order (A2).

    Parameters
    ----------
    batch_size : int, optional
        Rows per stochastic gradient; by default 64, or 256 from 2,000 columns on, where passing over W costs
        more than multiplying with it.
    tau1, tau2 : int
        Steps of A1 and of A2 a round. The average of the iterates begins anew with each.
    rule : StepRule
        :class:`Universal` (its radius found from the data) or :class:`SGD`.
    source_scaling : float
        Steps are taken in W[i, j]·s_i with s_i = sd_i^p · g^(1−p), where sd are the standard deviations, g their
        geometric mean and p this number. 0 is the plain gradient of the paper, 1 standardises the sources;
        ½ converges as fast as 1 and ends with better orders. Loss, ψ and result are always those of W.
    projection : {"plain", "target", "source"}
        Weights of ψ: none, or the second moments of the appendix, as printed (of the target) or by curvature
        (of the source).
    holdout : float
        Share of the rows set aside to judge the rounds.
    max_rounds, patience, tol :
        Stop after so many rounds, or when the loss on the rows set aside has not fallen by the fraction
        ``tol`` for ``patience`` rounds.
    start : array of shape (d, d), optional
        W₀ to start from; zero by default.
    order : array of shape (d,), optional
        Keep to this order: rounds are of A2 alone.
    dtype : {"float32", "float64"}
        Precision of the steps. Columns whose standard deviations differ by more than 10⁶ always use float64.

    Notes
    -----
    The radius D of the universal method must not be less than the norm of the solution in the scaled
    coordinates. If the parents of j were uncorrelated, their scaled weights would satisfy
    Σ_i (W[i, j] sd_i)² ≤ Var x_j; so D = 2 (Σ_j Var x_j)^½, where the factor covers correlated parents. Should an
    average come to lie against the ball nevertheless, D is doubled.

    The best round's order is kept; where rows outnumber columns its weights are then solved for exactly.

    References
    ----------
    Ziu et al., ψDAG (2024), Algorithms 1 and 3. A2 starts from the projected weights, as in Algorithm 1.
    """

    name: ClassVar[str] = "stochastic"
    needs_rows: ClassVar[bool] = True

    batch_size: int | None = None
    tau1: int = 200
    tau2: int = 200
    rule: StepRule = field(default_factory=Universal)
    source_scaling: float = 0.5
    projection: Literal["plain", "target", "source"] = "plain"
    holdout: float = 0.1
    max_rounds: int = 50
    patience: int = 3
    tol: float = 1e-3
    start: NDArray[np.floating] | None = None
    order: ArrayLike | None = None
    dtype: Literal["float32", "float64"] = "float32"

    def __post_init__(self) -> None:
        for name in ("tau1", "tau2", "max_rounds", "patience"):
            if not getattr(self, name) >= 1:
                raise InputError(f"{name} must be at least 1; got {getattr(self, name)!r}")
        if self.batch_size is not None and not self.batch_size >= 1:
            raise InputError(f"batch_size must be at least 1, or None to have it chosen; got {self.batch_size!r}")
        if not 0 < self.holdout < 1:
            raise InputError(f"holdout must be a share between 0 and 1; got {self.holdout!r}")
        if self.projection not in ("plain", "target", "source"):
            raise InputError(f"projection must be 'plain', 'target' or 'source'; got {self.projection!r}")
        if self.dtype not in ("float32", "float64"):
            raise InputError(f"dtype must be 'float32' or 'float64'; got {self.dtype!r}")

    def init(self, task: Task) -> State:
        """Set rows aside, find the scales and the radius, and take the first gradient."""
        equal_noise_only(task, self.name)
        d = task.d
        rows = feed(needs_rows(task.source, self.name), self.rows_at_once(d), self.holdout, task.rng, task.workers)
        sd = rows.sd
        p, typical = self.source_scaling, typical_scale(sd)
        spread = np.where(sd > 0, sd, typical)
        scale = spread**p * typical ** (1 - p)
        wide = self.dtype == "float64" or spread.max() > 1e6 * spread.min()
        weights = np.zeros((d, d), dtype=np.float64 if wide else np.float32)
        if self.start is not None:
            if np.shape(self.start) != (d, d):
                raise InputError(f"start must be of shape ({d}, {d}); got {np.shape(self.start)}")
            weights[:] = (np.asarray(self.start) * scale[:, None]).T
        radius = 2 * max(math.sqrt(float(spread @ spread)), float(np.linalg.norm(weights)))
        order = None if self.order is None else check_order(self.order, d)
        if order is not None and not task.constraints.respects(order):
            raise InputError("the order to keep to contradicts the constraints")
        allowed, steps = self._stage(task, order)
        descent = self._start(task, rows, scale, weights, allowed, radius, None)
        return State(rows, scale, radius, descent, order, None, steps, 0, math.nan)

    def rows_at_once(self, d: int) -> int:
        """Rows per stochastic gradient."""
        return self.batch_size or (64 if d < 2000 else 256)

    def step(self, task: Task, state: State) -> tuple[State, Progress]:
        """A slice of gradient steps; at the end of A1 the projection, at the end of A2 the round."""
        descent, left = state.descent, state.left
        stop = max(0, left - max(1, int(_SLICE / (4.0 * state.feed.batch_size * task.d**2 + _OVERHEAD))))
        ended: Status | None = None
        while left > stop and ended is None:
            rows = state.feed.take()
            if rows is None:
                ended = Status("data_ended", "the stream has ended; more rows would allow more rounds")
            else:
                descent = step(descent, self._batch(rows, state.scale, descent.weights), task.workers, self.rule)
                left -= 1
        state = state._replace(descent=descent, left=left, steps=state.steps + state.left - left)
        if ended is None and left > 0:
            return state, Progress(state.steps, state.feed.samples)
        if state.order is None and ended is None:
            return self._project(task, state), Progress(state.steps, state.feed.samples)
        return self._close(task, state, ended)

    def conclude(self, task: Task, state: State) -> Candidate:
        """What A2 has so far or, in A1, the projection of what that has."""
        W = self._weights(state)
        order = state.order
        if order is None:
            order = self._psi(task, state, W)
            W *= task.constraints.allowed_within(order)
        return Candidate(order, W, state.feed.loss(W))

    def finish(self, task: Task, state: State, best: Candidate) -> Candidate:
        """A2 to its end: with more rows than columns, least squares on all rows within the best order."""
        moments = task.source.moments(task.workers)
        if moments.count <= task.d:
            return best
        allowed = None if task.constraints.empty else task.constraints.allowed()
        W = least_squares_within(moments.covariance, best.order, allowed).weights.toarray()
        return Candidate(best.order, W, state.feed.loss(W))

    def dump(self, state: State) -> dict[str, Any]:
        """What :meth:`restore` needs."""
        descent = state.descent
        rows: Any = state.feed
        kept = ("radius", "order", "last_order", "left", "steps", "loss_projected")
        return {
            "feed": rows.dump(),
            **{key: getattr(state, key) for key in kept},
            **{key: getattr(descent, key) for key in ("weights", "average", "gradient", "averaged", "here")},
            "rule": descent.rule_state,
        }

    def restore(self, task: Task, held: dict[str, Any]) -> State:
        """The state that was dumped."""
        d, state = task.d, self.init(task)
        rows: Any = state.feed
        rows.restore(held["feed"])
        order, last_order = (stored_order(held[key], d) for key in ("order", "last_order"))
        weights, average, gradient = (
            stored_array(held[key], (d, d), state.descent.weights.dtype) for key in ("weights", "average", "gradient")
        )
        descent = state.descent._replace(
            weights=weights,
            average=average,
            gradient=gradient,
            free=_mask(self._stage(task, order)[0]),
            averaged=int(held["averaged"]),
            here=Measured(*held["here"]),
            rule_state=_like(state.descent.rule_state, held["rule"]),
        )
        return state._replace(
            radius=float(held["radius"]),
            descent=descent,
            order=order,
            last_order=last_order,
            left=int(held["left"]),
            steps=int(held["steps"]),
            loss_projected=float(held["loss_projected"]),
        )

    def memory(self, n: int, d: int) -> float:
        """Bytes at the most, beside the data: weights, averages, masks and the covariance."""
        return 96.0 * d**2

    def _project(self, task: Task, state: State) -> State:
        """ψ, between A1 and A2: the average keeps what points forward in the new order."""
        W = self._weights(state)
        order = self._psi(task, state, W)
        loss = state.feed.loss(W * task.constraints.allowed_within(order))
        return self._switch(task, state, order)._replace(loss_projected=loss)

    def _close(self, task: Task, state: State, ended: Status | None) -> tuple[State, Progress]:
        """The end of a round: the average of A2 is its DAG and the start of the next A1."""
        candidate = self.conclude(task, state)
        changed = math.nan if state.last_order is None else order_change(state.last_order, candidate.order)
        progress = Progress(state.steps, state.feed.samples, candidate, state.loss_projected, changed, finished=ended)
        if ended is not None:
            return state, progress
        state = self._switch(task, state, None if self.order is None else state.order)
        return state._replace(last_order=candidate.order, loss_projected=math.nan), progress

    def _stage(self, task: Task, order: Order | None) -> tuple[NDArray[np.bool_], int]:
        """What may have a weight, and for how many steps: in A1 without an order, in A2 within it."""
        if order is None:
            return task.constraints.allowed(), self.tau1
        return task.constraints.allowed_within(order), self.tau2

    def _switch(self, task: Task, state: State, order: Order | None) -> State:
        """Go on from the average in the other stage, with what is known of the curvature."""
        descent, radius = state.descent, state.radius
        weights = descent.average if descent.averaged else descent.weights
        rule_state = descent.rule_state
        if float(np.linalg.norm(weights)) > _AGAINST_BALL * radius:
            radius, rule_state = 2 * radius, None
        allowed, steps = self._stage(task, order)
        descent = self._start(task, state.feed, state.scale, weights, allowed, radius, rule_state)
        return state._replace(descent=descent, radius=radius, order=order, left=steps)

    def _start(
        self,
        task: Task,
        rows: RowFeed,
        scale: NDArray[np.float64],
        weights: Matrix,
        allowed: NDArray[np.bool_],
        radius: float,
        rule_state: object,
    ) -> Descent:
        first = rows.take()
        if first is None:
            first = np.zeros((1, task.d))
        batch = self._batch(first, scale, weights)
        return start(weights, _mask(allowed), batch, task.workers, self.rule, radius, rule_state)

    def _batch(self, rows: NDArray[np.floating], scale: NDArray[np.float64], like: Matrix) -> Batch:
        return Batch(rows.astype(like.dtype), (rows / scale).astype(like.dtype))

    def _weights(self, state: State) -> Matrix:
        """The average as W, in the units of the data; a new array."""
        descent = state.descent
        scaled = descent.average if descent.averaged else descent.weights
        W: Matrix = np.ascontiguousarray((scaled / state.scale.astype(scaled.dtype)).T)
        return W

    def _psi(self, task: Task, state: State, W: Matrix) -> Order:
        weights = {
            "plain": lambda _: None,
            "target": target_weights,
            "source": source_weights,
        }[self.projection](state.feed.sd**2)
        return project(W, weights=weights, constraints=task.constraints)


def _like(state: Any, held: Any) -> Any:
    """What is held, as the kind of tuple that the state of a step rule is; anything else as it is."""
    return type(state)(*held) if isinstance(state, tuple) else held


def _mask(allowed: NDArray[np.bool_]) -> Mask:
    """What may have a weight, by target."""
    return np.ascontiguousarray(allowed.T).view(np.uint8)
