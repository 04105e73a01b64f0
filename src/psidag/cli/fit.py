"""``psidag fit``: from a table to a graph."""

from __future__ import annotations

import sys
import time
import warnings
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import typer

from psidag.cli import graphs
from psidag.cli.app import command
from psidag.cli.console import complain, in_flags, say, say_json, show_warning
from psidag.cli.options import (
    AsJson,
    Columns,
    ControlWords,
    Drop,
    Interventional,
    InterventionKind,
    MissingValues,
    Prepare,
    Rows,
    TableFile,
    TargetSeparator,
    chosen_table,
    experiment_of,
    note_kinds,
    series_of,
    with_past,
)
from psidag.cli.outputs import Writer, check_places, check_space, write_all
from psidag.cli.report import check_report_path, with_command, write_report
from psidag.data.experiment import as_experiment
from psidag.data.files import FileTable
from psidag.data.interventions import Interventions
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

  psidag fit table.parquet --exclude id,date --missing drop -o graph.graphml -o edges.csv

  psidag fit "folder/*.parquet" --checkpoint run.ckpt --resume -o model.psidag

  psidag fit table.csv --bootstrap 100 -o edges.csv

  psidag fit cells.parquet --interventions guide --control-words non-targeting -o graph.json

  psidag simulate ER2 --nodes 50 --rows 1000 -o - | psidag fit - --seed 0 --json
"""


def _solvers() -> list[str]:
    from psidag.cli.compare import known_methods

    return list(known_methods())


@command(epilog=_EXAMPLES)
@dataclass(frozen=True, kw_only=True)
class Fit:
    """Learn a graph from a table.

    Prints a summary and the strongest edges. Ctrl-C keeps the best graph so far: it is written like any other,
    and the exit code is 130.
    """

    table: TableFile
    output: Annotated[
        list[str] | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="File for the graph; the ending says the format. May be repeated.",
        ),
    ] = None
    report: Annotated[
        str | None, typer.Option(metavar="FILE", help="HTML file for a report that opens without a network.")
    ] = None
    columns: Columns = None
    drop: Drop = None
    rows: Rows = None
    prepare: Prepare = False
    log: Annotated[
        bool, typer.Option("--log", help="With --prepare: the logarithm of positive columns with a long tail.")
    ] = False
    standardise: Annotated[
        bool, typer.Option("--standardise", help="With --prepare: bring all columns to variance one.")
    ] = False
    lags: Annotated[
        int | None, typer.Option(min=1, help="Rows are in the order of time: this many earlier ones beside each.")
    ] = None
    group: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="With --lags: the column that tells series apart.")
    ] = None
    interventions: Interventional = None
    target_separator: TargetSeparator = ","
    control_words: ControlWords = None
    intervention_kind: InterventionKind = "perfect"
    missing: MissingValues = "error"
    solver: Annotated[
        str,
        typer.Option(
            help="auto, sparse, exact, stochastic, or a baseline: eqvar, sort-regress, notears, golem, dagma.",
            autocompletion=_solvers,
        ),
    ] = "auto"
    noise: Annotated[
        NoiseName,
        typer.Option(
            help="What to assume of the noise; auto asks the data whether variances are equal and noise is Gaussian."
        ),
    ] = "auto"
    threshold: Annotated[
        float | None, typer.Option(help="Keep weights of this size (0.3 in the paper); else by evidence.")
    ] = None
    penalty: Annotated[
        float | None, typer.Option(help="Price of an edge in the sparse search; ln(rows) is BIC. Else by the data.")
    ] = None
    knowledge: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Required and forbidden edges and tiers: TOML, YAML or Tetrad's format."),
    ] = None
    max_time: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Stop then, with the best graph so far.")
    ] = None
    max_memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Memory to keep within, such as 4GB; else the best graph so far.")
    ] = None
    checkpoint: Annotated[
        str | None, typer.Option(metavar="FILE", help="Keep the run in this file, to go on from with --resume.")
    ] = None
    checkpoint_interval: Annotated[float, typer.Option(metavar="SECONDS", help="Time between two checkpoints.")] = 60.0
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the checkpoint if it is there; the graph is the same.")
    ] = False
    seed: Annotated[int, typer.Option(help="The same seed gives the same graph.")] = 0
    jobs: Annotated[int | None, typer.Option(help="Threads; all cores by default.")] = None
    progress: Annotated[
        bool | None, typer.Option("--progress/--no-progress", help="Progress bar; by default on a terminal.")
    ] = None
    replicates: Annotated[
        int | None,
        typer.Option(
            "--bootstrap", metavar="TIMES", help="Learn from this many draws of the rows: the support of edges."
        ),
    ] = None
    resampling: Annotated[
        Resampling, typer.Option(help="Draw all rows with replacement, or half of them without, in pairs.")
    ] = "bootstrap"
    draws: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Keep what --bootstrap has done in this file; go on from it if it is there."),
    ] = None
    which: graphs.Shown = "class"
    as_json: AsJson = False

    def __call__(self) -> None:
        """From the table to whatever was asked for."""
        begun = time.perf_counter()
        self._check()
        data, known = self._data()
        check_space(self._outputs, len(data.names))
        if not self.prepare:
            note_kinds(data)
        given = self._experiment()
        # Checked and completed once, for the graph and for the draws.
        source = _source(data, given, self.missing, quiet=not self.as_json)
        if self.replicates is not None:
            check_resampling(source)
        options = self._options(known)
        solution, interrupted = _learn(source, options | self._keeping, quiet=not self.as_json)
        whole = True
        if self.replicates is not None and not interrupted:
            try:
                solution, interrupted = _draw(source, solution, options | self._drawing(time.perf_counter() - begun))
            except (InputError, OSError, MemoryError) as error:
                complain(f"the graph is learned, its support is not: {' '.join(str(error).split())}")
                whole = False
        with INTERRUPTS.waiting():
            whole = self._hand_over(with_command(solution, data), data, given) and whole
        if interrupted or INTERRUPTS.pressed:
            raise SystemExit(130)
        if not whole:
            raise typer.Exit(2)

    def _check(self) -> None:
        """Refuse what cannot work before anything is read."""
        graphs.check_outputs(self.output or [])
        if self.report is not None:
            check_report_path(self.report)
        if self.replicates is None and (self.draws is not None or self.resampling != "bootstrap"):
            raise InputError("--draws and --resampling say how to --bootstrap: give the number of draws, too")
        check_places([*self._outputs, *filter(None, [self.draws, self.checkpoint])], [self.table, self.knowledge])
        if self.group is not None and self.lags is None:
            raise InputError("--group tells the series of --lags apart: give the number of lags, too")
        if self.interventions is not None and (self.lags is not None or self.prepare):
            raise InputError("--interventions goes with the table as it is, not with --lags or --prepare")

    def _data(self) -> tuple[FileTable, Constraints | None]:
        """The table as it was asked for, and what is known of its columns."""
        without = [*(self.drop or []), *filter(None, [self.group, self.interventions])] or None
        data = chosen_table(
            self.table,
            self.columns,
            without,
            self.rows,
            prepare=self.prepare,
            log=self.log,
            standardise=self.standardise,
        )
        known = None if self.knowledge is None else Constraints.from_file(self.knowledge)
        if self.lags is None:
            return data, known
        return with_past(data, self.lags, series_of(self.table, self.group, self.rows), known)

    def _experiment(self) -> Interventions | None:
        if self.interventions is None:
            return None
        return experiment_of(
            self.table,
            self.interventions,
            self.rows,
            self.target_separator,
            self.control_words,
            self.intervention_kind,
        )

    @property
    def _outputs(self) -> list[str]:
        return [*(self.output or []), *([self.report] if self.report else [])]

    def _options(self, known: Constraints | None) -> dict[str, Any]:
        """Those of the graph and of the draws."""
        return {
            "solver": _with_penalty(self.solver, self.penalty),
            "noise": self.noise,
            "threshold": self.threshold,
            "constraints": known,
            "missing": self.missing,
            "max_time": self.max_time,
            "random_state": self.seed,
            "n_jobs": self.jobs,
            "progress": sys.stderr.isatty() if self.progress is None else self.progress,
        }

    @property
    def _keeping(self) -> dict[str, Any]:
        return {
            "max_memory": self.max_memory,
            "checkpoint": self.checkpoint,
            "checkpoint_interval": self.checkpoint_interval,
            "resume": self.resume,
        }

    def _drawing(self, taken: float) -> dict[str, Any]:
        # What is left of the time; at least a moment, so that the status says how far it came.
        left = None if self.max_time is None else max(self.max_time - taken, 1e-3)
        return {"replicates": self.replicates, "method": self.resampling, "resume": self.draws, "max_time": left}

    def _hand_over(self, solution: Solution, data: FileTable, given: Interventions | None) -> bool:
        """Write the files and say the result; whether all were written."""
        shown = graphs.shown(solution, self.which)
        writers: list[Writer] = [(path, partial(graphs.save, shown)) for path in self.output or []]
        if self.report is not None:
            writers.append((self.report, lambda path: write_report(solution, path, data, given=given)))
        whole = write_all(solution, writers)
        if self.as_json:
            say_json(shown.content().as_dict())
        else:
            say(in_flags(graphs.text(solution, self.which)))
        return whole


def _with_penalty(solver: str, penalty: float | None) -> Any:
    """The engine with the price of an edge that was asked for."""
    from psidag.engines.sparse import Sparse

    if penalty is None:
        return solver
    if solver not in ("auto", "sparse"):
        raise InputError(
            f"--penalty is the price of an edge in the sparse search, which --solver {solver} does not use"
        )
    return Sparse(penalty=penalty)


def _learn(data: Source, options: dict[str, Any], *, quiet: bool) -> tuple[Solution, bool]:
    """The graph, and whether it was stopped by hand; ``quiet`` about what the summary will say anyway."""
    from psidag.learning.learn import Interrupted, learn_dag

    heard: list[Any] = []

    def hear(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
        if issubclass(category, DataWarning):
            heard.append(message)
        else:
            show_warning(message, category)

    said: tuple[str, ...] = ()
    with warnings.catch_warnings():
        warnings.showwarning = hear
        try:
            solution, interrupted = learn_dag(data, **options), False
            said = solution.warnings
        except Interrupted as stopped:
            solution, interrupted = stopped.solution, True
            said = solution.warnings
        finally:
            for message in heard:
                if not (quiet and str(message) in said):
                    show_warning(message, DataWarning)
    return solution, interrupted


def _source(data: FileTable, given: Interventions | None, missing: Missing, *, quiet: bool) -> Source:
    """The rows, complete; ``quiet`` about what the summary will say anyway."""
    with warnings.catch_warnings():
        if quiet:
            warnings.simplefilter("ignore", DataWarning)
        return as_experiment(data, given, missing=missing)


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
