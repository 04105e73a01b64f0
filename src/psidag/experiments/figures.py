"""A figure for each experiment, in the paper's arrangement."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from itertools import groupby, zip_longest
from typing import TYPE_CHECKING

from psidag.experiments.catalogue import NOISES, Experiment
from psidag.experiments.methods import METHODS, OF_THE_PAPER
from psidag.experiments.panels import (
    HALF_FILLED,
    PUBLISHED_GRAPHS,
    PUBLISHED_HOURS,
    Against,
    bound_panel,
    gap_panel,
    measure_panel,
    orders_panel,
    rate_panel,
    runtime_panel,
    sachs_panel,
    settling_panel,
)
from psidag.experiments.summaries import grouped, problem_of
from psidag.experiments.table import Row
from psidag.experiments.theory import random_orders, rate, settling
from psidag.system.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

#: Inches of a panel, of the room for labels beside and below it, and of a line of the legend.
_WIDTH, _HEIGHT, _LEFT, _BELOW, _LINE = 2.5, 1.8, 0.72, 0.78, 0.21
_MOST_ABREAST = 3
#: Methods in one panel that can still be told apart.
_MOST_TOGETHER = 5
_LEGEND_COLUMNS = 4
_DPI = 170
#: Shades of a picture that is kept: lines and markers in a dozen colours need no more.
_SHADES = 96

#: Noises that are called after somebody.
_NAMES = {"gaussian": "Gaussian", "gumbel": "Gumbel"}

#: The methods of the paper that have a panel to themselves where the whole story is told.
_IN_STORY = ("psidag-printed", "psidag-stream", "psidag-rows", "golem", "dagma", "notears")

_ON_SACHS = ("printed-rows", "printed-centred", "golem", "notears")

Draw = Callable[["Axes"], None]
#: Panels of a row of the figure; None for a place that stays free.
Band = list[Draw | None]
Panel = tuple[tuple[str, int, str], list[Row]]


def needs_matplotlib() -> None:
    """Raise if there is nothing to draw with."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise InputError("the figures need matplotlib: pip install 'psidag[plot]'") from None


def picture(experiment: Experiment, rows: Sequence[Row]) -> bytes | None:
    """The figure as PNG, or None if there is nothing to draw."""
    bands = _BANDS[experiment.kind](rows)
    if not bands:
        return None
    figure = _arranged(bands, _legend(experiment, rows))
    return _png(figure)


def _loss_bands(rows: Sequence[Row]) -> list[Band]:
    """For every few problems the gap against time and against gradients as in the paper; below, all other methods.

    Where there are few methods they share a panel.
    """
    bands: list[Band] = []
    for some in _abreast(_panels(rows)):
        few = max(len({row.method for row in group}) for _, group in some) <= _MOST_TOGETHER
        paper = _only(some, lambda row, few=few: few or row.method in OF_THE_PAPER)  # type: ignore[misc]
        counted = _counted(paper)
        others = _only(some, lambda row, few=few: not few and row.method not in OF_THE_PAPER)  # type: ignore[misc]
        kinds: list[tuple[list[Panel], Against]] = [(paper, "seconds"), (counted, "gradients"), (others, "seconds")]
        for panels, against in kinds:
            band = [
                _gap(group, against, problem, "" if panels is not others else ", others") if group else None
                for problem, group in panels
            ]
            if any(band):
                bands.append(band)
    return bands


def _story_bands(rows: Sequence[Row]) -> list[Band]:
    """Time, gap and wrong edges against the size, for each graph: the paper's methods, and below them all others."""
    bands: list[Band] = []
    graphs = grouped((row for row in rows if row.noise == "gaussian"), lambda row: row.graph)
    for graph, group in sorted(graphs.items()):
        for note, wanted in (("", True), (", others", False)):
            runs = [row for row in group if (row.method in _IN_STORY) == wanted]
            if runs:
                bands.append(_story_band(graph, note, runs))
    return bands


def _story_band(graph: str, note: str, runs: list[Row]) -> Band:
    return [
        lambda axes: runtime_panel(axes, runs, f"{graph}: time{note}"),
        lambda axes: measure_panel(axes, runs, f"{graph}: loss{note}", "graph_gap"),
        lambda axes: measure_panel(axes, runs, f"{graph}: wrong edges{note}", "shd"),
    ]


def _panels(rows: Sequence[Row]) -> list[Panel]:
    """The problems with curves, small ones first."""
    groups = grouped((row for row in rows if row.curve), problem_of)
    return sorted(groups.items(), key=lambda item: _place(item[0]))


def _abreast(panels: list[Panel]) -> list[list[Panel]]:
    """A size to a band where that has several noises or graphs, else as many sizes as fit."""
    sizes = [list(group) for _, group in groupby(panels, key=lambda panel: panel[0][1])]
    if max(map(len, sizes), default=1) > 1:
        return sizes
    return [panels[first : first + _MOST_ABREAST] for first in range(0, len(panels), _MOST_ABREAST)]


def _curve_bands(rows: Sequence[Row]) -> list[Band]:
    """For each problem the gap against time and, beside it, against gradients."""
    panels = _panels(rows)
    return [
        [_gap(group, "seconds", problem), _gap(counted, "gradients", problem) if counted else None]
        for (problem, group), (_, counted) in zip(panels, _counted(panels), strict=True)
    ]


def _runtime_bands(rows: Sequence[Row]) -> list[Band]:
    """A band for each graph with a panel for each noise, or one band of graphs where there is one noise.

    First the methods of the paper, then all others.
    """
    bands: list[Band] = []
    for note, wanted in (("", True), (", others", False)):
        chosen = [row for row in rows if (row.method in OF_THE_PAPER) == wanted]
        panels = grouped(chosen, lambda row: (row.graph, row.noise))
        several = len({noise for _, noise in panels}) > 1
        found: dict[str, Band] = {}
        for (graph, noise), group in sorted(panels.items(), key=lambda item: (item[0][0], NOISES.index(item[0][1]))):
            title = f"{graph}, {_NAMES.get(noise, noise)}{note}"
            found.setdefault(graph if several else "all", []).append(
                lambda axes, group=group, title=title: runtime_panel(axes, group, title)  # type: ignore[misc]
            )
        bands += found.values()
    return bands


def _orders_bands(rows: Sequence[Row]) -> list[Band]:
    """The curves, and the exact minima of many random orders."""
    bands = _curve_bands(rows)
    if bands:
        bands[0].append(lambda axes: orders_panel(axes, random_orders()))
    return bands


def _rate_bands(rows: Sequence[Row]) -> list[Band]:
    """The rates of runs; the bound of the theorem with its constants; and how Algorithm 1 settles."""
    panels = sorted(grouped((row for row in rows if row.curve), problem_of).items())
    if not panels:
        return []
    measured: Band = [
        lambda axes, group=group, problem=problem: rate_panel(axes, group, _title(problem))  # type: ignore[misc]
        for problem, group in panels
    ]
    return [
        [*measured, lambda axes: bound_panel(axes, rate())],
        [
            lambda axes: settling_panel(axes, settling(), "order_change"),
            lambda axes: settling_panel(axes, settling(), "gap"),
        ],
    ]


def _sachs_bands(rows: Sequence[Row]) -> list[Band]:
    """ψDAG as printed over its seeds, and what it is compared with in the paper."""
    runs = [row for row in rows if row.method in _ON_SACHS and math.isfinite(row.shd_03)]
    if not runs:
        return []
    return [
        [
            lambda axes: sachs_panel(axes, runs, "shd_03"),
            lambda axes: sachs_panel(axes, runs, "tpr_03"),
            lambda axes: sachs_panel(axes, runs, "learned_edges_03"),
        ]
    ]


_BANDS: dict[str, Callable[[Sequence[Row]], list[Band]]] = {
    "loss": _loss_bands,
    "runtime": _runtime_bands,
    "curves": _curve_bands,
    "orders": _orders_bands,
    "rate": _rate_bands,
    "story": _story_bands,
    "table": _sachs_bands,
}


def _counted(panels: Sequence[Panel]) -> list[Panel]:
    """The same panels with the methods that compute gradients."""
    return _only(panels, lambda row: METHODS[row.method].gradients != "none")


def _only(panels: Sequence[Panel], wanted: Callable[[Row], bool]) -> list[Panel]:
    return [(problem, [row for row in group if wanted(row)]) for problem, group in panels]


def _gap(group: Sequence[Row], against: Against, problem: tuple[str, int, str], note: str = "") -> Draw:
    return lambda axes: gap_panel(axes, group, against, _title(problem) + note)


def _place(problem: tuple[str, int, str]) -> tuple[int, int, str]:
    graph, d, noise = problem
    return d, NOISES.index(noise), graph


def _title(problem: tuple[str, int, str]) -> str:
    graph, d, noise = problem
    return f"{graph}, d = {d:,}, {_NAMES.get(noise, noise)}"


def _legend(experiment: Experiment, rows: Sequence[Row]) -> list[Line2D]:
    """A handle for each method that is drawn, and for each kind of mark that occurs."""
    from matplotlib.lines import Line2D

    used = {row.method for row in rows if experiment.kind != "table" or row.method in _ON_SACHS}
    handles = [
        Line2D([], [], color=style.colour, marker=style.marker, linestyle=style.line, markersize=6, label=style.label)
        for method, style in METHODS.items()
        if method in used and method in experiment.methods
    ]
    grey = {"color": "0.4", "linestyle": "none", "markersize": 7}
    if any(row.over_budget for row in rows) and experiment.kind != "table":
        handles.append(Line2D([], [], marker="o", markerfacecolor="white", label="open: over budget", **grey))  # type: ignore[arg-type]
    if experiment.kind in ("runtime", "story") and any(row.failed for row in rows):
        handles.append(Line2D([], [], marker="x", markeredgewidth=2, label="ended, criterion never met", **grey))  # type: ignore[arg-type]
    if experiment.kind == "story" and any(row.returned and (row.to_goal or row.over_budget) for row in rows):
        half = "half filled: stopped before its end"
        handles.append(Line2D([], [], marker="o", label=half, **HALF_FILLED, **grey))  # type: ignore[arg-type]
    if experiment.kind in ("runtime", "story"):
        handles += _timing_handles(rows)
    if any(row.recorded for row in rows):
        handles.append(Line2D([], [], color="0.4", linestyle=(0, (1, 1.5)), label="dotted: recorded run"))
    if experiment.kind == "table":
        handles.append(Line2D([], [], marker="o", markerfacecolor="white", label="open: in the paper", **grey))  # type: ignore[arg-type]
    elif experiment.kind not in ("runtime", "story"):
        handles.append(Line2D([], [], marker="D", markerfacecolor="none", label="returned graph", **grey))  # type: ignore[arg-type]
        handles.append(Line2D([], [], color="0.55", linestyle=(0, (4, 3)), label="criterion, gap 10 %"))
    return handles


def _timing_handles(rows: Sequence[Row]) -> list[Line2D]:
    """For what panels of times show beside times that were measured."""
    from matplotlib.lines import Line2D

    handles = []
    if any(row.over_budget and METHODS[row.method].gradients == "full" for row in rows):
        handles.append(Line2D([], [], color="0.4", linestyle=(0, (1, 2)), marker="o", markersize=4, markeredgewidth=0,
                              label="extrapolated: steps × pace"))  # fmt: skip
    if any(row.graph in PUBLISHED_GRAPHS and row.method in PUBLISHED_HOURS for row in rows):
        over = "the paper: over 36 h"
        handles.append(Line2D([], [], color="0.4", linestyle="none", marker=6, markersize=9, label=over))
        handles.append(Line2D([], [], color="0.4", linewidth=5, alpha=0.3, label="the paper: a few hours"))
    return handles


def _arranged(bands: list[Band], handles: list[Line2D]) -> Figure:
    """The panels in their bands, the legend above them all; room is given in inches, whatever the number of panels."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    columns = max(map(len, bands))
    abreast = min(_LEGEND_COLUMNS, columns + 1)
    head = _LINE * -(-len(handles) // abreast) + 0.35
    width, height = columns * (_WIDTH + _LEFT) + 0.15, len(bands) * (_HEIGHT + _BELOW) + head - 0.2
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    grid = figure.subplots(
        len(bands),
        columns,
        squeeze=False,
        gridspec_kw={
            "left": _LEFT / width, "right": 1 - 0.15 / width,
            "bottom": (_BELOW - 0.2) / height, "top": 1 - head / height,
            "wspace": _LEFT / _WIDTH, "hspace": _BELOW / _HEIGHT,
        },
    )  # fmt: skip
    for axes_of_band, band in zip(grid, bands, strict=True):
        for axes, draw in zip_longest(axes_of_band, band):
            if draw is None:
                axes.remove()
            else:
                draw(axes)
    figure.legend(
        handles=handles, loc="upper center", bbox_to_anchor=(0.5, 1.0), fontsize=8.5, frameon=False, ncols=abreast
    )  # fmt: skip
    return figure


def _png(figure: Figure) -> bytes:
    """A small file: as many shades as lines and text need."""
    from PIL import Image

    raw, small = io.BytesIO(), io.BytesIO()
    figure.savefig(raw, dpi=_DPI, format="png")
    raw.seek(0)
    with Image.open(raw) as image:
        image.convert("RGB").quantize(_SHADES, Image.Quantize.FASTOCTREE).save(small, format="png", optimize=True)
    return small.getvalue()
