"""Algorithm 3: ψDAG by stochastic gradients, from a table or a live stream."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from psidag.data.rows import RowFeed, feed, typical_scale
from psidag.data.sources import needs_rows
from psidag.engines.stochastic_state import Squares, State, as_before, dumped, laid_out, noted, restored
from psidag.graph.order import Order, check_order, order_change
from psidag.run.loop import Progress, Task, Work, equal_noise_only
from psidag.run.status import Candidate, Status
from psidag.stages.descent import TILE, Batch, Descent, Mask, Matrix, resume, start, step
from psidag.stages.model import Model, evident_weights
from psidag.stages.orderings import Ordering, Seen, as_ordering, order_by, reads_model
from psidag.stages.settling import settled
from psidag.stages.steps import StepRule, Universal
from psidag.stages.within_order import least_squares_within
from psidag.system.errors import InputError
from psidag.system.tree import stored_order

#: Work per slice in floating-point operations: a fraction of a second, so that clocks and Ctrl-C are heeded.
_SLICE = 4e9
#: What a step costs apart from its products, in the same unit.
_OVERHEAD = 1e7
#: An average longer than this share of the radius lies against the ball.
_AGAINST_BALL = 0.9
#: How much the average of A2 leans on later iterates, as a power of the step (Shamir & Zhang 2013): see
#: "An average that leans on later steps" in benchmarks/stochastic.md.
_LEAN = 3.0


@dataclass(frozen=True, eq=False)
class Stochastic:
    """min over DAGs W of  E ½ |x − Wᵀx|²  by stochastic gradients (A1), an order, and gradients within it (A2).

    Parameters
    ----------
    batch_size : int, optional
        Rows per stochastic gradient; by default 64, or 256 from 2,000 columns on, where passing over W costs
        more than multiplying with it.
    tau1, tau2 : int
        Steps of A1 and of A2 a round.
    rule : StepRule
        :class:`Universal` (its radius found from the data) or :class:`SGD`.
    source_scaling : float
        Steps are taken in W[i, j]·s_i with s_i = sd_i^p · g^(1−p), where sd are the standard deviations, g their
        geometric mean and p this number; 1 standardises the sources, ½ converges as fast and ends with better
        orders. 0 is the plain gradient of the paper, with steps in W itself. Loss, order and result are always
        those of W.
    ordering : str or Ordering
        Where the order comes from: "model" (that of lowest residual variance in the model which A2 ended with, from
        the second round on), "psi" (the projection of the paper), "psi-target", "psi-source", "psi-curvature" (its
        weighted forms), "variance" (EqVar), or an object of one's own. See :mod:`psidag.stages.orderings`.
    average : {"recent", "stage", "run"}
        Whether the average of the iterates begins anew with each A1 and A2, which then go on from it; or is one
        over the whole run, beside iterates that go on from where they are. "recent" is as "stage", but in A2 later
        iterates weigh more, since the first ones are far from what it tends to.
    intercept : bool
        Whether rows are centred; the loss of the paper has no intercept.
    final_solve : bool
        Whether order and weights are settled at the end on the moments of all rows.
    threshold : float, optional
        Weights of at least this size stay, unless the caller names another; by default edges are chosen by evidence.
    holdout : float
        Share of the rows set aside to judge the rounds; 0 to judge them by the rows that they learn from.
    max_rounds, patience, tol :
        Stop after this many rounds, or when the loss on the rows set aside has not fallen by the fraction
        ``tol`` for ``patience`` rounds. Without patience (0) the last round is the answer, not the best.
    start : array of shape (d, d), optional
        W₀ to start from; zero by default.
    order : array of shape (d,), optional
        Keep to this order: rounds are of A2 alone.
    look_every : int, optional
        Most steps between two moments at which clocks and callbacks are heeded; by default a fraction of a second's.
    dtype : {"float32", "float64"}
        Precision of the steps. Columns whose standard deviations differ by more than 10⁶ always use float64.

    Notes
    -----
    The radius D of the universal method must not be less than the norm of the solution in the scaled
    coordinates. If the parents of j were uncorrelated, their scaled weights would satisfy
    Σ_i (W[i, j] sd_i)² = Var x_j − σ²; so D = 2 (Σ_j Var x_j)^½, where the factor covers correlated parents. Where
    nothing is scaled, and a radius that is too large costs more, D = 1.25 (Σ_j Var x_j − σ²)^½ / g with the least
    variance for σ²: 1 to 2.4 times the norm of the true weights on the graphs of the paper with 20 to 500 nodes.
    Should an average of a stage come to lie against the ball nevertheless, D is doubled.

    The model of an ordering that reads it has those weights of A2's average that the rows support; the rows of the
    next A1 show what they leave of each variable. At the end the same goes on with the edges that the moments of all
    rows support, until the order agrees with them; where rows outnumber columns the weights within it are then solved
    for exactly.

    Examples
    --------
    >>> from psidag import Stochastic, learn_dag
    >>> from psidag.simulate import simulate
    >>> problem = simulate("ER2", d=10, n=1000, seed=0)
    >>> solution = learn_dag(problem.X, Stochastic(batch_size=32, max_rounds=3), noise="equal", random_state=0)
    >>> len(solution.trace) <= 3
    True

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
    ordering: str | Ordering = "model"
    average: Literal["recent", "stage", "run"] = "recent"
    intercept: bool = True
    final_solve: bool = True
    threshold: float | None = None
    holdout: float = 0.1
    max_rounds: int = 50
    patience: int = 3
    tol: float = 1e-3
    start: NDArray[np.floating] | None = None
    order: ArrayLike | None = None
    look_every: int | None = None
    dtype: Literal["float32", "float64"] = "float32"

    def __post_init__(self) -> None:
        for name, least in (("tau1", 1), ("tau2", 1), ("max_rounds", 1), ("patience", 0)):
            if not getattr(self, name) >= least:
                raise InputError(f"{name} must be at least {least}; got {getattr(self, name)!r}")
        if self.batch_size is not None and not self.batch_size >= 1:
            raise InputError(f"batch_size must be at least 1, or None to have it chosen; got {self.batch_size!r}")
        if self.look_every is not None and not self.look_every >= 1:
            raise InputError(f"look_every must be at least 1, or None to have it chosen; got {self.look_every!r}")
        if not 0 <= self.holdout < 1:
            raise InputError(f"holdout must be a share from 0 to below 1; got {self.holdout!r}")
        if self.average not in ("recent", "stage", "run"):
            raise InputError(f"average must be 'recent', 'stage' or 'run'; got {self.average!r}")
        if self.dtype not in ("float32", "float64"):
            raise InputError(f"dtype must be 'float32' or 'float64'; got {self.dtype!r}")
        if self.threshold is not None and not self.threshold >= 0:
            raise InputError(f"threshold must be None or a number from 0 on; got {self.threshold!r}")
        as_ordering(self.ordering)

    @classmethod
    def paper(cls, *, radius: float | None = None, **options: Any) -> Stochastic:
        """ψDAG as it is printed: Algorithms 1 to 3 with the universal method, and nothing of ours.

        One row a gradient, 1,000 steps of A1 and of A2 a round, the plain gradient in W, ψ, one average over the whole
        run, no intercept, no rows set aside, no solve at the end, the last of ten rounds, threshold 0.3.

        Parameters
        ----------
        radius : float, optional
            D of the universal method, found from the data by default. The authors take it from the true weights.
        **options
            Anything of :class:`Stochastic` that is to be otherwise.

        Examples
        --------
        >>> Stochastic.paper(radius=20.0, intercept=True).rule
        Universal(radius=20.0)
        """
        printed: dict[str, Any] = {
            "batch_size": 1,
            "tau1": 1000,
            "tau2": 1000,
            "rule": Universal(radius),
            "source_scaling": 0.0,
            "ordering": "psi",
            "average": "run",
            "intercept": False,
            "final_solve": False,
            "threshold": 0.3,
            "holdout": 0.0,
            "max_rounds": 10,
            "patience": 0,
            "dtype": "float64",
        }
        return cls(**(printed | options))

    def init(self, task: Task) -> State:
        """Set rows aside, find the scales and the radius, and take the first gradient."""
        equal_noise_only(task, self.name)
        d, source = task.d, needs_rows(task.source, self.name)
        rows = feed(source, self.rows_at_once(d), self.holdout, task.rng, task.workers, centred=self.intercept)
        typical = typical_scale(rows.sd)
        spread = np.where(rows.sd > 0, rows.sd, typical)
        p = self.source_scaling
        scale = spread**p * typical ** (1 - p) if p else np.ones(d)
        wide = self.dtype == "float64" or spread.max() > 1e6 * spread.min()
        weights = np.zeros((d, d), dtype=np.float64 if wide else np.float32)
        if self.start is not None:
            if np.shape(self.start) != (d, d):
                raise InputError(f"start must be of shape ({d}, {d}); got {np.shape(self.start)}")
            weights[:] = (np.asarray(self.start) * scale[:, None]).T
        found = 2 * math.sqrt(float(spread @ spread)) if p else _plain_radius(spread**2)
        radius: float = getattr(self.rule, "radius", None) or max(found, 2 * float(np.linalg.norm(weights)))
        order = None if self.order is None else check_order(self.order, d)
        if order is not None and not task.constraints.respects(order):
            raise InputError("the order to keep to contradicts the constraints")
        descent = self._start(task, rows, scale, weights, order, radius, None)
        steps = self._steps(order)
        none = Squares(0, np.zeros(d))
        return State(rows, scale, radius, descent, order, None, steps, 0, math.nan, none, none)

    def rows_at_once(self, d: int) -> int:
        """Rows per stochastic gradient."""
        return self.batch_size or (64 if d < 2000 else 256)

    def step(self, task: Task, state: State) -> tuple[State, Progress]:
        """A slice of gradient steps; at the end of A1 the order, at the end of A2 the round."""
        descent, left = state.descent, state.left
        lean = self._lean(state.order)
        most = int(_SLICE / (4.0 * state.feed.batch_size * task.d**2 + _OVERHEAD))
        stop = max(0, left - max(1, min(most, self.look_every or most)))
        ended: Status | None = None
        taken: list[Matrix] = []
        while left > stop and ended is None and not task.deadline.over:
            rows = state.feed.take()
            if rows is None and task.deadline.left <= 0:
                break
            if rows is None:
                ended = Status("data_ended", "the stream has ended; more rows would allow more rounds")
            else:
                taken.append(rows)
                batch = self._batch(rows, state.scale, descent.weights, state.order)
                descent = step(descent, batch, task.workers, self.rule, lean)
                left -= 1
        state = noted(state._replace(descent=descent, left=left, steps=state.steps + state.left - left), taken)
        if ended is None and left > 0:
            return state, Progress(state.steps, state.feed.samples)
        if state.order is None and ended is None:
            return self._project(task, state), Progress(state.steps, state.feed.samples)
        return self._close(task, state, ended)

    def conclude(self, task: Task, state: State) -> Candidate:
        """What A2 has so far or, in A1, what points forward in the order of what that has."""
        W = self._weights(state)
        order = state.order
        if order is None:
            order = self._order(task, state, W)
            W *= task.constraints.allowed_within(order)
        return Candidate(order, W, state.feed.loss(W))

    def finish(self, task: Task, state: State, best: Candidate) -> Candidate:
        """A2 to its end: the order that evident edges imply and, with more rows than columns, least squares in it."""
        if not self.final_solve:
            return best._replace(threshold=self.threshold)
        moments = task.source.moments(task.workers)
        order, W = best.order, best.weights
        ordering = as_ordering(self.ordering)
        if self.order is None and reads_model(ordering):
            order, weights, _ = settled(moments, order, ordering, task.constraints, task.workers.remote)
            W = weights.toarray()
        if moments.count > task.d:
            allowed = None if task.constraints.empty else task.constraints.allowed()
            W = least_squares_within(moments.covariance, order, allowed).weights.toarray()
        return Candidate(order, W, state.feed.loss(W), threshold=self.threshold)

    def dump(self, state: State) -> dict[str, Any]:
        """What :meth:`restore` needs."""
        return dumped(state, self._sequence(state.order))

    def restore(self, task: Task, held: dict[str, Any]) -> State:
        """The state that was dumped."""
        order = stored_order(held["order"], task.d)
        return restored(self.init(task), held, self._mask(task, order), self._sequence(order))

    def memory(self, n: int, d: int) -> float:
        """Bytes at the most, beside the data: weights, averages, masks and the covariance."""
        return 96.0 * d**2

    def work(self, d: int) -> Work:
        """A gradient; and the order, least squares in it and the choice of edges."""
        return Work(4.0 * self.rows_at_once(d) * d**2, 8.0 * d**3)

    def _project(self, task: Task, state: State) -> State:
        """Between A1 and A2: the average keeps what points forward in the new order."""
        W = self._weights(state)
        order = self._order(task, state, W)
        loss = state.feed.loss(W * task.constraints.allowed_within(order))
        return self._switch(task, state, order)._replace(loss_projected=loss)

    def _close(self, task: Task, state: State, ended: Status | None) -> tuple[State, Progress]:
        """The end of a round: the average of A2 is its DAG and the start of the next A1."""
        candidate = self.conclude(task, state)
        changed = math.nan if state.last_order is None else order_change(state.last_order, candidate.order)
        progress = Progress(state.steps, state.feed.samples, candidate, state.loss_projected, changed, finished=ended)
        if ended is not None:
            return state, progress
        if reads_model(as_ordering(self.ordering)) and math.isfinite(candidate.loss):
            # An average with weights t^p is worth one of (2p + 1) / (p + 1)² as many steps that weigh alike.
            lean = self._lean(state.order)
            steps = state.descent.averaged * (2 * lean + 1) / (lean + 1) ** 2
            behind = min(steps * state.feed.batch_size, float(state.feed.different))
            noise = 2 * candidate.loss / task.d
            kept = evident_weights(candidate.weights, state.feed.sd, noise, behind)
            state = state._replace(kept=kept, residuals=Squares(0, np.zeros(task.d)))
        state = self._switch(task, state, None if self.order is None else state.order)
        return state._replace(last_order=candidate.order, loss_projected=math.nan), progress

    def _steps(self, order: Order | None) -> int:
        """How long a stage is: A1 without an order, A2 within it."""
        return self.tau1 if order is None else self.tau2

    def _sequence(self, order: Order | None) -> Order | None:
        """How columns stand in a descent: in A2 by the order, where that spares products; else as they are."""
        spares = order is not None and self.average != "run" and len(order) > TILE
        return order if spares else None

    def _mask(self, task: Task, order: Order | None) -> Mask:
        """What may have a weight, by target, as it stands in a descent."""
        allowed = task.constraints.allowed() if order is None else task.constraints.allowed_within(order)
        return laid_out(np.ascontiguousarray(allowed.T), self._sequence(order)).view(np.uint8)

    def _lean(self, order: Order | None) -> float:
        """How much the average leans on later iterates. In A1 it does not: ψ's order is better for the earlier ones."""
        return _LEAN if self.average == "recent" and order is not None else 0.0

    def _switch(self, task: Task, state: State, order: Order | None) -> State:
        """Go on in the other stage with what is known of the curvature, from the average or with it."""
        descent, radius, steps = state.descent, state.radius, self._steps(order)
        if self.average == "run":
            batch = self._first(task, state.feed, state.scale, descent.weights, order)
            descent = resume(descent, self._mask(task, order), batch, task.workers)
            return state._replace(descent=descent, order=order, left=steps)
        weights = self._scaled_weights(state)
        rule_state = descent.rule_state
        if float(np.linalg.norm(weights)) > _AGAINST_BALL * radius:
            radius, rule_state = 2 * radius, None
        descent = self._start(task, state.feed, state.scale, weights, order, radius, rule_state)
        return state._replace(descent=descent, radius=radius, order=order, left=steps)

    def _start(
        self,
        task: Task,
        rows: RowFeed,
        scale: NDArray[np.float64],
        weights: Matrix,
        order: Order | None,
        radius: float,
        rule_state: object,
    ) -> Descent:
        first = self._first(task, rows, scale, weights, order)
        # One average for the run is the method as published, where the trial is of a sample of its own.
        other = self._first(task, rows, scale, weights, order) if self.average == "run" else None
        sequence = self._sequence(order)
        weights, free = laid_out(weights, sequence), self._mask(task, order)
        return start(
            weights, free, first, task.workers, self.rule, radius, rule_state, other, ordered=sequence is not None
        )  # fmt: skip

    def _first(self, task: Task, rows: RowFeed, scale: NDArray[np.float64], like: Matrix, order: Order | None) -> Batch:
        """A batch for a gradient that comes before the first step, or zeros where a stream has ended."""
        taken = rows.take()
        return self._batch(np.zeros((1, task.d)) if taken is None else taken, scale, like, order)

    def _batch(
        self, rows: NDArray[np.floating], scale: NDArray[np.float64], like: Matrix, order: Order | None
    ) -> Batch:
        sequence = self._sequence(order)
        if sequence is not None:
            rows, scale = np.take(rows, sequence, axis=1), scale[sequence]
        return Batch(rows.astype(like.dtype), (rows / scale).astype(like.dtype))

    def _scaled_weights(self, state: State) -> Matrix:
        """The average as it stands outside of a descent; a new array in A2, else perhaps not."""
        descent = state.descent
        return as_before(descent.average if descent.averaged else descent.weights, self._sequence(state.order))

    def _weights(self, state: State) -> Matrix:
        """The average as W, in the units of the data; a new array."""
        scaled = self._scaled_weights(state)
        W: Matrix = np.ascontiguousarray((scaled / state.scale.astype(scaled.dtype)).T)
        return W

    def _order(self, task: Task, state: State, W: Matrix) -> Order:
        model = None
        if state.kept is not None and state.residuals.rows and state.last_order is not None:
            model = Model(state.last_order, state.kept, state.residuals.mean)
        seen = Seen(
            W,
            task.constraints,
            second_moment=lambda: state.squares.mean,
            covariance=lambda: task.source.moments(task.workers).covariance,
            model=model,
        )
        return order_by(as_ordering(self.ordering), seen)


def _plain_radius(variance: NDArray[np.float64]) -> float:
    """D for steps in W itself; at least that of weights which explain everything, for standardised columns."""
    excess = float((variance - variance.min()).sum())
    return math.sqrt(max(1.25**2 * excess, float(variance.sum()))) / typical_scale(np.sqrt(variance))
