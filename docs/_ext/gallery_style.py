"""How the pictures of the gallery look: set before each example, so that no example has to."""

from pathlib import Path
from typing import Any

#: Okabe and Ito's colours, which colour-blind readers can tell apart; the report has the same.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"]

#: The examples in the order in which a reader should meet them.
ORDER = [
    "real_table",
    "units",
    "identify",
    "shape",
    "knowledge",
    "missing",
    "bootstrap",
    "penalty_path",
    "effects",
    "interventions",
    "sachs",
    "residuals",
    "lags",
    "large",
    "files",
    "budget",
    "streams",
    "dask",
    "rounding",
    "command_line",
    "pipeline",
    "methods",
    "projection",
    "custom_projection",
    "custom_score",
    "paper",
]


def reset(gallery_conf: dict[str, Any], name: str) -> None:
    """The settings of every picture."""
    import matplotlib as mpl
    from cycler import cycler

    mpl.rcParams.update(
        {
            "axes.prop_cycle": cycler(color=COLOURS),
            "axes.spines.right": False,
            "axes.spines.top": False,
            "figure.constrained_layout.use": True,
            "figure.dpi": 110,
            "figure.figsize": (7.0, 4.0),
            "legend.frameon": False,
        }
    )


class Place:
    """Where an example stands in the gallery; an unlisted one is an error, so that none is forgotten."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, name: str) -> int:
        return ORDER.index(Path(name).stem.removeprefix("plot_"))
