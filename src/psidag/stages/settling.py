"""The last rounds, on moments: edges by evidence and the order that they imply, until the score stops falling."""

from __future__ import annotations

import math

import numpy as np

from psidag.data.moments import Moments
from psidag.graph.constraints import BoundConstraints
from psidag.graph.order import Order
from psidag.stages.model import Model, correlations, evident_model
from psidag.stages.orderings import Ordering, Seen, order_by
from psidag.stages.within_order import evidence_penalty
from psidag.system.parallel import Mapper

#: Rounds at the most; two to five are usual.
_ROUNDS = 12


def settled(moments: Moments, order: Order, ordering: Ordering, constraints: BoundConstraints, mapper: Mapper) -> Model:
    """The model of least  n d log Σ v_j + price · edges  on the way from this order.

    With a wrong order, evidence keeps edges that are there only to make up for it, the more of them the more rows
    there are. The model of the edges kept says where, if the ordering reads it.
    """
    C, sd = correlations(moments)
    n, d = moments.count, moments.d
    best: Model | None = None
    least = math.inf
    for _ in range(_ROUNDS):
        model = evident_model(C, sd, n, order, constraints, mapper)
        unexplained = max(float(model.residual_variance.sum()), np.finfo(float).tiny)
        score = n * d * math.log(unexplained) + evidence_penalty(n, d) * model.weights.nnz
        if best is not None and score >= least:
            return best
        best, least = model, score
        seen = Seen(model.weights.toarray(), constraints, lambda: moments.variance, lambda: moments.covariance, model)
        order = order_by(ordering, seen)
        if np.array_equal(order, model.order):
            break
    assert best is not None
    return best
