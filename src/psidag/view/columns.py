"""What is known of edges and vertices, column by column, in the order of ``dag.edges()``."""

from __future__ import annotations

from typing import NamedTuple

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


class Support(NamedTuple):
    """How often resampled data joined the ends of each edge, directed it so, and directed it the other way."""

    connection: Floats
    direction: Floats
    reverse: Floats


def support(solution: Solution) -> Support | None:
    """What a bootstrap found for each edge; None if there was none."""
    if solution.confidence is None:
        return None
    return Support(*solution.confidence.of(solution.dag).values())


def explained(solution: Solution) -> Floats:
    """The share of each variable's variance that its parents explain."""
    share = np.divide(
        solution.residual_variance,
        solution.variance,
        out=np.full(solution.dag.d, np.nan),
        where=solution.variance > 0,
    )
    return np.asarray(np.clip(1 - share, 0.0, 1.0))
