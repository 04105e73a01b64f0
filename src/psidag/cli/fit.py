"""``psidag fit``: from a table to a graph."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from psidag.cli import graphs
from psidag.cli.app import app
from psidag.cli.console import note, say, say_json
from psidag.cli.options import AsJson, Columns, Drop, Rows, TableFile, load_table, note_kinds
from psidag.cli.report import check_report_path, with_command, write_report
from psidag.data.missing import Missing
from psidag.framework import Noise
from psidag.graph.constraints import Constraints

_EXAMPLES = """
Examples:

  psidag fit table.csv -o graph.json --report graph.html

  psidag fit table.parquet --drop id,date --missing drop -o graph.graphml -o edges.csv

  psidag simulate ER2 --nodes 50 --rows 1000 -o - | psidag fit - --seed 0 --json
"""


@app.command(epilog=_EXAMPLES)
def fit(
    table: TableFile,
    output: Annotated[
        list[str] | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="File for the graph; the ending says the format. May be repeated.",
        ),
    ] = None,
    report: Annotated[
        str | None, typer.Option(metavar="FILE", help="HTML file for a report that opens without a network.")
    ] = None,
    columns: Columns = None,
    drop: Drop = None,
    rows: Rows = None,
    missing: Annotated[
        Missing,
        typer.Option(help="Missing values: refuse, drop rows, fill in the mean, or take pairs as they are."),
    ] = "error",
    solver: Annotated[str, typer.Option(help="Which engine learns; see `psidag info`.")] = "auto",
    noise: Annotated[Noise, typer.Option(help="Whether all variables have the same noise variance.")] = "equal",
    threshold: Annotated[
        float | None, typer.Option(help="Keep weights of this size (0.3 in the paper); else by evidence.")
    ] = None,
    knowledge: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Required and forbidden edges and tiers: TOML, YAML or Tetrad's format."),
    ] = None,
    max_time: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Stop then, with the best graph so far.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="The same seed gives the same graph.")] = None,
    jobs: Annotated[int | None, typer.Option(help="Threads; all cores by default.")] = None,
    progress: Annotated[
        bool | None, typer.Option("--progress/--no-progress", help="Progress bar; by default on a terminal.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Learn a graph from a table.

    Prints a summary and the strongest edges. Ctrl-C keeps the best graph so far: it is written like any other,
    and the exit code is 130.
    """
    from psidag.learn import Interrupted, learn_dag

    graphs.check_outputs(output or [])
    if report is not None:
        check_report_path(report)
    data = load_table(table, columns, drop, rows).numbers_only()
    note_kinds(data)
    interrupted = False
    try:
        solution = learn_dag(
            data,
            solver,
            noise=noise,
            threshold=threshold,
            constraints=None if knowledge is None else Constraints.from_file(knowledge),
            missing=missing,
            max_time=max_time,
            random_state=seed,
            n_jobs=jobs,
            progress=sys.stderr.isatty() if progress is None else progress,
        )
    except Interrupted as stopped:
        solution, interrupted = stopped.solution, True
    solution = with_command(solution)
    for path in output or []:
        graphs.save(solution, path)
    if report is not None:
        write_report(solution, report, data)
    if as_json:
        say_json(solution.content().as_dict())
    else:
        say(str(solution))
        for path in [*(output or []), *([report] if report else [])]:
            note(f"wrote {path}")
    if interrupted:
        raise typer.Exit(130)
