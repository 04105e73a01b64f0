"""Another graph for a search under one noise variance to begin at, where its own order went wrong."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from psidag.data.correlations import Correlations
from psidag.graph.constraints import BoundConstraints
from psidag.stages.residual_order import residual_variance_order
from psidag.stages.within_order import select_within
from psidag.system.parallel import Workers

#: Rows for each column from which on nodes can be regressed on all those before them.
_ROWS = 1.5


def can_order(data: Correlations) -> bool:
    """Whether there are rows enough, and correlations exact enough, for :func:`ordered_graph`."""
    return data.matrix is not None and data.matrix.dtype == np.float64 and data.count >= _ROWS * data.d


def ordered_graph(
    data: Correlations, penalty: float, max_parents: int, constraints: BoundConstraints, workers: Workers
) -> sp.csr_array:
    """Parents by evidence in the order of lowest variance given *all* nodes before.

    An order that grows with few parents for each node is quick, and good where graphs are sparse. Where they are dense
    and effects strong, a wrong parent early in it leads to many more later on; where all nodes before are parents, no
    choice of them can go wrong.
    """
    assert data.matrix is not None
    covariance = data.matrix * data.sd
    covariance *= data.sd[:, None]
    order = residual_variance_order(covariance, constraints)
    return select_within(
        data.matrix, data.count, order, workers, penalty=penalty, constraints=constraints, max_parents=max_parents
    ).weights
