"""The graphs that a search begins at: its own, or others where it may have gone wrong."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psidag.data.correlations import Correlations
from psidag.engines.candidates import Candidates, correlated
from psidag.engines.moves import (
    Fits,
    Objective,
    given_network,
    grown_order,
    required_network,
    select_parents,
    set_score,
)
from psidag.graph.constraints import BoundConstraints
from psidag.search._network import Network, select_among
from psidag.stages.model import Model, implied_covariance
from psidag.stages.residual_order import residual_variance_order
from psidag.stages.within_order import select_within
from psidag.system.parallel import Workers

#: From this many columns on the first order and parents come from lists of correlated columns (benchmarks/engines.md,
#: "large", has the time and the errors with and without them).
_LISTED_FROM = 4000
#: Rows for each column from which on nodes can be regressed on all those before them; where there are fewer,
#: correlations are drawn towards zero by a share.
_ROWS, _SHRUNK = 1.5, 0.05


def first_network(
    data: Correlations,
    objective: Objective,
    penalty: float,
    known: BoundConstraints,
    workers: Workers,
    near: Candidates,
    start: sp.csr_array | None,
) -> Network:
    """The network of the first level: of a given graph, of an order grown by residual variance, or without edges."""
    if start is not None:
        net = given_network(data, start, known)
        _drop_idle(data, net, objective)
        return net
    if not objective.score.policy.grown:
        return required_network(data, known.nearest_order(data.own_order), known)
    if data.matrix is not None and data.d >= _LISTED_FROM:
        near = correlated(data.matrix, listing_threshold(data, penalty), workers)
    order = grown_order(data, known, 2 * penalty, objective.max_parents, near)
    net = required_network(data, order, known)
    select_parents(data, net, objective, known, workers, near)
    return net


def _drop_idle(data: Correlations, net: Network, objective: Objective) -> None:
    """Take out edges that do not pay: moves of nodes along the order would leave them where they are."""
    set_score(data, net, objective, 0.0, objective.max_parents)
    select_among(data.entries, net, np.zeros(data.d + 1, np.int64), np.zeros(1, np.int32))


def listing_threshold(data: Correlations, penalty: float) -> float:
    """A squared correlation worth listing: at 100,000 columns four standard errors away from zero."""
    return penalty / (2 * data.count)


def can_order(data: Correlations) -> bool:
    """Whether correlations are exact enough for :func:`ordered_graph`."""
    return data.matrix is not None and data.matrix.dtype == np.float64


def has_rows_to_order(data: Correlations) -> bool:
    """Whether there are rows enough to regress every node on all others."""
    return data.count >= _ROWS * data.d


def left_by_all(data: Correlations) -> NDArray[np.float64]:
    """What all other columns leave of the variance of each, as a share."""
    return np.asarray(1 / np.diag(np.linalg.inv(_steady(data))))


def _steady(data: Correlations) -> NDArray[np.float64]:
    """The correlations, drawn towards zero where there are few rows."""
    assert data.matrix is not None
    if has_rows_to_order(data):
        return np.asarray(data.matrix, np.float64)
    return (1 - _SHRUNK) * data.matrix.astype(np.float64) + _SHRUNK * np.eye(data.d)


def _implied(data: Correlations, model: Fits) -> NDArray[np.float64]:
    """The correlations that follow from a graph and what it leaves of each column, less what chance takes off."""
    left = model.residual_variance / np.maximum(1 - model.parents / data.count, 0.1)
    return implied_covariance(Model(model.order, model.weights, left))


def ordered_graph(
    data: Correlations,
    unit: NDArray[np.float64],
    penalty: float,
    max_parents: int,
    constraints: BoundConstraints,
    workers: Workers,
    model: Fits | None = None,
) -> sp.csr_array:
    """Parents by evidence in the order of lowest variance given *all* nodes before, columns having these deviations.

    An order that grows with few parents for each node is quick, and good where graphs are sparse. Where they are dense
    and effects strong, a wrong parent early in it leads to many more later on; where all nodes before are parents, no
    choice of them can go wrong. It is the order of the noise if that has the same variance in all columns: if it has
    not, they are to be given in units of it. Correlations are those of the data or, where a model is given, those that
    follow from it: few rows blur the ones, errors of the graph bend the others.
    """
    assert data.matrix is not None
    covariance = (_steady(data) if model is None else _implied(data, model)) * unit
    covariance *= unit[:, None]
    order = residual_variance_order(covariance, constraints)
    return select_within(
        data.matrix, data.count, order, workers, penalty=penalty, constraints=constraints, max_parents=max_parents
    ).weights
