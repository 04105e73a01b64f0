"""One variable from the others, by the linear Gaussian model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psidag.data.containers import as_rows
from psidag.graph.dag import DAG
from psidag.system.errors import InputError, listing

Floats = NDArray[np.float64]


class Predictor(NamedTuple):
    """x̂ = constant + Σ coefficient · column."""

    columns: NDArray[np.intp]
    coefficients: Floats
    constant: float


def from_parents(dag: DAG, intercept: Floats, target: int) -> Predictor:
    """The equation of the target itself."""
    column = sp.coo_array(dag.weights[:, [target]])
    return Predictor(column.row.astype(np.intp), column.data, float(intercept[target]))


def from_others(dag: DAG, mean: Floats, noise_variance: Floats, target: int) -> Predictor:
    """The conditional mean of the target given all others, from its row of the precision matrix.

    Θ = (I − W) Ω⁻¹ (I − W)ᵀ, and E[x_j | rest] = μ_j − Σ_k Θ_jk / Θ_jj (x_k − μ_k). Only the Markov blanket has
    coefficients: parents, children and their other parents.
    """
    positive = noise_variance[noise_variance > 0]
    # An equation without noise is taken to have a little, far less than any other.
    floor = 1e-9 * float(positive.min(initial=1.0))
    remainder = sp.csr_array(sp.eye_array(dag.d) - dag.weights)
    row = sp.csr_array(remainder[[target], :]) @ sp.diags_array(1 / np.maximum(noise_variance, floor))
    precision = sp.coo_array(row @ remainder.T)
    own = float(precision.data[precision.col == target].sum())
    others = (precision.col != target) & (precision.data != 0)
    columns = precision.col[others].astype(np.intp)
    coefficients = -precision.data[others] / own
    return Predictor(columns, coefficients, float(mean[target] - coefficients @ mean[columns]))


def apply(predictor: Predictor, data: Any, names: Sequence[str], target: str) -> Floats:
    """Predictions for rows: a table with (at least) the columns that are used, or an array with all of them."""
    rows, found = as_rows(data)
    if isinstance(data, np.ndarray | list):
        if rows.shape[1] != len(names):
            raise InputError(
                f"an array must have all {len(names)} columns, that of {target!r} too (it is not looked at); this "
                f"has {rows.shape[1]}. A table with names needs only those that are used"
            )
        where = predictor.columns
    else:
        needed = [names[int(k)] for k in predictor.columns]
        lacking = [name for name in needed if name not in found]
        if lacking:
            raise InputError(f"predicting {target!r} takes columns that are not there: {listing(lacking)}")
        where = np.array([found.index(name) for name in needed], dtype=np.intp)
    predicted: Floats = predictor.constant + rows[:, where].astype(np.float64) @ predictor.coefficients
    return predicted
