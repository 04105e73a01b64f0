"""Cases that no engine may stumble over: degenerate tables, prior knowledge and methods, drawn from a seed.

Shared by the tests and by ``benchmarks/fuzz.py``. A case is judged without a look at the code: the graph is finite and
acyclic, has every required edge and no forbidden one, respects the tiers, and comes back from a file as it was.
"""

import warnings
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from psidag import Constraints, InputError, Sparse, Stochastic
from psidag.baselines import Dagma, EqVar, Golem, Notears, SortRegress
from psidag.exchange import format_graph, parse_graph
from support.doors import DOORS

#: Methods that take milliseconds on a small table; those that take longer are drawn less often.
QUICK = {
    "sparse": "sparse",
    "sparse in blocks": Sparse(max_memory=0, restarts=0),
    "exact": "exact",
    "eqvar": EqVar(),
    "sort by variance": SortRegress(),
    "stochastic": Stochastic(tau1=3, tau2=3, max_rounds=2, batch_size=8),
}
SLOW = {
    "notears": Notears(rho_max=1e4),
    "golem": Golem(max_iter=200, checkpoint=100),
    "dagma": Dagma(warm_iter=100, max_iter=200, checkpoint=100),
}


class Case(NamedTuple):
    """A table, what is known of it, and what is done with it."""

    X: np.ndarray
    known: Constraints
    method: str
    options: dict
    door: str


def draw(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 9))
    n = int(rng.choice([2, 3, d, d + 1, 2 * d, 30, 60]))
    X = _spoiled(rng, rng.normal(size=(n, d)))
    slow = rng.random() < 0.02
    method = str(rng.choice(list(SLOW if slow else QUICK)))
    options = {"threshold": rng.choice([None, 0.0, 0.3]), "random_state": int(rng.integers(100))}
    if method.startswith("sparse") and rng.random() < 0.5:
        options["noise"] = "unequal"
    shares = [share for share, _ in DOORS.values()]
    door = str(rng.choice(list(DOORS), p=shares))
    # The command is asked without knowledge, which would have to be written down in a file.
    known = Constraints() if door == "command" else _knowledge(rng, d)
    if door != "bootstrap":
        # Evidence takes most of the time of small tables: it is measured on one in five.
        options["evidence"] = bool(rng.random() < 0.2)
    return Case(X, known, method, options, door)


def check(case):
    """Learn, and hold the result against what was asked; an AssertionError, or whatever was raised, is a failure.

    Returns whether there was a result; input that cannot be used is refused with an InputError.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            dag = _learned(case)
        except InputError as error:
            refusal = str(error)
        else:
            refusal = None
    if refusal is not None:
        assert len(refusal.splitlines()) == 1, "an error is not one line"
        return False
    assert np.isfinite(dag.weights.data).all(), "a weight is not finite"
    rows, cols = (sp.coo_array(dag.weights).row, sp.coo_array(dag.weights).col)
    place = np.argsort(dag.order)
    assert sorted(dag.order.tolist()) == list(range(dag.d)), "the order is no permutation"
    assert np.all(place[rows] < place[cols]), "an edge points backwards"
    edges = set(zip(rows.tolist(), cols.tolist(), strict=True))
    assert set(case.known.required_edges) <= edges, "a required edge is lost"
    assert not edges & set(case.known.forbidden_edges), "a forbidden edge is there"
    tier = {v: level for level, members in enumerate(case.known.tiers) for v in members}
    reach = np.eye(dag.d, dtype=bool)
    for i, j in sorted(edges, key=lambda e: -place[e[0]]):
        reach[i] |= reach[j]
    assert not any(reach[i, j] and tier[i] > tier[j] for i in tier for j in tier), "a tier is not respected"
    back = parse_graph(format_graph(dag, "json"), "json")
    assert list(back.edges()) == list(dag.edges()), "a file does not give the graph back"
    return True


def _spoiled(rng, X):
    """Copies, sums, constants, wild units, offsets, ties, or nothing of the kind."""
    n, d = X.shape
    for _ in range(int(rng.integers(0, 4))):
        a, b, c = rng.integers(d, size=3)
        kind = rng.integers(9)
        if kind == 0:
            X[:, a] = X[:, b]
        elif kind == 1:
            X[:, a] = X[:, b] + X[:, c]
        elif kind == 2:
            X[:, a] = rng.choice([0.0, 1.0, -1e8])
        elif kind == 3:
            X[:, a] *= 10.0 ** rng.integers(-30, 30)
        elif kind == 4:
            X[:, a] += 10.0 ** rng.integers(0, 12)
        elif kind == 5:
            X[:, a] = np.round(X[:, a])
        elif kind == 6:
            X[:, a] = -3 * X[:, b] + 1e-9 * X[:, c]
        elif kind == 7:
            X[:] = X[rng.integers(n, size=n)]
        else:
            X[:, a] = np.where(np.arange(n) == 0, 1.0, 0.0)
    return X


def _knowledge(rng, d):
    """Required and forbidden edges and tiers that some graph satisfies; often many required parents of one node."""
    rank = rng.permutation(d)
    required = [(int(i), int(j)) for i in range(d) for j in range(d) if rank[i] < rank[j] and rng.random() < 0.15]
    if rng.random() < 0.3:
        last = int(np.argmax(rank))
        required = sorted({*required, *((v, last) for v in range(d) if v != last)})
    others = [(i, j) for i in range(d) for j in range(d) if i != j and (i, j) not in required]
    forbidden = [pair for pair in others if rng.random() < rng.choice([0.0, 0.1, 0.9])]
    cut = int(rng.integers(d + 1))
    groups = [[v for v in range(d) if rank[v] < cut], [v for v in range(d) if rank[v] >= cut]]
    return Constraints(required, forbidden, groups if rng.random() < 0.3 else ())


def _learned(case):
    _, through = DOORS[case.door]
    options = case.options | {"constraints": case.known, "n_jobs": 1}
    return through(case.X, {**QUICK, **SLOW}[case.method], **options)
