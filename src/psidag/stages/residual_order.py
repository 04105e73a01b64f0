"""The order of lowest residual variance: what takes the place of ψ where noise variances are equal."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk

from psidag.graph.constraints import BoundConstraints
from psidag.graph.order import Order
from psidag.system.parallel import tiles

Floats = NDArray[np.float64]

#: Pivots between two updates of the matrix, and the share of its variables that are left when it is made smaller.
_BLOCK, _SHRINKS = 128, 0.875


def residual_variance_order(S: Floats, constraints: BoundConstraints) -> Order:
    """The order of smallest conditional variances among the variables whose turn the constraints allow.

    A Cholesky factorisation that pivots on the smallest diagonal. The conditional variances are updated at each pivot,
    the rest of the matrix once every 128: in place, one triangle of it, for fewer and fewer variables.
    """
    d = len(S)
    left = np.arange(d)
    rest = np.array(S, dtype=np.float64, order="F")
    # A variable that those before it determine tells nothing new about the others. Where effects are strong,
    # variances grow along the order by many powers of ten: what is no rounding counts.
    variance, least = rest.diagonal().copy(), 1e-13 * rest.diagonal()
    turn = _Turns(constraints)
    order = np.empty(d, dtype=np.intp)
    for block in tiles(d, _BLOCK):
        factor = np.zeros((len(left), block.stop - block.start), order="F")
        for k in range(factor.shape[1]):
            at = int(np.where(turn.open[left], variance, np.inf).argmin())
            order[block.start + k] = left[at]
            turn.place(int(left[at]))
            if variance[at] > least[at]:
                # What is above the diagonal is up to date.
                column = np.concatenate([rest[:at, at], rest[at, at:]]) - factor[:, :k] @ factor[at, :k]
                column /= np.sqrt(variance[at])
                factor[:, k] = column
                variance -= column**2
        rest = dsyrk(-1.0, factor, beta=1.0, c=rest, overwrite_c=1)
        stays = np.isin(left, order[: block.stop], invert=True)
        if stays.sum() < _SHRINKS * len(left):
            left, variance, least = left[stays], variance[stays], least[stays]
            rest = np.asfortranarray(rest[np.ix_(stays, stays)])
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
