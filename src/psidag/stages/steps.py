"""Step rules: how far to go along a stochastic gradient, decided from a few inner products."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

from psidag.system.errors import InputError


class Measured(NamedTuple):
    """Inner products at the present point W with stochastic gradient G, and along the move that led here."""

    size: float
    """|W|²"""
    slope: float
    """<W, G>"""
    steepness: float
    """|G|²"""
    moved: float = 0.0
    """|move|²"""
    bend: float = 0.0
    """<move, G - G before>, a noisy look at the curvature along the move"""


class Step(NamedTuple):
    """The next point is ``shrink * (W - length * G)``."""

    length: float
    shrink: float = 1.0


class StepRule(Protocol):
    """Turns what was measured into the next step; hyper-parameters are frozen, the state goes through."""

    def init(self, trial: Measured, radius: float) -> Any:
        """The state before the first step, from a trial step of length ``radius`` that is not kept."""
        ...

    def step(self, state: Any, here: Measured) -> Step:
        """How to move on from here."""
        ...

    def update(self, state: Any, here: Measured) -> Any:
        """The state after a move, from what was measured at its end."""
        ...


class Curvature(NamedTuple):
    """State of :class:`Universal`: the inverse step length H and the radius of the ball."""

    H: float
    radius: float


@dataclass(frozen=True)
class Universal:
    """The universal stochastic gradient method on a ball of radius D around zero.

    x⁺ = proj(x − g / H);  H⁺ = H + max(0, β − H r² / 2) / (D² + r² / 2)  with β = <x⁺ − x, g⁺ − g>, r = |x⁺ − x|.

    It needs neither the smoothness nor the noise level: H grows by what the gradients disclose. The answer
    is the average of the iterates.

    Parameters
    ----------
    radius : float, optional
        D. By default the engine finds it from the data; anything from 1 to 8 times the norm of the solution
        works about equally well, less does not.

    Examples
    --------
    >>> from psidag import Stochastic, Universal
    >>> Stochastic(rule=Universal(radius=10.0)).rule.radius
    10.0

    References
    ----------
    Rodomanov, Kavis, Wu, Antonakopoulos & Cevher, Universal gradient methods for stochastic convex
    optimization (2024), Algorithm 4.1.
    """

    radius: float | None = None

    def __post_init__(self) -> None:
        if self.radius is not None and not self.radius > 0:
            raise InputError(f"radius must be positive, or None to have it found; got {self.radius!r}")

    def init(self, trial: Measured, radius: float) -> Curvature:
        """H from the trial step; where noise hides the curvature, a first step of length D."""
        D = self.radius or radius
        H = max(0.0, trial.bend) / (D * D + trial.moved / 2)
        return Curvature(H if H > 0 else math.sqrt(trial.steepness) / D, D)

    def step(self, state: Curvature, here: Measured) -> Step:
        """A step of 1/H, then back onto the ball."""
        if here.steepness == 0:
            return Step(0.0)
        # H is still 0 where the first gradients were: then a first step of length D, as in `init`.
        length = 1.0 / state.H if state.H > 0 else state.radius / math.sqrt(here.steepness)
        reached = here.size - 2 * length * here.slope + length**2 * here.steepness
        return Step(length, min(1.0, state.radius / math.sqrt(reached)) if reached > 0 else 1.0)

    def update(self, state: Curvature, here: Measured) -> Curvature:
        """H grows where the gradient changed more than H accounts for."""
        excess = max(0.0, here.bend - state.H * here.moved / 2)
        return state._replace(H=state.H + excess / (state.radius**2 + here.moved / 2))


class Count(NamedTuple):
    """State of :class:`SGD`: the first step length and the number of steps taken."""

    first: float
    steps: int


@dataclass(frozen=True)
class SGD:
    """Plain stochastic gradient descent: x⁺ = x − h_k g.

    Parameters
    ----------
    step_size : float, optional
        h₀. By default half the inverse of the curvature that a trial step shows.
    schedule : {"constant", "sqrt", "linear"}
        h_k = h₀, h₀ / √(1 + k/100) or h₀ / (1 + k/100).

    Examples
    --------
    >>> from psidag import SGD, Stochastic
    >>> Stochastic(rule=SGD(step_size=0.01, schedule="sqrt")).rule.schedule
    'sqrt'
    """

    step_size: float | None = None
    schedule: Literal["constant", "sqrt", "linear"] = "constant"

    def __post_init__(self) -> None:
        if self.step_size is not None and not self.step_size > 0:
            raise InputError(f"step_size must be positive, or None to have it found; got {self.step_size!r}")
        if self.schedule not in ("constant", "sqrt", "linear"):
            raise InputError(f"schedule must be 'constant', 'sqrt' or 'linear'; got {self.schedule!r}")

    def init(self, trial: Measured, radius: float) -> Count:
        """The first step length."""
        if self.step_size is not None:
            return Count(self.step_size, 0)
        curvature = trial.bend / trial.moved if trial.moved > 0 else 0.0
        return Count(0.5 / curvature if curvature > 0 else radius / math.sqrt(trial.steepness or 1.0), 0)

    def step(self, state: Count, here: Measured) -> Step:
        """The scheduled length."""
        age = 1 + state.steps / 100
        return Step(state.first / {"constant": 1.0, "sqrt": math.sqrt(age), "linear": age}[self.schedule])

    def update(self, state: Count, here: Measured) -> Count:
        """One step more."""
        return state._replace(steps=state.steps + 1)
