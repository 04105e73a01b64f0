"""The order of lowest residual variance: what takes the place of ψ where noise variances are equal."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from psidag.graph.constraints import BoundConstraints
from psidag.graph.order import Order
from psidag.system.parallel import tiles

Floats = NDArray[np.float64]

#: Pivots between two updates of the whole matrix.
_BLOCK = 64


def residual_variance_order(S: Floats, constraints: BoundConstraints) -> Order:
    """The order of smallest conditional variances among the variables whose turn the constraints allow.

    A Cholesky factorisation that pivots on the smallest diagonal. The conditional variances are updated at
    each pivot, the rest of the matrix once every 64, by one matrix product.
    """
    d = len(S)
    rest = S.copy()
    variance = np.diag(S).copy()
    turn = _Turns(constraints)
    order = np.empty(d, dtype=np.intp)
    for block in tiles(d, _BLOCK):
        factor = np.zeros((d, block.stop - block.start))
        for k in range(block.stop - block.start):
            pivot = int(np.where(turn.open, variance, np.inf).argmin())
            order[block.start + k] = pivot
            turn.place(pivot)
            # A variable that those before it determine tells nothing new about the others. Where effects are strong,
            # variances grow along the order by many powers of ten: what is no rounding counts.
            if variance[pivot] > 1e-13 * S[pivot, pivot]:
                column = rest[pivot] - factor[:, :k] @ factor[pivot, :k]
                column /= np.sqrt(variance[pivot])
                factor[:, k] = column
                variance -= column**2
        rest -= factor @ factor.T
    return order


class _Turns:
    """Which vertices may be placed next: those not placed, all of whose forerunners are."""

    def __init__(self, constraints: BoundConstraints) -> None:
        self._before = constraints.precedence
        self._waiting = np.bincount(self._before.indices, minlength=self._before.shape[0])
        self._d = constraints.d
        self.open: NDArray[np.bool_] = self._waiting[: self._d] == 0

    def place(self, vertex: int) -> None:
        """Take a vertex (or a milestone between tiers) and open those that waited for it alone."""
        if vertex < self._d:
            self.open[vertex] = False
        followers = self._before.indices[self._before.indptr[vertex] : self._before.indptr[vertex + 1]]
        self._waiting[followers] -= 1
        for follower in followers[self._waiting[followers] == 0]:
            if follower < self._d:
                self.open[follower] = True
            else:
                self.place(int(follower))
