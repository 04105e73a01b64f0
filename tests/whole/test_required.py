"""Required edges are in the graph whatever the data say: in every engine and baseline, and in all that is made of it.

A required edge whose weight the data do not tell is there with its weight in the shortest solution, no standard error
and a warning that names it.
"""

import warnings

import numpy as np
import pytest

from psidag import Constraints, PsiDAG, Solution, Sparse, bootstrap, fit_dag, fit_order, learn_dag
from psidag.data.moments import Moments
from psidag.exchange import FORMATS, format_graph, parse_graph
from psidag.graph.equivalence import cpdag
from psidag.graph.metrics import edge_errors
from support.methods import METHODS

pytestmark = pytest.mark.filterwarnings("ignore::psidag.DataWarning")


def normal(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def copies():
    X = normal(200, 6)
    X[:, 4] = X[:, 1]
    return X


def with_constant(column):
    X = normal(200, 6)
    X[:, column] = 7.0
    return X


def orthogonal():
    """Columns whose regressions on each other have weights of exactly 0, or as good as."""
    signs = np.array([[1, 1], [1, -1]])
    for _ in range(2):
        signs = np.kron(signs, [[1, 1], [1, -1]])
    return signs[:, 1:7].astype(float)


#: A table, edges to require, and those of them whose weights it cannot tell.
TABLES = {
    "copies": (copies(), [(1, 0), (4, 0)], [(1, 0), (4, 0)]),
    "sum": (
        np.column_stack([normal(200, 5), normal(200, 5)[:, 0] + normal(200, 5)[:, 1]]),
        [(0, 2), (1, 2), (5, 2)],
        3,
    ),
    "constant source": (with_constant(1), [(1, 0)], [(1, 0)]),
    "constant target": (with_constant(0), [(1, 0)], [(1, 0)]),
    "all constant": (np.ones((50, 6)), [(1, 0), (2, 0)], 2),
    "orthogonal": (orthogonal(), [(1, 0), (2, 3)], []),
    "two rows": (normal(2, 6), [(1, 0), (2, 0), (3, 4)], 3),
    "more parents than rows": (normal(40, 60), [(k, 0) for k in range(1, 60)], 59),
}


def has(dag, edges):
    there = {(dag.names.index(i), dag.names.index(j)) for i, j, _ in dag.edges()}
    return set(edges) <= there


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("threshold", [None, 0.3])
def test_required_edges_are_in_the_graph(table, method, threshold):
    X, required, untold = TABLES[table]
    known = Constraints(required_edges=required)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        solution = learn_dag(X, **METHODS[method], constraints=known, threshold=threshold, random_state=0, n_jobs=1)
    assert has(solution.dag, required)
    assert np.isfinite(solution.dag.weights.data).all()
    silent = {(e.source, e.target) for e in solution.edges() if np.isnan(e.standard_error)}
    asked = {(f"x{i}", f"x{j}") for i, j in required}
    named = [str(w.message) for w in said if "required edges" in str(w.message)]
    if untold:
        assert len(silent & asked) == (len(untold) if isinstance(untold, list) else untold)
        assert f"x{required[0][0]} -> x{required[0][1]}" in named[0]
        assert named[0] in solution.warnings
    else:
        assert not named


def test_copies_share_the_weight():
    X, required, _ = TABLES["copies"]
    W = learn_dag(X, constraints=Constraints(required_edges=required), random_state=0).dag.to_dense()
    assert W[1, 0] == pytest.approx(W[4, 0])
    alone = fit_dag(X[:, :4], [[0, 0, 0, 0], [1, 0, 0, 0], [0] * 4, [0] * 4]).dag.to_dense()
    assert W[1, 0] + W[4, 0] == pytest.approx(alone[1, 0], rel=0.2)


@pytest.mark.parametrize("noise", ["equal", "unequal"])
@pytest.mark.parametrize("memory", [None, 0])
def test_the_sparse_search_keeps_them_however_correlations_are_had(noise, memory):
    for X, required, _ in TABLES.values():
        known = Constraints(required_edges=required)
        for threshold in (None, 0.3):
            engine = Sparse(max_memory=memory)
            found = learn_dag(X, engine, noise=noise, constraints=known, threshold=threshold, random_state=0)
            assert has(found.dag, required)


@pytest.fixture(scope="module")
def weightless():
    """A solution with an edge of weight exactly 0, and one without a standard error."""
    X, required, _ = TABLES["constant source"]
    return X, required, learn_dag(X, "exact", constraints=Constraints(required_edges=required), random_state=0)


def test_an_edge_of_weight_zero_counts_as_an_edge(weightless):
    _, required, solution = weightless
    ((i, j),) = required
    assert solution.dag.weights[i, j] == 0
    assert solution.dag.parents("x0") == ["x1"]
    assert "x0" in solution.dag.descendants("x1")
    assert solution.dag.n_edges == len(list(solution.dag.edges())) == len(solution.edges())
    assert cpdag(solution.dag).nnz >= solution.dag.n_edges
    assert edge_errors(solution.dag, solution.dag).shd == 0
    assert edge_errors(np.zeros((6, 6)), solution.dag).shd == solution.dag.n_edges
    assert "x1" in str(solution)


def test_it_survives_files(weightless, tmp_path):
    _, required, solution = weightless
    solution.save(tmp_path / "m.psidag")
    again = Solution.load(tmp_path / "m.psidag")
    assert has(again.dag, required)
    assert list(again.dag.edges()) == list(solution.dag.edges())
    for name in FORMATS:
        if name not in ("matrix", "dagitty"):
            back = parse_graph(format_graph(solution, name), name)
            assert {(a, b) for a, b, _ in back.edges()} == {(a, b) for a, b, _ in solution.dag.edges()}, name


def test_it_is_in_every_replicate(weightless):
    X, required, _ = weightless
    found = bootstrap(X, replicates=6, constraints=Constraints(required_edges=required), random_state=0)
    supports = {(e.source, e.target): e.support for e in found.edges()}
    assert supports["x1", "x0"] == 1.0
    assert has(found.consensus(), required)


def test_it_is_in_fits_of_orders_streams_and_moments(weightless):
    X, required, solution = weightless
    known = Constraints(required_edges=required)
    for threshold in (None, 0.0, 0.3):
        assert has(fit_order(X, solution.order, constraints=known, threshold=threshold).dag, required)
    assert has(fit_dag(X, solution.dag).dag, required)
    assert has(learn_dag(Moments.from_rows(X), constraints=known).dag, required)
    assert has(learn_dag(iter(np.array_split(X, 4)), constraints=known, random_state=0).dag, required)
    model = PsiDAG("sparse", constraints=known, random_state=0)
    for batch in np.array_split(X, 3):
        model.partial_fit(batch)
    assert has(model.solution_.dag, required)


def test_a_checkpoint_keeps_it(weightless, tmp_path):
    X, required, _ = weightless
    options = {"constraints": Constraints(required_edges=required), "random_state": 0, "checkpoint": tmp_path / "run"}
    first = learn_dag(X, **options)
    again = learn_dag(X, **options, resume=True)
    assert has(first.dag, required)
    assert list(again.dag.edges()) == list(first.dag.edges())
