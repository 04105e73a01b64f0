"""From a score difference to the probability that a direction is right: curves recorded from simulated tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Below this probability an edge is undirected.
MARK = 0.95


class Curve(NamedTuple):
    """Points of a rising curve, Δ to probability, and straight lines between them."""

    delta: tuple[float, ...]
    probability: tuple[float, ...]

    def __call__(self, delta: Floats) -> Floats:
        """The probability that a direction of this Δ is right; one minus that of the other where Δ is negative."""
        found = np.interp(np.abs(delta), self.delta, self.probability)
        return np.asarray(np.where(delta > 0, found, np.where(delta < 0, 1 - found, 0.5)))

    @property
    def mark(self) -> float:
        """The Δ from which on the direction is claimed."""
        return float(np.interp(MARK, self.probability, self.delta))


#: Fitted on some seeds of ``benchmarks/directions.py calibration`` and judged on others (``benchmarks/directions.md``).
CURVES: Mapping[str, Curve] = {
    "collider": Curve((0.0, 3.0, 6.0, 8.5, 12.0, 20.0), (0.55, 0.7, 0.88, 0.95, 0.98, 0.998)),
    "equal variances": Curve((0.0, 3.0, 6.0, 8.5, 12.0, 20.0), (0.55, 0.7, 0.88, 0.95, 0.98, 0.998)),
    "shape": Curve((0.0, 3.0, 6.0, 12.0, 20.0, 40.0), (0.55, 0.7, 0.85, 0.95, 0.98, 0.99)),
}

#: From log-odds over all graphs of a small table to the probability that a collider's arrow is right.
ODDS = Curve((0.0, 1.5, 2.5, 3.25, 4.0, 5.5, 7.0), (0.5, 0.7, 0.84, 0.91, 0.95, 0.98, 0.995))


def discoveries(p_values: Floats, level: float = 1 - MARK) -> NDArray[np.bool_]:
    """Which of many hypotheses to reject, so that of the rejected ones at most this share is true on average.

    Examples
    --------
    >>> import numpy as np
    >>> discoveries(np.array([0.001, 0.02, 0.5, 0.04])).tolist()
    [True, True, False, False]

    References
    ----------
    Benjamini & Hochberg (1995), "Controlling the false discovery rate".
    """
    count = len(p_values)
    order = np.argsort(p_values, kind="stable")
    passed = np.flatnonzero(p_values[order] <= level * np.arange(1, count + 1) / max(count, 1))
    found = np.zeros(count, dtype=bool)
    if len(passed):
        found[order[: passed[-1] + 1]] = True
    return found
