"""Several methods on one problem or table, each in a process of its own, judged by the same ruler."""

from __future__ import annotations

import html
import pickle
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from psidag.data.containers import as_rows
from psidag.data.files import FileTable, read_table
from psidag.data.scans import Batches
from psidag.graph.dag import DAG
from psidag.graph.partial import PartialGraph
from psidag.learning.learn import learn_dag
from psidag.run.loop import Engine
from psidag.simulate.problem import Problem
from psidag.solution import Solution
from psidag.solution.tables import html_table, text_table
from psidag.system.errors import DataWarning, InputError
from psidag.system.memory import peak_megabytes, reset_peak
from psidag.system.process import Apart, Report

#: A solver, or the options of :func:`learn_dag` that make a method.
Method: TypeAlias = str | Engine | Mapping[str, Any]

#: Seconds, after twice its budget, until a method that does not heed it is killed.
_GRACE = 30.0
#: Share of the rows of a table without a truth that methods are judged on.
_HELD_OUT = 0.25
#: Fewer rows than this on either side judge nothing.
_FEWEST = 5
_NOTES = (
    "memory: the most held while learning, beyond data and libraries; SHD: missing + extra + reversed, a "
    "reversed edge\ncounts once; gap: (loss - true loss) / true loss on held-out rows"
)


@dataclass(frozen=True)
class Score:
    """What came of one method.

    Attributes
    ----------
    method : str
        Its label.
    status : str
        The code of the solution's status, or ``"failed"`` or ``"killed"``.
    message : str
        Why it ended, with advice.
    seconds : float
        Wall time of learning, without starting the process; nan if it was lost.
    memory : float
        Megabytes: the most resident memory while learning, less what was held before it began.
    dag : DAG or None
        What was learned.
    measures : mapping or None
        All measures of :meth:`Problem.compare`; without a truth, numbers of edges and the log-likelihood of held-out
        rows.
    graph : PartialGraph or None
        The edges with a direction only where there is one.
    """

    method: str
    status: str
    message: str
    seconds: float = float("nan")
    memory: float = float("nan")
    dag: DAG | None = None
    measures: Mapping[str, float] | None = None
    graph: PartialGraph | None = None

    def as_dict(self) -> dict[str, Any]:
        """One flat row."""
        row: dict[str, Any] = {"method": self.method, "seconds": self.seconds, "memory": self.memory}
        return row | dict(self.measures or {}) | {"status": self.status, "message": self.message}


class Scoreboard(Sequence[Score]):
    """One score a method, in the order given; prints as a table."""

    _columns: ClassVar[Mapping[str, str]] = {
        "learned_edges": "edges",
        "shd": "SHD",
        "missing": "missing",
        "extra": "extra",
        "reversed": "reversed",
        "gap": "gap",
    }
    _notes: ClassVar[str] = _NOTES

    def __init__(self, problem: str, scores: Sequence[Score]) -> None:
        self.problem = problem
        self._scores = tuple(scores)

    @overload
    def __getitem__(self, index: int) -> Score: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Score, ...]: ...
    def __getitem__(self, index: int | slice) -> Score | tuple[Score, ...]:
        return self._scores[index]

    def __len__(self) -> int:
        return len(self._scores)

    def to_pandas(self) -> Any:
        """A DataFrame with a row for each method and a column for each measure."""
        import pandas as pd

        return pd.DataFrame([score.as_dict() for score in self])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.problem!r}: {', '.join(score.method for score in self)})"

    def __str__(self) -> str:
        lines = [self.problem]
        for table in self._tables():
            sides = [heading in ("method", "in common", "status") for heading in table[0]]
            lines += [*text_table(table, sides), *self._remarks(table)]
        return "\n".join([*lines, self._notes])

    def _repr_html_(self) -> str:
        """The same for notebooks."""
        parts = [f"<p>{html.escape(self.problem)}</p>"]
        for table in self._tables():
            parts += [html_table(table), *(f"<p>{html.escape(line)}</p>" for line in self._remarks(table))]
        return "".join([*parts, f"<p>{html.escape(self._notes)}</p>"])

    def _tables(self) -> list[list[list[str]]]:
        """What is shown, each as rows of cells of which the first are the headings."""
        header = ["method", "seconds", "memory/MB", *self._columns.values(), "status"]
        return [[header, *(list(self._cells(score)) for score in self)]]

    def _remarks(self, table: list[list[str]]) -> list[str]:
        """What stands below the table of scores."""
        if table[0][0] != "method":
            return []
        return [f"{s.method}: {s.message}" for s in self if s.status not in ("converged", "data_ended")]

    def _cells(self, score: Score) -> Iterator[str]:
        measures: Mapping[str, float] = score.measures or {}
        yield score.method
        yield _number(score.seconds)
        yield _number(score.memory)
        for key in self._columns:
            yield _number(measures.get(key, float("nan")))
        yield score.status


class SideBySide(Scoreboard):
    """Methods on a table whose graph nobody knows: what they have in common, and how well they predict new rows."""

    _columns: ClassVar = {
        "learned_edges": "edges",
        "directed_edges": "directed",
        "alone": "alone",
        "log_likelihood": "log-likelihood",
    }
    _notes: ClassVar = (
        "alone: edges that no other method has, whatever their direction; log-likelihood: of a held-out row, mean, "
        "higher is better\nin common: pairs that both join; turned: those of them that they direct opposite ways"
    )

    def in_common(self, first: str, second: str) -> tuple[int, int]:
        """How many pairs of variables two methods both join, and how many of these they direct opposite ways."""
        pairs = [_joined(score) for label in (first, second) for score in self if score.method == label]
        if len(pairs) != 2:
            raise InputError(f"there are no two methods {first!r} and {second!r} here; see {self!r}")
        both = pairs[0].keys() & pairs[1].keys()
        return len(both), sum(pairs[0][pair] * pairs[1][pair] < 0 for pair in both)

    def _tables(self) -> list[list[list[str]]]:
        done = [score.method for score in self if score.graph is not None]
        if len(done) < 2:
            return super()._tables()
        rows = [["in common", *done]]
        for a in done:
            found = [self.in_common(a, b) for b in done]
            rows.append([a, *(f"{both} ({turned} turned)" if turned else str(both) for both, turned in found)])
        return [*super()._tables(), rows]


def compare(
    problem: Problem | Any,
    methods: Sequence[str | Engine] | Mapping[str, Method],
    *,
    threshold: float | None = None,
    max_time: float | None = None,
    random_state: int | None = 0,
    n_jobs: int | None = None,
    missing: str = "error",
) -> Scoreboard:
    """Run several methods on one problem: time, memory and errors of each; or, on a table, what they have in common.

    Every method runs in a fresh process, one after the other, so that neither its memory nor its crash
    touches another's. A method that ends over its time, is killed or fails is a row that says so.

    Parameters
    ----------
    problem : Problem, or table
        What :func:`psidag.simulate.simulate` or a loader returns: data with a known graph. Or a data frame, array,
        path or prepared table whose graph nobody knows: a quarter of its rows, drawn by ``random_state``, is held out
        to judge what is learned from the others by its log-likelihood.
    methods : sequence of solvers, or mapping from labels to them
        Names, options objects, or dictionaries of arguments of :func:`learn_dag` such as
        ``{"solver": Golem(), "noise": "unequal", "threshold": 0.3}``. Options objects must come from an
        importable module.
    threshold, random_state, n_jobs, missing
        As in :func:`learn_dag`, for methods that do not say otherwise. Held-out rows are judged where they are
        complete.
    max_time : float, optional
        Seconds for each method, heeded by the method itself; one that is not back after twice the time and
        half a minute is killed.

    Returns
    -------
    Scoreboard, or SideBySide for a table

    Examples
    --------
    >>> from psidag.baselines import EqVar, SortRegress
    >>> from psidag.simulate import simulate
    >>> problem = simulate("ER2", n=1000, d=20, seed=0, n_test=1000)
    >>> scores = compare(problem, {"EqVar": EqVar(), "at random": SortRegress("random")})
    >>> scores[0].measures["shd"] < scores[1].measures["shd"]
    True
    """
    given: dict[str, Any] = {
        "threshold": threshold,
        "max_time": max_time,
        "random_state": random_state,
        "n_jobs": n_jobs,
    }
    trial = problem if isinstance(problem, Problem) else _trial(problem, random_state)
    if isinstance(trial, _Trial):
        given |= {"missing": missing}
    with Apart("psidag.learning.compare:_score") as apart:
        scores = [_run(apart, trial, label, given | options) for label, options in list(_labelled(methods))]
    if isinstance(trial, Problem):
        return Scoreboard(str(trial), scores)
    return SideBySide(str(trial), [_with_alone(score, scores) for score in scores])


def _labelled(
    methods: Sequence[str | Engine] | Mapping[str, Method],
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each method as a label and the arguments of ``learn_dag``."""
    if isinstance(methods, str):
        raise InputError(f"methods must be several: write [{methods!r}] for one")
    if isinstance(methods, Mapping):
        for label, method in methods.items():
            yield label, dict(method) if isinstance(method, Mapping) else {"solver": method}
    else:
        for solver in methods:
            yield solver if isinstance(solver, str) else solver.name, {"solver": solver}


@dataclass(frozen=True, eq=False)
class _Trial:
    """Rows to learn from and rows to be judged on, of a table without a known graph."""

    name: str
    names: tuple[str, ...]
    X: NDArray[Any]
    X_test: NDArray[Any]

    def __str__(self) -> str:
        return f"{self.name}{len(self.X)} rows of {len(self.names)} variables, {len(self.X_test)} held out"


def _trial(data: Any, seed: int | None) -> _Trial:
    """A quarter of the rows apart; what is judged on must be complete."""
    name = f"{data}: " if isinstance(data, str | Path) else ""
    table = read_table(data) if isinstance(data, str | Path) else data
    if isinstance(table, FileTable):
        table = table.numbers_only()
        if isinstance(table.X, Batches):
            raise InputError("a table on which methods are compared must fit in memory: choose columns or rows of it")
        X, names = as_rows(table.X, table.names)
    else:
        X, names = as_rows(table)
    shuffled = np.random.default_rng(seed).permutation(len(X))
    apart = X[np.sort(shuffled[: round(_HELD_OUT * len(X))])]
    apart = apart[np.isfinite(apart).all(axis=1)]
    kept = X[np.sort(shuffled[round(_HELD_OUT * len(X)) :])]
    if min(len(kept), len(apart)) < _FEWEST:
        raise InputError(
            f"of {len(X)} rows, {len(kept)} are left to learn from and {len(apart)} complete ones to be judged on: "
            f"{_FEWEST} of each are the least"
        )
    return _Trial(name, names, kept, apart)


def _joined(score: Score) -> dict[frozenset[int], int]:
    """The pairs that a method joins: 1 or −1 for the direction it gives them, 0 for none."""
    if score.graph is None:
        return {}
    graph = score.graph
    ends = zip(graph.sources.tolist(), graph.targets.tolist(), graph.directed.tolist(), strict=True)
    return {frozenset((i, j)): (1 if i < j else -1) if directed else 0 for i, j, directed in ends}


def _with_alone(score: Score, scores: Sequence[Score]) -> Score:
    """With the number of edges that no other method has."""
    if score.measures is None:
        return score
    elsewhere = {pair for other in scores if other is not score for pair in _joined(other)}
    alone = sum(pair not in elsewhere for pair in _joined(score))
    return replace(score, measures={**score.measures, "alone": alone})


def _run(apart: Apart, problem: Problem | _Trial, label: str, options: dict[str, Any]) -> Score:
    """The score of one method, from a process of its own."""
    try:
        order = pickle.dumps((problem, options))
    except Exception as error:
        return Score(label, "failed", f"it cannot be sent to a process of its own: {error}")
    limit = options["max_time"]
    max_seconds = None if limit is None else 2 * limit + _GRACE
    ended = apart.run(order, max_seconds=max_seconds)
    if ended.killed:
        return Score(label, "killed", f"not back {max_seconds:g} s after the start, with max_time={limit:g} s")
    if not ended.answered:
        return Score(label, "failed", f"its process ended with code {ended.code}: {ended.remark}")
    return Score(label, **ended.answer)


def _score(order: tuple[Problem | _Trial, dict[str, Any]], _: Report) -> dict[str, Any]:
    """In the new process: what comes of a problem and the options of a method."""
    problem, options = order
    reset_peak()
    held, start = peak_megabytes(), time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            solution = learn_dag(problem.X, names=problem.names, **options)
    except Exception as error:
        return {"status": "failed", "message": f"{type(error).__name__}: {error}"}
    seconds = time.perf_counter() - start
    return {
        "status": solution.status.code,
        "message": solution.status.message,
        "seconds": seconds,
        "memory": peak_megabytes() - held,
        "dag": solution.dag,
        "graph": solution.graph,
        "measures": problem.compare(solution.dag) if isinstance(problem, Problem) else _judged(solution, problem),
    }


def _judged(solution: Solution, trial: _Trial) -> dict[str, float]:
    return {
        "learned_edges": solution.graph.n_edges,
        "directed_edges": solution.graph.n_directed,
        "log_likelihood": solution.score(trial.X_test),
    }


def _number(value: float) -> str:
    """A count as it is, a measurement to three digits, nothing as a dash."""
    if value != value:
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.3g}"
