"""`partial_fit` for a very long time: memory must stay where it is, and the speed too.

    python benchmarks/soak.py                       # a million batches of 50 rows, 20 columns
    python benchmarks/soak.py --batches 10000 --solver stochastic

Prints the resident memory along the way. The process drifts all the time, so that there is something to forget, and
the graph is asked for at every line.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np

from psidag import DataWarning, PsiDAG
from psidag.simulate import simulate


def resident_megabytes() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20


def soak(batches: int, rows: int, columns: int, half_life: float | None, solver: str, lines: int) -> list[float]:
    """Resident memory after each of the lines printed."""
    problem = simulate("ER2", d=columns, n=20 * rows, seed=0)
    pool = [problem.X[k * rows : (k + 1) * rows] for k in range(20)]
    rng = np.random.default_rng(0)
    model = PsiDAG(solver, half_life=half_life, random_state=0)
    memory = []
    print(f"{'batches':>9}{'rows':>12}{'edges':>7}{'resident/MB':>13}{'us a batch':>12}", flush=True)
    done = 0
    for stop in np.linspace(batches / lines, batches, lines).astype(int).tolist():
        start = time.perf_counter()
        for k in range(done, stop):
            model.partial_fit(pool[k % 20] * (1 + 0.5 * k / batches) + 1e-3 * rng.standard_normal((rows, 1)))
        took, new, done = time.perf_counter() - start, stop - done, stop
        edges = model.adjacency_.nnz
        memory.append(resident_megabytes())
        print(f"{done:>9}{done * rows:>12}{edges:>7}{memory[-1]:>13.1f}{1e6 * took / new:>12.0f}", flush=True)
    return memory


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batches", type=int, default=1_000_000)
    parser.add_argument("--rows", type=int, default=50, help="rows in a batch")
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--half-life", type=float, default=None, help="in rows; nothing is forgotten without")
    parser.add_argument("--solver", default="auto")
    given = parser.parse_args()
    warnings.simplefilter("ignore", DataWarning)
    memory = soak(given.batches, given.rows, given.columns, given.half_life, given.solver, lines=10)
    print(f"growth from the first line to the last: {memory[-1] - memory[0]:+.1f} MB")


if __name__ == "__main__":
    main()
