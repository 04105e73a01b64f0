"""How likely rows are under a fitted model: comparable between noise models, and whatever the units."""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from psidag.data.interventions import Targets
from psidag.data.labelled import LabelledTable
from psidag.data.sources import Table

Floats = NDArray[np.float64]

#: Numbers in a block of rows.
_BLOCK = 1 << 20


def log_likelihood(mean_square: Floats, variance: Floats) -> float:
    """The mean Gaussian log-likelihood of a row, −½ Σ_j (log 2πv_j + mean r_j² / v_j).

    Parameters
    ----------
    mean_square : array of shape (d,)
        Mean squared residual of each equation on the rows that are judged.
    variance : array of shape (d,)
        Its noise variance in the model. Equations without noise are taken to have a little, far less than any other.

    Examples
    --------
    >>> round(log_likelihood(np.array([1.0]), np.array([1.0])), 4)
    -1.4189
    """
    positive = variance[variance > 0]
    v = np.maximum(variance, 1e-9 * float(positive.min(initial=1.0)))
    return -0.5 * float(np.sum(np.log(2 * math.pi * v) + mean_square / v))


def row_log_likelihood(weights: sp.csr_array, intercept: Floats, variance: Floats, table: Table) -> float:
    """The mean Gaussian log-likelihood of the rows of a table, in which what was set is not judged."""
    if isinstance(table, LabelledTable):
        return free_log_likelihood(weights, intercept, variance, table.X, table.targets)
    return log_likelihood(squared_residuals(weights, intercept, table.X), variance)


def free_log_likelihood(
    weights: sp.csr_array,
    intercept: Floats,
    variance: Floats,
    X: NDArray[np.floating],
    targets: Targets,
    sample_weight: ArrayLike | None = None,
) -> float:
    """The mean Gaussian log-likelihood of a row of an experiment, in which what was set is not judged.

    Each row is −½ Σ_j (log 2πv_j + r_j² / v_j) over the variables j that were not set in it.
    """
    weight = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    total = log_likelihood(squared_residuals(weights, intercept, X, weight), variance)
    residual_map = sp.csc_array(sp.eye_array(weights.shape[0]) - weights)
    positive = variance[variance > 0]
    v = np.maximum(variance, 1e-9 * float(positive.min(initial=1.0)))
    for j in targets.columns:
        rows = targets.rows_of(j)
        square = (X[rows] @ residual_map[:, [j]].toarray()[:, 0] - intercept[j]) ** 2
        total += 0.5 * float(weight[rows] @ (math.log(2 * math.pi * v[j]) + square / v[j])) / float(weight.sum())
    return total


def squared_residuals(
    weights: sp.csr_array, intercept: Floats, X: NDArray[np.floating], sample_weight: ArrayLike | None = None
) -> Floats:
    """The mean squared residual of each equation, block by block in double precision."""
    residual_map = sp.csr_array(sp.eye_array(weights.shape[0]) - weights)
    weight = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    total = np.zeros(weights.shape[0])
    step = max(1, _BLOCK // weights.shape[0])
    for start in range(0, len(X), step):
        part = slice(start, start + step)
        residual = X[part].astype(np.float64) @ residual_map - intercept
        total += weight[part] @ residual**2
    return np.asarray(total / weight.sum())
