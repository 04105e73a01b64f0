"""The report: one HTML file with everything in it, that asks the network for nothing."""

from __future__ import annotations

import base64
import hashlib
import html
from importlib import resources
from pathlib import Path
from typing import Any

from psidag.solution import Solution
from psidag.system.atomic import replace_file
from psidag.view.payload import as_json, payload


def write_report(
    solution: Solution, path: str | Path, *, data: Any = None, title: str | None = None, interventions: Any = None
) -> None:
    """Write the report of a solution: a summary in words, the graph to explore, edges, residuals, how to repeat it.

    Parameters
    ----------
    solution : Solution
        What was learned.
    path : str or Path
        The HTML file. It holds all that it needs, and opens in any browser without a network.
    data : DataFrame, Arrow table, array or path, optional
        The training rows, or better, new ones: with them the report says whose residuals misbehave.
    title : str, optional
        The heading.
    interventions : str, sequence or Interventions, optional
        What was set in each of the rows: residuals of a variable are looked at where it was left alone.

    Examples
    --------
    >>> import numpy as np
    >>> from psidag import fit_dag
    >>> from tempfile import TemporaryDirectory
    >>> x = np.random.default_rng(0).normal(size=200)
    >>> table = np.c_[x, 2 * x + np.random.default_rng(1).normal(size=200)]
    >>> solution = fit_dag(table, [[0, 1], [0, 0]], names=["dose", "effect"])
    >>> with TemporaryDirectory() as folder:
    ...     write_report(solution, f"{folder}/report.html", data=table)
    ...     (Path(folder) / "report.html").stat().st_size < 1_000_000
    True
    """
    text = report_html(solution, data=data, title=title, interventions=interventions)
    replace_file(Path(path), text.encode("utf-8"))


def report_html(solution: Solution, *, data: Any = None, title: str | None = None, interventions: Any = None) -> str:
    """The text of the report; see :func:`write_report`.

    Examples
    --------
    >>> import numpy as np
    >>> from psidag import fit_dag
    >>> table = np.random.default_rng(0).normal(size=(50, 2))
    >>> report_html(fit_dag(table, [[0, 1], [0, 0]])).lstrip()[:15].lower()
    '<!doctype html>'
    """
    checks = None if data is None else solution.check_residuals(data, interventions)
    heading = title or f"What drives what among {solution.dag.d:,} variables"
    parts = {
        "script": _file("bundle", "report.js"),
        "style": _file("bundle", "report.css"),
        "title": html.escape(heading.encode("utf-8", "replace").decode("utf-8")),
        "data": as_json(payload(solution, checks, heading)),
    }
    # Only these two pieces of code may run or style: whatever else a name might smuggle in does not.
    parts["policy"] = (
        f"default-src 'none'; script-src {_digest(parts['script'])}; style-src {_digest(parts['style'])}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    return "".join(_fill(_file("page.html"), parts))


def _fill(template: str, parts: dict[str, str]) -> list[str]:
    """The template with ``{{key}}`` replaced; what is put in is not looked at again."""
    head, *rest = template.split("{{")
    filled = [head]
    for piece in rest:
        key, _, after = piece.partition("}}")
        filled += [parts[key], after]
    return filled


def _file(*path: str) -> str:
    return resources.files("psidag.view").joinpath(*path).read_text(encoding="utf-8")


def _digest(code: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()}'"
