"""The edges as a table: weight, standard error and standardised weight of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, overload

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from psidag.data.moments import Moments
from psidag.graph.dag import DAG
from psidag.graph.order import by_row

Floats = NDArray[np.float64]

#: Parents of which one has less than this left, in standard deviations, given the others are collinear.
_COLLINEAR = 1e-5


class Edge(NamedTuple):
    """One edge; see :class:`EdgeTable` for what the numbers mean."""

    source: str
    target: str
    weight: float
    standard_error: float
    standardised: float


class EdgeTable(Sequence[Edge]):
    """The edges of a solution, strongest first; a list of rows that prints as a table.

    ``weight`` is how much the target changes when the source changes by one unit, other parents held fixed.
    ``standard_error`` is that of the regression of the target on its parents, so given the order and the
    parents: the uncertainty of having chosen these is not in it. ``standardised`` is the weight between
    variables of variance one, and what the table is sorted by.

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

    def __init__(self, dag: DAG, standard_error: Floats | None, variance: Floats) -> None:
        matrix = dag.weights.tocoo()
        sd = np.sqrt(variance)
        scale = np.divide(sd[matrix.row], sd[matrix.col], out=np.full(dag.n_edges, np.nan), where=sd[matrix.col] > 0)
        standardised = matrix.data * scale
        strength = np.nan_to_num(np.abs(standardised))
        ranked = np.lexsort((matrix.col, matrix.row, -strength))
        self._names = dag.names
        self._ends = matrix.row[ranked], matrix.col[ranked]
        error = np.full(dag.n_edges, np.nan) if standard_error is None else standard_error
        self._values = np.column_stack([matrix.data, error, standardised])[ranked]

    def __len__(self) -> int:
        return len(self._values)

    @overload
    def __getitem__(self, key: int) -> Edge: ...
    @overload
    def __getitem__(self, key: slice) -> list[Edge]: ...
    def __getitem__(self, key: int | slice) -> Edge | list[Edge]:
        if isinstance(key, slice):
            return [self[k] for k in range(*key.indices(len(self)))]
        weight, error, standardised = self._values[key].tolist()
        sources, targets = self._ends
        return Edge(self._names[sources[key]], self._names[targets[key]], weight, error, standardised)

    def __iter__(self) -> Iterator[Edge]:
        return (self[k] for k in range(len(self)))

    def to_pandas(self) -> Any:
        """The table as a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame(list(self), columns=list(Edge._fields))

    def to_text(self, limit: int | None = None) -> str:
        """The first rows, aligned."""
        shown = self[: len(self) if limit is None else limit]
        if not shown:
            return "no edges"
        source = max(6, *(len(edge.source) for edge in shown))
        target = max(6, *(len(edge.target) for edge in shown))
        lines = [f"{'source':<{source}}  {'target':<{target}}  {'weight':>6}  std.error  standardised"]
        cells = [[f"{v:.4g}" for v in edge[2:]] for edge in shown]
        width = max(6, *(len(row[0]) for row in cells))
        lines[0] = f"{'source':<{source}}  {'target':<{target}}  {'weight':>{width}}  std.error  standardised"
        for edge, (weight, error, standardised) in zip(shown, cells, strict=True):
            ends = f"{edge.source:<{source}}  {edge.target:<{target}}"
            lines.append(f"{ends}  {weight:>{width}}  {error:>9}  {standardised:>12}")
        if len(shown) < len(self):
            lines.append(f"… and {len(self) - len(shown)} weaker edges")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"EdgeTable({len(self)} edges)"


def standard_errors(moments: Moments, dag: DAG, residual_variance: Floats) -> Floats:
    """The standard error of each weight, in the order of ``dag.edges()``.

    For node j with parents P: (σ_j² / (n − |P| − 1) · [S_PP⁻¹]_ii)^½, the usual one of least squares. Not a number
    where parents are collinear or not outnumbered by rows.
    """
    columns = sp.csc_array(dag.weights)
    found = np.full(columns.nnz, np.nan)
    for j in range(dag.d):
        part = slice(int(columns.indptr[j]), int(columns.indptr[j + 1]))
        parents = columns.indices[part]
        freedom = moments.count - len(parents) - 1
        if len(parents) == 0 or freedom <= 0:
            continue
        S = moments.scatter[np.ix_(parents, parents)] / moments.count
        sd = np.sqrt(np.diag(S))
        if not sd.all():
            continue
        factor, failed = scipy.linalg.lapack.dpotrf(S / np.outer(sd, sd), lower=1)
        if failed or np.diag(factor).min() < _COLLINEAR:
            continue
        inverse, _ = scipy.linalg.lapack.dpotri(factor, lower=1)
        found[part] = np.sqrt(np.diag(inverse) / sd**2 * (residual_variance[j] / freedom))
    return found[by_row(columns)]
