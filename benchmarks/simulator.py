"""Time, peak memory and empirical checks of large simulated problems: ``python benchmarks/simulator.py``.

Each problem is drawn in a process of its own, so that the peak is its own. The checks look at what a wrong
sampler would get wrong: the number of edges, and the mean and variance of x − Wᵀx, which must be the noise's.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import time
from typing import Any

import numpy as np

LARGE = {"d": 10_000, "n": 5_000}
CASES: list[dict[str, Any]] = [
    {"graph": "ER4", **LARGE, "dtype": "float64", "noise": "gaussian"},
    {"graph": "ER4", **LARGE, "dtype": "float32", "noise": "gumbel"},
    {"graph": "SF4", **LARGE, "dtype": "float64", "noise": "exponential"},
    {"graph": "ER4", **LARGE, "dtype": "float64", "noise": "gaussian", "standardise": "internal"},
    {"graph": "ER2", "d": 100_000, "n": 2_000, "dtype": "float32", "noise": "gaussian"},
]


def peak_megabytes() -> float:
    # Linux counts in kilobytes, macOS in bytes.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


def measure(case: dict[str, Any]) -> str:
    from psidag.graph.sortability import var_sortability
    from psidag.simulate import random_graph, simulate, standard_noise

    arguments = dict(case)
    before = peak_megabytes()
    start = time.perf_counter()
    random_graph(case["graph"], case["d"], rng=1)
    graph_seconds = time.perf_counter() - start
    start, cpu_start = time.perf_counter(), time.process_time()
    problem = simulate(arguments.pop("graph"), seed=0, **arguments)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu_start
    peak = peak_megabytes() - before

    rows = problem.X[:1000].astype(np.float64)
    residual = rows - rows @ problem.dag.weights
    if "standardise" in case:
        residual = (residual - problem.model.intercept) / problem.model.scale
    noise = standard_noise(case["noise"])
    label = f"{problem.name} n={problem.n} {case['dtype']} {case.get('standardise', '')}".strip()
    lines = [
        label,
        f"{seconds:.2f} s ({cpu:.2f} s of processor, graph {graph_seconds:.2f} s)",
        f"peak {peak:,.0f} MB for {problem.X.nbytes / 1e6:,.0f} MB of rows",
        f"{problem.dag.n_edges:,} edges, {problem.dag.n_edges / problem.d:.3f} per vertex, "
        f"largest in-degree {np.bincount(problem.dag.weights.indices).max()}",
        f"x - W'x has mean {residual.mean():+.4f} and variance {residual.var():.4f}, "
        f"the noise {noise.mean:+.4f} and {noise.variance:.4f}",
        f"largest variance of a column {rows.var(axis=0).max():,.1f}",
    ]
    if problem.d <= 20_000:
        start = time.perf_counter()
        sortable = var_sortability(problem.dag, problem.X)
        lines.append(f"var-sortability {sortable:.3f} (in {time.perf_counter() - start:.2f} s)")
    return "\n  ".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="only problems whose name contains this, such as 'ER2-d100000'")
    only = parser.parse_args().only
    context = multiprocessing.get_context("spawn")
    for case in CASES:
        if only is None or only in f"{case['graph']}-d{case['d']}":
            with context.Pool(1) as pool:
                print(pool.apply(measure, (case,)), flush=True)


if __name__ == "__main__":
    main()
