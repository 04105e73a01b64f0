"""One panel: curves of the gap, or times to the criterion against d; drawn the same way in every figure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from psidag.experiments.claims_sachs import PUBLISHED_SACHS
from psidag.experiments.forecast import forecast
from psidag.experiments.methods import METHODS
from psidag.experiments.summaries import grouped, timing
from psidag.experiments.table import GOAL, Row
from psidag.experiments.theory import RandomOrders, Rate, Settling

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Against = Literal["seconds", "gradients"]

#: A gap below this, or below zero by chance, is drawn here.
_LEAST_GAP = 1e-4
_LABELS = {"seconds": "seconds", "gradients": "stochastic gradients"}
_GRID = 120
_HOUR = 3600.0
#: What the paper gave a run.
_PAPER_HOURS = 36
#: What its text says of times on sparse graphs with Gaussian noise: at this size, from and up to how many hours.
PUBLISHED_HOURS = {
    "psidag-printed": (10_000, 1.0, 5.0),
    "golem": (3000, _PAPER_HOURS, math.inf),
    "dagma": (5000, _PAPER_HOURS, math.inf),
}
PUBLISHED_GRAPHS = ("ER2", "SF2")
#: The line of recorded rows.
_DOTTED = (0, (1, 1.5))
#: A note under its place, which is a share of the width and a value of the height.
_INSIDE: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "va": "top", "ha": "left"}
#: The mark of a graph that was returned when a run was stopped before its end.
HALF_FILLED: dict[str, Any] = {"fillstyle": "bottom", "markerfacecoloralt": "white"}
#: How a line is named beside its end.
_NOTE: dict[str, Any] = {
    "textcoords": "offset points", "color": "0.3", "fontsize": 8, "ha": "right", "va": "bottom",
}  # fmt: skip


def gap_panel(axes: Axes, rows: Sequence[Row], against: Against, title: str) -> None:
    """The gap of each method's best iterate so far: median and range over seeds, its end marked."""
    for method, runs in grouped(rows, lambda row: row.method).items():
        curves = [curve for row in runs if len(curve := _best_so_far(row, against))]
        if curves:
            _draw_curves(axes, method, curves, runs)
            _draw_returned(axes, method, runs, against)
    axes.axhline(GOAL, color="0.55", linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
    axes.set(xscale="log", yscale="log", xlabel=_LABELS[against], ylabel="gap to the true model")
    _whole_decades(axes, "x")
    _whole_decades(axes, "y")
    _finish(axes, title)


def _best_so_far(row: Row, against: Against) -> NDArray[np.float64]:
    """Points of (time or gradients, lowest gap until then)."""
    points = np.array(row.curve).reshape(-1, 3)
    points = points[points[:, 0 if against == "seconds" else 1] > 0]
    return np.column_stack([points[:, 0 if against == "seconds" else 1], np.minimum.accumulate(points[:, 2])])


def _draw_curves(axes: Axes, method: str, curves: list[NDArray[np.float64]], runs: Sequence[Row]) -> None:
    style = METHODS[method]
    line = _DOTTED if all(row.recorded for row in runs) else style.line
    low, high = min(curve[0, 0] for curve in curves), max(curve[-1, 0] for curve in curves)
    if high > low * 1.001:
        grid = np.unique(np.concatenate([np.geomspace(low, high, _GRID), *(curve[:, 0] for curve in curves)]))
        values = np.array([_held(curve, grid) for curve in curves])
        middle = np.nanmedian(values, axis=0)
        axes.plot(grid, _shown(middle), color=style.colour, linestyle=line, linewidth=1.3, zorder=3)
        if len(curves) > 1:
            low_end, high_end = _shown(np.nanmin(values, axis=0)), _shown(np.nanmax(values, axis=0))
            axes.fill_between(grid, low_end, high_end, color=style.colour, alpha=0.15, linewidth=0, zorder=2)
    end, gap = np.median([curve[-1] for curve in curves], axis=0)
    most_over = 2 * sum(row.over_budget for row in runs) > len(runs)
    axes.plot(
        end, _shown(gap), marker=style.marker, markersize=6, linestyle="none", zorder=4,
        markeredgecolor=style.colour, markerfacecolor="white" if most_over else style.colour,
    )  # fmt: skip


def _draw_returned(axes: Axes, method: str, runs: Sequence[Row], against: Against) -> None:
    """The graph that was returned, apart from the curve of the iterates."""
    ended = [row for row in runs if not row.to_goal and (row.returned or not row.over_budget)]
    ended = [row for row in ended if math.isfinite(row.graph_gap)]
    places = [row.seconds if against == "seconds" else row.gradients for row in ended]
    if not ended or min(places) <= 0:
        return
    gap = float(np.median([row.graph_gap for row in ended]))
    axes.plot(
        float(np.median(places)), _shown(gap), marker="D", markersize=5.5, linestyle="none", zorder=5,
        markeredgecolor=METHODS[method].colour, markerfacecolor="none",
    )  # fmt: skip


def _held(curve: NDArray[np.float64], grid: NDArray[np.float64]) -> NDArray[np.float64]:
    """The last value at or before each point of the grid; nan before the first."""
    last = np.searchsorted(curve[:, 0], grid * (1 + 1e-9), side="right") - 1
    return np.where(last >= 0, curve[np.maximum(last, 0), 1], np.nan)


def _shown(gap: Any) -> Any:
    return np.maximum(gap, _LEAST_GAP)


def runtime_panel(axes: Axes, rows: Sequence[Row], title: str) -> None:
    """Hours to the criterion against d: medians and ranges; open where a budget ended it, crossed where it failed."""
    for method, runs in grouped(rows, lambda row: row.method).items():
        style = METHODS[method]
        sizes = {d: timing(group) for d, group in sorted(grouped(runs, lambda row: row.d).items())}
        met = {d: found for d, found in sizes.items() if math.isfinite(found.median)}
        if met:
            medians = [found.median / _HOUR for found in met.values()]
            spread = [
                [(found.median - found.low) / _HOUR for found in met.values()],
                [
                    ((found.high if math.isfinite(found.high) else found.median) - found.median) / _HOUR
                    for found in met.values()
                ],
            ]
            axes.errorbar(
                list(met), medians, yerr=spread, color=style.colour, marker=style.marker, markersize=5.5, capsize=2,
                linestyle=_DOTTED if all(row.recorded for row in runs) else style.line, linewidth=1.3,
                elinewidth=0.9, zorder=3,
            )  # fmt: skip
        for d, found in sizes.items():
            if found.over_budget and math.isfinite(found.bound):
                axes.plot(
                    d, found.bound / _HOUR, marker=style.marker, markersize=7, linestyle="none", zorder=4,
                    markeredgecolor=style.colour, markerfacecolor="white",
                )  # fmt: skip
            if found.failed and math.isfinite(found.bound):
                axes.plot(
                    d, found.bound / _HOUR, marker="x", markersize=8, markeredgewidth=2, linestyle="none", zorder=5,
                    markeredgecolor=style.colour,
                )  # fmt: skip
        _draw_forecast(axes, method, runs, max(met, default=0))
    axes.axhline(_PAPER_HOURS, color="0.55", linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
    axes.annotate(f"{_PAPER_HOURS} h, the paper's limit", (0, _PAPER_HOURS), (3, -3), **_NOTE | _INSIDE)
    published = _draw_published(axes, rows)
    axes.set(xscale="log", yscale="log", xlabel="number of nodes d", ylabel="hours to the criterion")
    _sizes(axes, rows, published)
    _whole_decades(axes, "y")
    _finish(axes, title)


def _draw_forecast(axes: Axes, method: str, runs: Sequence[Row], last: int) -> None:
    """Beyond the last size that met the criterion, what steps and their pace point to, at sizes that were tried."""
    beyond = sorted({row.d for row in runs if row.d > last and row.over_budget})
    found = {d: made.seconds / _HOUR for d in beyond if (made := forecast(runs, d)) is not None}
    if found:
        style, known = METHODS[method], timing([row for row in runs if row.d == last]).median / _HOUR
        axes.plot([last, *found], [known, *found.values()], color=style.colour, linewidth=0.9, linestyle=(0, (1, 2)))
        axes.plot(
            list(found), list(found.values()), marker=style.marker, markersize=4, linestyle="none", alpha=0.6,
            color=style.colour, markeredgewidth=0,
        )  # fmt: skip


def _draw_published(axes: Axes, rows: Sequence[Row]) -> set[int]:
    """What the text of the paper gives in hours, where the panel has the graph and the method; at which sizes."""
    if rows[0].graph not in PUBLISHED_GRAPHS or rows[0].noise != "gaussian":
        return set()
    sizes, methods = set(), {row.method for row in rows}
    for method, (d, low, high) in PUBLISHED_HOURS.items():
        if method in methods:
            sizes.add(d)
            colour = METHODS[method].colour
            if math.isfinite(high):
                axes.plot([d, d], [low, high], color=colour, linewidth=5, alpha=0.3, solid_capstyle="butt", zorder=2)
            else:
                axes.plot(d, low, marker=6, markersize=9, linestyle="none", color=colour, zorder=6)
    return sizes


def measure_panel(axes: Axes, rows: Sequence[Row], title: str, measure: Literal["graph_gap", "shd"]) -> None:
    """The gap of the returned graph, or its wrong edges as a share of the true ones, against d: medians over seeds.

    Half filled where all runs of a size were stopped, at the criterion or by their budget with a graph that meets it:
    they might have come closer.
    """
    for method, runs in grouped(rows, lambda row: row.method).items():
        style = METHODS[method]
        judged = [row for row in runs if row.returned or not row.over_budget]
        judged = [row for row in judged if row.true_edges and math.isfinite(getattr(row, measure))]
        sizes, stopped = {}, {}
        for d, group in sorted(grouped(judged, lambda row: row.d).items()):
            ended = [row for row in group if not row.to_goal and not row.over_budget]
            values = [row.graph_gap if measure == "graph_gap" else row.shd / row.true_edges for row in ended or group]
            sizes[d] = max(float(np.median(values)), _LEAST_GAP)
            if not ended:
                stopped[d] = sizes[d]
        if sizes:
            line: dict[str, Any] = {"color": style.colour, "marker": style.marker, "markersize": 5}
            whole = [k for k, d in enumerate(sizes) if d not in stopped]
            axes.plot(
                list(sizes), list(sizes.values()), markevery=whole, linewidth=1.3,
                linestyle=_DOTTED if all(row.recorded for row in runs) else style.line, **line,
            )  # fmt: skip
            axes.plot(list(stopped), list(stopped.values()), linestyle="none", **line, **HALF_FILLED)
    label = "gap of the returned graph" if measure == "graph_gap" else "SHD over true edges"
    axes.set(xscale="log", yscale="log", xlabel="number of nodes d", ylabel=label)
    _sizes(axes, rows)
    _whole_decades(axes, "y")
    _finish(axes, title)


def _sizes(axes: Axes, rows: Sequence[Row], more: Iterable[int] = ()) -> None:
    """The sizes that were run, and some more, as ticks."""
    sizes = sorted({row.d for row in rows}.union(more))
    axes.set_xticks(sizes, [f"{d // 1000}k" if d % 1000 == 0 else str(d) for d in sizes], fontsize=7.5)
    axes.set_xticks([], minor=True)
    axes.set_xlim(sizes[0] / 1.4, sizes[-1] * 1.4)


def rate_panel(axes: Axes, rows: Sequence[Row], title: str) -> None:
    """The gap within the true order against gradients, with the powers of the theorem beside it."""
    gap_panel(axes, rows, "gradients", title)
    points = np.array([point for row in rows for point in row.curve if point[1] > 0 and point[2] > 0])
    if not len(points):
        return
    low, high, top = points[:, 1].min(), points[:, 1].max(), points[:, 2].max()
    for power, dash in ((-0.5, (0, (5, 2))), (-1.0, (0, (1, 2)))):
        ends = np.array([low, high])
        axes.plot(ends, top * (ends / low) ** power, color="0.4", linewidth=1, linestyle=dash, zorder=1)
        label = "1/√T" if power == -0.5 else "1/T"
        end = (high, top * (high / low) ** power)
        axes.annotate(label, end, (0, 7), **_NOTE)
    _whole_decades(axes, "x")


def orders_panel(axes: Axes, found: RandomOrders) -> None:
    """How many random orders have which least gap, and where the criterion lies."""
    low, high = math.log10(GOAL / 2), math.log10(float(found.gaps.max()) * 1.2)
    axes.hist(found.gaps, bins=list(np.logspace(low, high, 60)), color=METHODS["order-random"].colour)
    axes.axvline(GOAL, color="0.55", linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
    axes.set(xscale="log", xlabel="least gap within the order", ylabel=f"of {len(found.gaps):,} random orders")
    _whole_decades(axes, "x")
    _finish(axes, f"{found.graph}, d = {found.d}, exact minima")


def bound_panel(axes: Axes, found: Rate) -> None:
    """The bound of the theorem with its constants, and what was measured."""
    axes.plot(found.steps, found.bound, color="0.4", linewidth=1.2, linestyle=(0, (5, 2)))
    axes.plot(found.steps, found.measured, color=METHODS["order-true"].colour, linewidth=1.3)
    middle = len(found.steps) // 4
    for label, values in (("σR/√T + LR²/T", found.bound), ("measured", found.measured)):
        axes.annotate(label, (found.steps[middle], values[middle]), (4, 4), **_NOTE | {"ha": "left"})
    axes.set(xscale="log", yscale="log", xlabel="gradients of one row, T", ylabel="F(W) − F(W*)")
    _whole_decades(axes, "x")
    _whole_decades(axes, "y")
    numbers = f"L = {found.smoothness:.0f}, R = {found.radius:.1f}, σ = {found.noise:.0f}"
    axes.text(0.03, 0.05, numbers, transform=axes.transAxes, fontsize=8, color="0.3")
    _finish(axes, f"{found.graph}, d = {found.d}, the bound")


def settling_panel(axes: Axes, found: Sequence[Settling], measure: Literal["order_change", "gap"]) -> None:
    """How far the order moves, or the gap, by rounds of Algorithm 1."""
    for one in found:
        style, values = METHODS[one.method], getattr(one, measure)
        rounds = np.arange(1, values.shape[1] + 1)
        axes.plot(rounds, values.T, color=style.colour, linewidth=0.6, alpha=0.4)
        middle = np.median(values, axis=0)
        axes.plot(
            rounds, middle, color=style.colour, marker=style.marker, markersize=4, linewidth=1.2, label=style.label
        )
    moved = measure == "order_change"
    axes.set(xlabel="round of Algorithm 1", ylabel="move of the order" if moved else "gap after the round")
    axes.set(yscale="linear" if moved else "log")
    if not moved:
        _whole_decades(axes, "y")
        axes.legend(fontsize=7.5, frameon=False)
    _finish(axes, f"{found[0].graph}, d = {found[0].d}: " + ("does the order settle?" if moved else "does the loss?"))


def sachs_panel(axes: Axes, rows: Sequence[Row], measure: Literal["shd_03", "tpr_03", "learned_edges_03"]) -> None:
    """Shares of the seeds with each value at the paper's threshold; below them what the paper prints."""
    from matplotlib.ticker import MaxNLocator

    label, place = {"shd_03": ("SHD", 0), "tpr_03": ("TPR", 1), "learned_edges_03": ("edges", 3)}[measure]
    for method, runs in grouped(rows, lambda row: row.method).items():
        style, values = METHODS[method], [float(getattr(row, measure)) for row in runs]
        found, counts = np.unique([value for value in values if math.isfinite(value)], return_counts=True)
        shares = 100 * counts / max(1, counts.sum())
        axes.vlines(found, 0, shares, color=style.colour, linewidth=1.3, alpha=0.7, zorder=2)
        axes.plot(found, shares, marker=style.marker, markersize=5.5, linestyle="none", color=style.colour, zorder=3)
        if method in PUBLISHED_SACHS:
            published = PUBLISHED_SACHS[method][place]
            axes.plot(published, -7, marker=style.marker, markersize=7, linestyle="none", color=style.colour,
                      markerfacecolor="white", zorder=4)  # fmt: skip
    axes.axhline(0, color="0.6", linewidth=0.8)
    axes.xaxis.set_major_locator(MaxNLocator(integer=measure != "tpr_03"))
    axes.set(xlabel=label, ylabel="% of the seeds", ylim=(-13, 106))
    _finish(axes, f"Sachs, {label}")


def _whole_decades(axes: Axes, which: Literal["x", "y"]) -> None:
    """Powers of ten as labels, and two of them in sight at least."""
    from matplotlib.ticker import NullFormatter

    axis = axes.xaxis if which == "x" else axes.yaxis
    low, high = axis.get_view_interval()
    if math.log10(high / low) < 2:
        axis.set_view_interval(10 ** math.floor(math.log10(low)), 10 ** math.ceil(math.log10(high)), ignore=True)
    axis.set_minor_formatter(NullFormatter())


def _finish(axes: Axes, title: str) -> None:
    axes.set_title(title, fontsize=10)
    axes.tick_params(labelsize=8.5)
    axes.xaxis.label.set_fontsize(9)
    axes.yaxis.label.set_fontsize(9)
    axes.grid(True, which="major", color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)
