"""``psidag compare``: several methods on one table, with or without a known graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from psidag.cli import graphs
from psidag.cli.app import app
from psidag.cli.console import say, say_json
from psidag.cli.options import (
    AsJson,
    Columns,
    Drop,
    MissingValues,
    Prepare,
    Rows,
    TableFile,
    chosen_table,
    load_table,
)
from psidag.data.files import FileTable
from psidag.system.errors import InputError, listing

if TYPE_CHECKING:
    from psidag.simulate import Problem

_EXAMPLES = """
Examples:

  psidag compare table.csv --methods auto,eqvar,notears

  psidag compare data.csv --truth truth.json

  psidag compare data.csv --truth truth.json --test test.csv --methods auto,eqvar,notears --max-time 60
"""


def known_methods() -> dict[str, Any]:
    """Our engines and the baselines, by name."""
    from psidag.baselines import BASELINES
    from psidag.learning.plan import ENGINES

    return {
        "auto": "auto",
        **{name: name for name in ENGINES},
        **{name: name for name in BASELINES},
    }


@app.command(epilog=_EXAMPLES)
def compare(
    table: TableFile,
    truth: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The true graph; without one, a quarter of the rows judges."),
    ] = None,
    test: Annotated[str | None, typer.Option(metavar="TABLE", help="New rows, for the loss and its gap.")] = None,
    methods: Annotated[
        str,
        typer.Option(metavar="NAMES", help="auto, an engine, eqvar, sort-regress, notears, golem, dagma."),
    ] = "auto,eqvar,sort-regress",
    threshold: Annotated[
        float | None, typer.Option(help="Keep weights of this size (0.3 in the paper); else by evidence.")
    ] = None,
    max_time: Annotated[float | None, typer.Option(metavar="SECONDS", help="For each method.")] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same numbers.")] = 0,
    jobs: Annotated[int | None, typer.Option(help="Threads; all cores by default.")] = None,
    columns: Columns = None,
    drop: Drop = None,
    rows: Rows = None,
    prepare: Prepare = False,
    missing: MissingValues = "error",
    as_json: AsJson = False,
) -> None:
    """Run several methods on one table: time, memory and errors of each.

    Without a known graph: which edges they have in common, and how likely held-out rows are under each.
    """
    from psidag.learning.compare import compare as run

    known = known_methods()
    chosen = [name.strip() for name in methods.split(",") if name.strip()]
    unknown = [name for name in chosen if name not in known]
    if unknown or not chosen:
        raise InputError(f"--methods must be of {listing(list(known), limit=20)}; got {methods!r}")
    data = chosen_table(table, columns, drop, rows, prepare=prepare, hold=None)
    if truth is None and test is not None:
        raise InputError("--test measures the gap to a known graph: give it with --truth")
    problem = data if truth is None else _problem(table, data, truth, test)
    scores = run(
        problem,
        {name: known[name] for name in chosen},
        threshold=threshold,
        max_time=max_time,
        random_state=seed,
        n_jobs=jobs,
        missing=missing,
    )
    if as_json:
        say_json([score.as_dict() for score in scores])
    else:
        say(str(scores))


def _problem(table: str, data: FileTable, truth: str, test: str | None) -> Problem:
    """The table with its true graph, and new rows of the same columns."""
    from psidag.simulate import LinearSEM, Problem

    dag = graphs.aligned(graphs.as_dag(graphs.load(truth)), data.names, truth)
    fresh = None
    if test is not None:
        new = load_table(test, None, None, None).numbers_only()
        if new.names != data.names:
            raise InputError(f"{table} and {test} do not have the same columns in the same order")
        fresh = np.asarray(new.X, dtype=np.float64)
    weighted = bool(np.any(dag.weights.data != 1))
    return Problem(table, np.asarray(data.X), dag, fresh, LinearSEM(dag) if weighted else None)
