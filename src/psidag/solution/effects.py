"""What changes when something is changed: effects along all paths, and interventions."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psidag.graph.dag import DAG
from psidag.simulate.experiment import cut
from psidag.simulate.model import LinearSEM

Floats = NDArray[np.float64]


def total_effects(dag: DAG, source: int, held: Collection[int] = ()) -> Floats:
    """Change of every variable when one is set one unit higher: row ``source`` of (I − W)⁻¹.

    The sum over all directed paths of the product of their weights; paths through ``held`` variables, which
    are kept where they are, do not count. Pushed forward along the order, in time proportional to the
    number of edges.
    """
    effect = np.zeros(dag.d)
    effect[source] = 1.0
    fixed = {*held, source}
    W = dag.weights
    for v in dag.order[np.flatnonzero(dag.order == source)[0] :].tolist():
        if v in fixed and v != source:
            effect[v] = 0.0
        if effect[v]:
            part = slice(int(W.indptr[v]), int(W.indptr[v + 1]))
            effect[W.indices[part]] += W.data[part] * effect[v]
    return effect


def counterfactual(dag: DAG, intercept: Floats, rows: Floats, values: Mapping[int, float]) -> Floats:
    """The rows with some variables set to values and the noise as it was: only what these cause changes."""
    changed = rows.copy()
    for v, value in values.items():
        changed[:, v] = value
    columns = sp.csc_array(dag.weights)
    moved = set(values)
    for j in dag.order.tolist():
        part = slice(int(columns.indptr[j]), int(columns.indptr[j + 1]))
        parents = columns.indices[part]
        if j not in values and not moved.isdisjoint(parents.tolist()):
            changed[:, j] = rows[:, j] + (changed[:, parents] - rows[:, parents]) @ columns.data[part]
            moved.add(j)
    return changed


def intervene(model: LinearSEM, values: Mapping[int, float]) -> LinearSEM:
    """The model with some variables set to values: what points at them is cut, and they have no noise."""
    chosen = np.array(sorted(values), dtype=np.intp)
    return cut(model, chosen, [values[int(v)] for v in chosen], np.zeros(len(chosen)))
