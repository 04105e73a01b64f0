"""``psidag report``: a saved solution as one HTML file."""

from __future__ import annotations

import dataclasses
import shlex
import sys
import warnings
from typing import Annotated

import numpy as np
import typer

from psidag.cli import graphs
from psidag.cli.app import app
from psidag.cli.console import note
from psidag.cli.options import (
    ControlWords,
    Interventional,
    InterventionKind,
    Prepare,
    TargetSeparator,
    experiment_of,
    load_table,
    prepared_table,
)
from psidag.cli.outputs import check_places
from psidag.data.files import FileTable
from psidag.data.interventions import Interventions
from psidag.data.scans import Batches
from psidag.solution import Solution
from psidag.system.errors import DataWarning, InputError, listing

_EXAMPLES = """
Examples:

  psidag fit table.csv -o model.psidag && psidag report model.psidag -o report.html

  psidag report model.psidag --data table.csv --title "Blood and diet" -o report.html

  psidag report model.psidag --data cells.parquet --interventions guide -o report.html
"""


@app.command(epilog=_EXAMPLES)
def report(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A .psidag file, as `psidag fit -o` writes it.")],
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The HTML file.")],
    data: Annotated[
        str | None,
        typer.Option(metavar="TABLE", help="Rows to check the residuals with: the training rows or new ones."),
    ] = None,
    prepare: Prepare = False,
    interventions: Interventional = None,
    target_separator: TargetSeparator = ",",
    control_words: ControlWords = None,
    intervention_kind: InterventionKind = "perfect",
    title: Annotated[str | None, typer.Option(help="The heading.")] = None,
) -> None:
    """Write a report: a summary in words, the graph to explore, edges, residuals, how to repeat it.

    The file holds all that it needs and opens in any browser without a network.
    """
    check_report_path(output)
    if not model.lower().endswith(".psidag"):
        raise InputError(
            f"a report needs the whole solution, not only its graph: `psidag fit … -o model.psidag`; got {model!r}"
        )
    check_places([output], [model, data])
    if interventions is not None and (data is None or prepare):
        raise InputError("--interventions goes with the rows of --data as they are, without --prepare")
    solution = graphs.load(model)
    read = prepared_table if prepare else load_table
    table, given = None, None
    if data is not None:
        table = read(data, None, None if interventions is None else [interventions], None)
        known = set(table.names)
        lacking = [name for name in solution.names if name not in known]
        if lacking:
            made = "" if prepare else "; if the model was learned with --prepare, give it here, too"
            raise InputError(f"{data} lacks the columns {listing(lacking)}, or they are not numbers{made}")
        if interventions is not None:
            given = experiment_of(data, interventions, None, target_separator, control_words, intervention_kind)
    write_report(solution, output, table, title, given)
    note(f"wrote {output}")


def check_report_path(path: str) -> None:
    """Raise before the work is done if the report cannot go there."""
    if not path.lower().endswith((".html", ".htm")):
        raise InputError(f"a report is an HTML file: give it the ending .html; got {path!r}")


def with_command(solution: Solution, table: FileTable) -> Solution:
    """The solution with the command line that is running, and what it did to the table, as its origin."""
    if solution.origin is None:
        return solution
    command = shlex.join(["psidag", *sys.argv[1:]])
    origin = dataclasses.replace(solution.origin, command=command, steps=table.steps)
    return dataclasses.replace(solution, origin=origin, warnings=(*solution.warnings, *_by_coding(solution, table)))


def _by_coding(solution: Solution, table: FileTable) -> list[str]:
    """Which edges join columns that were made of one column of categories."""
    group = {made: name for name, parts in getattr(table, "groups", {}).items() for made in parts}
    ends = [(a, b) for a, b, _ in solution.dag.edges() if a in group and group[a] == group.get(b)]
    if not ends:
        return []
    columns = listing(list(dict.fromkeys(group[a] for a, _ in ends)))
    edges = f"{len(ends)} edge{'s' * (len(ends) != 1)} among the columns made of {columns}"
    return [f"{edges}: such edges come from the coding, since no row has two of these categories"]


def write_report(
    solution: Solution,
    path: str,
    table: FileTable | None,
    title: str | None = None,
    given: Interventions | None = None,
) -> None:
    """The report, with residuals of the rows that are complete: the first of them where the table stays on disk."""
    from psidag.view.report import write_report as write

    rows = None
    if table is not None:
        place = {name: k for k, name in enumerate(table.names)}
        X = next(iter(table.blocks())) if isinstance(table.X, Batches) else table.X
        if table.names != solution.names:
            X = X[:, [place[name] for name in solution.names]]
        complete = np.isfinite(X).all(axis=1)
        rows = X if complete.all() else X[complete] if complete.any() else None
        if given is not None:
            given = dataclasses.replace(given, labels=[given.labels[k] for k in np.flatnonzero(complete).tolist()])
    with warnings.catch_warnings():
        # What there is to say about labels has been said.
        warnings.simplefilter("ignore", DataWarning)
        write(solution, path, data=rows, title=title, interventions=given)
