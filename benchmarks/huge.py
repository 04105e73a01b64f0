"""Tables too wide for the matrix of their correlations: time, memory and errors of the sparse engine on ER2.

``python benchmarks/huge.py 30000 100000`` prints one row for each number of columns. Every run is in a process of its
own, whose peak memory includes the interpreter and the table (float32, n = 2,000). Errors stand beside those of the
true order: the same engine with every node held to its place in it, on the same rows. ``--max-memory`` is the
engine's own; 0 makes it compute products in blocks at any size. ``--skip-order`` leaves the true order out.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
import warnings

import numpy as np

from psidag import DataWarning, learn_dag
from psidag.data.sources import Table
from psidag.engines.sparse import Sparse
from psidag.graph.constraints import BoundConstraints
from psidag.graph.metrics import edge_errors, heldout_gap
from psidag.graph.order import positions
from psidag.learning.forecast import forecast
from psidag.run.loop import Task, run
from psidag.simulate import Problem, simulate
from psidag.system.parallel import workers

warnings.simplefilter("ignore", DataWarning)
ROWS, TEST_ROWS = 2000, 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=[30_000])
    parser.add_argument("--graph", default="ER2")
    parser.add_argument("--seed", type=int, default=300)
    parser.add_argument("--max-memory", type=float, default=None)
    parser.add_argument("--skip-order", action="store_true")
    parser.add_argument("--part", choices=["learn", "order"], help="one part of one size, as JSON")
    arguments = parser.parse_args()
    if arguments.part:
        print(json.dumps(PARTS[arguments.part](arguments)))
        return
    print(f"{arguments.graph}, seed {arguments.seed}, n = {ROWS}; {os.cpu_count()} cores ({platform.machine()}).\n")
    print("| d | seconds (of processor time) | forecast | peak GB | forecast beside the data | SHD (rev/extra/miss) "
          "| true order's | ratio | gap % | true order's | ratio |")  # fmt: skip
    print("| --- " * 11 + "|")
    for d in arguments.sizes:
        ours = in_process(arguments, d, "learn")
        best = None if arguments.skip_order else in_process(arguments, d, "order")
        row(d, ours, best)


def in_process(arguments: argparse.Namespace, d: int, part: str) -> dict:
    command = [sys.executable, __file__, str(d), "--part", part, "--graph", arguments.graph]
    command += ["--seed", str(arguments.seed)]
    if arguments.max_memory is not None:
        command += ["--max-memory", str(arguments.max_memory)]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    print(f"<!-- {d} {part}: {found} -->", flush=True)
    return found


def row(d: int, ours: dict, best: dict | None) -> None:
    shd, order_shd = sum(ours["errors"]), None if best is None else sum(best["errors"])
    cells = [
        f"{d:,}", f"{ours['seconds']:.0f} ({ours['processor']:.0f})", f"{ours['forecast_seconds']:.0f} s",
        f"{ours['peak']:.2f}", f"{ours['forecast_memory']:.2f} GB", f"**{shd}** ({'/'.join(map(str, ours['errors']))})",
        order_shd, "" if best is None else f"{shd / order_shd:.2f}", f"{100 * ours['gap']:.3f}",
        "" if best is None else f"{100 * best['gap']:.3f}", "" if best is None else f"{ours['gap'] / best['gap']:.2f}",
    ]  # fmt: skip
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def learn(arguments: argparse.Namespace) -> dict:
    problem = problem_of(arguments)
    engine = Sparse(max_memory=arguments.max_memory)
    expected = forecast(ROWS, problem.d, engine, problem.X)
    wall, processor = time.perf_counter(), time.process_time()
    solution = learn_dag(problem.X, engine, random_state=0)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    return {
        **judged(problem, solution.dag.weights),
        "seconds": wall,
        "processor": processor,
        "forecast_seconds": expected.seconds,
        "forecast_memory": expected.memory / 1e9,
        "status": str(solution.status),
        "engine": solution.engine,
    }


def order(arguments: argparse.Namespace) -> dict:
    """The same engine where every node has its place in the true order."""
    problem = problem_of(arguments)
    none = np.empty((0, 2), dtype=np.intp)
    held = BoundConstraints(problem.names, none, none, positions(problem.dag.order))
    with workers() as threads:
        task = Task(Table(problem.X, problem.names), held, np.random.default_rng(0), threads)
        outcome = run(Sparse(max_memory=arguments.max_memory), task)
    return judged(problem, outcome.candidate.weights)


def problem_of(arguments: argparse.Namespace) -> Problem:
    return simulate(
        arguments.graph, ROWS, d=arguments.sizes[0], seed=arguments.seed, n_test=TEST_ROWS, dtype=np.float32
    )


def judged(problem: Problem, weights) -> dict:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    found = edge_errors(problem.dag.weights, weights)
    gap = heldout_gap(problem.dag, weights, problem.X_test)
    return {"peak": peak, "errors": [found.reversed, found.extra, found.missing], "gap": float(gap)}


PARTS = {"learn": learn, "order": order}

if __name__ == "__main__":
    main()
