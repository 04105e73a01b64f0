"""The edges as a table: weight, standard error and standardised weight of each."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from psidag.graph.dag import DAG
from psidag.solution.tables import EdgeRows

Floats = NDArray[np.float64]


class Edge(NamedTuple):
    """One edge; see :class:`EdgeTable` for what the numbers mean."""

    source: str
    target: str
    weight: float
    standard_error: float
    standardised: float
    support: float | None = None
    reverse_support: float | None = None


class EdgeTable(EdgeRows[Edge]):
    """The edges of a solution, strongest first; a list of rows that prints as a table.

    ``weight`` is how much the target changes when the source changes by one unit, other parents held fixed.
    ``standard_error`` is that of the regression of the target on its parents, so given the order and the
    parents: the uncertainty of having chosen these is not in it. ``standardised`` is the weight between
    variables of variance one, and what the table is sorted by. ``support`` and ``reverse_support`` are the shares of
    the replicates of a bootstrap that have the edge and its reverse; None, and no column, where none was run.

    Examples
    --------
    >>> import numpy as np
    >>> from psidag import fit_dag
    >>> x = np.random.default_rng(0).normal(size=1000)
    >>> y = 2 * x + np.random.default_rng(1).normal(size=1000)
    >>> print(fit_dag(np.c_[x, y], [[0, 1], [0, 0]], names=["dose", "effect"]).edges())
    source  target  weight  std.error  standardised
    dose    effect   1.987    0.03196        0.8915
    """

    _row = Edge
    _headings: ClassVar = {"standard_error": "std.error", "reverse_support": "reverse"}
    _rest = "weaker edges"

    def __init__(
        self,
        dag: DAG,
        standard_error: Floats | None,
        variance: Floats,
        support: tuple[Floats, Floats] | None = None,
    ) -> None:
        matrix = dag.weights.tocoo()
        sd = np.sqrt(variance)
        scale = np.divide(sd[matrix.row], sd[matrix.col], out=np.full(dag.n_edges, np.nan), where=sd[matrix.col] > 0)
        standardised = matrix.data * scale
        strength = np.nan_to_num(np.abs(standardised))
        ranked = np.lexsort((matrix.col, matrix.row, -strength))
        error = np.full(dag.n_edges, np.nan) if standard_error is None else standard_error
        values = {"weight": matrix.data, "standard_error": error, "standardised": standardised}
        if support is not None:
            values |= dict(zip(("support", "reverse_support"), support, strict=True))
        ends = matrix.row[ranked], matrix.col[ranked]
        super().__init__(dag.names, ends, {name: column[ranked] for name, column in values.items()})


class Support(NamedTuple):
    """One pair of variables that replicates have joined; see :class:`SupportTable` for what the numbers mean."""

    source: str
    target: str
    support: float
    reverse_support: float
    weight: float
    weight_sd: float


class SupportTable(EdgeRows[Support]):
    """Edges that replicates have, the best supported first; a list of rows that prints as a table.

    ``support`` and ``reverse_support`` are the shares of the replicates that have the edge and its reverse. ``weight``
    and ``weight_sd`` are mean and standard deviation of the weight over the replicates that have the edge; the
    deviation of an edge seen once is not a number.
    """

    _row = Support
    _headings: ClassVar = {"reverse_support": "reverse", "weight_sd": "sd"}
