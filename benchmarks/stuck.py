"""Is the search stuck? Its final score beside that of the same search, without openings, begun at the true graph.

A search is stuck when its penalised score lies more than one penalty above. There are 600 problems: ER2, 4, 6, 10 and
SF2, 4, 6, 8, weights up to 1 and up to 2, d = 50, 200 and 1,000, n = 500, 2,000 and 5,000, the equal and the unequal
score, two seeds each, and 24 on the networks of the package under unequal noise. The list and its seeds are fixed.

    python benchmarks/stuck.py problems --record new.jsonl [--columns 50 0 200] [--every 6] [--score equal]
        [--everyone | --quick] [--limit 300]
    python benchmarks/stuck.py report --record new.jsonl [more.jsonl]
    python benchmarks/stuck.py tables
    python benchmarks/stuck.py permutations [--columns 50 200] [--every 12]
    python benchmarks/stuck.py accuracy [--graphs ER2 SF4] [--seeds 20]
    python benchmarks/stuck.py peers --python PYTHON [--limit 300]

``--every k`` takes each k-th problem of the list, which is in random sequence. ``problems`` goes on where its record
ends. Searches that are not stuck without openings are run with them only under ``--everyone``, for the ratio of
times, and under the equal score; with ``--quick`` only the defaults are run, which take less on dense problems. Times
are processor time; a problem that takes more than ``--limit`` seconds is recorded as not ended. ``accuracy`` counts
errors at 1,000 columns beside those of parents selected in the true order; ``peers`` runs FLOP and XGES (the packages
flopsearch and xges, with numba, of the interpreter that is named) on 50 problems, each for at most ``--limit`` seconds
of processor time.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import multiprocessing
import re
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from psidag.data.sources import Table
from psidag.datasets import TOPOLOGIES, load_topology, network_model
from psidag.engines.noise_search import NoiseSearch
from psidag.engines.sparse import Sparse
from psidag.graph.constraints import unconstrained
from psidag.graph.equivalence import cpdag
from psidag.graph.metrics import cpdag_shd, shd
from psidag.run.loop import Outcome, Task, run
from psidag.scores.named import as_score
from psidag.simulate import Problem, simulate
from psidag.stages.within_order import search_penalty, select_within
from psidag.system.parallel import workers

warnings.simplefilter("ignore")
GRAPHS = ("ER2", "ER4", "ER6", "ER10", "SF2", "SF4", "SF6", "SF8")
FITTED = ("ecoli70", "magic_niab")
FIRST_SEED, ACCURACY_SEED = 1_270_000, 780_000


class Case(NamedTuple):
    """One problem of the list; d is 0 where the graph says it, and the weights 0 where the network has its own."""

    graph: str
    d: int
    n: int
    weights: int
    score: str
    seed: int

    @property
    def label(self) -> str:
        """What it is called in records."""
        size = f" d={self.d}" if self.d else ""
        return f"{self.graph}{size} n={self.n} w={self.weights} {self.score} {self.seed}"


def cases() -> list[Case]:
    """The list, in a random sequence that is always the same."""
    drawn = itertools.product(GRAPHS, (50, 200, 1000), (500, 2000, 5000), (1, 2), ("equal", "unequal"), range(2))
    found = [parts[:-1] for parts in drawn]
    found += [(name, 0, n, top, "unequal") for name in TOPOLOGIES for n in (500, 2000, 5000) for top in (1, 2)]
    found += [(name, 0, n, 0, "unequal") for name in FITTED for n in (500, 2000, 5000)]
    made = [Case(*parts, FIRST_SEED + k) for k, parts in enumerate(found)]
    return [made[k] for k in np.random.default_rng(17).permutation(len(made))]


def drawn(case: Case) -> tuple[np.ndarray, sp.csr_array]:
    """Rows and the true graph of a case."""
    if case.graph in FITTED:
        model = network_model(case.graph)
        return model.sample(case.n, np.random.default_rng(case.seed)), model.dag.weights
    graph: Any = load_topology(case.graph) if not case.d else case.graph
    d = case.d or graph.d
    scale = 1.0 if case.score == "equal" else np.random.default_rng([case.seed, 1]).uniform(0.5, 2.0, d)
    ranges = ((-float(case.weights), -0.05), (0.05, float(case.weights)))
    problem = simulate(graph, case.n, d=case.d or None, seed=case.seed, scale=scale, ranges=ranges)
    return problem.X, problem.dag.weights


def learn(
    X: np.ndarray, score: str, start: sp.csr_array | None = None, seed: int = 0, restarts: int | None = None
) -> tuple[Outcome, float]:
    """The search of the defaults under a score, or one without openings from a given graph; and its time."""
    engine: Any = Sparse(restarts=restarts)
    if score == "equal" and start is None:
        engine = NoiseSearch(engine, "equal")
    source = Table(X, [f"x{i}" for i in range(X.shape[1])])
    begun = time.process_time()
    with workers(1) as pool:
        rng = np.random.default_rng(seed)
        outcome = run(engine, Task(source, unconstrained(source.names), rng, pool, as_score(score), start))
    return outcome, time.process_time() - begun


def above(X: np.ndarray, found: Outcome, ideal: Outcome) -> float:
    """By how many penalties a score lies above another."""
    n, d = X.shape
    return n * d * math.log(found.candidate.loss / ideal.candidate.loss) / search_penalty(n, d)


def judged(case: Case, everyone: bool, quick: bool) -> dict[str, Any]:
    """What came of one problem.

    An opening is kept only if it lowers the score, so a search under the unequal score that is not stuck without
    openings is not stuck with them: it is not run a second time unless asked for.
    """
    X, truth = drawn(case)
    errors = shd if case.score == "equal" else cpdag_shd
    ideal, _ = learn(X, case.score, truth, restarts=0)
    line = {"case": case.label, "d": X.shape[1], "ideal": errors(truth, ideal.candidate.weights)}
    if not quick:
        plain, seconds = learn(X, case.score, restarts=0)
        line |= {
            "plain": above(X, plain, ideal), "plain seconds": seconds,
            "plain errors": errors(truth, plain.candidate.weights),
        }  # fmt: skip
        if not (everyone or case.score == "equal" or line["plain"] > 1):
            return line | {"above": line["plain"], "errors": line["plain errors"]}
    found, seconds = learn(X, case.score)
    return line | {
        "above": above(X, found, ideal), "seconds": seconds, "errors": errors(truth, found.candidate.weights),
        "message": found.status.message,
    }  # fmt: skip


def chosen(columns: list[int], every: int, score: str = "") -> list[Case]:
    """The part of the list that is asked for, by sizes as they are named; networks count as of 0 columns."""
    found = [case for case in cases() if score in ("", case.score)]
    return [case for d in columns for case in found if case.d == d][::every] if columns else found[::every]


def problems(arguments: argparse.Namespace) -> None:
    """Judge what is not in the record yet."""
    record = Path(arguments.record[0])
    done = {line["case"] for line in read(record)}
    for case in chosen(arguments.columns, arguments.every, arguments.score):
        if case.label not in done:
            line = within(arguments.limit, judged, case, arguments.everyone, arguments.quick)
            line = line or {"case": case.label, "limit": arguments.limit}
            with record.open("a") as file:
                file.write(json.dumps(line) + "\n")
            ends = [f"{line[end]:+.1f}" for end in ("plain", "above") if end in line]
            ended = f"{' and '.join(ends)} penalties" if ends else "not ended"
            print(f"{case.label}: {ended}", flush=True)


def within(limit: float, function: Any, *arguments: Any) -> Any:
    """What a function returns, in a process of its own; None if that takes more seconds of processor time."""
    ours, theirs = multiprocessing.Pipe(duplex=False)

    def answer() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit)))
        theirs.send(function(*arguments))

    process = multiprocessing.get_context("fork").Process(target=answer)
    process.start()
    theirs.close()
    try:
        return ours.recv()
    except EOFError:
        return None
    finally:
        process.join()


def read(record: Path) -> list[dict[str, Any]]:
    """The lines of a record, which need not be there."""
    return [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []


def report(arguments: argparse.Namespace) -> None:
    """Counts by class of problem on what the records have."""
    lines = {line["case"]: line for name in arguments.record for line in read(Path(name))}
    for label in [label for label, line in lines.items() if "above" not in line]:
        print(f"not ended after {lines.pop(label)['limit']:.0f} s: {label}")
    found = [case for case in cases() if case.label in lines]
    classes = {
        f"d = {d}, {score}" if d else "networks, unequal": [c for c in found if c.d == d and c.score == score]
        for d, score in itertools.product((50, 200, 1000, 0), ("equal", "unequal"))
        if d or score == "unequal"
    }
    row("problems", "number", "stuck without openings", "worst", "errors", "stuck with", "worst", "errors", "ideal")
    row(*["---"] * 9)
    for name, part in {**classes, "all": found}.items():
        if part:
            row(name, len(part), *summary([lines[case.label] for case in part]))
    print()
    for line in sorted(lines.values(), key=lambda line: -line["above"]):
        if line["above"] > 1:
            row(line["case"], f"{line['above']:.1f}", f"{line['errors']} ({line['ideal']})")
    timed = [line for line in lines.values() if "seconds" in line and line.get("plain", math.inf) <= 1]
    for d in sorted({line["d"] for line in timed}):
        ratios = [line["seconds"] / line["plain seconds"] for line in timed if line["d"] == d]
        print(f"time at d = {d}, {len(ratios)} not stuck: median {np.median(ratios):.2f}, most {max(ratios):.2f}")


def summary(lines: list[dict[str, Any]]) -> list[Any]:
    """How many are stuck and how far, without openings and with them; and errors."""
    cells: list[Any] = []
    for gap, errors in (("plain", "plain errors"), ("above", "errors")):
        part = [line for line in lines if gap in line]
        gaps = [line[gap] for line in part]
        mean = np.mean([line[errors] for line in part]) if part else math.nan
        cells += [sum(gap > 1 for gap in gaps), f"{max(gaps, default=math.nan):.1f}", f"{mean:.1f}"]
    return [*cells, f"{np.mean([line['ideal'] for line in lines]):.1f}"]


def row(*cells: Any) -> None:
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def tables(arguments: argparse.Namespace) -> None:
    """Twenty seeds on real tables under the unequal score."""
    from sklearn import datasets

    row("table", "spread of scores, penalties", "seeds within one of the best", "seeds in the most frequent class", "s")
    row(*["---"] * 5)
    for name in ("wine", "breast_cancer", "diabetes"):
        X = np.asarray(getattr(datasets, f"load_{name}")().data, dtype=np.float64)
        ends = [learn(X, "unequal", seed=seed) for seed in range(20)]
        best = min((outcome for outcome, _ in ends), key=lambda outcome: outcome.candidate.loss)
        gaps = np.array([above(X, outcome, best) for outcome, _ in ends])
        classes = Counter(cpdag(outcome.candidate.weights).astype(bool).toarray().tobytes() for outcome, _ in ends)
        row(
            name, f"{gaps.max():.2f}", int((gaps <= 1).sum()), classes.most_common(1)[0][1],
            f"{np.mean([seconds for _, seconds in ends]):.2f}",
        )  # fmt: skip


def permutations(arguments: argparse.Namespace) -> None:
    """Four permutations of the columns of some problems: how far apart they end."""
    spreads = []
    for case in chosen(arguments.columns, arguments.every):
        X, _ = drawn(case)
        rng = np.random.default_rng(case.seed)
        ends = [learn(X[:, rng.permutation(X.shape[1])], case.score)[0] for _ in range(4)]
        losses = sorted(ends, key=lambda outcome: outcome.candidate.loss)
        spreads.append(above(X, losses[-1], losses[0]))
        print(f"{case.label}: {spreads[-1]:.2f} penalties apart", flush=True)
    near = sum(spread <= 1 for spread in spreads)
    print(f"{near} of {len(spreads)} within one penalty, the widest {max(spreads):.1f}")


def accuracy(arguments: argparse.Namespace) -> None:
    """Errors and times at 1,000 columns, n = 5,000, equal noise: without openings, with them, in the true order."""
    row("graph", "seeds", "time, median", "most", "openings, median", "errors", "in the true order", "ratio")
    row(*["---"] * 8)
    for graph in arguments.graphs:
        lines = []
        for seed in range(ACCURACY_SEED, ACCURACY_SEED + arguments.seeds):
            problem = simulate(graph, 5000, d=1000, seed=seed)
            (_, without), (found, seconds) = (learn(problem.X, "equal", restarts=few) for few in (0, None))
            best = shd(problem.dag.weights, in_true_order(problem))
            opened = re.search(r"(\d+) neighbourhoods", found.status.message)
            errors = shd(problem.dag.weights, found.candidate.weights)
            lines.append((seconds / without, int(opened[1]) if opened else 0, errors, best))
        times, opened, errors, best = (np.array(column) for column in zip(*lines, strict=True))
        print(f"<!-- {graph}: {errors.tolist()} and {best.tolist()} -->")
        row(
            graph, len(lines), f"{np.median(times):.2f}", f"{times.max():.2f}", f"{np.median(opened):.0f}",
            f"{errors.mean():.1f}", f"{best.mean():.1f}", f"{errors.sum() / best.sum():.2f}",
        )  # fmt: skip


def in_true_order(problem: Problem) -> sp.csr_array:
    """Parents selected in the true order at the price of the search."""
    n, d = problem.X.shape
    C = np.corrcoef(problem.X, rowvar=False)
    with workers(1) as pool:
        return select_within(C, n, problem.dag.order, pool, penalty=search_penalty(n, d)).weights


def peer_cases() -> list[Case]:
    """Fifty problems under unequal noise; those of 100 columns are not on the list."""
    found = [case for case in cases() if case.score == "unequal"]
    hundred = itertools.product(GRAPHS, (500, 5000))
    made = [Case(graph, 100, n, 2, "unequal", FIRST_SEED + 1000 + k) for k, (graph, n) in enumerate(hundred)]
    few = {50: 16, 0: 10, 200: 8}
    return [*made, *(case for d, count in few.items() for case in [case for case in found if case.d == d][:count])]


def peers(arguments: argparse.Namespace) -> None:
    """FLOP and XGES beside ours: errors of the equivalence class, and seconds."""
    record = Path(arguments.record[0])
    done = {line["case"] for line in read(record)}
    for case in peer_cases():
        if case.label in done:
            continue
        X, truth = drawn(case)
        found, seconds = learn(X, case.score)
        true_class = cpdag(truth).toarray() != 0
        line: dict[str, Any] = {
            "case": case.label,
            "d": case.d,
            "ours": [cpdag_shd(truth, found.candidate.weights), seconds],
        }
        for name in PEERS:
            answer = peer(arguments.python, name, X, arguments.limit)
            line[name] = None if answer is None else [pairs_apart(true_class, answer[0]), answer[1]]
        with record.open("a") as file:
            file.write(json.dumps(line) + "\n")
        print(json.dumps(line), flush=True)


#: What runs in the other interpreter: the rows are in one file, and the class, i -> j in [i, j], goes to another.
PEERS = {
    "FLOP": "from flopsearch import flop; A = np.asarray(flop(X, 2.0, restarts=20)) != 0",
    "XGES": "from xges import XGES; A = np.asarray(XGES().fit(X, verbose=0).to_adjacency_matrix()) != 0",
}


def peer(python: str, name: str, X: np.ndarray, limit: float) -> tuple[np.ndarray, float] | None:
    """The class that another program finds, and its seconds; None where it takes longer than it may."""
    with tempfile.TemporaryDirectory() as folder:
        rows, out = Path(folder, "rows.npy"), Path(folder, "out.npz")
        np.save(rows, X / X.std(axis=0))
        code = f"import time, numpy as np; X = np.load({str(rows)!r}); s = time.process_time(); {PEERS[name]}; "
        code += f"np.savez({str(out)!r}, A=A, t=time.process_time() - s)"
        limited = partial(resource.setrlimit, resource.RLIMIT_CPU, (int(limit), int(limit)))
        subprocess.run([python, "-c", code], preexec_fn=limited, capture_output=True, check=False)
        if not out.exists():
            return None
        with np.load(out) as found:
            return found["A"], float(found["t"])


def pairs_apart(one: np.ndarray, other: np.ndarray) -> int:
    """Pairs of nodes that two classes join in different ways."""
    differs = one != other
    return int(np.triu(differs | differs.T).sum())


PARTS = {
    "problems": problems,
    "report": report,
    "tables": tables,
    "permutations": permutations,
    "accuracy": accuracy,
    "peers": peers,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--record", nargs="+", default=["stuck.jsonl"])
    parser.add_argument("--columns", type=int, nargs="*", default=[])
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--score", choices=("equal", "unequal"), default="")
    parser.add_argument("--everyone", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--graphs", nargs="+", default=["ER2", "ER4", "SF4", "SF6"])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--limit", type=float, default=300.0)
    arguments = parser.parse_args()
    PARTS[arguments.part](arguments)


if __name__ == "__main__":
    main()
