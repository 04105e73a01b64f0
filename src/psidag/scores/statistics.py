"""What a score of moments is bound to: the covariances of a few columns, on the rows that tell about a node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Share of its variance that a node keeps at least: less is rounding.
_FLOOR = 1e-12


class Statistics(Protocol):
    """Counts and covariances, which may rest on other rows for each node: those in which nobody set it."""

    def count(self, node: int) -> float:
        """Number of rows that tell about this node."""
        ...

    def covariance(self, node: int, columns: NDArray[np.intp]) -> Floats:
        """Covariance of these columns, over the rows that tell about this node."""
        ...


class Pooled:
    """The same rows for every node.

    Parameters
    ----------
    covariance : array of shape (d, d)
        Covariance.
    count : float
        Number of rows behind it.
    """

    def __init__(self, covariance: Floats, count: float) -> None:
        self._covariance = covariance
        self._count = float(count)

    def count(self, node: int) -> float:
        """Number of rows."""
        return self._count

    def covariance(self, node: int, columns: NDArray[np.intp]) -> Floats:
        """Covariance of these columns."""
        return self._covariance[np.ix_(columns, columns)]


class MomentsCost:
    """A score of moments, bound: n · fit(node, v) + penalty · parents, with v the variance of a node given its parents.

    Costs are remembered.

    Examples
    --------
    >>> import numpy as np
    >>> data = Pooled(np.array([[1.0, 0.5], [0.5, 1.0]]), 100)
    >>> bound = MomentsCost(data, 4.0, lambda node, v: float(np.log(v)))
    >>> round(bound.cost(1, ()), 3), round(bound.cost(1, (0,)), 3)
    (0.0, -24.768)
    """

    def __init__(self, data: Statistics, penalty: float, fit: Callable[[int, float], float]) -> None:
        self._data, self._penalty, self._fit = data, penalty, fit
        self._known: dict[tuple[int, tuple[int, ...]], float] = {}

    def cost(self, node: int, parents: tuple[int, ...]) -> float:
        """What this node costs with these parents."""
        key = (node, parents)
        if key not in self._known:
            fit = self._fit(node, residual_variance(self._data, node, parents))
            self._known[key] = self._data.count(node) * fit + self._penalty * len(parents)
        return self._known[key]


def residual_variance(data: Statistics, node: int, parents: tuple[int, ...]) -> float:
    """Variance of a node given its parents; parents that are collinear count once."""
    S = data.covariance(node, np.array((*parents, node), dtype=np.intp))
    own = float(S[-1, -1])
    if not parents:
        return own
    sd = np.sqrt(np.maximum(S.diagonal(), 0.0))
    sd[sd == 0] = 1.0
    C = S / sd / sd[:, None]
    try:
        # The last pivot is what the others leave of the node.
        share = float(np.linalg.cholesky(C)[-1, -1]) ** 2
    except np.linalg.LinAlgError:
        weights = np.linalg.lstsq(C[:-1, :-1], C[:-1, -1], rcond=_FLOOR)[0]
        share = float(1.0 - weights @ C[:-1, -1]) if own > 0 else 0.0
    return max(share, _FLOOR) * own
