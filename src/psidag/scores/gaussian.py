"""The equal and the unequal score: Gaussian noise, with one variance for all nodes or one for each."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from psidag.scores.policy import Policy
from psidag.scores.score import Needs
from psidag.scores.statistics import MomentsCost, Statistics

Floats = NDArray[np.float64]


class GaussianScore(ABC):
    """Twice the negative log-likelihood of Gaussian noise: n v / σ², or n log v where each node has its own σ² = v.

    A score of this kind is how its noise variances follow from the residual variances of a graph; the rest is here.
    """

    needs: ClassVar[Needs] = "moments"
    name: ClassVar[str]
    title: ClassVar[str]
    own_variances: ClassVar[bool]
    equal_variances: ClassVar[bool] = False
    policy: ClassVar[Policy]
    misfit_text: ClassVar[str] = "1/2 sum of log residual variances"

    @abstractmethod
    def noise_variance(self, residual_variance: Floats) -> Floats:
        """The most likely noise variance of each node, in the units of the data."""

    def typical_variance(self, residual_variance: Floats) -> float:
        """The mean of residual variances whose logarithm is the score of a graph, for each row and node."""
        v = residual_variance
        s = self.noise_variance(v)
        return math.exp(float(np.mean(np.log(s) + v / s - 1)))

    def misfit(self, residual_variance: Floats) -> float:
        """What the search lowers, without the penalty, for one row."""
        v = residual_variance[residual_variance > 0]
        return 0.5 * len(v) * math.log(self.typical_variance(v)) if len(v) else 0.0

    def bind(self, data: Statistics, penalty: float, residual_variance: Floats) -> MomentsCost:
        """The score on these data, with the noise variances that suit these residual variances best."""
        if self.own_variances:
            return MomentsCost(data, penalty, lambda node, v: math.log(v) if v > 0 else 0.0)
        sigma2 = self.noise_variance(residual_variance)
        return MomentsCost(data, penalty, lambda node, v: v / float(sigma2[node]))


class Equal(GaussianScore):
    """One noise variance for all nodes: Σ_j n v_j / σ² + c |P_j|.

    It depends on the units of the columns and determines the graph.

    Examples
    --------
    >>> import numpy as np
    >>> EQUAL.noise_variance(np.array([1.0, 3.0]))
    array([2., 2.])
    """

    name: ClassVar[str] = "equal"
    title: ClassVar[str] = "equal noise variances"
    own_variances: ClassVar[bool] = False
    equal_variances: ClassVar[bool] = True
    misfit_text: ClassVar[str] = "1/2 mean |x - W'x|^2"
    # A way to a better order is short: longer walks and more levels found no better graphs (benchmarks/engines.md,
    # "noises", judges them).
    policy: ClassVar[Policy] = Policy(levels=(8.0, 2.0, 1.0), reach=5.0, additions=8, grown=True, equivalent=False)

    def noise_variance(self, residual_variance: Floats) -> Floats:
        """Their mean, for every node; constants, which have none, do not count."""
        positive = residual_variance[residual_variance > 0]
        return np.full(len(residual_variance), positive.mean() if len(positive) else 1.0)

    def typical_variance(self, residual_variance: Floats) -> float:
        """Their arithmetic mean."""
        return float(residual_variance.mean())

    def misfit(self, residual_variance: Floats) -> float:
        """The least-squares loss."""
        return 0.5 * float(residual_variance.sum())


class Unequal(GaussianScore):
    """A noise variance for every node: Σ_j n log v_j + c |P_j|.

    It does not depend on units, and determines the graph up to its equivalence class.

    Examples
    --------
    >>> import numpy as np
    >>> round(UNEQUAL.typical_variance(np.array([1.0, 4.0])), 6)
    2.0
    """

    name: ClassVar[str] = "unequal"
    title: ClassVar[str] = "unequal noise variances"
    own_variances: ClassVar[bool] = True
    # The way to a better order leads over higher ground: shorter schedules and walks are twice as fast and get stuck on
    # dense graphs (benchmarks/engines.md, "hard"); openings free nearly all that do even so (benchmarks/stuck.md).
    policy: ClassVar[Policy] = Policy(
        levels=tuple(2.0**k for k in range(9, -1, -1)),
        reach=100.0,
        additions=30,
        grown=False,
        equivalent=True,
    )

    def noise_variance(self, residual_variance: Floats) -> Floats:
        """Each its own."""
        return residual_variance.copy()

    def typical_variance(self, residual_variance: Floats) -> float:
        """Their geometric mean."""
        return math.exp(float(np.log(residual_variance).mean()))

    def misfit(self, residual_variance: Floats) -> float:
        """Half the sum of their logarithms, constants left out."""
        return 0.5 * float(np.log(residual_variance[residual_variance > 0]).sum())


class Proportional(GaussianScore):
    """Noise variances in given proportions: the equal score of the same columns in other units.

    Examples
    --------
    >>> import numpy as np
    >>> Proportional(np.array([1.0, 4.0])).noise_variance(np.array([2.0, 4.0]))
    array([1.5, 6. ])
    """

    name: ClassVar[str] = "proportional"
    title: ClassVar[str] = "noise variances in given proportions"
    own_variances: ClassVar[bool] = False
    policy: ClassVar[Policy] = Equal.policy

    def __init__(self, proportions: Floats) -> None:
        self.proportions = proportions

    def noise_variance(self, residual_variance: Floats) -> Floats:
        """The proportions, by what they are short of on average; constants do not count."""
        shares = residual_variance / self.proportions
        positive = shares[shares > 0]
        return np.asarray(self.proportions * (positive.mean() if len(positive) else 1.0))


EQUAL, UNEQUAL = Equal(), Unequal()
