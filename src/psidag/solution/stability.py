"""Stability selection: edges found in most half-samples, and how many of them are to be expected by chance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from psidag.solution.edges import SupportTable
from psidag.system.errors import InputError

Assumption = Literal["unimodal", "none"]


@dataclass(frozen=True, eq=False)
class Stability:
    """Edges of a support above a threshold, with a bound on the false ones among them; ``print`` says it in words.

    Attributes
    ----------
    edges : SupportTable
        The stable edges. They may close a cycle; :meth:`Confidence.consensus` does not.
    threshold : float
        The support from which on an edge is stable.
    bound : float
        At most this many edges are expected that are stable by chance.
    average : float
        How many edges a replicate has on average.
    possible : int
        How many edges there could be.
    """

    edges: SupportTable
    threshold: float
    bound: float
    average: float
    possible: int

    def __str__(self) -> str:
        head = (
            f"{len(self.edges)} edges in at least {100 * self.threshold:.0f} % of the replicates; "
            f"at most {self.bound:.2g} of them expected by chance"
        )
        return f"{head}\n{self.edges}"


def expected_false(
    threshold: float, average: float, possible: int, pairs: int, assumption: Assumption = "unimodal"
) -> float:
    r"""At most how many edges of low selection probability are expected to be stable.

    With θ = q / p, the average number q of edges in a subsample over the number p that are possible, edges that a
    subsample has with a probability of at most θ number no more than  C θ q  among those of support τ or more, where

        C = 1 / (2τ − 1)                                whatever the distribution (``"none"``),
        C = 1 / (2 (2τ − 1 − 1/2B))                     for ½ + … < τ ≤ ¾  and
        C = 4 (1 − τ + 1/2B) / (1 + 1/B)                for ¾ < τ ≤ 1,  if support is distributed unimodally,

    for B complementary pairs. Meinshausen & Bühlmann (2010), theorem 1, is the first for false edges if all of
    them are equally likely; Shah & Samworth (2013), theorems 1 and 2, need no such assumption. The answer is infinite
    where no bound is known.

    Examples
    --------
    >>> expected_false(0.9, average=20, possible=400, pairs=50, assumption="none")
    1.25
    >>> round(expected_false(0.9, average=20, possible=400, pairs=50), 3)
    0.431
    """
    if assumption not in get_args(Assumption):
        raise InputError(f"assumption must be 'unimodal' or 'none'; got {assumption!r}")
    if threshold > 1 or threshold <= 0.5 or not possible or not pairs:
        return float("inf")
    share = average / possible
    worst = 1 / (2 * threshold - 1)
    factor = worst
    if assumption == "unimodal" and share <= 1 / np.sqrt(3):
        half = 1 / (2 * pairs)
        if threshold > 0.75:
            factor = 4 * (1 - threshold + half) / (1 + 2 * half)
        elif threshold > 0.5 + min(share**2, half + 0.75 * share**2) and threshold > 0.5 + half:
            factor = 1 / (2 * (2 * threshold - 1 - half))
    return min(factor, worst) * share * average


def least_threshold(
    wanted: float, average: float, possible: int, pairs: int, assumption: Assumption = "unimodal"
) -> float:
    """The lowest support, among those that this many pairs can have, at which no more false edges are expected."""
    for times in range(pairs + 2, 2 * pairs + 1):
        if expected_false(times / (2 * pairs), average, possible, pairs, assumption) <= wanted:
            return times / (2 * pairs)
    least = expected_false(1.0, average, possible, pairs, assumption)
    raise InputError(
        f"the bound is {least:.4g} false edges even among those that all replicates have, and {wanted:g} is wanted: "
        "allow more, run more replicates, or raise the penalty so that replicates have fewer edges"
    )
