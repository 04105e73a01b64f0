"""From the best DAG of a run to a solution: which edges stay, what their weights are, and what to distrust."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psidag.data.blocks import blocks
from psidag.data.checks import data_warnings
from psidag.data.correlations import Correlations
from psidag.data.labelled import conditions_of
from psidag.data.moments import Moments
from psidag.data.sources import Source
from psidag.graph.constraints import BoundConstraints
from psidag.graph.dag import DAG
from psidag.graph.interventional import Settings, interventional_class
from psidag.graph.orientation import close, markov_class
from psidag.graph.partial import REASONS, PartialGraph
from psidag.run.loop import Task
from psidag.run.status import Candidate, Fitted, Round, Status
from psidag.solution import Solution
from psidag.solution.diagnostics import noise_warnings
from psidag.solution.noise import NoiseModel
from psidag.stages.free_regressions import free_regressions
from psidag.stages.model import correlations, evident_model
from psidag.stages.parent_limit import ParentLimit, limit_remarks
from psidag.stages.regressions import regressions
from psidag.stages.within_order import evidence_penalty
from psidag.system.errors import DataWarning, InputError, is_number
from psidag.system.parallel import Workers


def check_threshold(threshold: float | None) -> None:
    """Raise unless the threshold is None or a size."""
    if threshold is not None and not (is_number(threshold) and threshold >= 0):
        raise InputError(f"threshold must be None (edges by evidence) or a number from 0 on; got {threshold!r}")


def assumed_directions(
    dag: DAG, noise: NoiseModel, constraints: BoundConstraints, settings: Settings | None = None
) -> PartialGraph:
    """Which directions hold if the assumption on the noise does, and why.

    Knowledge, colliders and interventions direct edges whatever the noise; the others have the direction of the DAG if
    noise variances are equal, or if the noise of both ends is not Gaussian, and none otherwise. Evidence is not
    measured.
    """
    graph = markov_class(dag, constraints) if settings is None else interventional_class(dag, settings, constraints)
    edges = dag.weights.tocoo()
    rows = graph.rows_of(dag)
    directed, reason = graph.directed[rows], graph.reason[rows]
    shaped = np.isin(np.array(dag.names), np.array(noise.shape)) if noise.shape else np.zeros(dag.d, bool)
    sources = {
        "equal variances": np.full(dag.n_edges, noise.chosen == "equal"),
        "shape": shaped[edges.row] & shaped[edges.col],
    }
    for name, holds in sources.items():
        new = holds & ~directed
        reason[new], directed[new] = REASONS.index(name), True
    evidence = graph.delta[rows], graph.probability[rows], graph.derived[rows]
    found = PartialGraph.from_arrays(dag.names, edges.row, edges.col, directed, reason, *evidence)
    return close(found, constraints) if shaped.any() and not directed.all() else found


def chosen_edges(task: Task, candidate: Candidate, threshold: float | None) -> tuple[sp.csr_array, Fitted]:
    """The weights that stay: as the engine chose them, or by a rule where it has none or a threshold is given."""
    if candidate.fitted is not None and threshold is None:
        return candidate.weights, candidate.fitted
    threshold = candidate.threshold if threshold is None else threshold
    data = conditions_of(task.source, task.workers)
    if data is not None:
        edges = _by_size(candidate, threshold or 0.0, task.constraints)
        return free_regressions(data, edges, f"weights of at least {threshold or 0.0:g}", refit=False)
    return select_edges(task.source, candidate, threshold, task.constraints, task.workers)


def select_edges(
    source: Source,
    candidate: Candidate,
    threshold: float | None,
    constraints: BoundConstraints,
    threads: Workers,
) -> tuple[sp.csr_array, Fitted]:
    """The weights that stay: those that evidence supports within the candidate's order, or those of a size.

    Required edges stay, whatever the evidence and their size. A threshold takes memory in proportion to the edges.
    """
    said: tuple[str, ...] = ()
    if threshold is None:
        moments = source.moments(threads)
        C, sd = correlations(moments)
        model = evident_model(C, sd, moments.count, candidate.order, constraints, threads.remote)
        edges = constraints.with_required(model.weights)
        price = evidence_penalty(moments.count, moments.d)
        rule = f"by evidence within the order, penalty {price:.2f}"
        held = Correlations(moments.count, moments.mean, sd, C)
        said = limit_remarks(held, model.weights, candidate.order, constraints, price, ParentLimit.of(held.count))
    else:
        edges = _by_size(candidate, threshold, constraints)
        rule = f"weights of at least {threshold:g}"
    data = blocks(source, threads)
    found = regressions(data, edges, threads, refit=threshold is None)
    fitted = found.fitted(data, constraints, rule)
    return found.weights, fitted._replace(remarks=(*fitted.remarks, *said))


def squared_residuals_on_moments(
    moments: Moments, W: sp.csr_array, intercept: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The mean squared residual of each equation on the rows behind the moments."""
    off = moments.mean - intercept - W.T @ moments.mean
    return np.asarray(_residual_variance(moments, W) + off**2)


def assemble(
    engine: str,
    dag: DAG,
    found: Fitted,
    candidate: Candidate,
    status: Status,
    trace: tuple[Round, ...] = (),
    graph: PartialGraph | None = None,
) -> Solution:
    """A solution from its parts; without a graph, its directions are those that the caller gave."""
    return Solution(
        dag=dag,
        intercept=found.mean - dag.weights.T @ found.mean if found.intercept is None else found.intercept,
        residual_variance=found.residual_variance,
        mean=found.mean,
        variance=found.variance,
        n_samples=found.n_samples,
        status=status,
        trace=trace,
        engine=engine,
        selection=found.selection,
        candidate=candidate,
        standard_error=found.standard_error,
        warnings=found.remarks,
        graph=PartialGraph.from_dag(dag, "knowledge") if graph is None else graph,
    )


def warned(solution: Solution, moments: Moments | None) -> Solution:
    """Say what about the data, and about the noise if it was chosen, makes the answer less trustworthy.

    The solution comes back with the warnings in it.
    """
    sd = np.sqrt(solution.variance) if moments is None else moments.sd
    sentences = [*solution.warnings, *data_warnings(solution.names, solution.n_samples, sd, moments)]
    if solution.noise is not None:
        sentences += noise_warnings(solution.noise, solution.variance)
    for sentence in sentences:
        warnings.warn(sentence, DataWarning, stacklevel=4)
    return replace(solution, warnings=tuple(sentences))


def _by_size(candidate: Candidate, threshold: float, constraints: BoundConstraints) -> sp.csr_array:
    """Weights of at least the threshold, and required edges whatever their size."""
    found = sp.coo_array(candidate.weights)
    keep = (np.abs(found.data) >= threshold) & (found.data != 0)
    if len(constraints.required):
        keep |= np.isin(found.row.astype(np.intp) * constraints.d + found.col, constraints.required_keys)
    kept = sp.coo_array((found.data[keep], (found.row[keep], found.col[keep])), shape=found.shape)
    return constraints.with_required(kept)


def _residual_variance(moments: Moments, W: sp.csr_array) -> NDArray[np.float64]:
    """Diag (I − W)ᵀ S (I − W)."""
    remainder = sp.csr_array(sp.eye_array(moments.d) - W)
    through = moments.scatter @ remainder
    return np.maximum(np.asarray(remainder.multiply(through).sum(axis=0)).ravel() / moments.count, 0.0)
