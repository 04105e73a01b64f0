"""The command line ``psidag``: one file a command, each a thin layer over the library."""

from psidag.cli.app import main

__all__ = ["main"]
