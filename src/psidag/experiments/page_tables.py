"""The tables of the page: times and their growth, what runs beyond would take, returned graphs, and every number."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from psidag.experiments.cells import SACHS
from psidag.experiments.claims_sachs import PUBLISHED_SACHS
from psidag.experiments.forecast import forecast
from psidag.experiments.methods import METHODS
from psidag.experiments.summaries import grouped, growth, median, problem_of, shown_seconds, timing
from psidag.experiments.table import Row

#: Sizes of the paper that GOLEM and DAGMA are asked about.
_BEYOND = (1000, 3000, 5000, 10_000)

Table = list[list[str]]


def growth_table(rows: Sequence[Row]) -> Table:
    """For each method the power of d that its time grows with, over which sizes, and the times themselves."""
    sizes = sorted({row.d for row in rows})
    table = [["graph, noise, method", "power of d", "fitted over d", *(f"d = {d:,}" for d in sizes)]]
    for (graph, noise, method), group in grouped(rows, lambda row: (row.graph, row.noise, row.method)).items():
        fit = growth(group)
        slope = ["–", "–"] if fit is None else [f"{fit.slope:.2f}", f"{fit.first:,} to {fit.last:,}"]
        times = []
        for d in sizes:
            found = timing([row for row in group if row.d == d])
            times.append(_time(found.median, found.bound, found.over_budget) if found.runs else "–")
        table.append([f"{graph}, {noise}, {METHODS[method].label}", *slope, *times])
    return table


def forecast_table(rows: Sequence[Row]) -> Table:
    """For methods with full gradients: seconds a step, steps to the criterion, and what they make at larger sizes."""
    table = [
        ["graph, noise, method", "seconds a step (at d)", "steps to the criterion (at d)",
         *(f"makes at d = {d:,}" for d in _BEYOND)]
    ]  # fmt: skip
    for (graph, noise, method), group in grouped(rows, lambda row: (row.graph, row.noise, row.method)).items():
        made = {d: forecast(group, d) for d in _BEYOND}
        if METHODS[method].gradients != "full" or METHODS[method].touch or None in made.values():
            continue
        timed = {d: median(r.seconds / r.steps for r in runs) for d, runs in grouped(
            (r for r in group if r.steps), lambda r: r.d).items()}  # fmt: skip
        counted = {d: median(r.goal_gradients / r.n for r in runs) for d, runs in grouped(
            (r for r in group if r.reached), lambda r: r.d).items()}  # fmt: skip
        table.append(
            [
                f"{graph}, {noise}, {METHODS[method].label}",
                ", ".join(f"{seconds:.2g} ({d:,})" for d, seconds in timed.items() if d >= 100),
                ", ".join(f"{steps:,.0f} ({d:,})" for d, steps in counted.items() if d >= 50),
                *(shown_seconds(found.seconds) for found in made.values() if found is not None),
            ]
        )
    return table


def _time(middle: float, bound: float, over_budget: int) -> str:
    if math.isfinite(middle):
        return shown_seconds(middle)
    return f"> {shown_seconds(bound)}" if over_budget else f"never (end at {shown_seconds(bound)})"


def sachs_table(rows: Sequence[Row]) -> Table:
    """At the paper's threshold, with what the paper prints."""
    table = [
        ["method", "SHD", "missing/extra/reversed", "TPR", "FPR", "FDR", "edges", "published: SHD, TPR, FPR, edges",
         "SHD by evidence", "test loss", "seconds", "memory/MB", "ended"]
    ]  # fmt: skip
    for method, group in grouped((row for row in rows if row.graph == SACHS.graph), lambda row: row.method).items():
        middle = _medians(group)
        published = PUBLISHED_SACHS.get(method)
        table.append(
            [
                METHODS[method].label,
                f"{middle('shd_03'):.0f}",
                "/".join(f"{middle(name):.0f}" for name in ("missing_03", "extra_03", "reversed_03")),
                f"{middle('tpr_03'):.3f}",
                f"{middle('fpr_03'):.2f}",
                f"{middle('fdr_03'):.2f}",
                f"{middle('learned_edges_03'):.0f}",
                ", ".join(map(str, published)) if published else "–",
                f"{middle('shd'):.0f}",
                f"{middle('loss'):,.0f}",
                f"{middle('seconds'):.2g}",
                f"{middle('memory'):.0f}",
                group[0].status,
            ]
        )
    return table


def structure_table(rows: Sequence[Row]) -> Table:
    """For each problem and method the returned graph: its gap, SHD and TPR, medians over the seeds."""
    methods = [method for method in METHODS if any(row.method == method for row in rows)]
    table = [["gap %, SHD, TPR of the returned graph", *(METHODS[method].label for method in methods)]]
    for (graph, d, noise), group in grouped(rows, problem_of).items():
        runs = grouped((row for row in group if not math.isnan(row.shd)), lambda row: row.method)
        cells = []
        for method in methods:
            middle = _medians(runs.get(method, []))
            found = method in runs
            cells.append(
                f"{100 * middle('graph_gap'):.2g}, {middle('shd'):,.0f}, {middle('tpr'):.2f}" if found else "–"
            )
        if any(cell != "–" for cell in cells):
            table.append([f"{graph} d={d:,} {noise}", *cells])
    return table


def details_table(rows: Sequence[Row]) -> Table:
    """For each problem and method, medians over seeds; the graph is the one with edges by evidence."""
    table = [
        ["problem", "method", "runs", "met the criterion", "seconds to it", "gradients to it", "whole run, s", "gap",
         "SHD", "missing/extra/reversed", "of edges", "TPR", "FDR", "SHD at 0.3", "memory/MB", "ended"]
    ]  # fmt: skip
    for (problem, method), group in grouped(rows, lambda row: (problem_of(row), row.method)).items():
        middle, found = _medians(group), timing(group)
        spread = f" ({_brief(found.low)}–{_brief(found.high)})" if found.runs > 1 and found.reached else ""
        ends = sorted({row.message if row.over_budget else row.status for row in group})
        graph, d, noise = problem
        table.append(
            [
                f"{graph} d={d:,} {noise}",
                METHODS[method].label + (" (recorded)" if all(row.recorded for row in group) else ""),
                str(found.runs),
                str(found.reached),
                _brief(found.median) + spread,
                _brief(timing(group, lambda row: row.goal_gradients).median),
                _brief(middle("seconds")),
                _brief(middle("gap")),
                _brief(middle("shd")),
                "/".join(_brief(middle(name)) for name in ("missing", "extra", "reversed")),
                _brief(middle("true_edges")),
                _brief(middle("tpr")),
                _brief(middle("fdr")),
                _brief(middle("shd_03")),
                _brief(middle("memory")),
                "; ".join(ends),
            ]
        )
    return table


def _medians(group: Sequence[Row]) -> Callable[[str], float]:
    return lambda name: median(float(getattr(row, name)) for row in group)


def _brief(value: float) -> str:
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "never"
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.2g}"
