"""Whether the learned graphs are still the recorded ones: 60 small problems, both scores and every engine.

``python benchmarks/unchanged.py`` learns them all and compares the edges with ``unchanged.json``, beside this file;
it ends with status 1 if a graph differs. ``--record`` writes the file anew: do that with a reason in the changelog.
Only the public interface is used, so that an older version can be asked too, and data are drawn here, so that a
change of the simulator is no change of the problems. It takes three minutes. Where two graphs tie, rounding
decides, so another processor may differ on one or the other: record there with the older version first.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import psidag
from psidag import Constraints, Exact, Sparse, Stochastic, learn_dag

RECORD = Path(__file__).with_suffix(".json")
Floats = NDArray[np.float64]


class Case(NamedTuple):
    """A table, and how to learn from it."""

    name: str
    X: Floats
    settings: dict[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true", help="write the graphs of this version down")
    parser.add_argument("--only", default="", help="problems whose names contain this")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    recorded = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    found, started = {}, time.process_time()
    for case in cases():
        if arguments.only in case.name:
            found[case.name] = digest(case)
            if not arguments.record and found[case.name] != recorded.get(case.name):
                print(f"{case.name}: recorded {recorded.get(case.name)}, now {found[case.name]}", flush=True)
    if arguments.record:
        RECORD.write_text(json.dumps(found, indent=1) + "\n")
    changed = [name for name, graph in found.items() if graph != recorded.get(name)]
    seconds = time.process_time() - started
    print(f"psidag {psidag.__version__}: {len(found)} graphs, {len(changed)} not as recorded, {seconds:.0f} s")
    return 0 if arguments.record else int(bool(changed))


def digest(case: Case) -> str:
    """The number of edges and a digest of them."""
    solution = learn_dag(case.X, random_state=1, n_jobs=1, **case.settings)
    edges = sorted((int(cause[1:]), int(target[1:])) for cause, target, _ in solution.dag.edges())
    return f"{len(edges)} {hashlib.sha256(repr(edges).encode()).hexdigest()[:16]}"


def cases() -> Iterator[Case]:
    """The problems: 60 of them."""
    for noise in ("equal", "unequal"):
        for graph, d, n in [
            ("ER2", 30, 300), ("ER2", 100, 1000), ("ER4", 60, 2000), ("ER6", 40, 1000), ("SF2", 100, 500),
            ("SF4", 80, 1000), ("ER2", 300, 500), ("ER4", 200, 400),
        ]:  # fmt: skip
            yield sparse(f"{graph} d={d} n={n}", noise, table(graph, d, n, noise))
        for graph, d, n in [("ER2", 80, 40), ("SF4", 60, 50), ("ER2", 150, 100)]:
            yield sparse(f"{graph} d={d} n={n}", noise, table(graph, d, n, noise))
            yield sparse(f"{graph} d={d} n={n} not held", noise, table(graph, d, n, noise), max_memory=0)
        X = table("ER2", 60, 800, noise)
        yield sparse("standardised", noise, X / X.std(axis=0))
        yield sparse("collinear", noise, np.c_[X[:, :30], X[:, :5], X[:, 5:10] + X[:, 10:15], np.ones(len(X))])
        yield sparse("nearly collinear", noise, np.c_[X, X[:, :4] + 1e-5 * table("ER2", 4, 800, noise)])
        yield sparse("restarts", noise, X, restarts=3)
        yield sparse("penalty", noise, X, penalty=4.0)
        yield sparse("max_parents", noise, X, max_parents=2)
        for kind, known in knowledge(X.shape[1]).items():
            case = sparse(kind, noise, X)
            yield case._replace(settings=case.settings | {"constraints": known})
        hub = table("SF4", 50, 60, noise)
        case = sparse("constraints not held", noise, hub, max_memory=0)
        yield case._replace(settings=case.settings | {"constraints": knowledge(50)["all"]})
    yield sparse("ER2 d=1600 n=400", "equal", table("ER2", 1600, 400, "equal"))
    yield sparse("ER2 d=4100 n=150", "equal", table("ER2", 4100, 150, "equal"))
    for engine in (Exact(), Stochastic(max_rounds=3)):
        X = table("ER2", 30, 400, "equal")
        yield Case(f"{engine.name} ER2 d=30", X, {"solver": engine})
        yield Case(f"{engine.name} threshold", X, {"solver": engine, "threshold": 0.3})
        yield Case(f"{engine.name} constraints", X, {"solver": engine, "constraints": knowledge(30)["forbidden"]})
        yield Case(f"{engine.name} n<d", table("ER2", 40, 30, "equal"), {"solver": engine})


def sparse(name: str, noise: str, X: Floats, **options: Any) -> Case:
    return Case(f"sparse {noise} {name}", X, {"solver": Sparse(**options), "noise": noise})


def knowledge(d: int) -> dict[str, Constraints]:
    """Prior knowledge about columns x0, x1, …, right or wrong."""
    x = [f"x{k}" for k in range(d)]
    required = [(x[0], x[7]), (x[3], x[1]), (x[7], x[9])]
    forbidden = [(x[a], x[b]) for a in range(10, d) for b in range(0, d, 3) if a != b and (a * b) % 5 == 0]
    tiers = [x[: d // 3], x[d // 3 : 2 * d // 3]]
    return {
        "required": Constraints(required_edges=required),
        "forbidden": Constraints(forbidden_edges=forbidden),
        "tiers": Constraints(tiers=tiers),
        "all": Constraints(required_edges=required, forbidden_edges=forbidden, tiers=tiers),
    }


def table(graph: str, d: int, n: int, noise: str) -> Floats:
    """Rows of a random linear model: about k d edges for ERk, k parents of each new node for SFk."""
    rng = np.random.default_rng([d, n, ord(graph[0]), int(graph[2:]), noise == "equal"])
    X, order, k = np.empty((n, d)), rng.permutation(d), int(graph[2:])
    degree = np.ones(d)
    for t, j in enumerate(order):
        earlier = order[:t]
        if graph.startswith("ER"):
            parents = earlier[rng.random(t) < min(1.0, 2 * k / (d - 1))]
        else:
            share = degree[earlier] / degree[earlier].sum()
            parents = rng.choice(earlier, min(k, t), replace=False, p=share) if t else earlier
            degree[parents] += 1
        weights = rng.uniform(0.5, 1.2, len(parents)) * rng.choice([-1, 1], len(parents)) / np.sqrt(1 + len(parents))
        sd = 1.0 if noise == "equal" else rng.uniform(0.5, 2.0)
        X[:, j] = X[:, parents] @ weights + sd * rng.normal(size=n)
    return X


if __name__ == "__main__":
    sys.exit(main())
