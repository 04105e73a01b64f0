"""The fast engines: accuracy beside the true order's and FLOP's, time beside the Gram matrix's and FLOP's.

``python benchmarks/engines.py PART ...`` prints the tables of the parts named, ``noises`` and ``growth`` if none is:
``equal``, ``noises``, ``large``, ``growth``, ``small-unequal``, ``large-unequal``, ``hard``. Every time is that of the
whole ``learn_dag`` from the array. ``--seeds`` counts from ``--first``, 200: some of those below were used for tuning.
``--peer-seeds`` is for how many of them FLOP (the package ``flopsearch``) runs too, each time for at most ``--limit``
seconds; at d = 1,000 it needs half a minute on ER2, two minutes on ER4 and a quarter of an hour on SF4.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import platform
import resource
import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp

from psidag import DataWarning, learn_dag
from psidag.data.sources import Table
from psidag.engines.moves import Objective, assign_parents, required_network, set_score
from psidag.engines.sparse import Sparse
from psidag.graph.constraints import unconstrained
from psidag.graph.metrics import cpdag_shd, edge_errors, heldout_gap
from psidag.run.loop import Task, run
from psidag.scores.gaussian import UNEQUAL
from psidag.simulate import Problem, simulate
from psidag.stages.within_order import evidence_penalty, most_parents, search_penalty, select_within
from psidag.system.parallel import workers

warnings.simplefilter("ignore", DataWarning)
ROWS = 5000
LAMBDA = 2.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=["noises", "growth"], choices=sorted(PARTS), metavar="part")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=200, help="the first seed")
    parser.add_argument("--peer-seeds", type=int, default=1)
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for a run of FLOP")
    parser.add_argument("--graphs", default="", help="only these, with commas between")
    arguments = parser.parse_args()
    Peer.limit = arguments.limit
    seeds = range(arguments.first, arguments.first + arguments.seeds)
    only = [name for name in arguments.graphs.split(",") if name]
    for part in arguments.parts:
        print(f"\n## {part}\n")
        print(f"Seeds {seeds[0]} to {seeds[-1]}, FLOP on the first {arguments.peer_seeds};", end=" ")
        print(f"{os.cpu_count()} cores ({platform.machine()}), shared with other work.\n", flush=True)
        PARTS[part](seeds, seeds[: arguments.peer_seeds], only)


def equal(seeds: range, peers: range, only: list[str]) -> None:
    """D = 1,000, noise of equal variance."""
    header(
        "graph", "SHD (reversed/extra/missing)", "true order", "true order, its own price", "gap %", "true order's",
        "seconds", "Gram seconds", "FLOP seconds", "FLOP's errors, undirected right", "our SHD there",
    )  # fmt: skip
    for graph in only or ["ER2", "ER4", "ER6", "SF4", "SF6"]:
        runs = []
        for seed in seeds:
            problem = simulate(graph, ROWS, d=1000, seed=seed, n_test=2000)
            seconds, weights = timed(lambda p=problem: learn_dag(p.X, "sparse").dag.weights)
            best = from_true_order(problem)
            own = from_true_order(problem, evidence_penalty(ROWS, problem.d))
            peer = flop(problem.X) if seed in peers and graph in ("ER2", "ER4") else (math.nan, None)
            runs.append(
                (
                    errors(problem, weights), errors(problem, best),
                    100 * heldout_gap(problem.dag, weights, problem.X_test),
                    100 * heldout_gap(problem.dag, best, problem.X_test), seconds, gram_seconds(problem.X),
                    peer[0], math.nan if peer[1] is None else lenient(problem, peer[1]), errors(problem, own),
                )
            )  # fmt: skip
        found = [r[0] for r in runs]
        print(f"<!-- {graph}, each seed: {[(r[0], r[1], r[8], r[4], r[6], r[7]) for r in runs]} -->")
        with_peer = [r for r in runs if not math.isnan(r[6])]
        row(
            graph, shown(found), med(r[1][0] for r in runs), med(r[8][0] for r in runs), med((r[2] for r in runs), 3),
            med((r[3] for r in runs), 3), med((r[4] for r in runs), 2), med((r[5] for r in runs), 2),
            med((r[6] for r in with_peer), 1), med(r[7] for r in with_peer), med(r[0][0] for r in with_peer),
        )  # fmt: skip


def noises(seeds: range, peers: range, only: list[str]) -> None:
    """D = 1,000, ER2, other noises."""
    header("noise", "SHD", "true order", "seconds")
    for noise in only or ["gaussian", "exponential", "gumbel"]:
        runs = []
        for seed in seeds:
            problem = simulate("ER2", ROWS, d=1000, seed=seed, noise=noise)
            seconds, weights = timed(lambda p=problem: learn_dag(p.X, "sparse").dag.weights)
            runs.append((errors(problem, weights), errors(problem, from_true_order(problem)), seconds))
        row(noise, shown([r[0] for r in runs]), med(r[1][0] for r in runs), med((r[2] for r in runs), 2))


def large(seeds: range, peers: range, only: list[str]) -> None:
    """D = 10,000, float32. Memory is what the peak of the process rises by: of the first graph asked for."""
    header("graph", "SHD", "true order", "seconds", "Gram seconds", "ratio", "memory on top of the data, MB")
    for graph in only or ["ER2", "ER4", "SF4"]:
        runs = []
        for seed in seeds:
            problem = simulate(graph, ROWS, d=10_000, seed=seed, dtype=np.float32)
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            seconds, weights = timed(lambda p=problem: learn_dag(p.X, "sparse").dag.weights)
            memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
            gram = gram_seconds(problem.X)
            runs.append((errors(problem, weights), errors(problem, from_true_order(problem)), seconds, gram, memory))
            print(f"<!-- seed {seed}: {runs[-1]} -->", flush=True)
        row(
            graph, shown([r[0] for r in runs]), med(r[1][0] for r in runs), med((r[2] for r in runs), 1),
            med((r[3] for r in runs), 1), med((r[2] / r[3] for r in runs), 1), max(round(r[4]) for r in runs),
        )  # fmt: skip


def growth(seeds: range, peers: range, only: list[str]) -> None:
    """ER2, time against size."""
    header("d", "seconds", "Gram seconds")
    sizes, spent = [1000, 2000, 5000, 10_000], []
    for d in sizes:
        runs = []
        for seed in seeds:
            X = simulate("ER2", ROWS, d=d, seed=seed, dtype=np.float32).X
            runs.append((timed(lambda X=X: learn_dag(X, "sparse"))[0], gram_seconds(X)))
        spent.append(float(np.median([r[0] for r in runs])))
        row(d, f"{spent[-1]:.2f}", med((r[1] for r in runs), 2))
    print(f"\nFitted exponent: {np.polyfit(np.log(sizes), np.log(spent), 1)[0]:.2f}")


def small_unequal(seeds: range, peers: range, only: list[str]) -> None:
    """D = 100, standardised data and noise sd in [0.5, 2]."""
    cases = [(g, u) for g in only or ["ER2", "ER4", "ER6", "SF2", "SF4"] for u in (False, True)]
    unequal_table(100, cases, seeds, peers, {"FLOP": 0, "FLOP, 20 restarts": 20})


def large_unequal(seeds: range, peers: range, only: list[str]) -> None:
    """D = 1,000, standardised data and noise sd in [0.5, 2]."""
    cases = [(g, u) for g in only or ["ER2", "ER4", "SF4"] for u in (False, True)]
    unequal_table(1000, cases, seeds, peers, {"FLOP": 0}, each=True)


def hard(seeds: range, peers: range, only: list[str]) -> None:
    """D = 100, weights up to 2 and ER10; without restarts and with those of the defaults."""
    options = {"ER4": ((-2.0, -0.5), (0.5, 2.0)), "SF4": ((-2.0, -0.5), (0.5, 2.0)), "ER10": None}
    header(
        "graph", "seed", "skeleton errors, no restarts", "skeleton errors", "CPDAG SHD", "seconds",
        "FLOP's skeleton errors", "CPDAG SHD", "seconds",
    )  # fmt: skip
    for graph in only or list(options):
        for seed in seeds:
            ranges = options[graph]
            given = {} if ranges is None else {"ranges": ranges}
            problem = simulate(graph, ROWS, d=100, seed=seed, standardise="data", **given)
            once = unequal(problem.X, restarts=0)
            seconds, weights = timed(lambda p=problem: unequal(p.X, restarts=None))
            peer, theirs = flop(problem.X)
            row(
                graph, seed, skeleton(problem, once), skeleton(problem, weights), cpdag_shd(problem.dag, weights),
                f"{seconds:.2f}", *(("–", "–") if theirs is None else against(problem, theirs)), f"{peer:.2f}",
            )  # fmt: skip


def unequal_table(
    d: int, cases: list[tuple[str, bool]], seeds: range, peers: range, restarts: dict[str, int], each: bool = False
) -> None:
    header("data", "method", "skeleton errors (worst)", "CPDAG SHD", "seconds")
    everything: dict[str, list[tuple[Any, ...]]] = {}
    for graph, scaled in cases:
        runs: dict[str, list[tuple[Any, ...]]] = {}
        for seed in seeds:
            scale = np.random.default_rng(seed).uniform(0.5, 2, d) if scaled else 1.0
            problem = simulate(graph, ROWS, d=d, seed=seed, scale=scale, standardise="data")
            seconds, W = timed(lambda p=problem: unequal(p.X))
            runs.setdefault("sparse", []).append((skeleton(problem, W), cpdag_shd(problem.dag, W), seconds))
            spent, W = timed(lambda p=problem: unequal_from_true_order(p))
            runs.setdefault("sparse, begun at the true order", []).append(
                (skeleton(problem, W), cpdag_shd(problem.dag, W), spent)
            )
            if seed in peers:
                runs.setdefault("sparse, FLOP's seeds", []).append(runs["sparse"][-1])
                if d == 100:
                    spent, W = timed(lambda p=problem: unequal(p.X, 20))
                    runs.setdefault("sparse, 20 restarts, FLOP's seeds", []).append(
                        (skeleton(problem, W), cpdag_shd(problem.dag, W), spent)
                    )
                for name, count in restarts.items():
                    spent, theirs = flop(problem.X, count)
                    found = (math.nan, math.nan) if theirs is None else against(problem, theirs)
                    runs.setdefault(name, []).append((*found, spent))
        for name, values in runs.items():
            everything.setdefault(name, []).extend(values)
            if each:
                summary(f"{graph}, {'sd in [0.5, 2]' if scaled else 'standardised'}", name, values)
    for name, values in everything.items():
        summary(f"all {len(cases)} kinds", name, values)


def summary(data: str, name: str, values: list[tuple[Any, ...]]) -> None:
    skeletons, classes, seconds = (np.array(column, dtype=float) for column in zip(*values, strict=True))
    late = int(np.isnan(skeletons).sum())
    if late == len(values):
        row(data, name, "–", "–", f"all {late} over {np.mean(seconds):.0f}")
        return
    row(
        data, name, f"{np.nanmean(skeletons):.1f} ({np.nanmax(skeletons):.0f})", f"{np.nanmean(classes):.1f}",
        f"{np.mean(seconds):.2f}" + (f", {late} of {len(values)} stopped" if late else ""),
    )  # fmt: skip


def unequal(X: np.ndarray, restarts: int | None = 0) -> sp.csr_array:
    engine = Sparse(penalty=LAMBDA * np.log(len(X)), restarts=restarts)
    return learn_dag(X, engine, noise="unequal", random_state=0).dag.weights


def unequal_from_true_order(problem: Problem) -> sp.csr_array:
    """The same search at the last penalty alone, from the true order with parents selected in it."""
    engine = Sparse(penalty=LAMBDA * np.log(len(problem.X)), restarts=0)
    source = Table(problem.X, problem.names)
    known = unconstrained(problem.names)
    with workers() as threads:
        task = Task(source, known, np.random.default_rng(0), threads, UNEQUAL)
        state = engine.init(task)
        order, price = problem.dag.order, state.penalty
        net = required_network(state.data, order, known)
        chosen = select_within(state.data.matrix, len(problem.X), order, threads, penalty=price)
        assign_parents(state.data, net, chosen.weights, np.arange(problem.d))
        score = Objective(UNEQUAL, len(problem.X), price, most_parents(len(problem.X)))
        set_score(state.data, net, score, 100.0, 30)
        net.set_stale()
        state = state._replace(levels=(price,), net=net)
        return run(engine, task, state=state).candidate.weights


def from_true_order(problem: Problem, price: float | None = None) -> sp.csr_array:
    """Parents selected in the true order, at the price of the search unless another one is given."""
    price = search_penalty(len(problem.X), problem.d) if price is None else price
    X = problem.X - problem.X.mean(axis=0)
    sd = X.std(axis=0, dtype=np.float64)
    Z = X / sd.astype(X.dtype)
    with workers() as threads:
        found = select_within(Z.T @ Z / len(Z), len(Z), problem.dag.order, threads, penalty=price)
    return sp.csr_array(sp.diags_array(1 / sd) @ found.weights @ sp.diags_array(sd))


class Peer:
    """FLOP, which cannot be interrupted, in a process that can."""

    limit = 600.0

    @staticmethod
    def run(pipe: Any, X: np.ndarray, restarts: int) -> None:
        """Send its processor seconds, which on its one thread are those of an idle machine, and the CPDAG."""
        from flopsearch import flop as search

        start = time.process_time()
        found = np.asarray(search(np.asarray(X, dtype=np.float64), LAMBDA, restarts=restarts))
        pipe.send((time.process_time() - start, found))


def flop(X: np.ndarray, restarts: int = 0) -> tuple[float, np.ndarray | None]:
    """Its processor seconds and CPDAG; the limit, in seconds on the wall, and None if it takes longer."""
    ours, theirs = multiprocessing.Pipe()
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=Peer.run, args=(theirs, X, restarts), daemon=True)
    process.start()
    answered = ours.poll(Peer.limit)
    result = ours.recv() if answered else (Peer.limit, None)
    process.kill()
    process.join()
    return result


def against(problem: Problem, pdag: np.ndarray) -> tuple[int, int]:
    """Errors in the skeleton and in the CPDAG."""
    return skeleton(problem, pdag), pdag_errors(problem, pdag)


def lenient(problem: Problem, pdag: np.ndarray) -> int:
    """Errors of a CPDAG if every undirected edge of the true skeleton counts as right."""
    truth = problem.dag.weights.toarray() != 0
    wrong = (pdag == 1) & truth.T
    return skeleton(problem, pdag) + int(wrong.sum())


def pdag_errors(problem: Problem, pdag: np.ndarray) -> int:
    """Pairs of nodes that a CPDAG and the true one join in different ways."""
    from psidag.graph.equivalence import cpdag

    theirs = np.where(pdag == 2, 1, pdag != 0).astype(int)
    differs = theirs != (cpdag(problem.dag.weights).toarray() != 0)
    return int(np.triu(differs | differs.T).sum())


def skeleton(problem: Problem, found: Any) -> int:
    matrix = (found.toarray() if sp.issparse(found) else found) != 0
    truth = problem.dag.weights.toarray() != 0
    return int(np.triu((matrix | matrix.T) != (truth | truth.T)).sum())


def errors(problem: Problem, weights: sp.csr_array) -> tuple[int, int, int, int]:
    found = edge_errors(problem.dag.weights, weights)
    return found.shd, found.reversed, found.extra, found.missing


def gram_seconds(X: np.ndarray) -> float:
    return min(timed(lambda: X.T @ X)[0] for _ in range(2))


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def header(*names: str) -> None:
    row(*names)
    row(*["---"] * len(names))


def row(*cells: Any) -> None:
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def med(values: Iterable[Any], digits: int = 0) -> str:
    present = [float(v) for v in values if not math.isnan(v)]
    return f"{np.median(present):.{digits}f}" if present else "–"


def shown(found: list[tuple[int, int, int, int]]) -> str:
    total, *parts = np.median(np.array(found), axis=0)
    return f"**{total:.0f}** ({'/'.join(f'{p:.0f}' for p in parts)})"


PARTS: dict[str, Callable[[range, range, list[str]], None]] = {
    "equal": equal,
    "noises": noises,
    "large": large,
    "growth": growth,
    "small-unequal": small_unequal,
    "large-unequal": large_unequal,
    "hard": hard,
}

if __name__ == "__main__":
    main()
