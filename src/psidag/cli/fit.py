"""``psidag fit``: from a table to a graph."""

from __future__ import annotations

import sys
import time
import warnings
from functools import partial
from typing import Annotated, Any

import typer

from psidag.cli import graphs
from psidag.cli.app import app
from psidag.cli.console import complain, say, say_json
from psidag.cli.options import AsJson, Columns, Drop, Rows, TableFile, load_table, note_kinds
from psidag.cli.outputs import Writer, check_places, check_space, write_all
from psidag.cli.report import check_report_path, with_command, write_report
from psidag.data.files import HOLD
from psidag.data.ingest import as_source
from psidag.data.missing import Missing
from psidag.data.resampling import check_resampling
from psidag.data.row_counts import Resampling
from psidag.data.sources import Source
from psidag.graph.constraints import Constraints
from psidag.scores.named import NoiseName
from psidag.solution import Solution
from psidag.system.errors import DataWarning, InputError
from psidag.system.interrupts import INTERRUPTS

_EXAMPLES = """
Examples:

  psidag fit table.csv -o graph.json --report graph.html

  psidag fit table.parquet --drop id,date --missing drop -o graph.graphml -o edges.csv

  psidag fit "folder/*.parquet" --checkpoint run.ckpt --resume -o model.psidag

  psidag fit table.csv --bootstrap 100 -o edges.csv

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
    noise: Annotated[NoiseName, typer.Option(help="Whether all variables have the same noise variance.")] = "equal",
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
    max_memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Memory to keep within, such as 4GB; else the best graph so far.")
    ] = None,
    checkpoint: Annotated[
        str | None, typer.Option(metavar="FILE", help="Keep the run in this file, to go on from with --resume.")
    ] = None,
    checkpoint_interval: Annotated[float, typer.Option(metavar="SECONDS", help="Time between two checkpoints.")] = 60.0,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the checkpoint if it is there; the graph is the same.")
    ] = False,
    seed: Annotated[int | None, typer.Option(help="The same seed gives the same graph.")] = None,
    jobs: Annotated[int | None, typer.Option(help="Threads; all cores by default.")] = None,
    progress: Annotated[
        bool | None, typer.Option("--progress/--no-progress", help="Progress bar; by default on a terminal.")
    ] = None,
    replicates: Annotated[
        int | None,
        typer.Option(
            "--bootstrap", metavar="TIMES", help="Learn from so many draws of the rows: the support of edges."
        ),
    ] = None,
    resampling: Annotated[
        Resampling, typer.Option(help="Draw all rows with replacement, or half of them without, in pairs.")
    ] = "bootstrap",
    draws: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Keep what --bootstrap has done in this file; go on from it if it is there."),
    ] = None,
    which: graphs.Shown = "class",
    as_json: AsJson = False,
) -> None:
    """Learn a graph from a table.

    Prints a summary and the strongest edges. Ctrl-C keeps the best graph so far: it is written like any other,
    and the exit code is 130.
    """
    outputs = [*(output or []), *([report] if report else [])]
    graphs.check_outputs(output or [])
    if report is not None:
        check_report_path(report)
    if replicates is None and (draws is not None or resampling != "bootstrap"):
        raise InputError("--draws and --resampling say how to --bootstrap: give the number of draws, too")
    check_places([*outputs, *filter(None, [draws, checkpoint])], [table, knowledge])
    data = load_table(table, columns, drop, rows, hold=HOLD).numbers_only()
    check_space(outputs, len(data.names))
    note_kinds(data)
    options: dict[str, Any] = {
        "solver": solver,
        "noise": noise,
        "threshold": threshold,
        "constraints": None if knowledge is None else Constraints.from_file(knowledge),
        "missing": missing,
        "max_time": max_time,
        "random_state": seed,
        "n_jobs": jobs,
        "progress": sys.stderr.isatty() if progress is None else progress,
    }
    begun = time.perf_counter()
    keeping = {
        "max_memory": max_memory,
        "checkpoint": checkpoint,
        "checkpoint_interval": checkpoint_interval,
        "resume": resume,
    }
    # Checked and completed once, for the graph and for the draws.
    source = as_source(data, missing=missing)
    if replicates is not None:
        check_resampling(source)
    solution, interrupted = _learn(source, options | keeping)
    whole = True
    if replicates is not None and not interrupted:
        # What is left of the time; at least a moment, so that the status says how far it came.
        left = None if max_time is None else max(max_time - (time.perf_counter() - begun), 1e-3)
        drawing = {"replicates": replicates, "method": resampling, "resume": draws, "max_time": left}
        try:
            solution, interrupted = _draw(source, solution, options | drawing)
        except (InputError, OSError, MemoryError) as error:
            complain(f"the graph is learned, its support is not: {' '.join(str(error).split())}")
            whole = False
    with INTERRUPTS.waiting():
        solution = with_command(solution)
        writers: list[Writer] = [(path, partial(graphs.save, graphs.shown(solution, which))) for path in output or []]
        if report is not None:
            writers.append((report, lambda path: write_report(solution, path, data)))
        whole = write_all(solution, writers) and whole
        if as_json:
            say_json(graphs.shown(solution, which).content().as_dict())
        else:
            say(graphs.text(solution, which))
    if interrupted or INTERRUPTS.pressed:
        raise SystemExit(130)
    if not whole:
        raise typer.Exit(2)


def _learn(data: Source, options: dict[str, Any]) -> tuple[Solution, bool]:
    """The graph, and whether it was stopped by hand."""
    from psidag.learning.learn import Interrupted, learn_dag

    try:
        return learn_dag(data, **options), False
    except Interrupted as stopped:
        return stopped.solution, True


def _draw(data: Source, solution: Solution, options: dict[str, Any]) -> tuple[Solution, bool]:
    """The graph with the support of its edges, and whether that was stopped by hand."""
    from psidag.learning.bootstrap import BootstrapInterrupted, bootstrap

    with warnings.catch_warnings():
        # What there is to say about the data has been said.
        warnings.simplefilter("ignore", DataWarning)
        try:
            return solution.with_confidence(bootstrap(data, **options)), False
        except BootstrapInterrupted as stopped:
            return solution.with_confidence(stopped.confidence), True
