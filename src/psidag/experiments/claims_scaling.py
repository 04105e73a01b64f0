"""What the paper claims about large graphs: times, their growth, and what takes longer than 36 hours."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from psidag.experiments.forecast import forecast
from psidag.experiments.methods import METHODS
from psidag.experiments.summaries import Timing, grouped, growth, problem_of, shown_seconds, timing
from psidag.experiments.table import Row
from psidag.experiments.verdicts import Answer, Claim, Rows, Verdict, together, untested
from psidag.stages.projection import project

_FEW_HOURS = 12 * 3600.0
_WALL = 36 * 3600.0
#: Bytes of the card that the paper used.
_CARD = 48e9
#: An extrapolation within this factor of a limit decides nothing.
_UNSURE = 2.0
#: Sizes at which both methods must have met the criterion for their growth to be compared.
_FOR_A_SLOPE = 3
_SERIES = ("psidag-stream", "psi-stream")


def _timings(rows: Rows, *methods: str) -> Iterator[tuple[tuple[str, int, str], list[Timing]]]:
    """For each problem that all of the methods were run on, the times of each."""
    for problem, group in grouped(rows, problem_of).items():
        runs = grouped(group, lambda row: row.method)
        if all(comparable(method, problem[2]) and method in runs for method in methods) and problem[0] != "Sachs":
            yield problem, [timing(runs[method]) for method in methods]


def comparable(method: str, noise: str) -> bool:
    """Whether the criterion of a method is that of the others: where noise has a mean, an intercept decides."""
    return METHODS[method].intercept or noise == "gaussian"


def races(rows: Rows, ours: str, other: str, wanted: Callable[[str, int], bool]) -> tuple[list[str], list[str]]:
    """The problems, among those wanted, that ours won and lost against the other, by medians of times."""
    won: list[str] = []
    lost: list[str] = []
    for (graph, d, noise), (mine, theirs) in _timings(rows, ours, other):
        faster = _faster(mine, theirs)
        if faster is not None and wanted(graph, d):
            against = f"{shown_seconds(mine.median)} against {shown_seconds(theirs.median)}"
            name = f"{graph} d={d}" + ("" if noise == "gaussian" else f" {noise}")
            (won if faster else lost).append(f"{name} ({against})")
    return won, lost


def _faster(ours: Timing, other: Timing) -> bool | None:
    """Whether ours was faster; None where budgets ended both, or the other one before ours was through."""
    if math.isinf(ours.median):
        return None if math.isinf(other.median) else False
    if math.isinf(other.median) and other.over_budget and other.bound < ours.median:
        return None
    return ours.median < other.median


def _gaussian(rows: Rows, method: str, graph: str) -> list[Row]:
    return [r for r in rows if (r.method, r.graph, r.noise) == (method, graph, "gaussian")]


def _hours_at_ten_thousand(rows: Rows) -> Verdict:
    said: list[str] = []
    answers: list[Answer] = []
    for graph in ("ER2", "SF2"):
        for method in _SERIES:
            runs = _gaussian(rows, method, graph)
            largest = timing([r for r in runs if r.d == 10_000])
            if largest.reached:
                answers.append(_limit(largest.median, _FEW_HOURS, measured=True))
                said.append(f"{graph} {shown_seconds(largest.median)} ({largest.runs} runs)")
                break
            fit = growth(runs)
            if fit is not None and fit.last >= 1000:
                # A run that has passed the time without meeting the criterion has refuted what was extrapolated.
                refuted = bool(largest.runs) and largest.bound > fit.at(10_000)
                answers.append("undecided" if refuted else _limit(fit.at(10_000), _FEW_HOURS, measured=False))
                so_far = f", not met when a run was ended after {shown_seconds(largest.bound)}" if largest.runs else ""
                said.append(f"{graph} {shown_seconds(fit.at(10_000))} extrapolated from d = {fit.last:,}{so_far}")
                break
    return Verdict(together(answers), "; ".join(said) or "nothing was run near that size")


def _limit(seconds: float, limit: float, *, measured: bool) -> Answer:
    """Whether a time is below a limit; extrapolated ones must be so by a factor."""
    doubt = 1.0 if measured else _UNSURE
    return "confirmed" if seconds * doubt <= limit else "not confirmed" if seconds > limit * doubt else "undecided"


def _growth(rows: Rows) -> Verdict:
    """Slopes over the sizes at which both met the criterion, three at least; the error is that of the fit."""
    parts: list[str] = []
    answers: list[Answer] = []
    few: list[str] = []
    for graph in ("ER2", "SF2", "ER6", "ER4"):
        for other in ("golem", "dagma"):
            theirs = _met(_gaussian(rows, other, graph))
            candidates = [_met(_gaussian(rows, method, graph)) for method in _SERIES]
            ours = max(candidates, key=lambda runs: len({r.d for r in runs}))
            both = sorted({r.d for r in ours if r.d >= 50} & {r.d for r in theirs})
            if len(both) < 2:
                continue
            if len(both) < _FOR_A_SLOPE:
                few.append(f"{graph} with {METHODS[other].label}")
                continue
            (mine, error), (their, their_error) = (
                _slope([r for r in group if r.d in both]) for group in (ours, theirs)
            )
            doubt = 1.96 * math.hypot(error, their_error)
            answers.append(
                "confirmed" if mine + doubt < their else "not confirmed" if mine > their + doubt else "undecided"
            )
            parts.append(
                f"{graph}, {both[0]} to {both[-1]:,} nodes: ψDAG {mine:.2f}, "
                f"{METHODS[other].label} {their:.2f} (± {doubt:.2f})"
            )
    if not parts:
        return (
            Verdict("undecided", f"only two sizes met by both on {'; '.join(few)}")
            if few
            else untested("there are no sizes at which ψDAG and another met the criterion")
        )
    return Verdict(together(answers), "power of d: " + "; ".join(parts))


def _met(rows: list[Row]) -> list[Row]:
    return [r for r in rows if r.reached]


def _slope(rows: list[Row]) -> tuple[float, float]:
    """The power of d that times grow with, and its standard error."""
    x, y = np.log([r.d for r in rows]), np.log([r.goal_seconds for r in rows])
    slope, level = np.polyfit(x, y, 1)
    left = float(((y - slope * x - level) ** 2).sum()) / max(1, len(x) - 2)
    return float(slope), math.sqrt(left / float(((x - x.mean()) ** 2).sum()))


def _beyond(method: str, d: int, limit: float = _WALL) -> Callable[[Rows], Verdict]:
    """By measurement, or by the seconds of a step at that size times the steps that smaller ones needed."""

    def judge(rows: Rows) -> Verdict:
        runs = _gaussian(rows, method, "ER2")
        at_size = timing([r for r in runs if r.d == d])
        if at_size.reached or (at_size.runs and at_size.bound >= limit):
            late = at_size.median > limit
            return Verdict("confirmed" if late else "not confirmed", f"median {shown_seconds(at_size.median)}")
        fit, steps = growth(runs), forecast(runs, d)
        if steps is not None:
            seconds, how = steps.seconds, f"{steps} make"
        elif fit is not None:
            seconds, how = fit.at(d), f"the last two sizes to {fit.last:,} point to"
        else:
            return untested("it never met the criterion at two sizes")
        numbers = f"{how} {shown_seconds(seconds)} at {d:,} nodes on this machine"
        turned: dict[Answer, Answer] = {"confirmed": "not confirmed", "not confirmed": "confirmed"}
        in_time = _limit(seconds, limit, measured=False)
        return Verdict(turned.get(in_time, in_time), numbers)

    return judge


def _quadratic_projection(rows: Rows) -> Verdict:
    """Timed here and now, on sizes that no cache holds, each at its best: what else a machine does only adds."""
    if not rows:
        return untested("nothing was run")
    sizes, seconds = (2000, 4000, 6000), []
    for d in sizes:
        W = np.random.default_rng(d).normal(size=(d, d))
        seconds.append(min(_time_of_projection(W) for _ in range(5)))
    power = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
    numbers = (
        f"time ~ d^{power:.2f} from {sizes[0]:,} to {sizes[-1]:,} nodes, {1e3 * seconds[-1]:.0f} ms at the largest, "
        "best of five"
    )
    return Verdict("confirmed" if power < 2.4 else "not confirmed" if power > 2.6 else "undecided", numbers)


def _time_of_projection(W: NDArray[np.float64]) -> float:
    start = time.process_time()
    project(W)
    return max(time.process_time() - start, 1e-6)


def _memory(rows: Rows) -> Verdict:
    """Which ends first as graphs grow: the 36 hours of a run, or the 48 GB of the card that the paper used."""
    found = {r.d: r.memory for r in rows if r.method in _SERIES and r.d >= 1000 and r.memory > 0}
    fits = [fit for method in _SERIES if (fit := growth(_gaussian(rows, method, "ER2"))) and fit.last >= 1000]
    if not found or not fits:
        return untested("nothing was run at 1,000 nodes or more")
    d, fit = max(found), max(fits, key=lambda fit: fit.last)
    matrices = found[d] * 1e6 / (4.0 * d * d)
    widest = math.sqrt(_CARD / (4.0 * matrices))
    hours = fit.at(round(widest)) / 3600
    numbers = (
        f"{found[d]:,.0f} MB at d = {d:,}, {matrices:.0f} matrices of d × d in single precision; at that rate 48 GB, "
        f"the memory of the paper's card, are full at d = {widest:,.0f}, where ER2 takes {hours:.2g} h"
    )
    return Verdict(_limit(3600 * hours, _WALL, measured=False), numbers)


SCALING_CLAIMS: tuple[Claim, ...] = (
    Claim("ψDAG takes a few hours at 10,000 nodes on sparse graphs", "fig-large", _hours_at_ten_thousand),
    Claim("at 10,000 nodes memory for W is what limits ψDAG", "fig-large", _memory),
    Claim("the time of ψDAG grows more slowly with d than that of GOLEM and DAGMA", "fig-runtime", _growth),
    Claim("GOLEM takes over 36 hours from 3,000 nodes on", "fig-runtime", _beyond("golem", 3000)),
    Claim("DAGMA takes over 36 hours from 5,000 nodes on", "fig-runtime", _beyond("dagma", 5000)),
    Claim("GOLEM takes over 100 hours from 3,000 nodes on", "fig-runtime", _beyond("golem", 3000, 100 * 3600.0)),
    Claim("DAGMA takes over 100 hours from 3,000 nodes on", "fig-runtime", _beyond("dagma", 3000, 100 * 3600.0)),
    Claim("GOLEM takes over 350 hours at 5,000 nodes", "fig-large", _beyond("golem", 5000, 350 * 3600.0)),
    Claim("ψ takes O(d²)", "fig-runtime", _quadratic_projection),
)
