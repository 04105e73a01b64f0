"""The commands, in the order in which help lists them."""

from psidag.cli import demo, fit

__all__ = ["demo", "fit"]
