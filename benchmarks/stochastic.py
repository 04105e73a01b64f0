"""The stochastic engine against the authors' settings, and on every kind of problem of the paper.

    python benchmarks/stochastic.py yardstick      # ER2, ER4 at d = 500: seconds to a held-out gap of 10 %
    python benchmarks/stochastic.py grid           # all graphs and noises at d = 100 and 500, from 5,000 rows
    python benchmarks/stochastic.py structure      # ER4 and SF4 at d = 100, 500 and 1,000: gap and wrong edges
    python benchmarks/stochastic.py race           # rows seen until a gap of 10 %: order from the model against ψ's
    python benchmarks/stochastic.py average        # the same: an average that leans on later steps against a plain one
    python benchmarks/stochastic.py printed        # Stochastic.paper() from a stream: gradients to a gap of 10 %
    python benchmarks/stochastic.py longer         # the same where 40,000 gradients are not enough
    python benchmarks/stochastic.py stream         # d = 1,000 from an endless stream
    python benchmarks/stochastic.py projection     # ψ at d = 10,000 against one pass of einsum
    python benchmarks/stochastic.py kernels        # the fused step against NumPy expressions

The yardstick has the settings of the program that the authors released (github.com/kz29/-psiDAG, main.py), frozen
here: one fresh sample a gradient, 1,000 steps of A1 and 1,000 of A2 a round, a radius taken from the true weights, one
average that is never restarted, plain NumPy on d x d float64. Iterate and average are cut to the order when it changes,
as Algorithm 1 has it; that program cuts neither. Gaps are measured off the clock, after every round of either.
"""

from __future__ import annotations

import argparse
import itertools
import time
from dataclasses import replace

import numpy as np
from threadpoolctl import threadpool_limits

from psidag import Stochastic, learn_dag, project
from psidag.experiments.cells import Cell, ProblemSpec
from psidag.experiments.measure import measure
from psidag.experiments.methods import METHODS
from psidag.graph.metrics import heldout_gap
from psidag.graph.order import order_mask
from psidag.simulate import Problem, simulate
from psidag.stages import _steps

GOAL = 0.10


def problem_of(graph: str, d: int, noise: str = "gaussian", seed: int = 100) -> Problem:
    return simulate(graph, d=d, n=5000, n_test=10_000, noise=noise, seed=seed)


def default_engine(problem: Problem, data=None) -> tuple[float, float, float]:
    """Seconds until a round's DAG has the goal's gap (inf if none has), total seconds, gap of the final graph."""
    mean = problem.X.mean(axis=0)
    clock = {"off": 0.0, "reached": float("inf")}
    start = time.perf_counter()

    def watch(_, candidate):
        now = time.perf_counter()
        gap = heldout_gap(problem.dag, candidate.weights, problem.X_test, mean=mean)
        if gap <= GOAL and clock["reached"] == float("inf"):
            clock["reached"] = now - start - clock["off"]
        clock["off"] += time.perf_counter() - now

    rows = problem.X if data is None else data
    solution = learn_dag(rows, Stochastic(), noise="equal", evidence=False, random_state=0, callback=watch)
    total = time.perf_counter() - start - clock["off"]
    return clock["reached"], total, heldout_gap(problem.dag, solution.dag, problem.X_test, mean=mean)


def yardstick(problem: Problem, limit: float) -> tuple[float, float]:
    """Seconds until the published settings have the goal's gap (inf at the limit), and the gap they end with."""
    d = problem.d
    W_true = problem.dag.to_dense()
    # The authors draw Gaussian samples by a dense solve with the true weights, one at a time.
    mixing = np.linalg.inv(np.eye(d) - W_true)
    rng = np.random.default_rng(0)
    D = np.linalg.norm(W_true)
    W, average = np.zeros((d, d)), np.zeros((d, d))
    off_diagonal = 1.0 - np.eye(d)
    mask = off_diagonal

    def gradient(W):
        x = rng.normal(size=d) @ mixing
        return -np.outer(x, x - x @ W) * mask

    g = gradient(W)
    trial = W - D * g / np.linalg.norm(g)
    H = max(0.0, np.sum((trial - W) * (gradient(trial) - g))) / (1.5 * D**2) or np.linalg.norm(g) / D
    steps, off, gap = 0, 0.0, float("inf")
    start = time.perf_counter()
    while time.perf_counter() - start - off < limit:
        for mask_of_stage in ("A1", "A2"):
            if mask_of_stage == "A1":
                mask = off_diagonal
            else:
                mask = order_mask(project(average)).astype(np.float64)
                W, average = W * mask, average * mask
            g = gradient(W)
            for _ in range(1000):
                new = W - g / H
                norm = np.linalg.norm(new)
                if norm > D:
                    new = new * (D / norm)
                g_new = gradient(new)
                beta = np.sum((new - W) * (g_new - g))
                r2 = np.sum((new - W) ** 2)
                H = H + max(0.0, beta - H * r2 / 2) / (D**2 + r2 / 2)
                W, g = new, g_new
                steps += 1
                average = average + (W - average) / steps
        now = time.perf_counter()
        gap = heldout_gap(problem.dag, average, problem.X_test, mean=problem.X.mean(axis=0))
        off += time.perf_counter() - now
        if gap <= GOAL:
            return now - start - off + (time.perf_counter() - now), gap
    return float("inf"), gap


def run_yardstick(limit: float) -> None:
    print(f"seconds to a held-out gap of {GOAL:.0%}, d = 500 (published settings stopped after {limit:g} s)")
    print(f"{'problem':<12}{'published':>12}{'ours':>8}{'ratio':>8}{'ours, whole fit':>18}{'final gap':>11}")
    for graph in ("ER2", "ER4"):
        problem = problem_of(graph, 500)
        ours = sorted(default_engine(problem) for _ in range(3))[1]
        theirs, gap = yardstick(problem, limit)
        shown = f"{theirs:.1f}" if np.isfinite(theirs) else f">{limit:.0f} ({gap:.0%})"
        ratio = f"{'' if np.isfinite(theirs) else '>'}{min(theirs, limit) / ours[0]:.0f}x"
        print(f"{graph:<12}{shown:>12}{ours[0]:>8.2f}{ratio:>8}{ours[1]:>18.2f}{ours[2]:>11.2%}", flush=True)


def run_grid() -> None:
    print(f"{'problem':<26}{f'to {GOAL:.0%}':>10}{'whole fit':>12}{'final gap':>12}")
    for d in (100, 500):
        for graph in ("ER2", "ER4", "SF2", "SF4"):
            for noise in ("gaussian", "exponential", "gumbel"):
                reached, total, gap = default_engine(problem_of(graph, d, noise))
                print(f"{f'{graph} {noise} d={d}':<26}{reached:>9.2f}s{total:>11.2f}s{gap:>12.2%}", flush=True)


def run_stream() -> None:
    for graph in ("ER2", "ER4"):
        problem = problem_of(graph, 1000)
        reached, total, gap = default_engine(problem, problem.stream(1024, np.float32))
        print(
            f"{graph} d=1000, endless stream: gap of {GOAL:.0%} after {reached:.1f} s; "
            f"whole fit {total:.1f} s, final gap {gap:.2%}",
            flush=True,
        )


def run_structure() -> None:
    """Seeds from 1,000 on, which nothing was tuned on; processor time of one thread."""
    print(f"{'problem':<22}{'gap':>9}{'SHD':>7}{'reversed':>10}{'extra':>7}{'missing':>9}{'edges':>7}{'fit':>9}")
    for d, seeds in ((100, 5), (500, 3), (1000, 3)):
        for graph, kind in itertools.product(("ER4", "SF4"), ("rows", "stream")):
            for seed in range(1000, 1000 + seeds):
                problem = problem_of(graph, d, seed=seed)
                data = problem.X if kind == "rows" else problem.stream(1024, np.float32)
                start = time.process_time()
                fitted = learn_dag(data, Stochastic(), noise="equal", evidence=False, random_state=0, n_jobs=1)
                took, found = time.process_time() - start, problem.compare(fitted.dag)
                counts = "".join(
                    f"{found[name]:>{wide}}"
                    for name, wide in (("shd", 7), ("reversed", 10), ("extra", 7), ("missing", 9))
                )
                name = f"{graph} d={d} {kind} {seed}"
                print(f"{name:<22}{found['gap']:>9.3%}{counts}{problem.dag.n_edges:>7}{took:>8.1f}s", flush=True)


def run_race() -> None:
    """Iterates are judged every five steps, or when 8 % more have been seen."""
    for d, graph, seed in itertools.product((100, 500), ("ER4", "SF4"), range(1000, 1005)):
        counts = []
        for method in ("psi-rows", "psidag-rows", "psi-stream", "psidag-stream"):
            cell = Cell(ProblemSpec(graph, d), method, seed, 600.0, 12_000.0, to_goal=True)
            counts.append(f"{method} {measure((cell, 1), lambda _: None)['goal_gradients']:,.0f}")
        print(f"{graph} d={d} {seed}: {', '.join(counts)}", flush=True)


def run_average() -> None:
    """Seeds from 2,000 on, which nothing was tuned on; to the criterion, judged as in the race."""
    for d, seeds in ((100, 5), (500, 3), (1000, 2)):
        for graph, seed in itertools.product(("ER2", "ER4", "SF4"), range(2000, 2000 + seeds)):
            spec = ProblemSpec(graph, d)
            for data in ("rows", "stream"):
                if data == "rows" and d == 1000:
                    continue  # dense weights do not meet the criterion there
                seen = {
                    average: measure_average(spec, data, seed, average)["goal_gradients"]
                    for average in ("stage", "recent")
                }
                print(
                    f"| {graph}, d = {d:,}, {data}, {seed} | {seen['stage']:,.0f} | {seen['recent']:,.0f} "
                    f"| {seen['recent'] / seen['stage']:.2f} |",
                    flush=True,
                )


def measure_average(spec: ProblemSpec, data: str, seed: int, average: str) -> dict:
    method = METHODS[f"psidag-{data}"]
    METHODS["average"] = replace(method, make=lambda *_: Stochastic(look_every=5, average=average))
    return measure((Cell(spec, "average", seed, 600.0, 12_000.0, to_goal=True), 1), lambda _: None)


def run_longer() -> None:
    """Seeds of the recorded run whose criterion 40,000 gradients did not meet: more of them, other radii and rounds."""
    for graph in ("ER4", "SF4"):
        problem = problem_of(graph, 100, seed=500)
        norm = float(np.ceil(np.linalg.norm(problem.dag.to_dense())))
        for radius, steps in ((None, 1000), (norm, 1000), (norm / 2, 1000), (None, 5000), (norm, 5000)):
            gaps = printed_gaps(problem, 200_000 // (2 * steps), 500, radius=radius, tau1=steps, tau2=steps)
            met = next((2 * steps * k for k, gap in enumerate(gaps, 1) if gap <= GOAL), None)
            found = "found" if radius is None else f"{radius:g}"
            print(
                f"{graph}, radius {found}, {steps} steps a stage: met after {met}, {gaps[-1]:.1%} at the end",
                flush=True,
            )


def printed_gaps(problem: Problem, rounds: int, seed: int, **options) -> list[float]:
    """The gap of ψDAG as printed after every round, without an intercept, as its loss has none."""
    gaps: list[float] = []
    learn_dag(
        problem.stream(1024), Stochastic.paper(max_rounds=rounds, **options), noise="equal", evidence=False, n_jobs=1,
        random_state=seed,
        callback=lambda _, candidate: gaps.append(heldout_gap(problem.dag, candidate.weights, problem.X_test)),
    )  # fmt: skip
    return gaps


def run_printed() -> None:
    """Judged after every round of 2,000 gradients."""
    for graph, seed in itertools.product(("ER2", "ER4"), range(1000, 1005)):
        gaps = printed_gaps(problem_of(graph, 100, seed=seed), 20, 0)
        met = next((2000 * k for k, gap in enumerate(gaps, 1) if gap <= GOAL), None)
        print(f"{graph} d=100 {seed}: gap of {GOAL:.0%} after {met} gradients, {gaps[-1]:.1%} at the end", flush=True)


def run_projection() -> None:
    W = np.random.default_rng(0).normal(size=(10_000, 10_000))
    np.fill_diagonal(W, 0)
    ratios = []
    for _ in range(5):
        begin = time.perf_counter()
        np.einsum("ij,ij->i", W, W)
        middle = time.perf_counter()
        project(W)
        end = time.perf_counter()
        ratios.append((end - middle) / (middle - begin))
        print(f"einsum {middle - begin:.3f} s, projection {end - middle:.3f} s, ratio {ratios[-1]:.1f}")
    print(f"median ratio {np.median(ratios):.1f}")


def run_kernels() -> None:
    rng = np.random.default_rng(0)
    for d in (500, 2000):
        W, average, G, move = (rng.normal(size=(d, d)).astype(np.float32) for _ in range(4))
        free = np.ones((d, d), dtype=np.uint8)
        open_entries = free.astype(bool)

        def fused(W=W, average=average, G=G, move=move, free=free):
            _steps.advance(W, average, G, 1e-3, 1.0, 0.1)
            _steps.measure(G, free, move, W)

        def plain(W=W, average=average, G=G, move=move, open_entries=open_entries):
            new = W - np.float32(1e-3) * G
            step = new - W
            sums = [np.sum(step * G), np.sum(step * step), np.sum(new * new)]
            average = average + np.float32(0.1) * (new - average)
            G = np.where(open_entries, G, np.float32(0))
            return [*sums, np.sum(move * G), np.sum(G * G), np.sum(new * G)]

        def seconds(work):
            times = []
            for _ in range(15):
                begin = time.perf_counter()
                work()
                times.append(time.perf_counter() - begin)
            return float(np.median(times))

        a, b = seconds(fused), seconds(plain)
        print(f"d={d}: fused {1e3 * a:.2f} ms, NumPy expressions {1e3 * b:.2f} ms, ratio {b / a:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = {
        "grid": run_grid,
        "structure": run_structure,
        "race": run_race,
        "average": run_average,
        "printed": run_printed,
        "longer": run_longer,
        "stream": run_stream,
        "projection": run_projection,
        "kernels": run_kernels,
    }
    names = ["yardstick", *parts]
    parser.add_argument("parts", nargs="*", default=names, choices=names, metavar="part")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds given to the published settings")
    chosen = parser.parse_args()
    for part in chosen.parts:
        print(f"\n== {part}")
        if part == "yardstick":
            with threadpool_limits(limits=2, user_api="blas"):
                run_yardstick(chosen.limit)
        else:
            parts[part]()


if __name__ == "__main__":
    main()
