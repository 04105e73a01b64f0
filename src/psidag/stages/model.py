"""The model that A2 ends with: sparse weights within an order and what they leave of each variable."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psidag.data.moments import Moments
from psidag.graph.constraints import BoundConstraints
from psidag.graph.order import Order, positions
from psidag.stages.within_order import evidence_penalty, select_within
from psidag.system.parallel import Mapper

Floats = NDArray[np.float64]


class Model(NamedTuple):
    """x = Wᵀx + e with W within the order and residuals e of these variances."""

    order: Order
    weights: sp.csr_array
    residual_variance: Floats


def implied_covariance(model: Model) -> Floats:
    """S = (I − W)⁻ᵀ diag(v) (I − W)⁻¹, row by row along the order.

    The covariance of j with those before it is that of its parents, weighted: O(d) for each edge, where the inverse
    would take O(d³).
    """
    d = len(model.order)
    columns = sp.csc_array(model.weights)
    place = positions(model.order)
    within = np.zeros((d, d))
    for t, j in enumerate(model.order):
        inside = slice(columns.indptr[j], columns.indptr[j + 1])
        parents, weights = place[columns.indices[inside]], columns.data[inside]
        row = weights @ within[parents, :t]
        within[t, :t] = within[:t, t] = row
        within[t, t] = model.residual_variance[j] + weights @ row[parents]
    return within[np.ix_(place, place)]


def evident_weights(W: NDArray[np.floating], sd: Floats, noise: float, rows: float) -> sp.csr_array:
    """The weights that this many rows support: rows · (W[i, j] sd_i)² ≥ price · noise, as for a parent on its own.

    Averages of gradients give every pair a weight; what is left of the useless ones would add up in an order.
    """
    least = math.sqrt(evidence_penalty(rows, len(sd)) * noise / max(rows, 1.0))
    found: sp.csr_array = sp.csr_array(np.where(np.abs(W) * sd[:, None] >= least, W, 0.0).astype(np.float64))
    return found


def correlations(moments: Moments) -> tuple[Floats, Floats]:
    """Correlations, and the standard deviations that they are without; 1 for constant columns."""
    sd = np.where(moments.sd > 0, moments.sd, 1.0)
    C = moments.scatter / (max(moments.count, 1.0) * np.outer(sd, sd))
    np.fill_diagonal(C, 1.0)
    return C, sd


def evident_model(
    C: Floats, sd: Floats, n: float, order: Order, constraints: BoundConstraints, mapper: Mapper
) -> Model:
    """Parents by evidence within the order, selected on correlations so that units do not matter."""
    found = select_within(C, n, order, mapper, constraints=constraints)
    weights = sp.csr_array(sp.diags_array(1 / sd) @ found.weights @ sp.diags_array(sd))
    return Model(order, weights, found.residual_variance * sd**2)
