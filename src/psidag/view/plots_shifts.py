"""Predicted against observed: what interventions did to all other variables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from psidag.graph import colours
from psidag.solution.shifts import InterventionChecks
from psidag.view.axes import axes_for, short, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Up to this many off-targets have their name beside them, and names of one side stand this share of the axis apart.
_NAMED = 8
_APART = 0.09


def plot_shifts(checks: InterventionChecks, ax: Axes | None = None) -> Axes:
    """Shifts that models predicted without having seen the target set, against those observed, in standard errors.

    Parameters
    ----------
    checks : InterventionChecks
        From :func:`psidag.learning.check_interventions.check_interventions`.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.

    Examples
    --------
    >>> from psidag import DAG, check_interventions
    >>> from psidag.simulate import LinearSEM, experiment
    >>> chain = DAG.from_edges([("gene", "protein", 2.0), ("protein", "growth", 1.0)])
    >>> rows = experiment(LinearSEM(chain), seed=0)
    >>> checks = check_interventions(rows.X, rows.labels, names=rows.names, random_state=0)
    >>> plot_shifts(checks).get_xlabel()
    'predicted shift, in standard errors'
    """
    ax = axes_for(ax)
    scale = np.array([max(shift.standard_error, 1e-300) for shift in checks])
    x, y = (np.array([shift[k] for shift in checks]) / scale for k in (2, 3))
    below, off = (np.array([getattr(shift, name) for shift in checks], bool) for name in ("descendant", "off_target"))
    size = float(np.clip(2e4 / max(len(checks), 1), 4, 24))
    for chosen, colour, label in (
        (~below & ~off, colours.FAINT, "not downstream of the target"),
        (below, colours.POSITIVE, "downstream of the target"),
        (off, colours.REVERSED, "likely off-target"),
    ):
        if chosen.any():
            ax.scatter(x[chosen], y[chosen], s=size, color=colour, label=label, linewidths=0)
    reach = float(np.abs([*x, *y, 1.0]).max())
    ax.plot([-reach, reach], [-reach, reach], color=colours.NODE, linewidth=0.8, linestyle=":")
    named = np.flatnonzero(off)[np.argsort(-np.abs(y[off]))][:_NAMED]
    for side, k in _beside(named[np.argsort(y[named])], y, _APART * reach):
        text = f"{short(checks[k].variable)} under {short(checks[k].target)}"
        ax.annotate(
            text, (x[k], y[k]), (5 * side, 0), textcoords="offset points", fontsize=8, va="center",
            ha="left" if side > 0 else "right",
        )  # fmt: skip
    tidy(ax, xlabel="predicted shift, in standard errors", ylabel="observed shift, in standard errors")
    ax.set_title(f"Targets left out of the fit: correlation {checks.correlation:.2f}")
    ax.legend(frameon=False, loc="upper left", fontsize=8)
    return ax


def _beside(named: NDArray[np.intp], y: NDArray[np.float64], apart: float) -> Iterator[tuple[int, int]]:
    """For those to be named, which ascend, on which side of them there is room for a name; some have none."""
    last = {1: -np.inf, -1: -np.inf}
    for k in named.tolist():
        side = next((side for side in (1, -1) if y[k] - last[side] > apart), None)
        if side is not None:
            last[side] = y[k]
            yield side, k
