"""How a run went: why it stopped and what to do about it, its rounds, and the DAGs on the way."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from psidag.graph.order import Order
from psidag.system.tree import stored_array, stored_order

StatusCode = Literal[
    "converged", "max_rounds", "time_limit", "memory_limit", "data_ended", "diverged", "interrupted", "complete"
]


class Status(NamedTuple):
    """Why a run stopped, and what to do about it."""

    code: StatusCode
    message: str

    @property
    def ok(self) -> bool:
        """Whether the run ended by its own criterion rather than by a limit or a failure."""
        return self.code in ("converged", "data_ended", "complete")

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
    """What is known of a DAG whose edges are chosen, and of the rows behind it.

    ``standard_error`` follows the entries of the weights; ``remarks`` are sentences about what to distrust.
    ``intercept`` is there where equations do not all rest on the same rows; else it follows from the means.
    """

    n_samples: float
    mean: NDArray[np.float64]
    variance: NDArray[np.float64]
    residual_variance: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    selection: str
    remarks: tuple[str, ...] = ()
    intercept: NDArray[np.float64] | None = None


class Candidate(NamedTuple):
    """A DAG on the way: an order, the weights within it (dense or sparse, W[i, j] for i → j) and its loss.

    ``fitted`` is there where the weights are of chosen edges only and need no selection; ``threshold`` where the
    engine goes with a size of its own that weights must have to stay.
    """

    order: Order
    weights: Any
    loss: float
    fitted: Fitted | None = None
    threshold: float | None = None


def stored_candidate(held: Any, d: int) -> Candidate | None:
    """A DAG out of a file, or None if there is none; a ValueError or TypeError if it cannot be one of ``d`` columns."""
    if held is None:
        return None
    order, weights, loss, fitted, threshold = held
    checked = stored_order(order, d)
    if checked is None or weights.shape != (d, d):
        raise ValueError("a DAG that does not fit the columns")
    known = None if fitted is None else _stored_fitted(fitted, d, weights.nnz)
    return Candidate(checked, weights, float(loss), known, None if threshold is None else float(threshold))


def _stored_fitted(held: Any, d: int, entries: int) -> Fitted:
    n_samples, *moments, standard_error, selection, remarks, intercept = held
    mean, variance, residual_variance = (stored_array(part, (d,)) for part in moments)
    if not isinstance(selection, str) or not isinstance(remarks, tuple) or not all(isinstance(r, str) for r in remarks):
        raise ValueError("what is said of a DAG is not text")
    return Fitted(
        float(n_samples), mean, variance, residual_variance, stored_array(standard_error, (entries,)), selection,
        remarks, None if intercept is None else stored_array(intercept, (d,)),
    )  # fmt: skip
