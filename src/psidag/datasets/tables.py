"""The files beside this module, read without pandas."""

from __future__ import annotations

import csv
from importlib.resources import files


def read_table(name: str) -> tuple[list[str], list[list[str]]]:
    """Header and rows of one of our CSV files."""
    with (files("psidag.datasets") / "files" / f"{name}.csv").open(encoding="utf-8", newline="") as text:
        header, *rows = csv.reader(text)
    return header, rows
