"""What is known of edges and vertices, column by column, in the order of ``dag.edges()``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from psidag.solution import Solution

Floats = NDArray[np.float64]


def strength(solution: Solution) -> Floats:
    """The size of the standardised weight of each edge; that of the weight itself where a variance is zero."""
    W = solution.dag.weights.tocoo()
    sd = np.sqrt(solution.variance)
    scale = np.divide(sd[W.row], sd[W.col], out=np.ones(len(W.data)), where=sd[W.col] > 0)
    return np.asarray(np.abs(W.data * scale), dtype=np.float64)


def support(solution: Solution) -> tuple[Floats, Floats] | None:
    """How often each edge, and its reverse, came up in resampled data; None if there was no bootstrap."""
    held = solution.content().edge_values
    if "support" not in held:
        return None
    return np.asarray(held["support"], dtype=np.float64), np.asarray(held["reverse_support"], dtype=np.float64)


def explained(solution: Solution) -> Floats:
    """The share of each variable's variance that its parents explain."""
    share = np.divide(
        solution.residual_variance,
        solution.variance,
        out=np.full(solution.dag.d, np.nan),
        where=solution.variance > 0,
    )
    return np.asarray(np.clip(1 - share, 0.0, 1.0))
