"""Our baselines beside the originals: same data, same settings, one thread, one run.

``python benchmarks/baselines.py`` takes a minute; ``--full`` is what stands in ``baselines.md`` (about an hour,
most of it the originals'). The originals are the packages ``dagma`` and ``gcastle`` (which needs ``torch``), and
for NOTEARS also ``notears/linear.py`` of the authors' repository, given as ``--notears FILE``; what is not there
is left out.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import contextlib
import io
import logging
import platform
import runpy
import time
import warnings
from collections.abc import Callable, Iterable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from psidag import DataWarning, learn_dag
from psidag.baselines import Dagma, EqVar, Golem, Notears, SortRegress
from psidag.baselines.acyclicity import trace_exponential
from psidag.datasets import load_sachs
from psidag.graph.acyclic import break_cycles
from psidag.graph.metrics import edge_errors
from psidag.simulate import Problem, simulate
from psidag.solution import Solution

warnings.simplefilter("ignore", DataWarning)
logging.disable(logging.INFO)

ROWS = 1000
THRESHOLD = 0.3
CUT = " before the threshold of 0.3, cycles cut in the same way in both"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="the whole record, about an hour")
    parser.add_argument("--notears", metavar="FILE", help="the authors' notears/linear.py")
    arguments = parser.parse_args()
    full = arguments.full
    seeds = range(5) if full else range(1)
    print("# The baselines beside the originals\n")
    print(f"`python benchmarks/baselines.py{' --full' * full}`, one thread; {versions()}.")
    print(f"Rows {ROWS}, Gaussian noise of equal variance, weights in ±[0.05, 1]. Seconds are wall time on a shared")
    print("machine, ours and the original's one after the other. SHD counts a reversed edge once, at threshold 0.3.")
    if installed("dagma"):
        dagma_section(((20, 50, 100) if full else (20,)), seeds)
    sizes = (20, 50) if full else (20,)
    if arguments.notears:
        note = "the authors' code"
        notears_section(note, sizes, seeds, authors_notears(arguments.notears))
    if installed("gcastle"):
        note = "gcastle, whose acyclicity is the polynomial tr (I + W∘W/d)^d − d instead of the exponential"
        notears_section(note, sizes, seeds, gcastle_notears)
        if installed("torch"):
            golem_section(sizes, seeds, 10_000 if full else 1000)
    sachs_section(full)


def dagma_section(sizes: Iterable[int], seeds: Iterable[int]) -> None:
    heading(
        "DAGMA against the package `dagma`",
        "Defaults of both; weights are compared before the threshold, over the edges that either keeps",
    )
    rows = []
    for kind in ("ER2", "ER4"):
        for d in sizes:
            same, apart, ours_time, peer_time = [], [], 0.0, 0.0
            for seed in seeds:
                problem = simulate(kind, n=ROWS, d=d, seed=seed)
                ours, seconds = timed(lambda X=problem.X: fit(X, Dagma(), raw=True))
                theirs, peer_seconds = timed(lambda X=problem.X: dagma_package(X))
                kept, peer_kept = np.abs(ours) >= THRESHOLD, np.abs(theirs) >= THRESHOLD
                same.append(bool(np.array_equal(kept, peer_kept)))
                apart.append(float(np.abs(ours - theirs)[kept | peer_kept].max()))
                ours_time, peer_time = ours_time + seconds, peer_time + peer_seconds
            rows.append(
                (
                    kind,
                    d,
                    f"{sum(same)} of {len(same)}",
                    f"{max(apart):.1e}",
                    *times(ours_time, peer_time, len(same)),
                )
            )
    table("graph", "d", "same edges", "largest difference of weights", "ours, s", "package, s", rows=rows)


def notears_section(peer: str, sizes: Iterable[int], seeds: Iterable[int], learn: Callable[[Any], Any]) -> None:
    heading(f"NOTEARS against {peer}", "Defaults of both; the objective is the loss + 0.1 |W|₁ of the DAG" + CUT)

    def objective(problem: Problem, W: Any) -> float:
        return loss(problem, W) + 0.1 * float(np.abs(W).sum())

    duel_table(
        [
            duel(kind, d, seeds, objective, lambda p: fit(p.X, Notears(), raw=True), lambda p: learn(p.X))
            for kind in ("ER2", "ER4")
            for d in (sizes if kind == "ER2" else (20,))
        ]
    )


def golem_section(sizes: Iterable[int], seeds: Iterable[int], iterations: int) -> None:
    heading(
        "GOLEM against gcastle",
        f"{iterations:,} iterations in both (of {Golem().max_iter:,} by default), NV from the EV solution of the "
        f"same code; the objective is GOLEM's score of the DAG{CUT}",
    )
    for noise in ("equal", "unequal"):
        golem = Golem(max_iter=iterations)
        lambda1 = 0.02 if noise == "equal" else 0.002

        def objective(problem: Problem, W: Any, noise: str = noise, lambda1: float = lambda1) -> float:
            R = np.eye(problem.d) - W
            variances = np.einsum("ij,ij->j", R, covariance(problem) @ R)
            fit_term = problem.d * np.log(variances.sum()) if noise == "equal" else np.log(variances).sum()
            return float(
                0.5 * fit_term - np.linalg.slogdet(R)[1] + lambda1 * np.abs(W).sum() + 5 * trace_exponential(W)[0]
            )

        some = seeds if noise == "equal" else list(seeds)[:1]
        print(f"\nGOLEM-{'EV' if noise == 'equal' else 'NV'}:\n")
        duel_table(
            [
                duel(
                    "ER2",
                    d,
                    some,
                    objective,
                    lambda p, golem=golem, noise=noise: fit(p.X, golem, noise=noise, raw=True),
                    lambda p, noise=noise: gcastle_golem(p.X, iterations, noise),
                )
                for d in sizes
            ]
        )


def sachs_section(full: bool) -> None:
    heading(
        "Sachs",
        "853 rows, raw and centred, threshold 0.3, the 17-edge graph. Published: GOLEM SHD 26, TPR 0.294, FPR "
        "0.47, 23 edges; NOTEARS 15, 0.294, 0.26, 15; DAGMA leaves its domain",
    )
    problem = load_sachs()
    rows = []
    ours: dict[str, dict[str, Any]] = {
        "NOTEARS": {"solver": Notears()},
        "GOLEM-EV": {"solver": Golem()},
        "GOLEM-NV": {"solver": Golem(), "noise": "unequal"},
        "DAGMA": {"solver": Dagma()},
        "EqVar": {"solver": EqVar()},
        "sort-and-regress by variance": {"solver": SortRegress()},
        "sort-and-regress by R²": {"solver": SortRegress("r2")},
    }
    for name, options in ours.items():
        solution, seconds = timed(lambda options=options: fit(problem.X, **options))
        rows.append((name, *sachs_cells(problem, solution.dag.weights), f"{seconds:.1f}", solution.status.code))
    if full and installed("gcastle") and installed("torch"):
        W, seconds = timed(lambda: gcastle_notears(problem.X))
        rows.append(("gcastle's NOTEARS", *sachs_cells(problem, W), f"{seconds:.1f}", cyclic(W)))
        W, seconds = timed(lambda: gcastle_golem(problem.X, 10_000, "equal"))
        rows.append(("gcastle's GOLEM-EV, 10,000 iterations", *sachs_cells(problem, W), f"{seconds:.1f}", cyclic(W)))
    if full and installed("dagma"):
        W, seconds = timed(lambda: dagma_package(problem.X))
        loops = int(np.count_nonzero(np.abs(np.diag(W)) >= THRESHOLD))
        rows.append(
            (
                "package `dagma`",
                *sachs_cells(problem, W),
                f"{seconds:.1f}",
                f"{loops} variable its own cause {cyclic(W)}".strip(),
            )
        )
    table("method", "SHD", "TPR", "FPR", "edges", "test loss", "seconds", "status", rows=rows)


def sachs_cells(problem: Problem, W: Any) -> tuple[str, ...]:
    dense = W if isinstance(W, np.ndarray) else W.toarray()
    dag = break_cycles(dense, THRESHOLD)
    errors = edge_errors(problem.dag, dag.weights)
    assert problem.X_test is not None
    rest = (problem.X_test - problem.X.mean(axis=0)) @ (np.eye(problem.d) - dag.weights)
    test_loss = 0.5 * float((rest**2).sum(axis=1).mean())
    return (
        str(errors.shd),
        f"{errors.tpr:.3f}",
        f"{errors.fpr:.2f}",
        str(errors.learned_edges),
        f"{test_loss:,.0f}",
    )


def cyclic(W: Any) -> str:
    dag = break_cycles(W, THRESHOLD)
    return "" if dag.threshold == THRESHOLD else f"threshold raised to {dag.threshold:.2g} to break cycles"


def duel(
    kind: str,
    d: int,
    seeds: Iterable[int],
    objective: Callable[[Problem, Any], float],
    ours: Callable[[Problem], Any],
    theirs: Callable[[Problem], Any],
) -> tuple[Any, ...]:
    """One line: both methods over the seeds."""
    gaps, our_shd, their_shd, our_time, their_time = [], [], [], 0.0, 0.0
    for seed in seeds:
        problem = simulate(kind, n=ROWS, d=d, seed=seed)
        W, seconds = timed(lambda problem=problem: ours(problem))
        V, peer_seconds = timed(lambda problem=problem: theirs(problem))
        W, V = break_cycles(W).weights, break_cycles(V).weights
        gaps.append(objective(problem, W) - objective(problem, V))
        our_shd.append(shd(problem, W))
        their_shd.append(shd(problem, V))
        our_time, their_time = our_time + seconds, their_time + peer_seconds
    count = len(gaps)
    return (
        kind,
        d,
        count,
        f"{np.mean(gaps):+.1e} ({min(gaps):+.1e} … {max(gaps):+.1e})",
        " ".join(map(str, our_shd)),
        " ".join(map(str, their_shd)),
        *times(our_time, their_time, count),
    )


def duel_table(rows: list[tuple[Any, ...]]) -> None:
    header = ("graph", "d", "seeds", "our objective − theirs: mean (range)", "our SHD", "their SHD")
    table(*header, "ours, s", "theirs, s", rows=rows)


def fit(X: Any, solver: Any, *, noise: str = "equal", raw: bool = False) -> Any:
    solution: Solution = learn_dag(X, solver, noise=noise, threshold=THRESHOLD, n_jobs=1)
    return solution.candidate.weights if raw else solution


def dagma_package(X: Any) -> Any:
    from dagma.linear import DagmaLinear

    with contextlib.redirect_stderr(io.StringIO()):
        return DagmaLinear(loss_type="l2").fit(X.copy(), w_threshold=0.0)


def authors_notears(path: str) -> Callable[[Any], Any]:
    learn = runpy.run_path(path)["notears_linear"]
    return lambda X: learn(X, lambda1=0.1, loss_type="l2", w_threshold=0.0)


def gcastle_notears(X: Any) -> Any:
    from castle.algorithms import Notears as Peer

    peer = Peer()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer.learn(X)
    return np.asarray(peer.weight_causal_matrix, dtype=np.float64)


def gcastle_golem(X: Any, iterations: int, noise: str) -> Any:
    import torch
    from castle.algorithms import GOLEM

    torch.set_num_threads(1)
    X = X - X.mean(axis=0)
    peer = GOLEM(num_iter=iterations)
    peer.learn(X)
    if noise == "unequal":
        first = np.asarray(peer.weight_causal_matrix, dtype=np.float32)
        peer = GOLEM(num_iter=iterations, lambda_1=0.002, equal_variances=False, B_init=first)
        peer.learn(X)
    return np.asarray(peer.weight_causal_matrix, dtype=np.float64)


def covariance(problem: Problem) -> Any:
    return np.cov(problem.X.T, bias=True)


def loss(problem: Problem, W: Any) -> float:
    R = np.eye(problem.d) - W
    return 0.5 * float(np.vdot(R, covariance(problem) @ R))


def shd(problem: Problem, W: Any) -> int:
    return edge_errors(problem.dag, break_cycles(W, THRESHOLD).weights).shd


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def times(ours: float, theirs: float, count: int) -> tuple[str, str]:
    return f"{ours / count:.2f}", f"{theirs / count:.2f}"


def installed(package: str) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


def versions() -> str:
    names = [name for name in ("psidag", "numpy", "scipy", "dagma", "gcastle", "torch") if installed(name)]
    return ", ".join([f"Python {platform.python_version()}", *(f"{name} {version(name)}" for name in names)])


def heading(title: str, note: str) -> None:
    print(f"\n## {title}\n\n{note}.\n", flush=True)


def table(*header: str, rows: Iterable[tuple[Any, ...]]) -> None:
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |", flush=True)


if __name__ == "__main__":
    main()
