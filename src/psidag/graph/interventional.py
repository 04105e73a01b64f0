"""Interventional equivalence: which directions rows in which known variables were set can tell at all.

Two DAGs give the same distributions, with and without the interventions, if and only if they have the same skeleton,
the same colliders, and the same direction of every edge of which some intervention sets one end and not the other
(Hauser & Bühlmann 2012, theorem 10). For interventions that leave the causes at work, such as shifts, the same holds
if there are rows in which nothing was set (Yang, Katcoff & Uhler 2018, theorem 3.14): a node for the intervention
points at what it sets, and makes a collider with a cause of it. Without such rows two conditions are compared with each
other, and an edge is told where one end is set in exactly one of them and the other end in neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from psidag.graph.constraints import BoundConstraints
from psidag.graph.dag import DAG
from psidag.graph.metrics import shd
from psidag.graph.orientation import close, markov_class
from psidag.graph.partial import REASONS, PartialGraph
from psidag.system.errors import InputError

_INTERVENTION = REASONS.index("intervention")


class Settings:
    """Which variables were set together, and what that tells.

    Parameters
    ----------
    settings : iterable of tuples of int
        The columns that were set together, in some rows each; the empty one where nothing was.
    d : int
        Number of columns.
    soft : bool
        Whether the causes of what is set go on acting, as under shifts.

    Examples
    --------
    >>> Settings([(), (0,), (1, 2)], 3).tells(0, 1), Settings([(), (0,), (1, 2)], 3).tells(1, 2)
    (True, False)
    """

    def __init__(self, settings: Iterable[Sequence[int]], d: int, *, soft: bool = False) -> None:
        distinct = sorted({tuple(sorted(each)) for each in settings})
        self._inside = np.zeros((len(distinct), d), dtype=bool)
        for row, each in enumerate(distinct):
            if any(not 0 <= column < d for column in each):
                raise InputError(f"an intervention sets a column outside of the {d} there are: {each}")
            self._inside[row, list(each)] = True
        self._against_each_other = soft and () not in distinct

    def tells(self, a: int, b: int) -> bool:
        """Whether the direction of an edge between a and b is the same in all DAGs of a class."""
        A, B = self._inside[:, a], self._inside[:, b]
        if not self._against_each_other:
            return bool(np.any(A != B))
        neither = np.flatnonzero(~A & ~B)
        # The reference has neither of them set, or none of what is not changed.
        return bool(len(neither)) and bool(np.any(A != B))


def interventional_class(dag: DAG, settings: Settings, constraints: BoundConstraints | None = None) -> PartialGraph:
    """What all DAGs agree on that give the same distributions as one, under these interventions too.

    Directed because of a collider are the edges that are so without interventions; because of an intervention those of
    which one end was set without the other, and what follows from them by the rules of orientation, marked as derived.

    Examples
    --------
    >>> chain = DAG.from_edges([("a", "b"), ("b", "c"), ("c", "d")])
    >>> interventional_class(chain, Settings([(), (1,)], 4)).directed_edges()
    [('a', 'b'), ('b', 'c'), ('c', 'd')]
    >>> interventional_class(chain, Settings([(), (1, 2)], 4)).undirected_edges()
    []
    >>> interventional_class(chain, Settings([(), (0, 1), (2, 3)], 4)).because("b", "c")
    'intervention'
    """
    graph = markov_class(dag, constraints)
    edges = dag.weights.tocoo()
    rows = graph.rows_of(dag)
    told = [settings.tells(i, j) for i, j in zip(edges.row.tolist(), edges.col.tolist(), strict=True)]
    new = np.array(told, dtype=bool) & ~graph.directed[rows]
    directed = graph.directed[rows] | new
    reason = np.where(new, _INTERVENTION, graph.reason[rows])
    evidence = graph.delta[rows], graph.probability[rows], graph.derived[rows]
    claimed = PartialGraph.from_arrays(dag.names, edges.row, edges.col, directed, reason, *evidence)
    return close(claimed, constraints)


def interventional_shd(truth: Any, learned: Any, settings: Iterable[Sequence[int | str]], *, soft: bool = False) -> int:
    """SHD between the interventional classes of two DAGs: 0 if no rows of these experiments could tell them apart.

    Parameters
    ----------
    truth, learned : DAG, array or sparse matrix
        ``[i, j] != 0`` for i → j.
    settings : iterable of several names or numbers of columns each
        What was set together; the empty one where nothing was.
    soft : bool
        Whether the causes of what is set go on acting.

    Examples
    --------
    >>> interventional_shd([[0, 1], [0, 0]], [[0, 0], [1, 0]], [()])
    0
    >>> interventional_shd([[0, 1], [0, 0]], [[0, 0], [1, 0]], [(), (0,)])
    1
    """
    first, second = (graph if isinstance(graph, DAG) else DAG.from_weights(graph) for graph in (truth, learned))
    known = [
        tuple(first.index(each) if isinstance(each, str) else int(each) for each in setting) for setting in settings
    ]
    told = Settings(known, first.d, soft=soft)
    matrices: list[sp.csr_array] = [interventional_class(dag, told).to_matrix() for dag in (first, second)]
    return shd(*matrices)
