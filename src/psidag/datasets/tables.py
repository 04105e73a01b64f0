"""The files beside this module, read without pandas."""

from __future__ import annotations

import csv
from importlib.resources import files


def read_table(name: str) -> tuple[list[str], list[list[str]]]:
    """Header and rows of one of our CSV files."""
    text = (files("psidag.datasets") / "files" / f"{name}.csv").read_text(encoding="utf-8")
    header, *rows = csv.reader(text.splitlines())
    return header, rows
