"""The edges as a table: weight, standard error and standardised weight of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from psidag.graph.dag import DAG
from psidag.graph.partial import REASONS, PartialGraph, reason_name
from psidag.solution.tables import EdgeRows

Floats = NDArray[np.float64]

#: Of a direction; below, the other one is likelier by more than chance makes of equal ones.
_OTHER_WAY = 0.4


class Edge(NamedTuple):
    """One edge; see :class:`EdgeTable` for what the numbers mean."""

    source: str
    target: str
    weight: float
    standard_error: float
    standardised: float
    directed: bool
    because: str | None
    derived: bool
    evidence: float | None = None
    probability: float | None = None
    connection: float | None = None
    support: float | None = None
    reverse_support: float | None = None


class EdgeTable(EdgeRows[Edge]):
    """The edges of a solution, strongest first; a list of rows that prints as a table.

    ``weight`` is how much the target changes when the source changes by one unit, other parents held fixed.
    ``standard_error`` is that of the regression of the target on its parents, so given the order and the
    parents: the uncertainty of having chosen these is not in it. ``standardised`` is the weight between
    variables of variance one, and what the table is sorted by.

    ``directed`` says whether the direction is known; where it is not, the edge stands as in the DAG that is one of
    several, its weight is the one it has there, and in print it has a question mark. ``because`` is what the direction
    rests on, or ``"conflict"``, or None; ``derived`` whether it follows from other directions. ``evidence`` is the
    score difference to the best graph with the edge the other way, ``probability`` the chance that the direction is
    right; None, and no columns, where they were not measured.

    ``connection`` is the share of the replicates of a bootstrap that join the two, ``support`` and ``reverse_support``
    the shares that direct the edge so and the other way; None, and no columns, where none was run.

    Examples
    --------
    >>> import numpy as np
    >>> from psidag import fit_dag
    >>> x = np.random.default_rng(0).normal(size=1000)
    >>> y = 2 * x + np.random.default_rng(1).normal(size=1000)
    >>> print(fit_dag(np.c_[x, y], [[0, 1], [0, 0]], names=["dose", "effect"]).edges())
    source      target  weight  std.error  standardised  because
    dose    ->  effect   1.987    0.03196        0.8915  knowledge
    """

    _row = Edge
    _headings: ClassVar = {
        "standard_error": "std.error",
        "reverse_support": "reverse",
        "directed": None,
        "derived": None,
    }
    _rest = "weaker edges"
    _marked = ("weight",)

    def __init__(
        self,
        dag: DAG,
        standard_error: Floats | None,
        variance: Floats,
        graph: PartialGraph,
        support: Mapping[str, Floats] | None = None,
    ) -> None:
        matrix = dag.weights.tocoo()
        sd = np.sqrt(variance)
        scale = np.divide(sd[matrix.row], sd[matrix.col], out=np.full(dag.n_edges, np.nan), where=sd[matrix.col] > 0)
        standardised = matrix.data * scale
        strength = np.nan_to_num(np.abs(standardised))
        ranked = np.lexsort((matrix.col, matrix.row, -strength))
        error = np.full(dag.n_edges, np.nan) if standard_error is None else standard_error
        values: dict[str, NDArray[Any]] = {"weight": matrix.data, "standard_error": error, "standardised": standardised}
        values |= direction_columns(dag, graph) | dict(support or {})
        ends = matrix.row[ranked], matrix.col[ranked]
        super().__init__(dag.names, ends, {name: column[ranked] for name, column in values.items()})

    def _text(self, name: str, value: Any) -> str:
        return ("open" if value is None else value) if name == "because" else super()._text(name, value)

    def _remarks(self, shown: range) -> list[str]:
        open_ = [k for k in shown if not self._values["directed"][k]]
        notes = ["--, ?  the direction is open: the weight is that in one of the graphs that fit about as well"]
        probability = self._values.get("probability")
        if probability is not None and any(probability[k] < _OTHER_WAY for k in open_):
            notes.append("       a probability below 0.5 speaks for the other way; the graph is as the search found it")
        return [*super()._remarks(shown), *(notes if open_ else [])]


def direction_columns(dag: DAG, graph: PartialGraph) -> dict[str, NDArray[Any]]:
    """What is known of the directions of the edges of a DAG, in the order of ``dag.edges()``."""
    rows = graph.rows_of(dag)
    names = np.array([reason_name(code) for code in range(len(REASONS) + 1)] + [None], dtype=object)
    columns: dict[str, NDArray[Any]] = {
        "directed": graph.directed[rows],
        "because": names[graph.reason[rows]],
        "derived": graph.derived[rows],
    }
    # An undirected edge may stand the other way in the graph: then its evidence is the opposite.
    turned = graph.sources[rows] != dag.weights.tocoo().row
    delta, probability = graph.delta[rows], graph.probability[rows]
    measured = {
        "evidence": np.where(turned, -delta, delta),
        "probability": np.where(turned, 1 - probability, probability),
    }
    # Knowledge is certain without a measurement: alone it makes no column.
    known = graph.reason[rows] == REASONS.index("knowledge")
    return columns | {key: column for key, column in measured.items() if not np.isnan(column[~known]).all()}


class Support(NamedTuple):
    """One pair of variables that replicates have joined; see :class:`SupportTable` for what the numbers mean."""

    source: str
    target: str
    connection: float
    support: float
    reverse_support: float
    weight: float
    weight_sd: float


class SupportTable(EdgeRows[Support]):
    """Edges that replicates have, the best supported first; a list of rows that prints as a table.

    ``connection`` is the share of the replicates that join the two; ``support`` and ``reverse_support`` are the shares
    that direct the edge so and the other way, the rest leave the direction open. ``weight`` and ``weight_sd`` are mean
    and standard deviation of the weight over the replicates whose DAG has the edge this way; the deviation of an edge
    seen once is not a number.
    """

    _row = Support
    _headings: ClassVar = {"reverse_support": "reverse", "weight_sd": "sd"}
