"""The regressions of a DAG solved afresh in double precision, those of nodes with as many parents at a time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from psidag.data.correlations import Correlations
from psidag.system.parallel import Workers, tiles

Floats = NDArray[np.float64]

#: Numbers that one thread takes up at a time.
_CELLS = 1 << 19


class Solved(NamedTuple):
    """Weights on the scale of the correlations and their standard errors, by target, and residual variances.

    There is no error, but nan, where too few rows are left to tell.
    """

    weights: sp.csc_array
    errors: Floats
    variance: Floats


def solved(data: Correlations, edges: sp.csr_array, required: NDArray[np.bool_], workers: Workers) -> Solved:
    """The regression of every node on its parents; ``required`` are the nodes that have parents by prior knowledge."""
    columns = sp.csc_array(edges, dtype=np.float64)
    first, counts = columns.indptr[:-1], np.diff(columns.indptr)
    variance, errors = np.ones(data.d), np.full(columns.nnz, np.nan)

    def solve(nodes: NDArray[np.intp]) -> None:
        k = int(counts[nodes[0]])
        inside = first[nodes, None] + np.arange(k)
        block = data.block(np.column_stack([columns.indices[inside], nodes]))
        S, s = block[:, :-1, :-1], block[:, :-1, -1]
        if required[nodes[0]]:
            # Required parents alone may be collinear: the shortest solution shares the weight among them.
            inverse = np.stack([scipy.linalg.pinvh(each, rtol=1e-10) for each in S])
        else:
            inverse = np.linalg.inv(S)
        weights = np.einsum("aij,aj->ai", inverse, s)
        columns.data[inside] = weights
        variance[nodes] = np.maximum(1.0 - np.einsum("ai,ai->a", weights, s), 1e-12)
        freedom = data.count - k - 1
        if freedom > 0:
            errors[inside] = np.sqrt(np.einsum("aii->ai", inverse) * variance[nodes, None] / freedom)

    workers.map(solve, _alike(data, counts, required))
    return Solved(columns, errors, variance)


def _alike(data: Correlations, counts: NDArray[np.integer], required: NDArray[np.bool_]) -> list[NDArray[np.intp]]:
    """Nodes that have parents, in groups with the same number of them that are not too large to take up at once."""
    groups = []
    for k in np.unique(counts[counts > 0]).tolist():
        size = (k + 1) * (k + 1 if data.rows is None else data.rows.shape[1])
        for forced in (False, True):
            nodes = np.flatnonzero((counts == k) & (required == forced))
            groups += [nodes[part] for part in tiles(len(nodes), max(1, _CELLS // size))]
    return groups
