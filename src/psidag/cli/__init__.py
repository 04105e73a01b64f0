"""The command line ``psidag``: one file a command, each a thin layer over the library."""

from typing import NoReturn


def main() -> NoReturn:
    """Run the command line: heed Ctrl-C first, then import what takes a second to import."""
    from psidag.system.interrupts import INTERRUPTS

    with INTERRUPTS.heeded():
        from psidag.cli.app import main as run

        run()


__all__ = ["main"]
