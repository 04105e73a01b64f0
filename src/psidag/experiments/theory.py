"""What is known without a recorded run: minima within random orders, the constants of the theorem, rounds settling."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from psidag.engines.stochastic import Stochastic
from psidag.graph.order import order_mask
from psidag.learning.learn import learn_dag
from psidag.simulate import Problem, simulate
from psidag.stages.model import Model, implied_covariance
from psidag.system.errors import DataWarning

Floats = NDArray[np.float64]

#: Of all problems here; their rows come from streams.
_SEED = 500
RANDOM_ORDERS = 1000
#: A run within the true order: gradients of one row each, and how many lie between two looks.
_GRADIENTS, _LOOK = 10_000, 200
#: Runs that the expectation of the theorem is taken over, and rows for the variance of a gradient.
_RUNS, _ROWS = 3, 4000
#: Runs of Algorithm 1 as printed and with the order from the model, and their rounds.
_SETTLING_RUNS = {"psidag-printed": 10, "psidag-stream": 3}
_ROUNDS = 12


class RandomOrders(NamedTuple):
    """The least gap to the true model that weights within an order can have, exactly, for many random orders."""

    graph: str
    d: int
    gaps: Floats


class Rate(NamedTuple):
    """The theorem on one problem: its constants, its bound, and the mean gap that was measured, F(W_T) − F(W*)."""

    graph: str
    d: int
    smoothness: float
    radius: float
    noise: float
    runs: int
    steps: Floats
    measured: Floats

    @property
    def bound(self) -> Floats:
        """σR/√T + LR²/T, with the constant of the O left out."""
        T = self.steps
        found: Floats = self.noise * self.radius / np.sqrt(T) + self.smoothness * self.radius**2 / T
        return found

    @property
    def constant(self) -> float:
        """What the O must hide: the largest ratio of what was measured to the bound."""
        return float((self.measured / self.bound).max())


class Settling(NamedTuple):
    """How far a method's order moves from each round to the next (0 the same, 1 reversed), and its gap after each.

    A row for each run, a column for each round.
    """

    method: str
    graph: str
    d: int
    order_change: Floats
    gap: Floats


@cache
def random_orders(graph: str = "ER4", d: int = 100) -> RandomOrders:
    """With the covariance S of the true model, the variances that an order leaves are those of its Cholesky factor."""
    problem = _problem(graph, d)
    S, rng = _covariance(problem), np.random.default_rng(_SEED)
    gaps = np.empty(RANDOM_ORDERS)
    for k in range(RANDOM_ORDERS):
        order = rng.permutation(d)
        gaps[k] = (np.diag(np.linalg.cholesky(S[np.ix_(order, order)])) ** 2).sum()
    return RandomOrders(graph, d, gaps / _model(problem).noise_variance.sum() - 1)


@cache
def rate(graph: str = "ER2", d: int = 30) -> Rate:
    """ψDAG as printed kept to the true order, from W = 0 with R = |W*|, against the bound."""
    problem = _problem(graph, d)
    S, W, order = _covariance(problem), problem.dag.to_dense(), np.asarray(problem.dag.order)
    before = order[:-1]
    R = float(np.linalg.norm(W))
    engine = Stochastic.paper(radius=R, order=order, tau2=_LOOK, max_rounds=_GRADIENTS // _LOOK)
    least, excess = _loss(W, S), []
    for run in range(_RUNS):
        losses: list[float] = []
        _learn(engine, problem, run, lambda _, found, losses=losses: losses.append(_loss(found.weights, S)))
        excess.append(np.array(losses) - least)
    return Rate(
        graph,
        d,
        float(np.linalg.eigvalsh(S[np.ix_(before, before)])[-1]),
        R,
        math.sqrt(max(_gradient_variance(problem, weights, S) for weights in (np.zeros_like(W), W))),
        _RUNS,
        _LOOK * np.arange(1.0, len(excess[0]) + 1),
        np.mean(excess, axis=0),
    )


@cache
def settling(graph: str = "ER4", d: int = 20) -> tuple[Settling, ...]:
    """Rounds of Algorithm 1 as printed, and with the order from the model that A2 ended with."""
    problem = _problem(graph, d)
    S = _covariance(problem)
    least = _loss(problem.dag.to_dense(), S)
    engines = {
        "psidag-printed": Stochastic.paper(max_rounds=_ROUNDS),
        "psidag-stream": Stochastic(max_rounds=_ROUNDS, patience=0),
    }
    found = []
    for method, engine in engines.items():
        moves, gaps = [], []
        for run in range(_SETTLING_RUNS[method]):
            of_run: list[float] = []
            solution = _learn(engine, problem, run, lambda _, c, of=of_run: of.append(_loss(c.weights, S) / least - 1))
            moves.append([step.order_change for step in solution.trace])
            gaps.append(of_run)
        found.append(Settling(method, graph, d, np.array(moves), np.array(gaps)))
    return tuple(found)


def _problem(graph: str, d: int) -> Problem:
    return simulate(graph, d=d, n=1, seed=_SEED)


def _learn(engine: Stochastic, problem: Problem, run: int, callback: Any) -> Any:
    """From fresh rows, other ones in each run."""
    rows: Iterator[NDArray[Any]] = _model(problem).stream(500, np.random.default_rng((_SEED, run)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # variances look unequal until the order is right
        return learn_dag(rows, engine, noise="equal", evidence=False, random_state=run, n_jobs=1, callback=callback)


def _model(problem: Problem) -> Any:
    assert problem.model is not None
    return problem.model


def _covariance(problem: Problem) -> Floats:
    order = np.asarray(problem.dag.order)
    return implied_covariance(Model(order, problem.dag.weights, _model(problem).noise_variance))


def _loss(weights: Any, S: Floats) -> float:
    """E ½ |x − Wᵀx|², exactly."""
    left = np.eye(len(S)) - np.asarray(weights, dtype=np.float64)
    return 0.5 * float(np.vdot(left, S @ left))


def _gradient_variance(problem: Problem, W: Floats, S: Floats) -> float:
    """σ² = E |g − ∇F|² at W, for gradients g of one row within the true order."""
    mask = order_mask(np.asarray(problem.dag.order))
    x = next(_model(problem).stream(_ROWS, np.random.default_rng((_SEED, _RUNS))))
    squares = np.einsum("ki,ij,kj->", x**2, mask.astype(np.float64), (x - x @ W) ** 2, optimize=True) / len(x)
    mean = -(S @ (np.eye(len(S)) - W)) * mask
    return float(squares - (mean**2).sum())
