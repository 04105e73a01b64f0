"""Small graphs searched again as a whole, with one edge the other way: everything around it may change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psidag.data.correlations import Correlations
from psidag.data.ingest import as_source
from psidag.data.moments import Moments
from psidag.data.sources import Source
from psidag.directions.profile import Costs
from psidag.engines.sparse import Sparse
from psidag.graph.constraints import BoundConstraints
from psidag.graph.dag import DAG
from psidag.graph.order import CycleError
from psidag.run.loop import Task, run
from psidag.scores.gaussian import UNEQUAL
from psidag.system.parallel import SERIAL, Workers

Floats = NDArray[np.float64]

#: Searches side by side. Fixed, so that the result does not depend on the number of threads.
_AT_ONCE = 8


def search_again(
    dag: DAG,
    data: Correlations,
    score: Costs,
    edges: Sequence[tuple[int, int]],
    bounds: Floats,
    mark: float,
    known: BoundConstraints,
    workers: Workers,
) -> Floats:
    """Lower bounds on Δ of the unequal score: the best graphs that the search finds with an edge the other way.

    Every graph found bounds Δ of all edges that it has the other way, so that few searches settle many edges; those
    whose bound is below the mark need none.

    Parameters
    ----------
    dag : DAG
        The learned graph.
    data : Correlations
        The statistic.
    score : Costs
        The unequal score.
    edges : sequence of pairs
        Edges of the graph.
    bounds : array
        What Δ is at the most.
    mark : float
        The Δ below which nothing is claimed.
    known : BoundConstraints
        Prior knowledge.
    workers : Workers
        Threads; they do not change the result.
    """
    if data.matrix is None:
        return bounds
    source = as_source(Moments.from_covariance(np.asarray(data.matrix, dtype=np.float64), data.count))
    total = _total(score, dag.weights)
    bounds = bounds.copy()
    index = {edge: k for k, edge in enumerate(edges)}
    waiting = set(np.flatnonzero(bounds >= mark).tolist())
    while waiting:
        ranked = sorted(waiting, key=lambda e: (-bounds[e], e))[:_AT_ONCE]
        waiting.difference_update(ranked)
        turned = [edges[k][::-1] for k in ranked]
        for found in workers.map(lambda edge: _best_with(source, edge, known), turned):
            if found is None:
                continue
            difference = _total(score, found) - total
            for u, v in zip(*(end.tolist() for end in found.nonzero()), strict=True):
                k = index.get((v, u), -1)
                if k >= 0:
                    bounds[k] = min(bounds[k], difference)
                    if bounds[k] < mark:
                        waiting.discard(k)
    return bounds


def _best_with(source: Source, edge: tuple[int, int], known: BoundConstraints) -> sp.csr_array | None:
    """The graph that the search finds if this edge is required; None where that contradicts what is known."""
    wanted = replace(
        known, names=source.names, required=np.unique(np.concatenate([known.required, [edge]]), axis=0).astype(np.intp)
    )
    try:
        wanted.check()
    except CycleError:
        return None
    task = Task(source, wanted, np.random.default_rng(0), SERIAL, UNEQUAL)
    best = run(Sparse(restarts=0, quiet_rounds=1), task).candidate
    weights: sp.csr_array = best.weights
    return weights


def _total(score: Costs, weights: sp.csr_array) -> float:
    columns = sp.csc_array(weights)
    parents = np.split(columns.indices, columns.indptr[1:-1])
    return float(np.sum(score.costs([(j, tuple(sorted(part.tolist()))) for j, part in enumerate(parents)])))
