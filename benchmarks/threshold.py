"""Peak memory of a wide search with and without a threshold: judging the edges must not cost more than finding them.

    python benchmarks/threshold.py                        # d = 20,000, n = 500
    python benchmarks/threshold.py --columns 5000

Each run is a process of its own, on ER2 with correlations computed in blocks; the peak is that of its resident memory.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings

RULES = {"by evidence": None, "threshold 0.3": 0.3, "threshold 0": 0.0}


def measure(columns: int, rows: int, threshold: float | None) -> dict[str, float]:
    from psidag import DataWarning, Sparse, learn_dag
    from psidag.simulate import simulate

    warnings.simplefilter("ignore", DataWarning)
    problem = simulate("ER2", d=columns, n=rows, seed=0)
    start = time.process_time()
    solution = learn_dag(problem.X, Sparse(max_memory=0), noise="equal", threshold=threshold, random_state=0)
    return {
        "edges": solution.dag.n_edges,
        "seconds": time.process_time() - start,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--columns", type=int, default=20_000)
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--rule", choices=RULES, help="run this one here and print what it took")
    given = parser.parse_args()
    if given.rule is not None:
        print(json.dumps(measure(given.columns, given.rows, RULES[given.rule])))
        return
    print("| edges | number | processor seconds | peak memory / MB | times the first |\n|---|---|---|---|---|")
    first = None
    for rule in RULES:
        command = [sys.executable, __file__, "--rule", rule, f"--columns={given.columns}", f"--rows={given.rows}"]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        first = first or found["megabytes"]
        cells = f"{found['edges']:,} | {found['seconds']:.0f} | {found['megabytes']:.0f}"
        print(f"| {rule} | {cells} | {found['megabytes'] / first:.2f} |", flush=True)


if __name__ == "__main__":
    main()
