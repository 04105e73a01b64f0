"""ψ: from weights to the closest vertex order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from psidag.graph.constraints import BoundConstraints
from psidag.graph.order import Order
from psidag.stages import _psi
from psidag.system.errors import InputError


def project(
    W: NDArray[np.floating], *, weights: ArrayLike | None = None, constraints: BoundConstraints | None = None
) -> Order:
    """Compute ψ(W), a vertex order in which little of W points backwards.

    Greedily solves  min over orders π of  Σ (W ∘ L)[i, j]² over the pairs with π(i) ≥ π(j): of all rows and
    columns the one of least norm is found; a column's vertex goes to the beginning, a row's to the end (a row
    wins ties, as does the lower index), and both leave the matrix. The weights of a DAG keep every edge.
    O(d²) time, one extra d x d array.

    Parameters
    ----------
    W : array of shape (d, d)
        Weights, ``W[i, j]`` for i → j. The diagonal should be zero.
    weights : array, optional
        L: of shape (d,) or (1, d) for one factor per column, (d, 1) for one per row, or (d, d). See
        :func:`target_weights` and :func:`source_weights`.
    constraints : BoundConstraints, optional
        Entries that are not allowed count as zero, and the order respects required edges and tiers.

    References
    ----------
    Ziu et al., ψDAG (2024), Algorithm 2; the weights are those of its appendix.

    Examples
    --------
    >>> project(np.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.1, 3.0, 0.0]]))
    array([2, 1, 0])
    """
    if W.ndim != 2 or W.shape[0] != W.shape[1]:
        raise InputError(f"ψ needs a square matrix of weights; got shape {W.shape}")
    d = len(W)
    W = np.asarray(W, dtype=np.float32 if W.dtype == np.float32 else np.float64)
    row_factor, col_factor = np.ones(d), np.ones(d)
    if weights is not None:
        L = np.asarray(weights, dtype=np.float64)
        if L.shape == (d, d) and d > 1:
            W = np.asarray(W * L, dtype=W.dtype)
        elif L.shape == (d, 1):
            row_factor = L[:, 0] ** 2
        elif L.shape in ((d,), (1, d)):
            col_factor = L.reshape(d) ** 2
        else:
            raise InputError(f"weights of shape {L.shape} do not fit a {d} x {d} matrix")
    if constraints is None or constraints.empty:
        empty = np.zeros(d + 1, dtype=np.intc), np.zeros(0, dtype=np.intc)
        after = before = empty
    else:
        W = np.where(constraints.allowed(), W, W.dtype.type(0))
        precedence = constraints.precedence
        after = _index_lists(precedence)
        before = _index_lists(precedence.T.tocsr())
    order = np.empty(d, dtype=np.intp)
    if W.flags.f_contiguous and not W.flags.c_contiguous:
        Wt, W = W.T, np.empty_like(W.T)
        _psi.transpose(Wt, W)
    else:
        W = np.ascontiguousarray(W)
        Wt = np.empty_like(W)
        _psi.transpose(W, Wt)
    row = _squared_norms(W, col_factor) * row_factor
    col = _squared_norms(Wt, row_factor) * col_factor
    if not _psi.closest_order(W, Wt, row_factor, col_factor, *after, *before, row, col, order):
        raise InputError("ψ needs finite weights whose squares do not overflow; these have NaN, infinity or more")
    return order


def target_weights(second_moment: ArrayLike) -> NDArray[np.float64]:
    """L of the appendix as printed: L[i, j] is the second moment of the target j."""
    return np.asarray(second_moment, dtype=np.float64)[None, :]


def source_weights(second_moment: ArrayLike) -> NDArray[np.float64]:
    """L by curvature: its square is the second derivative of the loss in W[i, j], the second moment of i."""
    return np.sqrt(np.asarray(second_moment, dtype=np.float64))[:, None]


def _squared_norms(W: NDArray[np.floating], factor: NDArray[np.float64]) -> NDArray[np.float64]:
    """Σ_j W[i, j]² factor[j] for each row i; in float64, whose rounding the kernel's recomputation allows for."""
    if np.all(factor == 1):
        norms: NDArray[np.float64] = np.einsum("ij,ij->i", W, W, dtype=np.float64)
    else:
        norms = np.einsum("ij,ij,j->i", W, W, factor, dtype=np.float64)
    return norms


def _index_lists(matrix: Any) -> tuple[NDArray[np.intc], NDArray[np.intc]]:
    return matrix.indptr.astype(np.intc), matrix.indices.astype(np.intc)
