"""A million variables: rows straight to disk, learned from there with a checkpoint, and judged.

``python benchmarks/million.py 1000000 --folder DIR`` makes the problem (ER1, so that nodes have two neighbours on
average, n = 1,000, weights in ±[0.2, 1], Gaussian noise of equal variance) if it is not in the folder yet, learns from
the file, and says how well. Killed at any moment, the same command goes on from the checkpoint in the folder; seconds
are then of the last sitting.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from psidag import DataWarning, learn_dag
from psidag.learning.forecast import forecast
from psidag.simulate import simulate

warnings.simplefilter("ignore", DataWarning)
RANGES = ((-1.0, -0.2), (0.2, 1.0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("columns", type=int)
    parser.add_argument("--graph", default="ER1")
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=500)
    parser.add_argument("--noise", default="equal")
    parser.add_argument("--folder", type=Path, required=True)
    arguments = parser.parse_args()
    stem = f"{arguments.graph}-{arguments.columns}-{arguments.seed}"
    rows, truth, run = (arguments.folder / f"{stem}{end}" for end in (".npy", "-truth.npz", ".run"))
    if not truth.exists():
        made(arguments, rows, truth)
    table = np.load(rows, mmap_mode="r")
    expected = forecast(*table.shape, "sparse", table)
    print(f"forecast: {expected.seconds / 60:.0f} minutes, {expected.memory / 1e9:.1f} GB beside the data", flush=True)
    wall, processor = time.perf_counter(), time.process_time()
    solution = learn_dag(table, noise=arguments.noise, random_state=0, checkpoint=run, resume=True, progress=True)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{wall:.0f} s ({processor:.0f} s of the processor), peak {peak:.2f} GB; {solution.status}; {solution.noise}")
    print(judged(sp.csr_array(sp.load_npz(truth)), solution.dag.weights, solution.graph.directed.sum()))


def made(arguments: argparse.Namespace, rows: Path, truth: Path) -> None:
    start = time.perf_counter()
    problem = simulate(
        arguments.graph, arguments.rows, d=arguments.columns, seed=arguments.seed, ranges=RANGES, dtype=np.float32,
        path=rows,
    )  # fmt: skip
    sp.save_npz(truth, sp.csr_matrix(problem.dag.weights), compressed=False)
    print(f"{problem}: made in {time.perf_counter() - start:.0f} s", flush=True)


def judged(truth: sp.csr_array, found: sp.csr_array, directed: int) -> str:
    """Precision and recall of connections, whatever their direction, and of directed edges."""
    d = truth.shape[0]
    true, ours = (set(keys(graph, d).tolist()) for graph in (truth, found))
    joined, linked = ({min(e, (e % d) * d + e // d) for e in edges} for edges in (true, ours))
    right, both = len(true & ours), len(joined & linked)
    return (
        f"{len(ours)} edges found of {len(true)} true ones; connections: precision {both / len(linked):.4%}, recall "
        f"{both / len(joined):.4%}; directed edges ({directed}): precision {right / len(ours):.4%}, recall "
        f"{right / len(true):.4%}; of the true connections found {right / both:.4%} have the right direction"
    )


def keys(graph: sp.csr_array, d: int) -> np.ndarray:
    edges = sp.coo_array(graph)
    return edges.row.astype(np.int64) * d + edges.col


if __name__ == "__main__":
    main()
