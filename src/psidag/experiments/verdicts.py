"""How a claim is answered: with a number of runs and an interval; an effect that is not there confirms nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from psidag.experiments.table import Row

Answer = Literal["confirmed", "not confirmed", "undecided", "not testable here"]
Rows = Sequence[Row]

#: Quantile of the normal distribution for intervals of 95 %.
_Z = 1.96


class Verdict(NamedTuple):
    """An answer with the numbers behind it."""

    answer: Answer
    numbers: str


class Claim(NamedTuple):
    """A sentence of the paper, where it stands, and how it is answered."""

    says: str
    where: str
    judge: Callable[[Rows], Verdict]


@dataclass(frozen=True)
class Share:
    """A count out of a number of trials, with Wilson's interval of 95 % for the chance of one."""

    count: int
    total: int

    @property
    def low(self) -> float:
        """The lower end."""
        return self._centre() - self._half()

    @property
    def high(self) -> float:
        """The upper end."""
        return self._centre() + self._half()

    def above(self, level: float) -> Answer:
        """Whether the chance is above the level, as far as the interval tells."""
        if not self.total:
            return "not testable here"
        return "confirmed" if self.low > level else "not confirmed" if self.high < level else "undecided"

    def _centre(self) -> float:
        n = max(1, self.total)
        return (self.count / n + _Z**2 / (2 * n)) / (1 + _Z**2 / n)

    def _half(self) -> float:
        n = max(1, self.total)
        p = self.count / n
        return _Z * math.sqrt(p * (1 - p) / n + _Z**2 / (4 * n * n)) / (1 + _Z**2 / n)

    def __str__(self) -> str:
        return f"{self.count:,} of {self.total:,} ({max(0.0, 100 * self.low):.0f}–{min(100.0, 100 * self.high):.0f} %)"


class Estimate(NamedTuple):
    """A mean of several runs with its interval of 95 %."""

    mean: float
    low: float
    high: float
    runs: int

    def __str__(self) -> str:
        return f"{self.mean:.2f} ({self.low:.2f} to {self.high:.2f}, {self.runs} runs)"


def estimate(values: Sequence[float]) -> Estimate:
    """The mean with an interval by Student's t; nan without two values."""
    found = np.array([value for value in values if math.isfinite(value)])
    if len(found) < 2:
        return Estimate(float(found.mean()) if len(found) else math.nan, math.nan, math.nan, len(found))
    from scipy.stats import t

    half = float(t.ppf(0.975, len(found) - 1) * found.std(ddof=1) / math.sqrt(len(found)))
    return Estimate(float(found.mean()), float(found.mean()) - half, float(found.mean()) + half, len(found))


def log_spread(seconds: Sequence[float]) -> Estimate:
    """The standard deviation of the logarithm of times, with its interval by the χ² distribution."""
    found = np.log([value for value in seconds if value > 0 and math.isfinite(value)])
    k = len(found) - 1
    if k < 1:
        return Estimate(math.nan, math.nan, math.nan, len(found))
    from scipy.stats import chi2

    sd = float(found.std(ddof=1))
    low, high = (sd * math.sqrt(k / float(chi2.ppf(q, k))) for q in (0.975, 0.025))
    return Estimate(sd, low, high, len(found))


def together(answers: Sequence[Answer]) -> Answer:
    """Of a claim with several parts: as good as the worst of them."""
    worst_first: tuple[Answer, ...] = ("not testable here", "not confirmed", "undecided")
    for worst in worst_first:
        if worst in answers:
            return worst
    return "confirmed" if answers else "not testable here"


def untested(why: str) -> Verdict:
    """There is nothing to go by."""
    return Verdict("not testable here", why)
