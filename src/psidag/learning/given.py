"""Weights for what is given: within an order, or on a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from psidag.data.blocks import MomentBlocks
from psidag.data.ingest import as_source
from psidag.graph.constraints import Constraints, unconstrained
from psidag.graph.dag import DAG
from psidag.graph.order import check_order, topological_order
from psidag.learning.plan import bind
from psidag.learning.selection import assemble, check_threshold, select_edges, warned
from psidag.run.status import Candidate, Status
from psidag.solution import Solution
from psidag.stages.regressions import regressions
from psidag.stages.within_order import least_squares_within
from psidag.system.errors import InputError, listing
from psidag.system.parallel import SERIAL, Jobs, one_blas_thread, workers


def fit_order(
    data: Any,
    order: ArrayLike,
    *,
    threshold: float | None = None,
    constraints: Constraints | None = None,
    n_jobs: Jobs = None,
    sample_weight: ArrayLike | None = None,
    names: Sequence[str] | None = None,
) -> Solution:
    """Fit a DAG within a given order: each variable regressed on those before it, edges kept by evidence.

    Parameters
    ----------
    data, constraints, n_jobs, sample_weight, names
        As in :func:`learn_dag`.
    order : sequence of int or of str
        All columns, causes first.
    threshold : float, optional
        0 keeps the full regression, 0.3 is the paper's rule; by default edges are chosen by evidence.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(500, 1))
    >>> table = np.c_[x, 3 * x + np.random.default_rng(1).normal(size=(500, 1))]
    >>> fit_order(table, [0, 1]).dag.to_dense().round(1)
    array([[0., 3.],
           [0., 0.]])
    """
    check_threshold(threshold)
    source = as_source(data, names=names, sample_weight=sample_weight)
    bound = bind(constraints, source.names)
    given = check_order(_as_indices(order, source.names), source.d)
    if not bound.respects(given):
        raise InputError("the order contradicts the constraints: a required edge or a tier points backwards in it")
    with workers(n_jobs) as threads:
        moments = source.moments(threads)
        allowed = None if bound.empty else bound.allowed()
        full = least_squares_within(moments.covariance, given, allowed)
        candidate = Candidate(given, full.weights, 0.5 * float(full.residual_variance.sum()))
        status = Status("converged", "an order determines its regressions")
        weights, found = select_edges(source, candidate, threshold, bound, threads)
    solution = assemble("within the given order", DAG(weights, given, source.names), found, candidate, status)
    return warned(solution, moments)


@one_blas_thread()
def fit_dag(
    data: Any, dag: Any, *, sample_weight: ArrayLike | None = None, names: Sequence[str] | None = None
) -> Solution:
    """Fit the weights of a given DAG: each variable regressed on its parents.

    Parameters
    ----------
    data, sample_weight, names
        As in :func:`learn_dag`.
    dag : DAG, array or sparse matrix
        ``dag[i, j] != 0`` for i → j; a :class:`DAG` is matched by the names of its variables.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> dose = rng.normal(size=500)
    >>> solution = fit_dag(np.c_[dose, 2 * dose + rng.normal(size=500)], [[0, 1], [0, 0]], names=["dose", "level"])
    >>> round(solution.dag.to_dense()[0, 1])
    2
    """
    source = as_source(data, names=names, sample_weight=sample_weight)
    pattern = _match(dag, source.names)
    moments = source.moments()
    blocks = MomentBlocks(moments)
    fit = regressions(blocks, pattern, SERIAL)
    learned = DAG(fit.weights, topological_order(pattern, zeros=True), source.names)
    found = fit.fitted(blocks, unconstrained(source.names), "as given")
    candidate = Candidate(learned.order, learned.weights, 0.5 * float(found.residual_variance.sum()), found)
    status = Status("converged", "a DAG determines its regressions")
    solution = assemble("within the given graph", learned, found, candidate, status)
    return warned(solution, moments)


def _as_indices(order: ArrayLike, names: Sequence[str]) -> ArrayLike:
    given = np.asarray(order)
    if given.dtype.kind not in "UO":
        return given
    index = {name: k for k, name in enumerate(names)}
    unknown = [name for name in given.tolist() if name not in index]
    if unknown:
        raise InputError(f"the order names {listing(unknown)}, which are not columns; columns are {listing(names)}")
    return np.array([index[name] for name in given.tolist()])


def _match(dag: Any, names: Sequence[str]) -> sp.csr_array:
    """The graph with its vertices in the order of the columns."""
    if not isinstance(dag, DAG):
        dag = DAG.from_weights(dag, names=names)
    if set(dag.names) != set(names):
        strangers = sorted(set(dag.names) ^ set(names))
        raise InputError(f"the graph and the table do not have the same variables: {listing(strangers)}")
    place = {name: k for k, name in enumerate(dag.names)}
    where = [place[name] for name in names]
    return sp.csr_array(dag.weights[where][:, where])
