"""What is claimed of directions: little of Gaussian noise, nearly all of other shapes, nothing wrongly."""

from __future__ import annotations

import numpy as np
import pytest

from psidag import DAG, Constraints, learn_dag
from psidag.data.correlations import correlations
from psidag.data.ingest import as_source
from psidag.directions.calibration import CURVES, MARK, ODDS, discoveries
from psidag.directions.claims import Grounds, _Claims, claim_directions
from psidag.graph.extension import check
from psidag.graph.orientation import open_colliders
from psidag.graph.partial import CONFLICT, REASONS
from psidag.simulate import simulate
from psidag.stages.within_order import search_penalty
from psidag.system.parallel import SERIAL, workers

RANGES = ((-1.0, -0.4), (0.4, 1.0))


def problem(seed, graph="ER1", d=12, n=1000, noise="gaussian"):
    scale = np.random.default_rng([seed, 1]).uniform(0.5, 2, d)
    return simulate(graph, d=d, n=n, seed=seed, noise=noise, scale=scale, ranges=RANGES)


def claimed(X, truth, *, shape=False, constraints=None, threads=SERIAL, names=None):
    """The claims about the true graph, so that nothing but them is judged."""
    n, d = X.shape
    bound = (constraints or Constraints()).bind(truth.names)
    data = correlations(as_source(X), SERIAL)
    shaped = np.ones(d, dtype=bool) if shape else None
    return claim_directions(truth, Grounds(data, search_penalty(n, d), rows=X, shaped=shaped), bound, threads)


def wrong(graph, truth):
    return set(graph.directed_edges()) - {(i, j) for i, j, _ in truth.edges()}


@pytest.mark.parametrize("seed", range(4))
def test_gaussian_noise_directs_colliders_only(seed):
    p = problem(seed)
    graph = claimed(p.X, p.dag, shape=True)
    assert not wrong(graph, p.dag)
    assert {graph.because(a, b) for a, b in graph.directed_edges()} <= {"collider"}


def test_what_follows_from_knowledge_is_no_surer_than_the_data():
    """a → b is known; b → c follows if a → b ← c is ruled out, for which the data speak, but never with certainty."""
    rng = np.random.default_rng(0)
    a, *noise = rng.normal(size=(3, 500))
    b = a + noise[0]
    truth = DAG.from_edges([("a", "b", 1.0), ("b", "c", 0.6)])
    known = Constraints(required_edges=[("a", "b")])
    graph = claimed(np.c_[a, b, 0.6 * b + noise[1]], truth, constraints=known)
    assert graph.evidence("a", "b") == (np.inf, 1.0, False)
    follows = graph.evidence("b", "c")
    assert (graph.because("b", "c"), follows.derived) == ("knowledge", True)
    assert np.isfinite(follows.delta)
    assert 0.5 <= follows.probability < 1.0
    # Of a true collider taken for a chain nothing follows: c is no effect of a.
    c = rng.normal(size=500)
    graph = claimed(np.c_[a, a + c + noise[0], c], truth, constraints=known)
    assert graph.directed_edges() == [("a", "b")]
    assert graph.evidence("b", "c").probability < 0.5


@pytest.mark.parametrize("noise", ["laplace", "exponential", "uniform"])
def test_other_shapes_direct_more(noise):
    without = with_shape = 0
    for seed in range(3):
        p = problem(seed, noise=noise)
        graph = claimed(p.X, p.dag, shape=True)
        assert not wrong(graph, p.dag)
        without += claimed(p.X, p.dag).n_directed
        with_shape += graph.n_directed
    assert with_shape > without
    assert with_shape >= 0.7 * sum(problem(seed).dag.weights.nnz for seed in range(3))


@pytest.mark.parametrize("seed", range(4))
def test_graphs_are_closed_and_the_dag_is_a_member(seed):
    p = problem(seed, graph="ER2", noise="laplace", n=300)
    graph = claimed(p.X, p.dag, shape=True)
    graph.rows_of(p.dag)
    check(graph, None, open_colliders(graph, p.dag))
    for a, b in graph.directed_edges():
        evidence = graph.evidence(a, b)
        assert evidence.probability >= MARK
        assert evidence.delta > 0
    for a, b in graph.undirected_edges():
        assert graph.because(a, b) in (None, "conflict")


def test_units_and_threads_change_nothing():
    p = problem(1, noise="exponential")
    graph = claimed(p.X, p.dag, shape=True)
    factors = 10.0 ** np.random.default_rng(0).uniform(-6, 6, p.X.shape[1])
    with workers(2) as threads:
        other = claimed(p.X * factors, p.dag, shape=True, threads=threads)
    assert graph.directed_edges() == other.directed_edges()
    np.testing.assert_array_equal(graph.reason, other.reason)


@pytest.mark.parametrize("order", [("collider", "shape"), ("shape", "collider")])
def test_sources_in_opposite_directions_leave_an_edge_open(order):
    p = problem(0)
    claims = _Claims(p.dag, Grounds(correlations(as_source(p.X), SERIAL), 10.0), Constraints().bind(p.names), SERIAL)
    rows = np.array([0, 1])
    for reason, sure in zip(order, (-30.0, 10.0) if order[0] == "collider" else (10.0, -30.0), strict=True):
        delta = np.array([sure, 10.0])
        claims._claim(reason, rows, delta, CURVES["collider"](delta))
    claims.settle()
    assert claims.reason[:2].tolist() == [CONFLICT, REASONS.index(order[1])]


def test_knowledge_directs_what_it_says_and_what_follows():
    X = simulate("ER1", d=3, n=500, seed=0).X * 0
    rng = np.random.default_rng(3)
    X[:, 0] = rng.normal(size=500)
    X[:, 1] = X[:, 0] + rng.normal(size=500)
    X[:, 2] = X[:, 1] + rng.normal(size=500)
    chain = learn_dag(X, noise="unequal", constraints=Constraints(required_edges=[(0, 1)]), random_state=0).dag
    graph = claimed(X, chain, constraints=Constraints(required_edges=[(0, 1)]))
    assert graph.directed_edges() == [("x0", "x1"), ("x1", "x2")]
    assert graph.because("x0", "x1") == graph.because("x1", "x2") == "knowledge"
    assert graph.evidence("x0", "x1").delta == np.inf
    assert graph.evidence("x1", "x2").derived
    assert claimed(X, chain).directed_edges() == []


@pytest.mark.filterwarnings("ignore::psidag.DataWarning")
@pytest.mark.parametrize("noise", ["normal", "exponential"])
def test_parts_and_their_sum_are_interchangeable(noise):
    rng = np.random.default_rng(0)
    first, second, apart, beside = getattr(rng, noise)(size=(4, 20_000))
    error = rng.normal(size=(3, 20_000))
    both = first + second + 1e-3 * error[0]
    X = np.column_stack([first, second, both, apart, beside, apart + beside + error[1], apart + both + error[2]])
    names = ["first", "second", "sum", "apart", "beside", "effect", "of the sum"]
    graph = learn_dag(X, names=names, random_state=0).graph
    assert set(graph.directed_edges()) <= {("apart", "effect"), ("beside", "effect"), ("apart", "of the sum")}
    assert ("beside", "effect") in graph.directed_edges()
    assert {frozenset(pair) for pair in graph.undirected_edges()} >= {frozenset({"first", "sum"})}


def test_yes_or_no_columns_are_never_directed_by_shape():
    rng = np.random.default_rng(0)
    cause = rng.exponential(size=1000)
    table = np.column_stack([cause, cause + rng.exponential(size=1000)])
    table = np.column_stack([table, table[:, 1] > np.median(table[:, 1])]).astype(float)
    dag = learn_dag(table, noise="unequal", random_state=0).dag
    graph = claimed(table, dag, shape=True)
    for a, b in graph.directed_edges():
        assert "x2" not in (a, b) or graph.because(a, b) != "shape" or graph.evidence(a, b).derived


@pytest.mark.parametrize("curve", [*CURVES.values(), ODDS], ids=[*CURVES, "odds"])
def test_curves_rise_and_mirror(curve):
    delta = np.linspace(0, 40, 200)
    p = curve(delta)
    assert np.all(np.diff(p) >= 0)
    assert 0.5 <= p[0] <= p[-1] < 1
    np.testing.assert_allclose(curve(-delta[1:]), 1 - p[1:])
    np.testing.assert_allclose(curve(np.array([curve.mark])), MARK)


def test_few_of_many_true_hypotheses_are_rejected():
    rng = np.random.default_rng(0)
    rejected = [discoveries(rng.random(200)).any() for _ in range(400)]
    assert np.mean(rejected) < 0.1


def test_the_evidence_of_an_arrow_is_that_which_it_rests_on():
    p = problem(0)
    claims = _Claims(p.dag, Grounds(correlations(as_source(p.X), SERIAL), 10.0), Constraints().bind(p.names), SERIAL)
    first = np.array([0])
    claims._claim("collider", first, np.array([9.0]), np.array([0.8]))
    claims._claim("shape", first, np.array([7.0]), np.array([MARK]))
    assert claims.reason[0] == REASONS.index("shape")
    assert (claims.delta[0], claims.probability[0]) == (7.0, MARK)
