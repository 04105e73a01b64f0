"""Nearly equal variances: a prior on the spread of noise variances, from equal ones to variances of any size."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: A Gaussian sample's variance has a squared relative standard error of two over its size.
GAUSSIAN_SPREAD = 2.0


class Prior(NamedTuple):
    """log σ²_j ~ N(centre, spread²) for the noise variances σ²_j of a table.

    A node of residual variance v pays (log v − centre)² / (spread² + c / n), where c / n is the squared standard error
    of log v: 2 / n for Gaussian noise, (kurtosis − 1) / n in general. A spread of 0 makes all variances equal; an
    infinite one makes nothing of them.
    """

    centre: float
    spread2: float
    error2: float

    def cost(self, log_variance: Floats) -> Floats:
        """What the residual variances of nodes cost, in units of twice the log-likelihood."""
        return np.asarray((log_variance - self.centre) ** 2 / (self.spread2 + self.error2))


def estimate_prior(residual_variance: Floats, count: float, kurtosis: float = 3.0) -> Prior:
    """The prior that the residual variances of a graph speak for.

    Centre and spread are the median and the median absolute deviation of their logarithms, so that a few columns in
    other units, and nodes that still have the wrong parents, do not count for much.

    Examples
    --------
    >>> import numpy as np
    >>> estimate_prior(np.full(10, 4.0), 1000).spread2
    0.0
    >>> bool(estimate_prior(np.exp(np.linspace(-3, 3, 11)), 1000).spread2 > 1)
    True
    """
    logs = np.log(residual_variance[residual_variance > 0])
    error2 = max(kurtosis - 1.0, 0.1) / max(count, 1.0)
    if not len(logs):
        return Prior(0.0, np.inf, error2)
    centre = float(np.median(logs))
    spread = 1.4826 * float(np.median(np.abs(logs - centre)))
    return Prior(centre, max(0.0, spread**2 - error2), error2)
