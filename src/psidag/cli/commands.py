"""The commands, in the order in which help lists them."""

from psidag.cli import fit, report, plot, info, simulate, evaluate, compare, convert, demo, reproduce  # isort: skip
from psidag.cli.app import app

__all__ = ["app", "compare", "convert", "demo", "evaluate", "fit", "info", "plot", "report", "reproduce", "simulate"]
