"""The commands, in the order in which help lists them."""

from psidag.cli import fit, report, plot, info, simulate, evaluate, compare, convert, demo, reproduce  # isort: skip

__all__ = ["compare", "convert", "demo", "evaluate", "fit", "info", "plot", "report", "reproduce", "simulate"]
