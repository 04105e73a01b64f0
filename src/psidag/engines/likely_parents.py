"""Parents of a node by what a model of the other nodes says, all of them at once.

Parents that come in one by one can be a bad set: where causes are causes of each other, what one more parent explains
depends on those that are still missing. A model of the nodes before j knows how they hang together. With its weights B
and noise variances V the precision of these nodes is Θ = (I − B) V⁻¹ (I − B)ᵀ, and if r is what parents with weights b
leave of j, then b + Θ cov(x, r) estimates the weights of *all* nodes before j at once, each with a standard error of
√(Θ_ii var(r) / n), however strongly they are correlated (the correction that takes the bias from a lasso: van de Geer
et al., Annals of Statistics 42, 2014). The nodes of the largest estimates become parents together, those that do not
pay leave one by one, and what is left is a better beginning for the same again.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg.blas import dger
from scipy.sparse.csgraph import breadth_first_order

from psidag.data.correlations import Correlations
from psidag.engines.moves import Fits, Floats, Objective
from psidag.graph.constraints import BoundConstraints

Nodes = NDArray[np.intp]

# Chosen on seeds 1,170,000 on of benchmarks/stuck.py.
#: So many nodes are tried together, as a share of the rows and at the most.
_SHARE, _MOST = 0.7, 400
#: How often estimates are made, and how often in a row in vain.
_ROUNDS, _IN_VAIN = 30, 3
#: In tables of up to this many columns.
_COLUMNS = 2000
#: What is left of a variance is not less than this share of it: that would be rounding.
_LEAST = 1e-12
#: Added to the diagonal: nodes that are collinear but for rounding would have any weights otherwise.
_RIDGE = 1e-13


class Parents(NamedTuple):
    """Parents of a node with their weights, the variance that they leave of it, and what that costs."""

    nodes: Nodes
    weights: Floats
    variance: float
    cost: float


class Terms(NamedTuple):
    """On which terms one node has parents.

    ``known`` is its noise variance, or 0 for its own; ``kept`` are parents that never leave, and ``barred`` those that
    never enter.
    """

    objective: Objective
    known: float
    kept: Nodes
    barred: Nodes

    def pays(self, v: float, rise: float) -> bool:
        """Whether a parent pays without which the variance would rise from v by so much."""
        price, least = self.objective.penalty / self.objective.n, max(v, _LEAST)
        return max(v + rise, _LEAST) - least >= (price * self.known if self.known else math.expm1(price) * least)

    def cost(self, v: float, parents: int) -> float:
        """What the node costs."""
        fit = v / self.known if self.known else math.log(v)
        return self.objective.n * fit + self.objective.penalty * parents


def can_estimate(data: Correlations) -> bool:
    """Whether correlations are held, and exact enough."""
    return data.matrix is not None and data.matrix.dtype == np.float64 and data.d <= _COLUMNS


def above_rounding(left: Floats) -> NDArray[np.bool_]:
    """Of which nodes more than rounding is left."""
    return np.asarray(left > 2 * _LEAST)


def new_parents(
    data: Correlations,
    objective: Objective,
    known: Floats,
    constraints: BoundConstraints,
    model: Fits,
    nodes: tuple[int, ...],
) -> tuple[float, sp.csr_array]:
    """Give nodes parents by estimates, each among those before the last of them in the model and those it follows here.

    Returns what that adds to the score, which is 0 where it cannot be, and the weights.
    """
    assert data.matrix is not None
    matrix = data.matrix.astype(np.float64, copy=False)
    edges = sp.csr_array((np.ones(model.weights.nnz), model.weights.indices, model.weights.indptr), model.weights.shape)
    below = breadth_first_order(edges, nodes[-1], return_predecessors=False)
    before = np.setdiff1d(np.arange(data.d), below)
    columns = sp.csc_array(model.weights)
    begin = np.concatenate([columns.indices[columns.indptr[v] : columns.indptr[v + 1]] for v in nodes])
    left, costs, change = model.residual_variance.copy(), objective.costs(model, known), 0.0
    for v in nodes:
        terms = Terms(objective, float(known[v]), *_rules(constraints, v))
        if not np.isin(terms.kept, before).all():
            return 0.0, model.weights
        now = np.setdiff1d(np.intersect1d(begin, before), terms.barred)
        found = likely_parents(matrix, columns, left, before, v, np.union1d(now, terms.kept), terms)
        change += found.cost - float(costs[v])
        columns, left[v] = _with_parents(columns, v, found), found.variance
        before, begin = np.union1d(before, [v]), np.append(begin, v)
    return change, sp.csr_array(columns)


def likely_parents(
    C: Floats, weights: sp.csc_array, left: Floats, before: Nodes, j: int, parents: Nodes, terms: Terms
) -> Parents:
    """Parents of j among nodes before it, beginning with some: the best that estimates of all weights have led to.

    The model has these weights and leaves this much of each node. ``before`` is in ascending sequence, and has with
    each node its parents in the model.
    """
    B = sp.csc_array(weights[:, before].tocsr()[before])
    left = np.maximum(left[before], _LEAST)
    error = np.sqrt(1 / left + B.multiply(B) @ (1 / left))
    error[np.isin(before, terms.barred)] = np.inf
    together = min(int(_SHARE * terms.objective.n), _MOST)
    best = now = _those_that_pay(C, j, np.sort(parents), terms, len(before))
    idle = 0 if above_rounding(np.array(now.variance)) else _IN_VAIN
    for _ in range(_ROUNDS):
        if idle == _IN_VAIN:
            break
        rest = C[before, j] - C[np.ix_(before, now.nodes)] @ now.weights
        noise = (rest - B.T @ rest) / left
        estimate = noise - B @ noise
        estimate[np.searchsorted(before, now.nodes)] += now.weights
        likely = before[np.argsort(-np.abs(estimate) / error, kind="stable")[:together]]
        likely = np.union1d(np.setdiff1d(likely, terms.barred), now.nodes)
        now = _those_that_pay(C, j, likely, terms, len(before))
        best, idle = (now, 0) if now.cost < best.cost else (best, idle + 1)
    return _those_that_pay(C, j, best.nodes, terms, terms.objective.max_parents)


def _rules(constraints: BoundConstraints, v: int) -> tuple[Nodes, Nodes]:
    """Required parents of a node, and nodes that must not be."""
    required, forbidden = (edges[edges[:, 1] == v, 0] for edges in (constraints.required, constraints.forbidden))
    later = np.flatnonzero(constraints.tier > constraints.tier[v])
    return required, np.union1d(forbidden, later)


def _with_parents(columns: sp.csc_array, v: int, found: Parents) -> sp.csc_array:
    """The weights with others for one node."""
    first, last = columns.indptr[v], columns.indptr[v + 1]
    indices = np.concatenate([columns.indices[:first], found.nodes, columns.indices[last:]])
    values = np.concatenate([columns.data[:first], found.weights, columns.data[last:]])
    bounds = columns.indptr + (np.arange(len(columns.indptr)) > v) * (len(found.nodes) - (last - first))
    return sp.csc_array((values, indices, bounds), shape=columns.shape)


def _those_that_pay(C: Floats, j: int, nodes: Nodes, terms: Terms, most: int) -> Parents:
    """The regression of j on what is left when nodes that do not pay, or are too many, have left, the least first."""
    P = np.asfortranarray(np.linalg.inv(C[np.ix_(nodes, nodes)] + _RIDGE * np.eye(len(nodes))))
    b = P @ C[nodes, j]
    v, count = 1.0 - float(C[nodes, j] @ b), len(nodes)
    leaves, inside = ~np.isin(nodes, terms.kept), np.arange(count)
    while count:
        rise = np.where(leaves, b**2 / P.diagonal(), np.inf)
        k = int(np.argmin(rise))
        if not leaves[k] or (count <= most and terms.pays(v, float(rise[k]))):
            break
        v += float(rise[k])
        column = P[:, k].copy()
        b -= column * (b[k] / column[k])
        P = dger(-1 / column[k], column, column, a=P, overwrite_a=1)
        P[k, k] = 1.0
        leaves[k], inside[k] = False, -1
        count -= 1
        if 3 * count < 2 * len(b):
            few = np.flatnonzero(inside >= 0)
            P, b, leaves, inside = np.asfortranarray(P[np.ix_(few, few)]), b[few], leaves[few], inside[few]
    nodes = nodes[inside[inside >= 0]]
    among, r = C[np.ix_(nodes, nodes)], C[nodes, j]
    b = np.linalg.solve(among + _RIDGE * np.eye(len(nodes)), r)
    # Not 1 - r b: weights that rounding has spoilt leave more than that.
    v = max(1.0 + float(b @ (among @ b - 2 * r)), _LEAST)
    return Parents(nodes, b, v, terms.cost(v, len(nodes)))
