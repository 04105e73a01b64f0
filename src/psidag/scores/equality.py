"""Are noise variances equal? A test of residual variances that heavy tails do not mislead, judged by the extremes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.special
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Equal variances are rejected below this p-value.
LEVEL = 0.01
#: Noise cannot have a much lower kurtosis: that of two values is 1, of uniform noise 1.8.
_LEAST_KURTOSIS = 1.5
#: That of Gaussian noise.
GAUSSIAN_KURTOSIS = 3.0


class Equality(NamedTuple):
    """How far residual variances are from equal.

    Attributes
    ----------
    p_value : float
        Of one variance for all: small if a single one stands out, or if all of them spread too far.
    ratio : float
        The largest residual variance over the smallest.
    least, most : int
        The columns of these two.
    excess : float
        What their spread costs in units of twice the log-likelihood, scaled as the kurtosis of the noise asks for.
    """

    p_value: float
    ratio: float
    least: int
    most: int
    excess: float

    @property
    def rejected(self) -> bool:
        """Whether variances are not equal."""
        return self.p_value < LEVEL


def equality_of(
    residual_variance: Floats, count: float, parents: NDArray[np.integer], kurtosis: Floats | None = None
) -> Equality:
    """Test whether residual variances are estimates of one noise variance.

    An estimate from n rows of noise of kurtosis κ has the relative variance (κ − 1) / n, as if it were χ² with
    2n / (κ − 1) degrees of freedom. Each column is given the larger of its own kurtosis and the median of all: the
    variance of heavy-tailed noise is far off where a few rows are, and these rows show in the kurtosis.

    Parameters
    ----------
    residual_variance : array of shape (d,)
        Mean squares of residuals; those of constants, which are 0, do not count.
    count : float
        Number of rows.
    parents : array of shape (d,)
        How many parents each node has.
    kurtosis : array of shape (d,), optional
        Of the residuals; that of Gaussian noise by default.

    Examples
    --------
    >>> import numpy as np
    >>> none = np.zeros(3, int)
    >>> equality_of(np.array([1.0, 1.1, 0.95]), 100, none).rejected
    False
    >>> equality_of(np.array([1.0, 1.1, 1e6]), 100, none).rejected
    True
    """
    live = np.flatnonzero(residual_variance > 0)
    if len(live) < 2:
        return Equality(1.0, 1.0, 0, 0, 0.0)
    v = residual_variance[live]
    freedom = np.maximum(count - 1.0 - parents[live], 1.0)
    own = np.full(len(live), GAUSSIAN_KURTOSIS) if kurtosis is None else kurtosis[live]
    own = np.maximum(np.maximum(own, np.median(own)), _LEAST_KURTOSIS)
    nu = 2.0 * freedom / (own - 1.0)
    # The logarithm of χ²_ν / ν has the mean ψ(ν/2) − log(ν/2) and the variance ψ′(ν/2).
    logs = np.log(v * count / freedom) - (scipy.special.psi(nu / 2) - np.log(nu / 2))
    error2 = scipy.special.polygamma(1, nu / 2)
    middle = float(np.median(logs))
    ratio = np.exp(np.clip(logs - middle, -700, 700))
    tail = np.minimum(scipy.special.chdtrc(nu, nu * ratio), scipy.special.chdtr(nu, nu * ratio))
    extreme = -np.expm1(2 * len(v) * np.log1p(-min(float(tail.min()), 0.5)))
    mean = float(np.average(logs, weights=1 / error2))
    spread = float(np.sum((logs - mean) ** 2 / error2))
    p_spread = float(scipy.special.chdtrc(len(v) - 1, spread))
    low, high = int(np.argmin(v)), int(np.argmax(v))
    p_value = min(1.0, 2 * min(float(extreme), p_spread))
    ratio_of_ends = float(np.exp(min(np.log(v[high]) - np.log(v[low]), 700.0)))
    return Equality(p_value, ratio_of_ends, int(live[low]), int(live[high]), spread)
