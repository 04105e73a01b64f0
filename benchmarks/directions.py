"""What each arrow rests on: is it right, does it depend on units, how much is directed, and what does it cost?

    python benchmarks/directions.py [SECTION ...] [--seeds N] [--out FILE]

Sections: units, choice, shape, small, cost, paper, calibration, curves, rows, peers. Each prints its table in Markdown;
all of them take about twenty minutes of one core. The recorded tables are in ``benchmarks/directions.md``; real tables
are in ``benchmarks/tables.py``.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np

from psidag import learn_dag
from psidag.graph.dag import DAG
from psidag.graph.partial import CONFLICT, REASONS, PartialGraph
from psidag.simulate import simulate

warnings.simplefilter("ignore")

RANGES = ((-1.0, -0.2), (0.2, 1.0))
#: Seeds below this were used to fit curves, to choose constants, or to look at; everything is judged on later ones.
FRESH = 4000


def problem(graph: str, d: int, n: int, seed: int, noise: str, equal: bool = False) -> tuple[np.ndarray, DAG]:
    """Rows of a linear model, standardised unless variances are equal, and the graph behind them."""
    rng = np.random.default_rng([seed, 5])
    scale = 1.0 if equal else rng.uniform(0.5, 2.0, d)
    drawn = "gaussian" if noise == "lognormal" else noise
    made = simulate(graph, d=d, n=n, seed=seed, noise=drawn, scale=scale, ranges=RANGES)
    X = made.X
    if noise == "lognormal":
        e = np.exp(rng.normal(size=(n, d)))
        X = ((e - e.mean(0)) / e.std(0) * scale) @ np.linalg.inv(np.eye(d) - made.dag.to_dense())
    return (X if equal else (X - X.mean(0)) / X.std(0)), made.dag


def kinds(graph: PartialGraph, truth: DAG) -> np.ndarray:
    """For each edge 1 if it stands as in the truth, -1 if reversed, 0 if there is none."""
    edges = truth.weights.tocoo()
    there = edges.row.astype(np.int64) * truth.d + edges.col
    as_drawn, turned = (
        np.isin(a.astype(np.int64) * truth.d + b, there)
        for a, b in ((graph.sources, graph.targets), (graph.targets, graph.sources))
    )
    return np.where(as_drawn, 1, np.where(turned, -1, 0))


def errors(found: DAG, truth: DAG) -> tuple[int, int]:
    """Structural Hamming distance (a reversed edge counts once), and reversed edges."""
    kind = kinds(PartialGraph.from_dag(found), truth)
    right, turned = int((kind == 1).sum()), int((kind == -1).sum())
    return found.n_edges + truth.n_edges - 2 * right - turned, turned


class Tally:
    """Edges, arrows, and how many of the arrows are right, reversed, or on pairs that are not joined."""

    def __init__(self) -> None:
        self.true = self.edges = self.right = self.turned = self.none = self.conflicts = 0
        self.because = dict.fromkeys(REASONS, 0)

    def add(self, graph: PartialGraph, truth: DAG) -> None:
        """Count one learned graph."""
        kind, directed = kinds(graph, truth), graph.directed
        self.true += truth.n_edges
        self.edges += graph.n_edges
        self.right += int((directed & (kind == 1)).sum())
        self.turned += int((directed & (kind == -1)).sum())
        self.none += int((directed & (kind == 0)).sum())
        self.conflicts += int((graph.reason == CONFLICT).sum())
        for code, reason in enumerate(REASONS):
            self.because[reason] += int((directed & (graph.reason == code)).sum())

    @property
    def arrows(self) -> int:
        """How many there are."""
        return self.right + self.turned + self.none

    def cells(self) -> list[object]:
        """The columns of :data:`TALLY`."""
        share = self.arrows / max(1, self.edges)
        wrong, no_edge = self.turned / max(1, self.arrows), self.none / max(1, self.arrows)
        reasons = ", ".join(f"{count} {reason}" for reason, count in self.because.items() if count)
        return [self.edges, f"{share:.0%}", f"{wrong:.1%}", f"{no_edge:.1%}", reasons]


TALLY = ["edges", "directed", "of these reversed", "of these not joined in truth", "because"]


def table(head: list[str], rows: Iterator[list[object]]) -> str:
    """A Markdown table, whose rows are also shown as they come."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in rows:
        cells = [f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in row]
        lines.append("| " + " | ".join(cells) + " |")
        print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)


def same(a: PartialGraph, b: PartialGraph) -> tuple[int, int]:
    """Connections that differ, and directed edges of the first that the second has the other way."""
    joined = [{frozenset(pair) for pair in zip(g.sources.tolist(), g.targets.tolist(), strict=True)} for g in (a, b)]
    other = set(b.directed_edges())
    return len(joined[0] ^ joined[1]), sum((y, x) in other for x, y in a.directed_edges())


def units(seeds: int) -> str:
    """Columns multiplied by factors between 1e-6 and 1e6."""

    def rows() -> Iterator[list[object]]:
        for noise in ("gaussian", "gumbel"):
            for equal in (False, True):
                changed = turned = arrows = 0
                for seed in range(FRESH, FRESH + seeds):
                    X, _ = problem("ER2", 30, 1000, seed, noise, equal)
                    factors = 10.0 ** np.random.default_rng(seed).uniform(-6, 6, 30)
                    before = learn_dag(X, random_state=0).graph
                    after = learn_dag(X * factors, random_state=0).graph
                    found = same(before, after)
                    changed, turned, arrows = changed + found[0], turned + found[1], arrows + before.n_directed
                what = f"{noise}, {'equal' if equal else 'unequal'} variances"
                yield [what, arrows, changed, f"{turned / max(1, arrows):.1%}"]
        before, after, far = [], [], []
        for seed in range(FRESH, FRESH + seeds):
            X, truth = problem("ER2", 50, 2000, seed, "gaussian", equal=True)
            scaled = X * np.where(np.arange(50) == 7, 1000.0, 1.0)
            skeleton = (truth.to_dense() != 0) | (truth.to_dense() != 0).T
            for Y, into in ((X, before), (scaled, after)):
                found = learn_dag(Y, random_state=0).dag.to_dense() != 0
                into.append(int(np.triu((found | found.T) != skeleton).sum()))
            alone = np.random.default_rng(seed).normal(size=(500, 20)) * np.where(np.arange(20) == 3, 1000.0, 1.0)
            far.append(learn_dag(alone, random_state=0).dag.n_edges)
        yield ["ER2, d = 50, n = 2,000: skeleton errors before; after one column times 1,000", "", before, after]
        yield ["20 independent columns, one times 1,000: edges", "", far, ""]
        chain = np.column_stack([np.arange(500.0), np.random.default_rng(0).normal(size=(500, 3)).cumsum(axis=1)])
        edges = learn_dag(chain, names=["id", "a", "b", "c"], random_state=0).dag.edges()
        yield ["a chain beside an id column: edges", "", [f"{x}–{y}" for x, y, _ in edges], ""]

    return table(["problem", "arrows", "connections changed", "arrows turned"], rows())


def choice(seeds: int) -> str:
    """Gaussian noise of equal variance: how often it is recognised, and what asking costs."""

    def rows() -> Iterator[list[object]]:
        for d, n, count in ((10, 300, 8 * seeds), (30, 1000, 8 * seeds), (100, 1000, 4 * seeds)):
            chosen = []
            for seed in range(FRESH, FRESH + count):
                X, _ = problem("ER2", d, n, seed, "gaussian", equal=True)
                chosen.append(learn_dag(X, random_state=0, evidence=False).noise.chosen)
            yield [f"ER2, d = {d}, n = {n}", f"{chosen.count('equal')} of {count}", ""]
        times: dict[str, list[float]] = {"equal": [], "auto": []}
        for seed in range(FRESH, FRESH + min(seeds, 3)):
            X, _ = problem("ER2", 1000, 5000, seed, "gaussian", equal=True)
            for noise in ("equal", "auto", "auto", "equal"):
                begun = time.process_time()
                learn_dag(X, noise=noise, random_state=0, evidence=False)
                times[noise].append(time.process_time() - begun)
        extra = sum(times["auto"]) / sum(times["equal"]) - 1
        yield [f"ER2, d = 1000, n = 5000, {min(seeds, 3)} seeds", "", f"{extra:.1%}"]

    return table(["data", "equal is chosen", "extra processor time"], rows())


SHAPE_HEAD = ["data", "SHD", "reversed in dag", "of true edges rightly directed", "wrongly", "because"]
SHAPES = [
    ("ER2", 1000, 5000, ("gumbel", "exponential")),
    ("ER4", 1000, 5000, ("gumbel", "exponential")),
    ("SF4", 1000, 5000, ("gumbel", "exponential")),
]


def shape(seeds: int) -> str:
    """Directions from the shape of the noise at 1,000 columns."""
    cells = [(graph, d, n, noise) for graph, d, n, noises in SHAPES for noise in noises]
    return table(SHAPE_HEAD, (_shape_row(*cell, min(seeds, 2)) for cell in cells))


def small(seeds: int) -> str:
    """The same with 300 rows of 100 columns."""
    rows = (_shape_row("ER2", 100, 300, noise, seeds) for noise in ("laplace", "uniform", "student_t", "lognormal"))
    return table(SHAPE_HEAD, rows)


def _shape_row(graph: str, d: int, n: int, noise: str, seeds: int) -> list[object]:
    tally, distance, turned = Tally(), [], []
    for seed in range(FRESH, FRESH + seeds):
        X, truth = problem(graph, d, n, seed, noise)
        found = learn_dag(X, random_state=0, evidence=True)
        tally.add(found.graph, truth)
        each = errors(found.dag, truth)
        distance.append(each[0])
        turned.append(each[1])
    reasons = tally.cells()[-1]
    name = f"{noise} {graph}, d = {d}, n = {n} ({seeds} seeds)"
    return [name, distance, turned, f"{tally.right / tally.true:.1%}", f"{tally.turned / tally.true:.2%}", reasons]


def cost(seeds: int) -> str:
    """What evidence costs."""

    def rows() -> Iterator[list[object]]:
        for d, n in ((100, 1000), (1000, 5000)):
            for noise in ("gaussian", "gumbel"):
                X, _ = problem("ER2", d, n, FRESH, noise)
                seconds = []
                for evidence in (False, True):
                    begun, wall = time.process_time(), time.perf_counter()
                    learn_dag(X, random_state=0, evidence=evidence)
                    seconds += [time.process_time() - begun, time.perf_counter() - wall]
                yield [f"{noise} ER2, d = {d}, n = {n}", seconds[0], seconds[2] - seconds[0], seconds[3] - seconds[1]]

    return table(["data", "learning, processor s", "evidence, processor s", "evidence, s by the clock"], rows())


def paper(seeds: int) -> str:
    """The paper's own data: equal variances, d = 1,000."""

    def rows() -> Iterator[list[object]]:
        for noise in ("exponential", "gumbel"):
            for seed in range(FRESH, FRESH + min(seeds, 3)):
                X, truth = problem("ER2", 1000, 5000, seed, noise, equal=True)
                found = [learn_dag(X, noise=name, random_state=0, evidence=False).dag for name in ("equal", "auto")]
                yield [f"{noise} ER2, seed {seed}", *(f"{s} ({r})" for s, r in (errors(dag, truth) for dag in found))]

    return table(["data", "equal: SHD (reversed)", "auto: SHD (reversed)"], rows())


SIZES = [
    ("ER1", 5, 100), ("ER1", 5, 300), ("ER1", 10, 100), ("ER1", 10, 300), ("ER2", 10, 300), ("ER1", 20, 200),
    ("ER2", 20, 300),
]  # fmt: skip
FAMILIES = ("gaussian", "laplace", "gumbel", "uniform", "student_t", "exponential", "lognormal")


def calibration(seeds: int) -> str:
    """All families and small tables: of the arrows, how many are right; and the curves."""
    points: dict[str, list[tuple[float, int]]] = {reason: [] for reason in REASONS}

    def rows() -> Iterator[list[object]]:
        for graph, d, n in SIZES:
            for noise in FAMILIES:
                tally = Tally()
                for seed in range(FRESH, FRESH + 2 * seeds):
                    X, truth = problem(graph, d, n, seed, noise)
                    found = learn_dag(X, random_state=0).graph
                    tally.add(found, truth)
                    for p, code, kind in zip(found.probability, found.reason, kinds(found, truth), strict=True):
                        if 0 <= code < CONFLICT and kind:
                            points[REASONS[code]].append((float(p), int(kind)))
                yield [f"{graph}, d = {d}, n = {n}", noise, *tally.cells()]

    first = table(["data", "noise", *TALLY], rows())
    marks = (0.95, 0.96, 0.97, 0.98, 0.99, 1.01)

    def curve() -> Iterator[list[object]]:
        for reason, found in points.items():
            p, kind = np.array(found).reshape(-1, 2).T
            for low, high in pairwise(marks):
                inside = (p >= low) & (p < high)
                if inside.any():
                    share = f"{np.mean(kind[inside] == 1):.1%}"
                    yield [reason, f"{low:.0%} to {min(high, 1):.0%}", int(inside.sum()), share]

    return first + "\n\n" + table(["because", "probability said", "arrows", "right"], curve())


RELATIONS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "linear": lambda x, e: 0.7 * x + 0.7 * e,
    "square": lambda x, e: 0.7 * x + 0.15 * x**2 + 0.7 * e,
    "cube": lambda x, e: x**3 / 3 + 0.7 * e,
    "tanh": lambda x, e: np.tanh(x) + 0.7 * e,
    "exp": lambda x, e: np.exp(x / 2) + 0.7 * e,
    "rounded": lambda x, e: np.round(2 * (x + e)),
    "binary": lambda x, e: (x + e > 0) * 1.0,
    "noise grows with |x|": lambda x, e: 0.7 * x + 0.5 * e * (0.5 + np.abs(x)),
    "noise grows with x": lambda x, e: 0.7 * x + 0.7 * e * np.exp(0.4 * x),
}


def curves(seeds: int) -> str:
    """Pairs of a cause and a curved effect: how often an arrow is claimed rightly and wrongly."""

    def rows() -> Iterator[list[object]]:
        for name, relation in RELATIONS.items():
            cells: list[object] = [name]
            for n in (300, 2000, 20_000):
                right = wrong = count = 0
                for noise in ("normal", "laplace", "gumbel"):
                    for seed in range(FRESH, FRESH + 4 * seeds):
                        rng = np.random.default_rng([seed, n])
                        draws = getattr(rng, noise)(size=(2, n))
                        x, e = (draws - draws.mean(1, keepdims=True)) / draws.std(1, keepdims=True)
                        graph = learn_dag(np.column_stack([x, relation(x, e)]), names=["x", "y"], random_state=0).graph
                        found = graph.directed_edges()
                        right, wrong, count = right + (("x", "y") in found), wrong + (("y", "x") in found), count + 1
                cells.append(f"{right / count:.0%}, {wrong / count:.1%}")
            yield cells

    return table(["relation", "n = 300: right, wrong", "n = 2,000", "n = 20,000"], rows())


def rows(seeds: int) -> str:
    """Rows that depend on each other, as they stand and shuffled, which hides it; sorted rows; rows of many scales."""

    def lines() -> Iterator[list[object]]:
        for noise in ("gaussian", "gumbel"):
            for name, made in ROWS.items():
                stand, shuffled = Tally(), Tally()
                for seed in range(FRESH, FRESH + seeds):
                    rng = np.random.default_rng([seed, 6])
                    drawn, truth = problem("ER2", 12, 500, seed, noise)
                    X = made(drawn, rng)
                    stand.add(learn_dag(X).graph, truth)
                    shuffled.add(learn_dag(rng.permutation(X)).graph, truth)
                counts = (f"{t.right} / {t.turned} / {t.none}" for t in (stand, shuffled))
                yield [name, noise, seeds, stand.edges, *counts]

    return table(["rows", "noise", "seeds", "edges", "right / reversed / not joined", "rows shuffled"], lines())


def _in_time(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Each row near the one before: a moving mean of rows, which leaves the equations within a row as they are."""
    kernel = 0.8 ** np.arange(30)
    return np.stack([np.convolve(x, kernel / np.linalg.norm(kernel))[: len(x)] for x in X.T], axis=1)


def _in_groups(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Ten rows to a group, and three things that are alike in a group and act on all columns."""
    group = rng.normal(size=(len(X) // 10, 3)) @ rng.normal(size=(3, X.shape[1]))
    return X + np.repeat(group, 10, axis=0)


ROWS: dict[str, Callable[[np.ndarray, np.random.Generator], np.ndarray]] = {
    "independent": lambda X, rng: X,
    "sorted by a column": lambda X, rng: X[np.argsort(X[:, rng.integers(X.shape[1])])],
    "sorted by a column in steps": lambda X, rng: X[np.argsort(np.round(X[:, rng.integers(X.shape[1])]))],
    "in time": _in_time,
    "in groups": _in_groups,
    "of many scales": lambda X, rng: X * np.exp(0.6 * rng.normal(size=(len(X), 1))),
}


def peers(seeds: int) -> str:
    """DirectLiNGAM and ICA-LiNGAM of the package lingam, in one run."""
    import lingam

    def rows() -> Iterator[list[object]]:
        for d, count in ((20, seeds), (50, 2), (100, 1)):
            for seed in range(FRESH, FRESH + count):
                X, truth = problem("ER2", d, 1000, seed, "gumbel")
                cells: list[object] = [f"gumbel ER2, d = {d}, n = 1,000, seed {seed}"]
                begun = time.process_time()
                found = learn_dag(X, random_state=0, evidence=False, n_jobs=1).dag
                cells.append(f"{errors(found, truth)[0]}, {time.process_time() - begun:.2g} s")
                for method in (lingam.ICALiNGAM(random_state=0), lingam.DirectLiNGAM()):
                    begun = time.process_time()
                    method.fit(X)
                    B = method.adjacency_matrix_.T
                    dag = DAG.from_weights(np.where(np.abs(B) > 0.05, B, 0.0))
                    cells.append(f"{errors(dag, truth)[0]}, {time.process_time() - begun:.2g} s")
                yield cells

    return table(["data", "psidag: SHD, processor time", "ICA-LiNGAM", "DirectLiNGAM"], rows())


SECTIONS: dict[str, Callable[[int], str]] = {
    "units": units, "choice": choice, "shape": shape, "small": small, "cost": cost, "paper": paper,
    "calibration": calibration, "curves": curves, "rows": rows, "peers": peers,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, help="a file to which the tables are appended")
    given = parser.parse_args()
    for name in given.sections or SECTIONS:
        begun = time.process_time()
        text = f"## {name}\n\n{SECTIONS[name].__doc__}\n\n{SECTIONS[name](given.seeds)}\n"
        text += f"\n{given.seeds} seeds from {FRESH} on; {time.process_time() - begun:.0f} processor seconds.\n"
        print(text, flush=True)
        if given.out:
            with given.out.open("a", encoding="utf-8") as file:
                file.write(text + "\n")


if __name__ == "__main__":
    main()
