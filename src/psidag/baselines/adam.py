"""Adam's direction, with as few passes over memory as NumPy allows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from psidag.baselines.baseline import Floats
from psidag.system.tree import stored_array


class Adam:
    """m̂ / (√v̂ + ε) from the gradients seen so far.

    The running sums are kept without their factors 1 − β, which go into one scalar at the end: nine passes
    instead of the formula's sixteen.

    References
    ----------
    Kingma & Ba (2015), "Adam: a method for stochastic optimization", Algorithm 1.
    """

    epsilon = 1e-8

    def __init__(self, d: int, beta1: float, beta2: float) -> None:
        self.beta1, self.beta2 = beta1, beta2
        self.count = 0
        self._first = np.zeros((d, d))
        self._second = np.zeros((d, d))

    def dump(self) -> tuple[int, Floats, Floats]:
        """What :meth:`restore` needs."""
        return self.count, self._first, self._second

    def restore(self, held: Any) -> Adam:
        """Go on from sums that were dumped; returns itself."""
        count, first, second = held
        self.count = int(count)
        self._first, self._second = (stored_array(each, self._first.shape) for each in (first, second))
        return self

    def direction(self, gradient: Floats) -> Floats:
        """Where to go against; written over the gradient."""
        self.count += 1
        first = (1 - self.beta1) / (1 - self.beta1**self.count)
        second = math.sqrt((1 - self.beta2) / (1 - self.beta2**self.count))
        self._first *= self.beta1
        self._first += gradient
        np.multiply(gradient, gradient, out=gradient)
        self._second *= self.beta2
        self._second += gradient
        np.sqrt(self._second, out=gradient)
        gradient += self.epsilon / second
        np.divide(self._first, gradient, out=gradient)
        gradient *= first / second
        return gradient
