"""The regression of every node of a DAG on its parents; nodes with equally many parents are solved together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psidag.data.blocks import Blocks
from psidag.graph.constraints import BoundConstraints
from psidag.graph.order import by_row
from psidag.run.status import Fitted
from psidag.system.errors import listing
from psidag.system.parallel import Workers, tiles

Floats = NDArray[np.float64]

#: Numbers that one thread takes up at a time.
_CELLS = 1 << 19
#: Parents are collinear where one has less than this share of its variance left given the others.
_COLLINEAR = 1e-10
#: A weight is told by the data where the parents' correlations have no more than this of it in their null space.
_TOLD = 1e-6
#: The least share of a variance that is taken for left over.
_LEAST = 1e-12


class Regressions(NamedTuple):
    """The weights of the edges in the units of the data, and what is known of them.

    ``errors`` are the standard errors of ``weights.data``: not a number where the data do not tell the weight, because
    source or target is constant, parents are collinear, or they are not outnumbered by rows.
    """

    weights: sp.csr_array
    errors: Floats
    residual_variance: Floats

    def fitted(self, data: Blocks, constraints: BoundConstraints, rule: str) -> Fitted:
        """What is known of a DAG with these weights."""
        return Fitted(
            data.count,
            data.mean,
            data.sd**2,
            self.residual_variance,
            self.errors,
            rule,
            self._remarks(constraints),
        )

    def _remarks(self, constraints: BoundConstraints) -> tuple[str, ...]:
        """A sentence about the required edges whose weights the data do not tell, if there are any."""
        if not len(constraints.required):
            return ()
        found = self.weights.tocoo()
        asked = np.isin(found.row.astype(np.int64) * constraints.d + found.col, constraints.required_keys)
        names, untold = constraints.names, np.flatnonzero(asked & np.isnan(self.errors))
        if not len(untold):
            return ()
        edges = listing([f"{names[found.row[k]]} -> {names[found.col[k]]}" for k in untold])
        return (
            f"the data cannot tell the weights of required edges: {edges} (constant or collinear columns, or too few "
            "rows); each is in the graph with its weight in the shortest solution, without a standard error",
        )


def regressions(data: Blocks, edges: sp.csr_array, workers: Workers, *, refit: bool = True) -> Regressions:
    """The regression of every node on its parents, and its residual variance.

    min over b_j of  mean |x_j − Σ_i b_ij x_i|²  over the parents i of j. Where the parents are collinear it is the
    solution of least norm on the scale of the correlations, which shares the weight among them.

    Parameters
    ----------
    data : Blocks
        The correlations.
    edges : csr_array of shape (d, d)
        Every entry that is stored is an edge, also a zero.
    workers : Workers
        Threads; they do not change the result.
    refit : bool
        Whether to solve for the weights. Otherwise ``edges`` has them, in the units of the data.
    """
    columns = sp.csc_array(edges, dtype=np.float64)
    columns.sort_indices()
    first, counts = columns.indptr[:-1], np.diff(columns.indptr)
    d = len(counts)
    scale = np.where(data.sd > 0, data.sd, 1.0)
    units = np.repeat(scale, counts) / scale[columns.indices]
    if not refit:
        columns.data /= units
    left, errors = np.ones(d), np.full(columns.nnz, np.nan)

    def solve(nodes: NDArray[np.intp]) -> None:
        k = int(counts[nodes[0]])
        inside = first[nodes, None] + np.arange(k)
        block = data.block(np.column_stack([columns.indices[inside], nodes]))
        S, s = block[:, :-1, :-1], block[:, :-1, -1]
        inverse, told, rank = _inverse(S)
        weights = (inverse @ s[..., None])[..., 0] if refit else columns.data[inside]
        columns.data[inside] = weights
        remainder = 1.0 + np.einsum("ai,ai->a", weights, (S @ weights[..., None])[..., 0] - 2 * s)
        left[nodes] = np.maximum(remainder, _LEAST)
        freedom = data.count - rank - 1
        precision = np.maximum(np.einsum("aii->ai", inverse), 0.0)
        spread = np.sqrt(precision * (left[nodes] / np.where(freedom > 0, freedom, np.nan))[:, None])
        errors[inside] = np.where(told, spread, np.nan)

    workers.map(solve, _alike(counts, data.behind))
    constant = np.repeat(data.sd == 0, counts) | (data.sd == 0)[columns.indices]
    errors[constant] = np.nan
    columns.data *= units
    return Regressions(sp.csr_array(columns), (errors * units)[by_row(columns)], left * data.sd**2)


def _inverse(S: Floats) -> tuple[Floats, NDArray[np.bool_], NDArray[np.intp]]:
    """Inverses of correlations, which of the weights they determine, and the ranks.

    Where there is no inverse, the one of Moore and Penrose.
    """
    groups, k, _ = S.shape
    told, rank = np.ones((groups, k), dtype=bool), np.full(groups, k)
    try:
        inverse: Floats = np.linalg.inv(S).astype(np.float64, copy=False)
    except np.linalg.LinAlgError:
        inverse = np.full_like(S, np.nan)
    with np.errstate(invalid="ignore", over="ignore"):
        inflation = np.einsum("aii->ai", inverse)
        off = np.abs(S @ inverse - np.eye(k)).max(axis=(1, 2))
        regular = np.all((inflation > 0) & (inflation < 1 / _COLLINEAR), axis=1) & (off < 1e-3)
    for a in np.flatnonzero(~regular):
        values, vectors = np.linalg.eigh(S[a])
        kept = values > _COLLINEAR * values[-1]
        basis = vectors[:, kept]
        inverse[a] = (basis / values[kept]) @ basis.T
        told[a] = np.einsum("ij,ij->i", basis, basis) > 1 - _TOLD
        rank[a] = int(kept.sum())
    return inverse, told, rank.astype(np.intp)


def _alike(counts: NDArray[np.integer], behind: int) -> list[NDArray[np.intp]]:
    """Nodes that have parents, in groups with the same number of them that are not too large to take up at once."""
    groups = []
    for k in np.unique(counts[counts > 0]).tolist():
        nodes = np.flatnonzero(counts == k)
        groups += [nodes[part] for part in tiles(len(nodes), max(1, _CELLS // ((k + 1) * max(k + 1, behind))))]
    return groups
