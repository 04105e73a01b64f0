"""The order of lowest residual variance, which is the causal one where noise variances are equal."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from psidag.graph.constraints import BoundConstraints
from psidag.graph.order import Order

Floats = NDArray[np.float64]

#: Pivots between two updates of the whole matrix.
_BLOCK = 64


def residual_variance_order(S: Floats, constraints: BoundConstraints | None = None) -> Order:
    """Always next the variable of lowest variance given those before it (Chen, Drton & Wang 2019).

    That is a Cholesky factorisation which pivots on the smallest diagonal entry: what is left on the diagonal are
    the conditional variances. They are updated at each pivot, the rest of the matrix once in 64; d³/3 in all.
    Good when rows outnumber columns at least twice.

    Parameters
    ----------
    S : array of shape (d, d)
        Covariance.
    constraints : BoundConstraints, optional
        Required parents and earlier tiers come first.
    """
    rest = S.copy()
    nodes = np.arange(len(S))
    order: list[int] = []
    waiting = _Waiting(len(S), constraints)
    while len(nodes):
        size = min(_BLOCK, len(nodes))
        rows = np.zeros((size, len(nodes)))
        variance = np.diag(rest).copy()
        left = np.ones(len(nodes), dtype=bool)
        for t in range(size):
            choice = np.where(left & waiting.may_come(nodes), variance, np.inf)
            pivot = int(np.argmin(choice))
            left[pivot] = False
            order.append(int(nodes[pivot]))
            waiting.place(int(nodes[pivot]))
            # A variable that others determine has no variance left to explain anything with.
            if variance[pivot] > 1e-12 * S[nodes[pivot], nodes[pivot]]:
                rows[t] = (rest[pivot] - rows[:t, pivot] @ rows[:t]) / np.sqrt(variance[pivot])
                variance -= rows[t] ** 2
        kept = rows[:, left]
        rest = rest[np.ix_(left, left)] - kept.T @ kept
        nodes = nodes[left]
    return np.array(order, dtype=np.intp)


class _Waiting:
    """Which variables may come next: those whose required parents and earlier tiers have all been placed."""

    def __init__(self, d: int, constraints: BoundConstraints | None) -> None:
        self._known = None if constraints is None or constraints.empty else constraints
        self._placed = np.zeros(d, dtype=bool)

    def place(self, node: int) -> None:
        self._placed[node] = True

    def may_come(self, nodes: NDArray[np.intp]) -> NDArray[np.bool_]:
        if self._known is None:
            return np.ones(len(nodes), dtype=bool)
        free = np.ones(len(self._placed), dtype=bool)
        source, target = self._known.required.T
        free[target[~self._placed[source]]] = False
        tier = self._known.tier
        open_tiers = tier[(tier >= 0) & ~self._placed]
        if len(open_tiers):
            free &= tier <= open_tiers.min()
        return free[nodes]
