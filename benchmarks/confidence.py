"""How sure is sure: calibration of support, the bound of stability selection, and time.

``python benchmarks/confidence.py [PART ...]`` with the parts ``calibration``, ``assumptions``, ``stability``, ``time``,
``wide`` and ``sachs``; all but ``wide`` by default. What it printed is in ``confidence.md``.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from psidag import Confidence, DataWarning, bootstrap, learn_dag
from psidag.data.writing import write_table
from psidag.datasets import load_sachs
from psidag.graph.metrics import edge_errors
from psidag.simulate import Problem, simulate
from psidag.system.errors import InputError

GRAPHS = ("ER2", "ER4", "SF4")
ROWS = (500, 5000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], metavar="PART")
    parser.add_argument("--seeds", type=int, default=5, help="how many, from 200 on")
    parser.add_argument("--replicates", type=int, default=100)
    parser.add_argument("--graphs", nargs="+", default=GRAPHS, help="for calibration, stability and time")
    given = parser.parse_args()
    warnings.simplefilter("ignore", DataWarning)
    for part in given.parts or [name for name in PARTS if name != "wide"]:
        print(f"\n## {part}\n", flush=True)
        PARTS[part](range(200, 200 + given.seeds), given.replicates, given.graphs)


def calibration(seeds: range, replicates: int, graphs: Sequence[str]) -> None:
    """Share of true edges among edges of a support."""
    names = "graph, rows, method, support > 0.9, true, worst seed, of all edges, 0.5 to 0.9, true, SHD, consensus's SHD"
    header(*names.split(", "))
    for graph in graphs:
        for n in ROWS:
            for method in ("bootstrap", "subsample"):
                runs = []
                for seed in seeds:
                    problem = simulate(graph, n, d=100, seed=seed)
                    found = bootstrap(problem.X, replicates=replicates, method=method, random_state=seed)
                    plain = learn_dag(problem.X, random_state=seed).dag
                    shds = [edge_errors(problem.dag, dag).shd for dag in (plain, found.consensus())]
                    runs.append((*judge(problem, found), problem.dag.n_edges, *shds))
                print_cell(graph, n, method, np.array(runs, dtype=float))


def judge(problem: Problem, found: Confidence) -> tuple[int, int, int, int]:
    """Edges of support above 0.9 and the true ones among them; the same from above 0.5 to 0.9."""
    right = true_edges(problem, found)
    high = found.support > 0.9
    middle = (found.support > 0.5) & ~high
    return int(high.sum()), int((high & right).sum()), int(middle.sum()), int((middle & right).sum())


def true_edges(problem: Problem, found: Confidence) -> np.ndarray:
    return np.asarray(problem.dag.weights.toarray()[found.sources, found.targets] != 0)


def print_cell(graph: str, n: int, method: str, runs: np.ndarray) -> None:
    high, right, middle, middle_right, edges, shd, consensus = runs.sum(axis=0)
    worst = (runs[:, 1] / np.maximum(runs[:, 0], 1)).min()
    row(
        graph, n, method, int(high), share(right, high), share(worst, 1), share(right, edges), int(middle),
        share(middle_right, middle), f"{shd / len(runs):.1f}", f"{consensus / len(runs):.1f}",
    )  # fmt: skip


def assumptions(seeds: range, replicates: int, graphs: Sequence[str]) -> None:
    """ER2, d = 100, n = 5,000: what support does not see."""
    header("noise of the data", "learned with", "support > 0.9", "true edges", "reversed", "not adjacent")
    for label, scaled, noise in [
        ("equal variances", False, "equal"),
        ("sd in [0.5, 2]", True, "equal"),
        ("sd in [0.5, 2]", True, "unequal"),
    ]:
        total = np.zeros(4, dtype=int)
        for seed in seeds:
            scale = np.random.default_rng(seed).uniform(0.5, 2, 100) if scaled else 1.0
            problem = simulate("ER2", 5000, d=100, seed=seed, scale=scale)
            found = bootstrap(problem.X, replicates=replicates, noise=noise, random_state=seed)
            W = problem.dag.weights.toarray() != 0
            high = found.support > 0.9
            right, turned = W[found.sources, found.targets], W[found.targets, found.sources]
            total += [high.sum(), (high & right).sum(), (high & turned).sum(), (high & ~right & ~turned).sum()]
        row(label, f'`noise="{noise}"`', total[0], *(f"{k} ({share(k, total[0])})" for k in total[1:]))


def stability(seeds: range, replicates: int, graphs: Sequence[str]) -> None:
    """D = 100: the bound on false edges, and how many there are."""
    names = "graph, rows, edges, bound wanted, threshold, bound, stable, false, reversed among these, of all edges"
    header(*names.split(", "))
    for graph in graphs:
        for n in ROWS:
            runs: dict[tuple[bool, float], list[tuple[float, ...]]] = {}
            for seed in seeds:
                problem = simulate(graph, n, d=100, seed=seed)
                found = bootstrap(problem.X, replicates=replicates, method="subsample", random_state=seed)
                W = problem.dag.weights.toarray() != 0
                for directed in (True, False):
                    for wanted in (1.0, 5.0):
                        values = runs.setdefault((directed, wanted), [])
                        try:
                            chosen = found.stability(wanted, directed=directed)
                        except InputError:
                            continue
                        values.append(score(W, chosen, problem, directed))
            for (directed, wanted), values in runs.items():
                kind = "directed" if directed else "joined pairs"
                if len(values) < len(seeds):
                    row(graph, n, kind, f"{wanted:g}", f"out of reach for {len(seeds) - len(values)} seeds", *["–"] * 5)
                    continue
                mean = np.array(values).mean(axis=0)
                counts = [f"{value:.1f}" for value in mean[1:5]]
                row(graph, n, kind, f"{wanted:g}", f"{mean[0]:.2f}", *counts, share(mean[5], 1))


def score(W: np.ndarray, chosen: Any, problem: Problem, directed: bool) -> tuple[float, ...]:
    index = {name: k for k, name in enumerate(problem.names)}
    ends = np.array([(index[edge.source], index[edge.target]) for edge in chosen.edges]).reshape(-1, 2)
    right, turned = W[ends[:, 0], ends[:, 1]], W[ends[:, 1], ends[:, 0]]
    if not directed:
        right, turned = right | turned, np.zeros_like(turned)
    good = int(right.sum())
    return chosen.threshold, chosen.bound, len(ends), len(ends) - good, int(turned.sum()), good / problem.dag.n_edges


def duration(seeds: range, replicates: int, graphs: Sequence[str]) -> None:
    """D = 1,000, n = 5,000."""
    names = "graph, method, replicates, seconds, processor seconds, memory, support > 0.9, true, consensus's SHD"
    header(*names.split(", "))
    for graph in graphs:
        problem = simulate(graph, 5000, d=1000, seed=seeds[0])
        for method in ("bootstrap", "subsample"):
            start, spent = time.perf_counter(), time.process_time()
            found = bootstrap(problem.X, replicates=replicates, method=method, random_state=0)
            seconds, spent = time.perf_counter() - start, time.process_time() - spent
            high, right, *_ = judge(problem, found)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
            shd = edge_errors(problem.dag, found.consensus()).shd
            row(
                graph, method, replicates, f"{seconds:.1f}", f"{spent:.1f}", f"{peak} MB", high, share(right, high),
                shd,
            )  # fmt: skip


def wide(seeds: range, replicates: int, graphs: Sequence[str]) -> None:
    """ER2, d = 10,000, n = 5,000, float32: two replicates of each kind."""
    header("method", "replicates", "seconds each", "processor seconds each", "edges each", "memory")
    problem = simulate("ER2", 5000, d=10_000, seed=seeds[0], dtype=np.float32)
    for method in ("subsample", "bootstrap"):
        start, spent = time.perf_counter(), time.process_time()
        found = bootstrap(problem.X, replicates=2, method=method, random_state=0)
        seconds, spent = time.perf_counter() - start, time.process_time() - spent
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        row(method, 2, f"{seconds / 2:.1f}", f"{spent / 2:.1f}", int(found.times.sum()) // 2, f"{peak} MB")


def sachs(seeds: range, replicates: int, graphs: Sequence[str]) -> None:
    """``psidag fit sachs.csv --bootstrap 100``, all of it."""
    problem = load_sachs()
    with tempfile.TemporaryDirectory() as folder:
        table = str(Path(folder, "sachs.csv"))
        write_table(problem.X, problem.names, table)
        command = [sys.executable, "-m", "psidag", "fit", table, "--bootstrap", str(replicates), "--seed", "0"]
        start = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        print(f"{time.perf_counter() - start:.1f} s\n\n```\n{done.stdout.rstrip()}\n```")


def share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "–"


def header(*names: str) -> None:
    row(*names)
    row(*["---"] * len(names))


def row(*cells: Any) -> None:
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


PARTS: dict[str, Callable[[range, int, Sequence[str]], None]] = {
    "calibration": calibration,
    "assumptions": assumptions,
    "stability": stability,
    "time": duration,
    "wide": wide,
    "sachs": sachs,
}

if __name__ == "__main__":
    main()
