"""What the paper claims about orders, rates and rounds: answered from exact minima, constants and short runs."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from psidag.experiments.summaries import fall
from psidag.experiments.table import GOAL
from psidag.experiments.theory import random_orders, rate, settling
from psidag.experiments.verdicts import Claim, Rows, Share, Verdict, estimate, untested

#: A ratio to a bound that grows by this factor while T grows tenfold speaks against its power.
_GROWS = 1.5


def _random_orders(rows: Rows) -> Verdict:
    """No run within an order ends below the least loss that weights within it can have, which is known exactly."""
    runs = [r for r in rows if r.method == "order-random"]
    true = [r for r in rows if r.method == "order-true" and r.graph == "ER4"]
    if not true:
        return untested("the true order was not run")
    found = random_orders()
    met, share = sum(r.reached for r in runs), Share(int((found.gaps <= GOAL).sum()), len(found.gaps))
    best, worst = float(found.gaps.min()), max(r.gap for r in true)
    numbers = (
        f"{share} random orders on {found.graph} with {found.d} nodes allow the criterion, by their exact minima, gap "
        f"{100 * best:.0f} % at least; {met} of {len(runs)} runs met it; {100 * worst:.2g} % at most in the true "
        f"order, {len(true)} runs"
    )
    if share.count or met or worst > GOAL:
        return Verdict("not confirmed", numbers)
    return Verdict("confirmed" if share.high < 0.05 else "undecided", numbers)


def _power(rows: Rows) -> Verdict:
    found = estimate([fall(r) for r in rows if r.method == "order-true"])
    if not found.runs:
        return untested("no run within the true order is long enough")
    numbers = f"gap ~ T^{found}"
    if math.isnan(found.high):
        return Verdict("undecided", numbers)
    return Verdict("confirmed" if found.high <= -0.5 else "not confirmed" if found.low > -0.5 else "undecided", numbers)


def _bound(rows: Rows) -> Verdict:
    """The O allows any constant, but not one that grows with T."""
    if not rows:
        return untested("nothing was run")
    found = rate()
    ratio = found.measured / found.bound
    early, late = (float(np.interp(T, found.steps, ratio)) for T in (found.steps[-1] / 10, found.steps[-1]))
    numbers = (
        f"{found.graph} with {found.d} nodes: L = {found.smoothness:.1f}, R = {found.radius:.1f}, σ = "
        f"{found.noise:.1f}; measured over bound {found.constant:.2g} at most, {early:.2g} at T = "
        f"{found.steps[-1] / 10:,.0f}, {late:.2g} at T = {found.steps[-1]:,.0f} (mean of {found.runs} runs)"
    )
    if late > _GROWS * early:
        return Verdict("not confirmed", numbers)
    return Verdict("confirmed" if late <= early else "undecided", numbers)


def _settles(rows: Rows) -> Verdict:
    """Settled is an order that did not move in the last third of the rounds."""
    if not rows:
        return untested("nothing was run")
    printed, ours = settling()
    rounds = printed.order_change.shape[1]
    still = [int((moves[-(rounds // 3) :] == 0).all()) for moves in printed.order_change]
    share = Share(sum(still), len(still))
    numbers = (
        f"as printed on {printed.graph} with {printed.d} nodes the order of {share} runs stood still for the last "
        f"{rounds // 3} of {rounds} rounds, gap {_percent(printed.gap)}; with the order from the model it moves among "
        f"orders that fit alike, gap {_percent(ours.gap)}"
    )
    return Verdict(share.above(0.5), numbers)


def _percent(gaps: NDArray[np.float64]) -> str:
    """The gaps after the last round."""
    return f"{100 * gaps[:, -1].min():.2g} to {100 * gaps[:, -1].max():.2g} %"


THEORY_CLAIMS: tuple[Claim, ...] = (
    Claim("a random order never reaches the solution, the true order does", "fig-orders", _random_orders),
    Claim("within a fixed order the gap falls at least as 1/√T", "fig-rate", _power),
    Claim("within a fixed order the expected gap is O(σR/√T + LR²/T)", "fig-rate", _bound),
    Claim("Algorithm 1 settles in a local minimum", "fig-rate", _settles),
)
