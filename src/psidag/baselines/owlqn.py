"""Minimise a smooth function plus an ℓ1 penalty by quasi-Newton steps that can be interrupted."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from psidag.baselines.baseline import Floats

#: Value and gradient of the smooth part.
Smooth = Callable[[Floats], tuple[float, Floats]]

_MEMORY = 10
#: The tolerances of SciPy's L-BFGS-B: relative decrease, and largest entry of the gradient.
_LEAST_DECREASE, _LEAST_GRADIENT = 2.2e-9, 1e-5
_SUFFICIENT = 1e-4
_HALVINGS = 60


class Descent(NamedTuple):
    """An iterate, its value and smooth gradient, and the last pairs of (step, change of gradient)."""

    x: Floats
    value: float
    gradient: Floats
    pairs: tuple[tuple[Floats, Floats], ...] = ()
    iterations: int = 0
    evaluations: int = 1
    converged: bool = False


def start(smooth: Smooth, penalty: Floats, x: Floats) -> Descent:
    """The state at x."""
    value, gradient = smooth(x)
    return Descent(x, value + float(np.vdot(penalty, np.abs(x))), gradient)


def advance(smooth: Smooth, penalty: Floats, state: Descent, iterations: int) -> Descent:
    """At most this many iterations towards argmin f(x) + Σ penalty |x|, fewer if they converge.

    OWL-QN: an L-BFGS direction from the pseudo-gradient, without the components that disagree with it, and a
    line search that stays in the orthant the pseudo-gradient points to. Where the penalty is zero, it is
    plain L-BFGS. One evaluation is enough in most iterations, against doubled variables and twice the
    evaluations in the L-BFGS-B of the original NOTEARS.

    References
    ----------
    Andrew & Gao (2007), "Scalable training of L1-regularized log-linear models", section 3.2.
    """
    x, value, gradient, pairs, done, evaluations, converged = state
    penalised = penalty > 0
    last = done + iterations
    while done < last and not converged:
        sign = np.sign(x)
        slope = _pseudo_gradient(gradient, penalty, sign)
        if np.abs(slope).max(initial=0.0) <= _LEAST_GRADIENT:
            converged = True
            break
        direction = _against(slope, pairs)
        direction[penalised & (direction * slope >= 0)] = 0.0
        orthant = np.where(sign != 0, sign, -np.sign(slope))
        length = 1.0 if pairs else min(1.0, 1.0 / float(np.abs(slope).sum()))
        for _ in range(_HALVINGS):
            trial = x + length * direction
            trial[penalised & (trial * orthant <= 0)] = 0.0
            trial_value, trial_gradient = smooth(trial)
            trial_value += float(np.vdot(penalty, np.abs(trial)))
            evaluations += 1
            moved = trial - x
            if trial_value <= value + _SUFFICIENT * float(np.vdot(slope, moved)):
                break
            length /= 2
        else:
            converged = True
            break
        turned = trial_gradient - gradient
        if np.vdot(moved, turned) > 1e-10 * np.vdot(turned, turned):
            pairs = (*pairs[-_MEMORY + 1 :], (moved, turned))
        converged = value - trial_value <= _LEAST_DECREASE * max(abs(value), abs(trial_value), 1.0)
        x, value, gradient = trial, trial_value, trial_gradient
        done += 1
    return Descent(x, value, gradient, pairs, done, evaluations, converged)


def _pseudo_gradient(gradient: Floats, penalty: Floats, sign: Floats) -> Floats:
    """The one-sided derivative of least size: g + penalty sign x, or g shrunk by the penalty where x = 0."""
    at_zero = np.sign(gradient) * np.maximum(np.abs(gradient) - penalty, 0.0)
    return np.where(sign != 0, gradient + penalty * sign, at_zero)


def _against(slope: Floats, pairs: tuple[tuple[Floats, Floats], ...]) -> Floats:
    """−H slope by the two loops of L-BFGS."""
    q = -slope
    shares = []
    for moved, turned in reversed(pairs):
        share = float(np.vdot(moved, q) / np.vdot(moved, turned))
        q -= share * turned
        shares.append(share)
    if pairs:
        moved, turned = pairs[-1]
        q *= np.vdot(moved, turned) / np.vdot(turned, turned)
    for (moved, turned), share in zip(pairs, reversed(shares), strict=True):
        q += (share - float(np.vdot(turned, q) / np.vdot(moved, turned))) * moved
    return q
