"""The standard noises: what a model's scale multiplies, with their means and variances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psidag.system.errors import InputError

Draw = Callable[[np.random.Generator, tuple[int, ...]], NDArray[np.float64]]

#: Degrees of freedom of a plain ``"student_t"``.
DEGREES_OF_FREEDOM = 5.0


@dataclass(frozen=True)
class Noise:
    """A distribution of unit scale: its mean and variance, and how to draw from it.

    Examples
    --------
    >>> import numpy as np
    >>> noise = standard_noise("uniform")
    >>> round(noise.mean, 6), round(noise.variance, 6)
    (0.0, 0.333333)
    """

    name: str
    mean: float
    variance: float
    draw: Draw


def _student_t(df: float) -> Noise:
    if not 2 < df < np.inf:
        raise InputError(f"Student's t needs more than 2 degrees of freedom to have a variance; got {df:g}")
    return Noise(f"student_t:{df:g}", 0.0, df / (df - 2), lambda rng, size: rng.standard_t(df, size))


_STANDARD = {
    noise.name: noise
    for noise in (
        Noise("gaussian", 0.0, 1.0, lambda rng, size: rng.standard_normal(size)),
        Noise("exponential", 1.0, 1.0, lambda rng, size: rng.standard_exponential(size)),
        Noise("gumbel", float(np.euler_gamma), np.pi**2 / 6, lambda rng, size: rng.gumbel(size=size)),
        Noise("laplace", 0.0, 2.0, lambda rng, size: rng.laplace(size=size)),
        Noise("uniform", 0.0, 1 / 3, lambda rng, size: rng.uniform(-1.0, 1.0, size)),
    )
}

#: What may be asked for by name.
NOISES = (*_STANDARD, "student_t")


def standard_noise(name: str) -> Noise:
    """The noise of a name: N(0,1), Exp(1), Gumbel(0,1), Laplace(0,1), U(−1,1) or Student's t.

    ``"student_t"`` has 5 degrees of freedom, ``"student_t:3"`` has 3. Draws are as the distribution has them,
    neither centred nor brought to variance 1: Exp(1) has mean 1.

    Examples
    --------
    >>> standard_noise("student_t:4").variance
    2.0
    """
    if name in _STANDARD:
        return _STANDARD[name]
    kind, _, df = name.partition(":")
    if kind == "student_t":
        try:
            return _student_t(float(df) if df else DEGREES_OF_FREEDOM)
        except ValueError as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{name!r}: degrees of freedom are a number, as in 'student_t:3'") from None
    raise InputError(f"there is no noise named {name!r}; choose from {', '.join(NOISES)} (or 'student_t:df')")
