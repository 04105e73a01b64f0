"""Total effects over all DAGs that agree with a partially directed graph, and how sure they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psidag.data.labelled import LabelledTable, groups_of
from psidag.data.row_counts import by_group
from psidag.data.sources import Table
from psidag.graph.dag import DAG
from psidag.graph.extension import extension
from psidag.graph.orientation import ContradictionError, neighbours, open_colliders, undecided_colliders
from psidag.graph.partial import PartialGraph
from psidag.graph.separation import implied_covariance
from psidag.solution.effects import total_effects
from psidag.system.errors import InputError

Floats = NDArray[np.float64]

#: A variable with more undirected edges than this has too many possible sets of parents.
_MOST_OPEN = 14
_NORMAL_95 = 1.959963984540054


class Effect(NamedTuple):
    """A total effect and how sure it is.

    Attributes
    ----------
    value : float
        In the solution's own DAG.
    standard_error : float
        Given that DAG; nan where it cannot be told.
    low, high : float
        Bounds of the 95 % interval given that DAG: from resampled rows where there were any, else normal.
    members : tuple of float
        The different values over all DAGs that agree with the directed edges, from the least to the greatest.
    """

    value: float
    standard_error: float
    low: float
    high: float
    members: tuple[float, ...]

    @property
    def range(self) -> tuple[float, float]:
        """The least and the greatest over all DAGs that agree with the directed edges."""
        return self.members[0], self.members[-1]


def effects_over_class(
    dag: DAG, graph: PartialGraph, noise_variance: Floats, source: int, target: int
) -> tuple[float, ...]:
    """The total effect of source on target in each DAG of the class, each value once.

    IDA: an effect depends on a DAG only through the parents of the source, so each possible set of these is tried.
    Which sets are possible is decided exactly, by an extension of the graph; the effect is the coefficient of the
    source in the regression of the target on it and these parents, on the covariance that the model implies. That is
    the best estimate for every DAG that is Markov equivalent to the solution's; for others, where colliders are open,
    it is close as far as they fit equally well.

    References
    ----------
    Maathuis, Kalisch & Bühlmann (2009), "Estimating high-dimensional intervention effects from observational data".
    """
    found = {
        _adjusted(dag, noise_variance, source, target, parents) for parents in possible_parents(dag, graph, source)
    }
    # Different parents can give the same effect up to rounding.
    values = sorted(found)
    scale = max(abs(value) for value in values)
    distinct = [values[0]]
    for value in values[1:]:
        if value - distinct[-1] > 1e-9 * scale:
            distinct.append(value)
    return tuple(distinct)


def possible_parents(dag: DAG, graph: PartialGraph, node: int) -> Iterator[tuple[int, ...]]:
    """The sets of parents that a variable has in the DAGs of the class."""
    touching = (graph.sources == node) | (graph.targets == node)
    undirected = touching & ~graph.directed
    other = np.where(graph.sources == node, graph.targets, graph.sources)
    free = other[undirected].tolist()
    sure = graph.sources[graph.directed & (graph.targets == node)].tolist()
    if not free:
        yield tuple(sorted(sure))
        return
    if len(free) > _MOST_OPEN:
        raise InputError(
            f"{graph.names[node]!r} has {len(free)} edges of open direction, too many to try them all: direct some of "
            "them by knowledge"
        )
    possible = open_colliders(graph, dag) | undecided_colliders(graph)
    joined = neighbours(graph)

    def collides(a: int, b: int) -> bool:
        return b not in joined[a] and (min(a, b), node, max(a, b)) not in possible

    rows = np.flatnonzero(undirected)
    for size in range(len(free) + 1):
        for chosen in combinations(free, size):
            if any(collides(a, b) for a, b in combinations(chosen, 2)):
                continue
            if any(collides(a, b) for a in chosen for b in sure):
                continue
            into = np.isin(other[rows], chosen)
            sources, targets, directed = graph.sources.copy(), graph.targets.copy(), graph.directed.copy()
            sources[rows] = np.where(into, other[rows], node)
            targets[rows] = np.where(into, node, other[rows])
            directed[rows] = True
            try:
                extension(PartialGraph.from_arrays(graph.names, sources, targets, directed), None, possible)
            except ContradictionError:
                continue
            yield tuple(sorted([*sure, *chosen]))


def _adjusted(dag: DAG, noise_variance: Floats, source: int, target: int, parents: Sequence[int]) -> float:
    if source == target:
        return 1.0
    if target in parents:
        return 0.0
    S = implied_covariance(dag, noise_variance, [source, *parents, target])
    return float(np.linalg.lstsq(S[:-1, :-1], S[:-1, -1])[0][0])


def effect_error(dag: DAG, noise_variance: Floats, standard_error: Floats | None, source: int, target: int) -> float:
    """The standard error of a total effect given the DAG, by the delta method.

    The effect moves with the weight of i → j by (effect of the source on i) · (effect of j on the target), and the
    weights of different equations are independent. Within one equation their standard errors are those of its own
    rows, of which an experiment has fewer, and they are correlated as S_PP⁻¹ of the implied covariance says.
    """
    if standard_error is None:
        return float("nan")
    reach = total_effects(dag, source)
    toward = total_effects(DAG(sp.csr_array(dag.weights.T), dag.order[::-1], dag.names), target)
    # Errors by edge, as the weights are: also where one of them is zero.
    entry = sp.csr_array((np.arange(dag.n_edges), dag.weights.indices, dag.weights.indptr), shape=dag.weights.shape)
    columns = sp.csc_array(entry)
    variance = 0.0
    for j in np.flatnonzero(toward).tolist():
        at = slice(columns.indptr[j], columns.indptr[j + 1])
        parents = columns.indices[at]
        gradient = reach[parents] * toward[j]
        if j == source or not gradient.any():
            continue
        inverse = np.linalg.pinv(implied_covariance(dag, noise_variance, parents.tolist()))
        scaled = (
            gradient * standard_error[columns.data[at]] / np.sqrt(np.maximum(np.diag(inverse), np.finfo(float).tiny))
        )
        variance += float(scaled @ inverse @ scaled)
    return float(np.sqrt(variance))


def resampled_interval(
    table: Table, dag: DAG, source: int, target: int, replicates: int, rng: np.random.Generator
) -> tuple[float, float]:
    """The 95 % interval of a total effect over draws of the rows, the weights fitted anew in the same DAG.

    Of an experiment rows are drawn within each condition, and those in which a variable was set do not enter its
    equation.
    """
    below, above = dag.descendants(dag.names[source]), {*dag.ancestors(dag.names[target]), dag.names[target]}
    path = [dag.index(name) for name in below if name in above]
    columns = sp.csc_array(dag.weights)
    groups, free = [np.arange(len(table))], {}
    if isinstance(table, LabelledTable):
        groups = by_group(groups_of(table))
        free = {j: table.free(j) for j in path}
    found = np.zeros(replicates)
    for k in range(replicates):
        drawn = np.concatenate([at[rng.integers(len(at), size=len(at))] for at in groups])
        effect = {source: 1.0}
        for j in path:
            parents = columns.indices[columns.indptr[j] : columns.indptr[j + 1]]
            at = drawn[free[j][drawn]] if free else drawn
            rows = table.X[at[:, None], [*parents, j]].astype(np.float64)
            rows -= rows.mean(axis=0)
            weights = np.linalg.lstsq(rows[:, :-1], rows[:, -1])[0]
            effect[j] = sum(
                float(w) * effect.get(i, 0.0) for i, w in zip(parents.tolist(), weights.tolist(), strict=True)
            )
        found[k] = effect.get(target, 0.0)
    low, high = np.quantile(found, [0.025, 0.975]).tolist()
    return low, high


def normal_interval(value: float, error: float) -> tuple[float, float]:
    """The 95 % interval of a normal estimate."""
    return value - _NORMAL_95 * error, value + _NORMAL_95 * error
