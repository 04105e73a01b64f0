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
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import numpy as np

from psidag import DataWarning, learn_dag
from psidag.baselines import Dagma, EqVar, Golem, Notears, SortRegress
from psidag.baselines.acyclicity import trace_exponential
from psidag.data.ingest import as_source
from psidag.datasets import load_sachs
from psidag.graph.acyclic import break_cycles
from psidag.graph.constraints import Constraints
from psidag.graph.metrics import edge_errors
from psidag.run.loop import Task, run
from psidag.scores.named import NoiseName, as_score
from psidag.simulate import Problem, simulate
from psidag.solution import Solution

warnings.simplefilter("ignore", DataWarning)
logging.disable(logging.INFO)

ROWS = 1000
THRESHOLD = 0.3
GRAPHS = ("ER2", "ER4")
SECTIONS = ("dagma", "notears", "golem", "sachs")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="the whole record, about an hour")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=SECTIONS, help="these parts of it")
    parser.add_argument("--notears", metavar="FILE", help="the authors' notears/linear.py")
    arguments = parser.parse_args()
    full = arguments.full
    seeds = range(5) if full else range(1)
    print("# The baselines beside the originals\n")
    print(f"`python benchmarks/baselines.py{' --full' * full}`, one thread; {versions()}.")
    print(f"Rows {ROWS}, Gaussian noise of equal variance, weights in ±[0.05, 1]. Seconds are wall time on a shared")
    print("machine, ours and the original's one after the other. SHD counts a reversed edge once, at threshold 0.3.")
    sizes = (20, 50) if full else (20,)
    if "dagma" in arguments.only and installed("dagma"):
        dagma_section(((20, 50, 100) if full else (20,)), seeds)
    if "notears" in arguments.only and arguments.notears:
        notears_section("the authors' code", sizes, seeds, authors_notears(arguments.notears))
    if "notears" in arguments.only and installed("gcastle"):
        note = "gcastle, whose acyclicity is the polynomial tr (I + W∘W/d)^d − d instead of the exponential"
        notears_section(note, sizes, seeds, gcastle_notears)
    if "golem" in arguments.only and installed("gcastle") and installed("torch"):
        golem_section(sizes, seeds, 5000 if full else 1000)
    if "sachs" in arguments.only:
        sachs_section(full)


def dagma_section(sizes: Iterable[int], seeds: Iterable[int]) -> None:
    heading(
        "DAGMA against the package `dagma`",
        "Defaults of both; weights are compared before the threshold, over the edges that either keeps; an edge that "
        "only one of them keeps is shown with its weight in both",
    )
    print(
        "| graph | d | same edges | largest difference of weights | ours, s | package, s |\n|---|---|---|---|---|---|"
    )
    for kind in GRAPHS:
        for d in sizes:
            same, split, apart, seconds, peer_seconds = [], [], [], [], []
            for seed in seeds:
                problem = simulate(kind, n=ROWS, d=d, seed=seed)
                W, elapsed = timed(lambda X=problem.X: fit(X, Dagma(), raw=True))
                V, peer_elapsed = timed(lambda X=problem.X: dagma_package(X))
                kept, peer_kept = np.abs(W) >= THRESHOLD, np.abs(V) >= THRESHOLD
                same.append(bool(np.array_equal(kept, peer_kept)))
                split += [
                    f"{W[edge]:.4f} and {V[edge]:.4f}" for edge in zip(*np.nonzero(kept ^ peer_kept), strict=True)
                ]
                apart.append(float(np.abs(W - V)[kept | peer_kept].max()))
                seconds.append(elapsed)
                peer_seconds.append(peer_elapsed)
            agreement = f"{sum(same)} of {len(same)}" + (f" ({', '.join(split)})" if split else "")
            figures = times(sum(seconds), sum(peer_seconds), len(same))
            print(f"| {kind} | {d} | {agreement} | {max(apart):.1e} | {' | '.join(figures)} |", flush=True)


def notears_section(peer: str, sizes: Iterable[int], seeds: Iterable[int], learn: Callable[[Any], Any]) -> None:
    heading(
        f"NOTEARS against {peer}",
        "Defaults of both; the objective is the loss + 0.1 |W|₁",
    )

    def objective(problem: Problem, W: Any) -> float:
        return loss(problem, W) + 0.1 * float(np.abs(W).sum())

    print(DUEL_HEADER)
    for kind in GRAPHS:
        for d in sizes:
            duels = []
            for seed in seeds:
                problem = simulate(kind, n=ROWS, d=d, seed=seed)
                ours = timed(lambda X=problem.X: last_iterate(X, Notears()))
                theirs = timed(lambda X=problem.X: learn(X))
                duels.append(Duel.of(problem, objective, ours, theirs))
            duel_line(kind, d, duels)


def golem_section(sizes: Iterable[int], seeds: Iterable[int], iterations: int) -> None:
    heading(
        "GOLEM against gcastle",
        f"{iterations:,} iterations a phase in both (of {Golem().max_iter:,} by default), NV from the EV solution of "
        "the same code, its seconds with those of EV; the objective is GOLEM's score",
    )
    golem = Golem(max_iter=iterations)
    print(DUEL_HEADER)
    for kind in GRAPHS:
        for d in sizes:
            equal, unequal = [], []
            for seed in seeds:
                problem = simulate(kind, n=ROWS, d=d, seed=seed)
                X = problem.X - problem.X.mean(axis=0)
                ours = timed(lambda X=X: last_iterate(X, golem))
                theirs = timed(lambda X=X: gcastle_golem(X, iterations))
                equal.append(Duel.of(problem, partial(golem_score, noise="equal"), ours, theirs))
                ours = timed(lambda X=X: last_iterate(X, golem, "unequal"))
                W, seconds = timed(lambda X=X, start=theirs[0]: gcastle_golem(X, iterations, start))
                theirs = W, theirs[1] + seconds
                unequal.append(Duel.of(problem, partial(golem_score, noise="unequal"), ours, theirs))
            duel_line(f"{kind}, EV", d, equal)
            duel_line(f"{kind}, NV", d, unequal)


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
        W, seconds = timed(lambda: gcastle_golem(problem.X - problem.X.mean(axis=0), 10_000))
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


class Duel(NamedTuple):
    """Both methods on one data set: our objective less theirs, at the last iterates and as DAGs, errors, seconds."""

    difference: float
    cut: float
    our_shd: int
    their_shd: int
    our_time: float
    their_time: float

    @classmethod
    def of(
        cls,
        problem: Problem,
        objective: Callable[[Problem, Any], float],
        ours: tuple[Any, float],
        theirs: tuple[Any, float],
    ) -> Duel:
        """The figures of weights and seconds."""
        (W, seconds), (V, peer_seconds) = ours, theirs
        apart = objective(problem, W) - objective(problem, V)
        cut = objective(problem, break_cycles(W).weights) - objective(problem, break_cycles(V).weights)
        return cls(apart, cut, shd(problem, W), shd(problem, V), seconds, peer_seconds)


DUEL_HEADER = (
    "| graph | d | our objective − theirs: mean (range) | the same, cycles cut | our SHD | their SHD "
    "| ours, s | theirs, s |\n|---|---|---|---|---|---|---|---|"
)


def duel_line(name: str, d: int, duels: list[Duel]) -> None:
    difference, cut, our_shd, their_shd, our_time, their_time = zip(*duels, strict=True)
    cells = (
        name,
        d,
        *(f"{np.mean(each):+.1e} ({min(each):+.1e} … {max(each):+.1e})" for each in (difference, cut)),
        " ".join(map(str, our_shd)),
        " ".join(map(str, their_shd)),
        *times(sum(our_time), sum(their_time), len(duels)),
    )
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


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


def last_iterate(X: Any, engine: Golem | Notears, noise: NoiseName = "equal") -> Any:
    """Before cycles are cut."""
    source = as_source(X)
    task = Task(source, Constraints().bind(source.names), np.random.default_rng(0), 1, as_score(noise))
    return run(engine, task).state.W


def gcastle_golem(X: Any, iterations: int, start: Any = None) -> Any:
    """GOLEM-EV of gcastle, or GOLEM-NV from a start."""
    import torch
    from castle.algorithms import GOLEM

    torch.set_num_threads(1)
    if start is None:
        peer = GOLEM(num_iter=iterations)
    else:
        peer = GOLEM(num_iter=iterations, lambda_1=0.002, equal_variances=False, B_init=start.astype(np.float32))
    peer.learn(X)
    return np.asarray(peer.weight_causal_matrix, dtype=np.float64)


def golem_score(problem: Problem, W: Any, noise: NoiseName) -> float:
    R = np.eye(problem.d) - W
    variances = np.einsum("ij,ij->j", R, covariance(problem) @ R)
    misfit = problem.d * np.log(variances.sum()) if noise == "equal" else np.log(variances).sum()
    size = (0.02 if noise == "equal" else 0.002) * np.abs(W).sum()
    return float(0.5 * misfit - np.linalg.slogdet(R)[1] + size + 5 * trace_exponential(W)[0])


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
