"""Moments for each node of the rows that tell about it: those in which nobody set it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from psidag.data.interventions import Targets

Floats = NDArray[np.float64]


class Targeted:
    """Counts and covariances of rows in which some variables were set.

    Rows in which j was set do not enter the equation of j, but do enter those of its children (Hauser & Bühlmann 2012).
    There is one mean for all rows that enter: the shifts between conditions are what tells directions. Where
    interventions only shift (``kind="shift"``), rows in which j was set enter its equation with a mean of their own.

    What is kept are the products of all rows, once, and of each target its own rows; the products among a node and its
    parents without those rows take O(rows of the target · k²).

    Parameters
    ----------
    X : array of shape (n, d)
        The rows, all conditions together.
    targets : Targets
        What was set in which row.
    products : array of shape (d, d), optional
        Σ (x − mean)(x − mean)ᵀ of all rows, where it is known.

    Examples
    --------
    >>> from psidag.data.interventions import Interventions
    >>> rows = np.array([[0.0, 1.0], [2.0, 3.0], [9.0, 4.0]])
    >>> data = Targeted(rows, Interventions([None, None, "a"]).bind(("a", "b")))
    >>> data.count(0), data.count(1)
    (2.0, 3.0)
    >>> data.covariance(0, np.array([0]))
    array([[1.]])
    """

    def __init__(self, X: NDArray[np.floating], targets: Targets, products: Floats | None = None) -> None:
        targets.check(len(X))
        self._mean = X.mean(axis=0, dtype=np.float64)
        self._products = _scatter(X, self._mean) if products is None else products
        self._n = len(X)
        self._shift = targets.kind == "shift"
        self._own = {j: np.asarray(X[targets.rows_of(j)] - self._mean, dtype=np.float64) for j in targets.columns}

    def count(self, node: int) -> float:
        """Number of rows that enter the equation of a node."""
        own = self._own.get(node)
        return float(self._n if own is None or self._shift else self._n - len(own))

    def covariance(self, node: int, columns: NDArray[np.intp]) -> Floats:
        """Covariance of these columns over the rows that enter the equation of a node."""
        products, n = self._products[np.ix_(columns, columns)], self._n
        own = self._own.get(node)
        if own is None:
            return np.asarray(products / n)
        own = own[:, columns]
        total = own.sum(axis=0)
        # The sums of all rows are zero, so that those of the free rows are minus those of the others.
        free = n - len(own)
        among_free = products - own.T @ own - np.outer(total, total) / free
        if not self._shift:
            return np.asarray(among_free / free)
        among_own = own.T @ own - np.outer(total, total) / len(own)
        return np.asarray((among_free + among_own) / n)


def _scatter(X: NDArray[np.floating], mean: Floats) -> Floats:
    centred = X - mean
    return np.asarray(centred.T @ centred, dtype=np.float64)
