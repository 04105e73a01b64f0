"""The regression of every node of a DAG on its parents, over the rows in which nobody set it."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psidag.data.conditions import Conditions
from psidag.graph.order import by_row
from psidag.run.status import Fitted
from psidag.scores.targeted import ROWS_FOR_A_PARENT
from psidag.system.errors import listing

Floats = NDArray[np.float64]

#: Parents are collinear where one has less than this share of its variance left given the others.
_COLLINEAR = 1e-10


def free_regressions(
    data: Conditions, edges: sp.csr_array, rule: str, *, refit: bool = True
) -> tuple[sp.csr_array, Fitted]:
    """The weights of the edges, and what is known of them.

    min over b_j and a_j of  mean |x_j − a_j − Σ_i b_ij x_i|²  over the rows in which j was not set; where interventions
    only shift, over all rows, with an a_j of its own for those in which it was.

    Parameters
    ----------
    data : Conditions
        The rows.
    edges : csr_array of shape (d, d)
        Every entry that is stored is an edge, also a zero.
    rule : str
        How the edges were chosen.
    refit : bool
        Whether to solve for the weights; otherwise ``edges`` has them.
    """
    columns = sp.csc_array(edges, dtype=np.float64)
    columns.sort_indices()
    errors = np.full(columns.nnz, np.nan)
    left, intercept = np.zeros(data.d), np.zeros(data.d)
    for j in range(data.d):
        inside = slice(int(columns.indptr[j]), int(columns.indptr[j + 1]))
        at = np.append(columns.indices[inside].astype(np.intp), j)
        S = data.covariance(j, at)
        sd = np.sqrt(np.maximum(S.diagonal(), 0.0))
        scale = np.where(sd > 0, sd, 1.0)
        C = S / scale / scale[:, None]
        inverse = np.linalg.pinv(C[:-1, :-1], rcond=_COLLINEAR, hermitian=True)
        units = scale[-1] / scale[:-1]
        weights = inverse @ C[:-1, -1] if refit else columns.data[inside] / units
        share = float(C[-1, -1] + weights @ (C[:-1, :-1] @ weights - 2 * C[:-1, -1]))
        left[j] = max(share, 0.0) * scale[-1] ** 2
        freedom = data.count(j) - len(weights) - 1
        if freedom > 0 and sd[-1] > 0:
            spread = np.sqrt(np.maximum(inverse.diagonal(), 0.0) * max(share, 0.0) / freedom)
            # Of a weight that parents share because they are collinear the data say nothing.
            told = np.abs(np.diag(C[:-1, :-1] @ inverse) - 1) < np.sqrt(_COLLINEAR)
            errors[inside] = np.where(told & (sd[:-1] > 0), spread * units, np.nan)
        columns.data[inside] = weights * units
        mean = data.free_mean(j, at)
        intercept[j] = mean[-1] - mean[:-1] @ columns.data[inside]
    moments = data.moments()
    fitted = Fitted(
        moments.count, moments.mean, moments.variance, left, errors[by_row(columns)], rule, _remarks(data), intercept
    )
    return sp.csr_array(columns), fitted


def _remarks(data: Conditions) -> tuple[str, ...]:
    """Whose causes cannot be told, because hardly any row left them alone."""
    few = [name for j, name in enumerate(data.names) if data.count(j) < ROWS_FOR_A_PARENT]
    if not few:
        return ()
    return (
        f"{listing(few)} was left alone in fewer than {ROWS_FOR_A_PARENT} rows, too few to tell its causes: no edge is "
        "learned that leads there",
    )
