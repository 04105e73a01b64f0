"""What a learner returns: the DAG, how it got there, why it stopped, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from psidag.graph.dag import DAG
from psidag.graph.order import Order

StatusCode = Literal["converged", "max_rounds", "time_limit", "data_ended", "diverged", "interrupted"]


class Status(NamedTuple):
    """Why a run stopped, and what to do about it."""

    code: StatusCode
    message: str

    @property
    def ok(self) -> bool:
        """Whether the run ended by its own criterion rather than by a limit or a failure."""
        return self.code in ("converged", "data_ended")

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


class Round(NamedTuple):
    """One round of A1, ψ, A2 as the trace keeps it. Losses are on held-out rows where the engine has them."""

    round: int
    seconds: float
    steps: int
    samples: int
    loss_projected: float
    loss: float
    order_change: float


class Fitted(NamedTuple):
    """What an engine that chooses the edges itself knows of its DAG and of the rows behind it."""

    count: float
    mean: NDArray[np.float64]
    residual_variance: NDArray[np.float64]
    selection: str


class Candidate(NamedTuple):
    """A DAG on the way: an order, the weights within it (dense or sparse, W[i, j] for i → j) and its loss.

    ``fitted`` is there where the weights are of chosen edges only and need no selection.
    """

    order: Order
    weights: Any
    loss: float
    fitted: Fitted | None = None


@dataclass(frozen=True, eq=False)
class Solution:
    """The outcome of learning.

    Attributes
    ----------
    dag : DAG
        The learned graph, with the edges that the selection rule kept.
    intercept : array of shape (d,)
        The constant of each equation: x_j = intercept_j + Σ_i W[i, j] x_i + noise_j.
    residual_variance : array of shape (d,)
        Variance of the noise of each equation.
    mean : array of shape (d,)
        Mean of the training rows.
    n_samples : float
        Number (or total weight) of the training rows.
    status : Status
        Why the run stopped, with advice.
    trace : tuple of Round
        One row a round; ``pandas.DataFrame(solution.trace)`` makes a table of it.
    engine : str
        The engine that ran, with its options.
    selection : str
        How the edges were chosen.
    candidate : Candidate
        The best order and its weights before edges were chosen.
    """

    dag: DAG
    intercept: NDArray[np.float64]
    residual_variance: NDArray[np.float64]
    mean: NDArray[np.float64]
    n_samples: float
    status: Status
    trace: tuple[Round, ...]
    engine: str
    selection: str
    candidate: Candidate

    @property
    def order(self) -> Order:
        """Vertices such that every edge points forward."""
        return self.dag.order

    @property
    def names(self) -> tuple[str, ...]:
        """Column names."""
        return self.dag.names

    def as_dict(self) -> dict[str, Any]:
        """Everything but the arrays of the search, as plain values for JSON."""
        return {
            "variables": list(self.names),
            "order": [self.names[v] for v in self.order],
            "edges": [{"source": i, "target": j, "weight": w} for i, j, w in self.dag.edges()],
            "status": self.status._asdict(),
            "engine": self.engine,
            "selection": self.selection,
            "n_samples": self.n_samples,
            "rounds": len(self.trace),
        }

    def __str__(self) -> str:
        lines = [
            f"{self.dag.n_edges} edges among {self.dag.d} variables, learned from {self.n_samples:g} rows",
            f"engine     {self.engine}, {len(self.trace)} rounds",
            f"edges      {self.selection}",
            f"status     {self.status}",
        ]
        strongest = sorted(self.dag.edges(), key=lambda edge: -abs(edge[2]))[:10]
        width = max((len(edge[0]) for edge in strongest), default=0)
        lines += [f"  {source:>{width}} -> {target}  {weight:.4g}" for source, target, weight in strongest]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return (
            f"Solution({self.dag.d} variables, {self.dag.n_edges} edges, {len(self.trace)} rounds of "
            f"{self.engine}; {self.status})"
        )
