"""The shape of noise: how far standardised residuals are from Gaussian, and which columns have a shape at all."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# The entropy of a variable u of mean 0 and variance 1, by the two numbers E f(u) and E g(u) with
#     f(u) = 1 / (1 + u²/4),    g(u) = u / (1 + u²/4):
# of all densities with these moments the one of largest entropy that is close to Gaussian lies
#     k_f (E f(u) − E f(z))² + k_g (E g(u))²
# below the Gaussian entropy (Hyvärinen 1998, equation 16), where z is Gaussian, k = 1 / (2 variance) and the variance
# is that of f(z) or g(z) left over by 1, z and z². On pairs of variables these functions tell cause from effect as
# often as log cosh u and u exp(−u²/2) do, from one division for each row. Both are bounded, so that no outlier counts
# for more than a few ordinary rows.
EVEN_MEAN = 0.8427384585869764
EVEN_FACTOR = 175.3152886421453
ODD_FACTOR = 15.780085108246583

#: Rows that a column is looked at for ties, at equal distances.
_LOOKED_AT = 256
#: A column that shows no more different values in them, or one of them in a larger share, has no density to speak of.
_FEW_VALUES, _TIED = 40, 0.1
#: Fewer rows say nothing about shape.
LEAST_ROWS = 30


def negentropy(even: Floats, odd: Floats) -> Floats:
    """Gaussian entropy less that of variables with these means of f and g; 0 for a Gaussian one.

    Examples
    --------
    >>> import numpy as np
    >>> float(negentropy(np.array([EVEN_MEAN]), np.array([0.0]))[0])
    0.0
    """
    return np.asarray(EVEN_FACTOR * (even - EVEN_MEAN) ** 2 + ODD_FACTOR * odd**2)


def shape_p_values(negentropies: Floats, count: float) -> Floats:
    """p-value of Gaussian noise for each residual: 2 n times its negentropy is about χ² with two degrees of freedom."""
    return np.exp(-count * negentropies)


def few_valued(X: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Which columns of a table are of few values: yes or no, counts, grades, or one value again and again.

    Such a column has no density, and the entropy of what is left of it says nothing.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> few_valued(np.column_stack([rng.normal(size=300), rng.integers(5, size=300)]))
    array([False,  True])
    """
    rows = np.sort(X[:: max(1, len(X) // _LOOKED_AT)], axis=0)
    new = np.diff(rows, axis=0) != 0
    distinct = 1 + new.sum(axis=0)
    # One value fills a share of the sorted column if two entries at that distance are equal.
    apart = max(1, math.ceil(_TIED * len(rows)))
    tied = np.any(rows[apart:] == rows[:-apart], axis=0)
    return np.asarray((distinct <= min(_FEW_VALUES, len(rows) // 2)) | tied)
