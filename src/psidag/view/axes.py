"""Axes to draw on: matplotlib without pyplot, so that nothing global is changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from psidag.graph import colours
from psidag.system.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def axes_for(ax: Axes | None, width: float = 7.0, height: float = 4.5) -> Axes:
    """The given axes, or those of a new figure."""
    if ax is not None:
        return ax
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError('plots need matplotlib: pip install "psidag[plot]"') from None
    made: Axes = Figure(figsize=(width, height), layout="constrained", dpi=150).subplots()
    return made


def tidy(ax: Axes, **labels: Any) -> None:
    """Labels, and no more lines than needed."""
    ax.set(**labels)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(colors=colours.INK)


def whole_numbers(ax: Axes) -> None:
    """Ticks at whole numbers only, along x."""
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(integer=True))


def empty(ax: Axes, text: str) -> Axes:
    """Axes that say why there is nothing on them."""
    ax.set_axis_off()
    ax.text(0.5, 0.5, text, ha="center", va="center", transform=ax.transAxes, color=colours.NODE, wrap=True)
    return ax


def short(name: str, most: int = 18) -> str:
    """A name that fits beside its mark."""
    # A dollar sign would begin mathematics.
    return (name if len(name) <= most else name[: most - 1] + "…").replace("$", r"\$")
