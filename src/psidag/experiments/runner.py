"""Run cells, each in a process of its own, a few at a time; every end is a row, and no row is made twice."""

from __future__ import annotations

import pickle
import signal
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from typing import Any

from psidag.experiments.catalogue import expected_seconds
from psidag.experiments.cells import Cell
from psidag.experiments.machine import describe, pinned
from psidag.experiments.measure import summary
from psidag.experiments.methods import METHODS
from psidag.experiments.table import ResultTable, Row
from psidag.system.parallel import Mapper
from psidag.system.process import Apart

#: Wall seconds after which a cell is killed: this many times its budget, because its clock stands still while it is
#: judged and other work may hold it up, and these for starting and drawing the problem.
_TIMES_BUDGET, _GRACE = 6.0, 300.0
#: Ends that say nothing about a cell: somebody, or a system short of memory, has ended its process.
_FROM_OUTSIDE = frozenset(-number for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT))


def run_cells(
    cells: Sequence[Cell],
    table: ResultTable,
    *,
    at_once: int = 1,
    threads: int = 1,
    machines: Mapper | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> int:
    """Run the cells that the table does not answer yet; append a row for each as it ends.

    Parameters
    ----------
    cells : sequence of Cell
        In the order in which they are begun.
    table : ResultTable
        Where rows are kept. Killed at any moment, a second call goes on where the first stopped.
    at_once : int
        How many processes run side by side.
    threads : int
        Threads of each.
    machines : Mapper, optional
        A cluster (:func:`psidag.cluster`) whose workers start the processes, instead of this machine.
    say : callable
        Called with a line about each cell that has ended, what is running, and what is left.

    Returns
    -------
    int
        How many cells were run.
    """
    rows = table.rows()
    todo = [cell for cell in cells if not any(row.answers(cell) for row in rows)]
    clock = _Forecast(todo, at_once)
    say(f"{len(cells)} cells, {len(cells) - len(todo)} of them done before; {clock.left()}")
    waiting = list(todo)
    running: dict[Future[Row | None], Cell] = {}
    stop = threading.Event()

    def run_one(cell: Cell) -> Row | None:
        if machines is None:
            return run_cell(cell, threads, at_once, apart, stop)
        return machines.map(partial(run_cell, threads=threads, at_once=at_once), [cell])[0]

    with _measuring(threads) as apart, ThreadPoolExecutor(at_once) as pool:
        try:
            while waiting or running:
                while waiting and len(running) < at_once:
                    cell = waiting.pop(0)
                    running[pool.submit(run_one, cell)] = cell
                ended: set[Future[Row | None]] = wait(running, return_when=FIRST_COMPLETED).done
                for future in ended:
                    cell, row = running.pop(future), future.result()
                    if row is not None:
                        table.append(row)
                    clock.count(cell)
                    now = "; ".join(_name(other) for other in [*running.values(), *waiting[:1]]) or "nothing"
                    ended_so_far = f"[{clock.ended}/{len(todo)}] {_name(cell)}: {_outcome(row)}"
                    say(f"{ended_so_far} | {clock.left()} | running {now}")
        except BaseException:
            stop.set()
            raise
    return len(todo)


def run_cell(
    cell: Cell, threads: int, at_once: int, apart: Apart | None = None, stop: threading.Event | None = None
) -> Row | None:
    """The row of a cell, whatever becomes of it; None if its process was killed from outside: it is to be run again."""
    if apart is None:
        with _measuring(threads) as apart:
            return run_cell(cell, threads, at_once, apart, stop)
    ended = apart.run(
        pickle.dumps((cell, threads)),
        max_seconds=_TIMES_BUDGET * cell.seconds + _GRACE,
        memory=cell.memory,
        stop=stop,
    )
    if not ended.answered and not ended.killed and ended.code in _FROM_OUTSIDE:
        return None
    found: dict[str, Any]
    if ended.answered:
        found = ended.answer
    else:
        found = summary(ended.reports)
        seconds, found["gradients"], gap = ended.reports[-1] if ended.reports else (float("nan"),) * 3
        found["seconds"] = seconds
        if ended.killed == "memory":
            found |= {"status": "over_memory", "message": f"over budget at {cell.memory:.0f} MB, gap {gap:.2f}"}
        elif ended.killed:
            found |= {"status": "over_time", "message": f"over budget: killed, not back in time, gap {gap:.2f}"}
        else:
            found |= {"status": "failed", "message": f"its process ended with code {ended.code}: {ended.remark}"}
    problem = cell.problem
    return Row(
        graph=problem.graph,
        d=problem.d,
        noise=problem.noise,
        n=problem.n,
        method=cell.method,
        seed=cell.seed,
        id=cell.id,
        budget=cell.seconds,
        to_goal=cell.to_goal,
        threads=threads,
        at_once=at_once,
        machine=describe(),
        **found,
    )


def _measuring(threads: int) -> Apart:
    return Apart("psidag.experiments.measure:measure", pinned(threads))


class _Forecast:
    """How long the rest will take, judged by how long the first cells took against what was expected."""

    def __init__(self, cells: Sequence[Cell], at_once: int) -> None:
        self.ended = 0
        self._at_once = at_once
        self._start = time.monotonic()
        self._expected_left = sum(map(expected_seconds, cells)) / at_once
        self._expected_done = 0.0

    def count(self, cell: Cell) -> None:
        """One cell has ended."""
        share = expected_seconds(cell) / self._at_once
        self.ended += 1
        self._expected_done += share
        self._expected_left -= share

    def left(self) -> str:
        """In words."""
        elapsed = time.monotonic() - self._start
        # A few seconds of faith in the expectation, so that the first cells do not throw it about.
        pace = (elapsed + 20) / (self._expected_done + 20)
        return f"about {duration(max(0.0, self._expected_left) * pace)} left"


def duration(seconds: float) -> str:
    """Seconds, minutes or hours, whichever reads best."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _name(cell: Cell) -> str:
    return f"{cell.problem.name} {METHODS[cell.method].label} seed {cell.seed}"


def _outcome(row: Row | None) -> str:
    if row is None:
        return "its process was killed from outside: no row, and the same command runs it again"
    if row.over_budget or row.status == "failed":
        return row.message
    met = f"criterion met after {row.goal_seconds:.3g} s" if row.reached else "criterion never met"
    return f"{row.status} after {row.seconds:.3g} s, gap {row.gap:.2g}, {met}"
