"""Several methods on one problem, each in a process of its own, judged by the same ruler."""

from __future__ import annotations

import pickle
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, overload

from psidag.graph.comparison import Comparison
from psidag.graph.dag import DAG
from psidag.learning.learn import learn_dag
from psidag.run.loop import Engine
from psidag.simulate.problem import Problem
from psidag.system.errors import DataWarning, InputError
from psidag.system.process import Report, peak_megabytes, reset_peak, run_apart

#: A solver, or the options of :func:`learn_dag` that make a method.
Method: TypeAlias = str | Engine | Mapping[str, Any]

#: Seconds, after twice its budget, until a method that does not heed it is killed.
_GRACE = 30.0
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
    measures : Comparison or None
        All measures of :meth:`Problem.compare`.
    """

    method: str
    status: str
    message: str
    seconds: float = float("nan")
    memory: float = float("nan")
    dag: DAG | None = None
    measures: Comparison | None = None

    def as_dict(self) -> dict[str, Any]:
        """One flat row."""
        row: dict[str, Any] = {"method": self.method, "seconds": self.seconds, "memory": self.memory}
        return row | dict(self.measures or {}) | {"status": self.status, "message": self.message}


class Scoreboard(Sequence[Score]):
    """One score a method, in the order given; prints as a table."""

    _columns = ("edges", "SHD", "missing", "extra", "reversed", "gap")
    _keys = ("learned_edges", "shd", "missing", "extra", "reversed", "gap")

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
        return f"Scoreboard({self.problem!r}: {', '.join(score.method for score in self)})"

    def __str__(self) -> str:
        header = ["method", "seconds", "memory/MB", *self._columns, "status"]
        rows = [header, *(list(self._cells(score)) for score in self)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [self.problem]
        for row in rows:
            middle = (cell.rjust(width) for cell, width in zip(row[1:-1], widths[1:-1], strict=True))
            lines.append("  ".join([row[0].ljust(widths[0]), *middle, row[-1]]).rstrip())
        lines += [f"{s.method}: {s.message}" for s in self if s.status not in ("converged", "data_ended")]
        return "\n".join([*lines, _NOTES])

    def _cells(self, score: Score) -> Iterator[str]:
        measures: Mapping[str, float] = score.measures or {}
        yield score.method
        yield _number(score.seconds)
        yield _number(score.memory)
        for key in self._keys:
            yield _number(measures.get(key, float("nan")))
        yield score.status


def compare(
    problem: Problem,
    methods: Sequence[str | Engine] | Mapping[str, Method],
    *,
    threshold: float | None = None,
    max_time: float | None = None,
    random_state: int | None = 0,
    n_jobs: int | None = None,
) -> Scoreboard:
    """Run several methods on one problem: time, memory and errors of each.

    Every method runs in a fresh process, one after the other, so that neither its memory nor its crash
    touches another's. A method that ends over its time, is killed or fails is a row that says so.

    Parameters
    ----------
    problem : Problem
        What :func:`psidag.simulate.simulate` or a loader returns.
    methods : sequence of solvers, or mapping from labels to them
        Names, options objects, or dictionaries of arguments of :func:`learn_dag` such as
        ``{"solver": Golem(), "noise": "unequal", "threshold": 0.3}``. Options objects must come from an
        importable module.
    threshold, random_state, n_jobs
        As in :func:`learn_dag`, for methods that do not say otherwise.
    max_time : float, optional
        Seconds for each method, heeded by the method itself; one that is not back after twice the time and
        half a minute is killed.

    Examples
    --------
    >>> from psidag.baselines import EqVar, SortRegress
    >>> from psidag.simulate import simulate
    >>> problem = simulate("ER2", n=1000, d=20, seed=0, n_test=1000)
    >>> scores = compare(problem, {"EqVar": EqVar(), "at random": SortRegress("random")})
    >>> scores[0].measures["shd"] < scores[1].measures["shd"]
    True
    """
    shared = {"threshold": threshold, "max_time": max_time, "random_state": random_state, "n_jobs": n_jobs}
    return Scoreboard(
        str(problem),
        [_run(problem, label, shared | options) for label, options in _labelled(methods)],
    )


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


def _run(problem: Problem, label: str, options: dict[str, Any]) -> Score:
    """The score of one method, from a process of its own."""
    try:
        order = pickle.dumps((problem, options))
    except Exception as error:
        return Score(label, "failed", f"it cannot be sent to a process of its own: {error}")
    limit = options["max_time"]
    patience = None if limit is None else 2 * limit + _GRACE
    ended = run_apart("psidag.learning.compare:_score", order, patience=patience)
    if ended.killed:
        return Score(label, "killed", f"not back {patience:g} s after the start, with max_time={limit:g} s")
    if not ended.answered:
        return Score(label, "failed", f"its process ended with code {ended.code}: {ended.remark}")
    return Score(label, **ended.answer)


def _score(order: tuple[Problem, dict[str, Any]], _: Report) -> dict[str, Any]:
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
        "measures": problem.compare(solution.dag),
    }


def _number(value: float) -> str:
    """A count as it is, a measurement to three digits, nothing as a dash."""
    if value != value:
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.3g}"
