"""What keeps people honest: how far directions rest on units, and whether the noise model fits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psidag.graph.dag import DAG
from psidag.graph.sortability import sortability
from psidag.solution.noise import NoiseModel, fold

Floats = NDArray[np.float64]

#: Residual variances that differ by less than this factor do little harm where they are taken to be equal.
_EQUAL_ENOUGH = 2.0
#: Standard deviations that differ by less than this share look standardised.
_STANDARDISED = 0.01


@dataclass(frozen=True)
class Diagnostics:
    """How much to trust a learned graph; ``print`` shows it in words.

    Attributes
    ----------
    var_sortability : float
        Share of the directed paths of the graph along which the variance rises. Near 1, variance alone almost
        gives the order: least-squares learners are right if the noise is of equal variance in the units given,
        and the directions may turn when a column is rescaled. Near ½, variance says nothing.
    r2_sortability : float
        The same for the share of variance that all other variables explain, which does not depend on units.
    variance_ratio : float
        How many times larger residual variances are at the ninth decile than at the first; 1 when equal.
    rows_per_column : float
        Number of rows over number of columns.
    search : str
        How the search ended, and how sure that is: how often neighbourhoods of the graph were opened and found again,
        how much higher the scores were that others ended with, and which edges graphs of nearly the same score have
        otherwise.
    """

    var_sortability: float
    r2_sortability: float
    variance_ratio: float
    rows_per_column: float
    search: str = ""

    def __str__(self) -> str:
        return "\n".join(
            [
                f"var-sortability   {self.var_sortability:.2f}   share of paths along which variance rises",
                f"R2-sortability    {self.r2_sortability:.2f}   the same for explained variance, whatever the units",
                f"variance ratio    {self.variance_ratio:.2f}   residual variances, ninth decile over first",
                f"rows per column   {self.rows_per_column:.3g}",
                *([f"search            {self.search}"] if self.search else []),
            ]
        )


def diagnose(dag: DAG, variance: Floats, residual_variance: Floats, count: float, search: str = "") -> Diagnostics:
    """Diagnostics of a fitted model, from its own equations: no second look at the data, and sparse throughout."""
    noise = np.where(residual_variance > 0, residual_variance, np.inf)
    W = dag.weights
    # Diagonal of the inverse covariance (I - W) D^-1 (I - W)', whose inverse is the variance given all others.
    precision = 1 / noise + W.multiply(W) @ (1 / noise)
    explained = 1 - 1 / np.maximum(variance * precision, 1.0)
    return Diagnostics(
        var_sortability=sortability(dag, variance),
        r2_sortability=sortability(dag, explained),
        variance_ratio=variance_ratio(residual_variance),
        rows_per_column=count / dag.d,
        search=search,
    )


def variance_ratio(residual_variance: Floats) -> float:
    """The ninth decile of the positive residual variances over the first."""
    positive = residual_variance[residual_variance > 0]
    if len(positive) < 3:
        return 1.0
    low, high = np.quantile(positive, [0.1, 0.9])
    return float(high / low)


def noise_warnings(noise: NoiseModel, variance: Floats) -> list[str]:
    """Whether the assumption on the noise can be right: one sentence for each reason that it is not."""
    if noise.asked == "nongaussian" and noise.contradicted:
        return [
            "noise='nongaussian' was asked for, and no residual differs from Gaussian noise beyond chance: shape tells "
            "no direction here, and those of dag inside its equivalence class are arbitrary. Consider noise='auto'"
        ]
    if noise.chosen != "equal":
        return []
    sd = np.sqrt(variance[variance > 0])
    if noise.asked != "auto" and len(sd) >= 3 and sd.max() < (1 + _STANDARDISED) * sd.min():
        return [
            "all columns have the same variance, as if standardised: the equal-variance model has nothing to go by. "
            "Use noise='unequal', or the data in their own units"
        ]
    if noise.contradicted and noise.ratio is not None and noise.ratio > _EQUAL_ENOUGH:
        advice = "noise='auto'" if noise.asked == "equal" else "solver='sparse'"
        return [
            f"residual variances differ {fold(noise.ratio)} between the largest and the smallest: the noise is not "
            "of equal variance in these units, and not only directions but also which columns are connected follows "
            f"the units. Consider {advice}"
        ]
    return []
