"""The comparison of columns: how fast its kernels are, what it passes over, and what a cluster adds.

``python benchmarks/comparison.py kernels`` has the pairs of columns a second of every kernel that the processor has
and of the BLAS in single precision, by processor time. ``power`` in its place counts the pairs, and among them the true
edges, that products in single precision list and small integers do not. ``cluster`` compares in one process and with
two workers on this machine: seconds of the wall clock, and whether the lists are the same.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from psidag import cluster
from psidag.data.correlations import correlations
from psidag.data.sources import Table
from psidag.engines.candidates import Scan, advance
from psidag.engines.comparison import Compared
from psidag.search._compare import compare, kernels
from psidag.simulate import simulate
from psidag.stages.within_order import search_penalty
from psidag.system.parallel import Workers, workers

SHARE = 0.8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=list(PARTS))
    parser.add_argument("--columns", type=int, default=20_000)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--graph", default="ER2")
    parser.add_argument("--seed", type=int, default=302)
    parser.add_argument("--repeats", type=int, default=7)
    PARTS[parser.parse_args().part](parser.parse_args())


def speed(arguments: argparse.Namespace) -> None:
    """Best of several repeats, because others may be at work."""
    rng = np.random.default_rng(arguments.seed)
    columns = rng.standard_normal((arguments.columns, arguments.rows), np.float32)
    columns /= np.linalg.norm(columns, axis=1, keepdims=True)
    nodes, few = 512, columns[:512]
    with workers(1) as threads:
        compared = Compared.of(columns, threads)
    if compared.small is None or compared.start is None:
        print("this processor has no kernel for small integers")
        return
    left = rng.integers(-10, 11, (nodes, compared.small.shape[1] // 16), dtype=np.int8)
    bound, none = np.full(nodes, 2**30, np.int32), np.empty(0, np.int32)
    found = {}
    for name, kernel in kernels().items():
        if name != "plain":
            part = (left, compared.small, compared.start, bound, -nodes, none, none.copy(), kernel)
            found[name] = best(lambda part=part: compare(*part), arguments.repeats)
    with threadpool_limits(1):
        found["BLAS"] = best(lambda: [few @ columns[k : k + 1024].T for k in range(0, len(columns), 1024)], 3)
    print(f"{arguments.columns} columns, {arguments.rows} rows: " + ", ".join(
        f"{name} {1e-6 * nodes * len(columns) / seconds:.0f}" for name, seconds in found.items()
    ) + " million pairs a second and core")  # fmt: skip


def best(work, repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def power(arguments: argparse.Namespace) -> None:
    """What a first scan and one of residuals list, either way."""
    problem = simulate(
        arguments.graph, arguments.rows, d=arguments.columns, seed=arguments.seed, dtype=np.float32
    )  # fmt: skip
    d, truth = problem.d, problem.dag.weights
    edges = set((sp.coo_array(truth).row.astype(np.int64) * d + sp.coo_array(truth).col).tolist())
    with workers() as threads:
        data = correlations(Table(problem.X, problem.names), threads, max_memory=0)
        penalty = search_penalty(data.count, d)
        # Residuals given the true parents but the weakest: what a search looks at that has found the others.
        scale = sp.csr_array(sp.diags_array(data.sd) @ truth @ sp.diags_array(1 / data.sd))
        level = np.full(d, penalty / (2 * data.count))
        lack = lacking_one(scale)
        residual_level = SHARE * 2 * level / data.variance
        for name, weights, bar in (("correlations", None, level), ("residuals", lack, residual_level)):
            exact, small = (
                pairs(compared, weights, bar, d, threads)
                for compared in (Compared(data.columns), Compared.of(data.columns, threads))
            )
            lost, among = exact - small, exact & edges if weights is not None else {
                e for e in edges if e in exact or (e % d) * d + e // d in exact
            }  # fmt: skip
            missed = {e for e in among if not (e in small or (weights is None and (e % d) * d + e // d in small))}
            print(f"{name}: {len(exact)} pairs by single precision, {len(lost)} of them not by small integers, "
                  f"{len(small - exact)} more; {len(among)} true edges, {len(missed)} of them not "
                  f"({100 * len(missed) / max(1, len(among)):.4f} %)")  # fmt: skip


def lacking_one(weights: sp.csr_array) -> sp.csr_array:
    """The graph without the weakest parent of each node."""
    found = sp.coo_array(weights)
    weakest = np.lexsort((np.abs(found.data), found.col))
    first = np.concatenate([[True], np.diff(found.col[weakest]) != 0])
    keep = np.ones(found.nnz, bool)
    keep[weakest[first]] = False
    return sp.csr_array((found.data[keep], (found.row[keep], found.col[keep])), shape=found.shape)


def pairs(compared: Compared, weights: sp.csr_array | None, level, d: int, threads: Workers) -> set[int]:
    found = np.concatenate(scanned(compared, weights, level, threads).found, axis=1).astype(np.int64)
    # Of residuals the pair is (node, candidate), an edge from the second to the first.
    return set((found[0] * d + found[1] if weights is None else found[1] * d + found[0]).tolist())


def scanned(compared: Compared, weights: sp.csr_array | None, level, threads: Workers) -> Scan:
    scan = Scan(np.arange(len(compared.columns)), level)
    while not scan.ended:
        scan = advance(compared, scan, weights, threads)
    return scan


def spread(arguments: argparse.Namespace) -> None:
    """One process with one thread and with two, and two workers of a cluster."""
    problem = simulate(
        arguments.graph, arguments.rows, d=arguments.columns, seed=arguments.seed, dtype=np.float32
    )  # fmt: skip
    level = np.full(problem.d, search_penalty(arguments.rows, problem.d) / (2 * arguments.rows))
    with workers() as threads:
        data = correlations(Table(problem.X, problem.names), threads, max_memory=0)
        compared = Compared.of(data.columns, threads)
    lists = []
    with cluster(2) as machines:
        machines.map(abs, range(2))
        for name, jobs in (("one thread", 1), ("two threads", 2), ("two workers", machines)):
            start = time.perf_counter()
            sent = compared if jobs is not machines else compared.shared(machines.folder)
            written = time.perf_counter() - start
            with workers(jobs) as threads:
                lists.append(scanned(sent, None, level, threads).found)
            same = all(np.array_equal(a, b) for a, b in zip(lists[0], lists[-1], strict=True))
            total = sum(piece.shape[1] for piece in lists[-1])
            print(f"{name}: {time.perf_counter() - start:.1f} s, {written:.1f} of them to write the columns; "
                  f"{total} pairs, the same as by one thread: {same}", flush=True)  # fmt: skip


PARTS = {"kernels": speed, "power": power, "cluster": spread}

if __name__ == "__main__":
    main()
