"""The paper's experiments as data: problems times methods times seeds, run cell by cell, resumable, with their page."""

from psidag.experiments.catalogue import EXPERIMENTS, choose, expected_seconds, like, plan, preset_named
from psidag.experiments.page import write_page
from psidag.experiments.presets import PRESETS
from psidag.experiments.runner import run_cells
from psidag.experiments.table import ResultTable, Row, merged, recorded_rows

__all__ = [
    "EXPERIMENTS",
    "PRESETS",
    "ResultTable",
    "Row",
    "choose",
    "expected_seconds",
    "like",
    "merged",
    "plan",
    "preset_named",
    "recorded_rows",
    "run_cells",
    "write_page",
]
