"""Whether the residuals look as the model says: equal variances, normal, and linear in the parents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from psidag.data.labelled import LabelledTable
from psidag.data.sources import Table
from psidag.graph.dag import DAG

Floats = NDArray[np.float64]

#: A node stands out if chance would show the like in one of a hundred tables, all its nodes together.
LEVEL = 0.01
#: Noise variances further apart than this factor from the typical one are worth a word.
_RATIO = 2.0


@dataclass(frozen=True, eq=False)
class ResidualChecks:
    """Residual checks of each variable; ``print`` shows those that stand out.

    Attributes
    ----------
    names : tuple of str
        The variables.
    variance_ratio : array of shape (d,)
        Residual variance over the median of all, which a few odd variables do not move: 1 everywhere if noise
        variances are equal.
    equal_variance_p : float
        p-value of equal residual variances (Brown–Forsythe, which does not need normal residuals).
    skewness, excess_kurtosis : arrays of shape (d,)
        Both 0 for normal residuals.
    normality_p : array of shape (d,)
        p-value of normal residuals (Jarque–Bera).
    nonlinearity_p : array of shape (d,)
        p-value of linearity in the parents (Ramsey's RESET: squares and cubes of the fitted values add nothing);
        not a number for a variable without parents.
    """

    names: tuple[str, ...]
    variance_ratio: Floats
    equal_variance_p: float
    skewness: Floats
    excess_kurtosis: Floats
    normality_p: Floats
    nonlinearity_p: Floats

    def standing_out(self, check: str) -> list[str]:
        """The variables that fail a check, ``"variance"``, ``"normality"`` or ``"linearity"``; worst first."""
        d = len(self.names)
        if check == "variance":
            distance = np.abs(np.log(np.maximum(self.variance_ratio, np.finfo(float).tiny)))
            differ = self.equal_variance_p < LEVEL
            ranked = sorted(np.flatnonzero(differ & (distance > np.log(_RATIO))), key=lambda j: -distance[j])
        else:
            p = {"normality": self.normality_p, "linearity": self.nonlinearity_p}[check]
            ranked = sorted(np.flatnonzero(p * d < LEVEL), key=lambda j: p[j])
        return [self.names[int(j)] for j in ranked]

    def to_pandas(self) -> Any:
        """One row a variable."""
        import pandas as pd

        columns = ("variance_ratio", "skewness", "excess_kurtosis", "normality_p", "nonlinearity_p")
        return pd.DataFrame({key: getattr(self, key) for key in columns}, index=list(self.names))

    def __str__(self) -> str:
        d = len(self.names)
        lines = []
        for check, fine, failed in (
            ("variance", "noise variances are within a factor of two", "noise variance is unlike the others"),
            ("normality", "residuals look normal", "residuals are not normal"),
            ("linearity", "relations to parents look linear", "relation to its parents is not linear"),
        ):
            found = self.standing_out(check)
            if not found:
                lines.append(f"{check:<10} {fine}")
                continue
            shown = ", ".join(f"{name} ({self._detail(check, name)})" for name in found[:5])
            more = f" and {len(found) - 5} more" if len(found) > 5 else ""
            lines.append(f"{check:<10} {failed} in {len(found)} of {d}: {shown}{more}")
        return "\n".join(lines)

    def _detail(self, check: str, name: str) -> str:
        j = self.names.index(name)
        if check == "variance":
            return f"x{self.variance_ratio[j]:.2g}"
        if check == "normality":
            return f"skewness {self.skewness[j]:.2g}, excess kurtosis {self.excess_kurtosis[j]:.2g}"
        return f"p = {self.nonlinearity_p[j]:.1g}"


def check_residuals(table: Table, dag: DAG, intercept: Floats) -> ResidualChecks:
    """Residuals of each variable's equation on these rows but those in which it was set, one variable at a time."""
    d, whole = dag.d, table.X
    counts = np.full(d, len(whole))
    columns = sp.csc_array(dag.weights)
    variance, skewness, kurtosis = np.zeros(d), np.zeros(d), np.zeros(d)
    nonlinearity = np.full(d, np.nan)
    distance_mean, distance_square = np.zeros(d), np.zeros(d)
    for j in range(d):
        part = slice(int(columns.indptr[j]), int(columns.indptr[j + 1]))
        parents = columns.indices[part]
        X = whole[table.free(j)] if isinstance(table, LabelledTable) and j in table.targets.columns else whole
        if not len(X):
            continue
        n = counts[j] = len(X)
        fitted = X[:, parents].astype(np.float64) @ columns.data[part]
        residual = X[:, j] - intercept[j] - fitted
        residual = residual - residual.mean()
        variance[j] = float(residual @ residual) / n
        # Rounding leaves a constant column residuals of its own; they mean nothing.
        if variance[j] > (1e-12 * float(np.abs(X[:, j]).max())) ** 2:
            scaled = residual / np.sqrt(variance[j])
            skewness[j], kurtosis[j] = float(np.mean(scaled**3)), float(np.mean(scaled**4)) - 3.0
            away = np.abs(residual - np.median(residual))
            distance_mean[j], distance_square[j] = away.mean(), float(away @ away) / n
            if len(parents) and n > len(parents) + 10:
                nonlinearity[j] = _reset_p(X[:, parents].astype(np.float64), fitted, residual)
    alive = distance_square > 0
    normality = _chi2_tail(counts / 6 * (skewness**2 + kurtosis**2 / 4))
    positive = variance[alive]
    typical = float(np.median(positive)) if len(positive) else 1.0
    return ResidualChecks(
        names=dag.names,
        variance_ratio=np.where(alive, variance / typical, np.nan),
        equal_variance_p=_equal_variance_p(distance_mean[alive], distance_square[alive], len(whole)),
        skewness=skewness,
        excess_kurtosis=kurtosis,
        normality_p=np.where(alive, normality, np.nan),
        nonlinearity_p=nonlinearity,
    )


def _reset_p(parents: Floats, fitted: Floats, residual: Floats) -> float:
    """Whether squares and cubes of the fitted values explain the residuals beyond the parents: an F test."""
    from scipy.special import fdtrc

    n, p = parents.shape
    spread = float(fitted.std())
    if spread == 0:
        return float("nan")
    z = (fitted - fitted.mean()) / spread
    basis, _ = scipy.linalg.qr(np.column_stack([np.ones(n), parents]), mode="economic", check_finite=False)
    powers = np.column_stack([z**2, z**3])
    powers -= basis @ (basis.T @ powers)
    residual = residual - basis @ (basis.T @ residual)
    extra, _ = scipy.linalg.qr(powers, mode="economic", check_finite=False)
    explained = float(np.sum((extra.T @ residual) ** 2))
    left = float(residual @ residual) - explained
    freedom = n - p - 3
    if left <= 0:
        return float("nan")
    return float(fdtrc(2, freedom, explained / 2 / (left / freedom)))


def _equal_variance_p(mean: Floats, square: Floats, n: int) -> float:
    """Brown & Forsythe: do the distances from the medians have the same mean in every variable."""
    from scipy.special import fdtrc

    d = len(mean)
    if d < 2:
        return float("nan")
    between = n * float(np.sum((mean - mean.mean()) ** 2)) / (d - 1)
    within = n * float(np.sum(square - mean**2)) / (d * (n - 1))
    return float(fdtrc(d - 1, d * (n - 1), between / within)) if within > 0 else float("nan")


def _chi2_tail(statistic: Floats) -> Floats:
    """P(χ² with two degrees of freedom > statistic)."""
    return np.exp(-statistic / 2)
