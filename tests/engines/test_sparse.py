"""The sparse engine as a whole: laws that hold on any table, and quality on simulated ones."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from psidag.data.correlations import correlations
from psidag.data.moments import Moments
from psidag.data.sources import Summary, Table
from psidag.engines.sparse import Sparse
from psidag.graph.constraints import Constraints, unconstrained
from psidag.graph.equivalence import cpdag
from psidag.graph.metrics import cpdag_shd, shd
from psidag.graph.order import positions
from psidag.run.loop import Task, run
from psidag.scores.named import as_score
from psidag.simulate import simulate
from psidag.stages.within_order import search_penalty, select_within
from psidag.system.parallel import workers
from support.awkward import awkward_tables, knowledge
from support.optima import score_gap

NOISES = ["equal", "unequal"]


def learn(X, noise="equal", *, jobs=1, seed=0, known=None, max_time=None, start=None, **options):
    source = X if isinstance(X, Summary) else Table(X, [f"x{i}" for i in range(X.shape[1])])
    known = unconstrained(source.names) if known is None else known
    with workers(jobs) as threads:
        task = Task(source, known, np.random.default_rng(seed), threads, as_score(noise), start)
        return run(Sparse(**options), task, max_time=max_time)


def table(seed, n=300, d=8):
    rng = np.random.default_rng(seed)
    W = np.triu(rng.normal(size=(d, d)) * (rng.random((d, d)) < 0.4), 1)
    return (rng.normal(size=(n, d)) @ np.linalg.inv(np.eye(d) - W))[:, rng.permutation(d)]


@pytest.mark.parametrize("seed", range(4))
def test_columns_in_another_sequence_give_the_same_graph(seed):
    # Ten columns of three sources: there are many graphs of nearly the same score.
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 10)) + 0.02 * rng.normal(size=(200, 10))
    mixed = rng.permutation(10)
    one, other = (learn(rows, "unequal").candidate for rows in (X, X[:, mixed]))
    np.testing.assert_array_equal(mixed[other.order], one.order)
    assert (one.weights.toarray()[np.ix_(mixed, mixed)] != 0).tolist() == (other.weights.toarray() != 0).tolist()


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 10_000), noise=st.sampled_from(NOISES))
def test_edges_point_forward_and_weights_are_regressions(seed, noise):
    X = table(seed)
    before = X.copy()
    candidate = learn(X, noise).candidate
    order, W, fitted = candidate.order, candidate.weights, candidate.fitted
    assert X.tobytes() == before.tobytes()
    place = positions(order)
    i, j = W.nonzero()
    assert np.all(place[i] < place[j])
    S = np.cov(X.T, bias=True)
    for node in range(len(order)):
        parents = W[:, [node]].nonzero()[0]
        expected = np.linalg.solve(S[np.ix_(parents, parents)], S[parents, node])
        np.testing.assert_allclose(W[:, [node]].toarray()[parents, 0], expected, rtol=1e-6)
        assert fitted.residual_variance[node] == pytest.approx(S[node, node] - expected @ S[parents, node], rel=1e-6)


@pytest.mark.parametrize("noise", NOISES)
def test_the_same_seed_gives_the_same_bits_on_any_number_of_threads(noise):
    X = simulate("ER4", n=500, d=150, seed=1).X
    one, two = (learn(X, noise, jobs=jobs, seed=3).candidate for jobs in (1, 2))
    assert one.order.tobytes() == two.order.tobytes()
    assert one.weights.indices.tobytes() == two.weights.indices.tobytes()
    assert one.weights.data.tobytes() == two.weights.data.tobytes()


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 10_000))
def test_relabelling_the_columns_relabels_the_answer(seed):
    X = table(seed, n=2000)
    shuffle = np.random.default_rng(seed).permutation(X.shape[1])
    W = learn(X).candidate.weights.toarray()
    other = learn(X[:, shuffle]).candidate.weights.toarray()
    np.testing.assert_allclose(other, W[np.ix_(shuffle, shuffle)], atol=1e-8)


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 10_000))
def test_units_do_not_matter_to_the_unequal_score(seed):
    X = table(seed, n=2000)
    scale = 2.0 ** np.random.default_rng(seed).integers(-9, 10, X.shape[1])
    plain, scaled = learn(X, "unequal").candidate, learn(X * scale, "unequal").candidate
    assert (cpdag(plain.weights) != cpdag(scaled.weights)).nnz == 0


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10_000), noise=st.sampled_from(NOISES), prior=knowledge(8))
def test_prior_knowledge_holds(seed, noise, prior):
    known = prior.bind([f"x{i}" for i in range(8)])
    order, W, *_ = learn(table(seed), noise, known=known).candidate
    assert known.respects(order)
    assert all(W[i, j] != 0 for i, j in known.required)
    assert all(W[i, j] == 0 for i, j in known.forbidden)


@pytest.mark.parametrize("name", awkward_tables())
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_awkward_tables_give_finite_graphs(name, noise, dtype):
    X = awkward_tables()[name].astype(dtype)
    candidate = learn(X, noise).candidate
    assert np.isfinite(candidate.weights.data).all()
    assert np.isfinite(candidate.loss)
    assert np.all(candidate.fitted.residual_variance >= 0)


def test_moments_do_as_well_as_rows():
    X = table(11)
    rows, summary = learn(X), learn(Summary(Moments.from_rows(X)))
    np.testing.assert_allclose(rows.candidate.weights.toarray(), summary.candidate.weights.toarray(), atol=1e-10)


def test_single_precision_gives_the_same_graph():
    problem = simulate("ER2", n=600, d=300, seed=5)
    names = [f"x{i}" for i in range(300)]
    source = Table(problem.X.astype(np.float32), names)
    with workers(2) as threads:
        double, single = correlations(source, threads), correlations(source, threads, single_from=0)
        assert single.matrix.dtype == np.float32
        np.testing.assert_allclose(single.matrix, double.matrix, atol=2e-6)
        np.testing.assert_allclose(single.sd, double.sd, rtol=1e-6)
        np.testing.assert_allclose(single.block(np.array([3, 50])), double.block(np.array([3, 50])), atol=1e-6)
        answers = []
        for data in (double, single):
            engine = Sparse()
            task = Task(source, unconstrained(names), np.random.default_rng(0), threads)
            state = engine.init(task)._replace(data=data)
            answers.append(run(engine, task, state=state).candidate.weights.toarray())
    assert np.array_equal(answers[0] != 0, answers[1] != 0)
    np.testing.assert_allclose(answers[0], answers[1], atol=1e-4)


def test_a_time_budget_leaves_a_dag():
    outcome = learn(simulate("ER2", n=200, d=300, seed=0).X, max_time=1e-3)
    assert outcome.status.code == "time_limit"
    place = positions(outcome.candidate.order)
    i, j = outcome.candidate.weights.nonzero()
    assert np.all(place[i] < place[j])


@pytest.mark.parametrize("graph", ["ER2", "ER4", "SF4"])
def test_equal_noise_is_learned_about_as_well_as_from_the_true_order(graph):
    problem = simulate(graph, n=5000, d=200, seed=7)
    S = np.cov(problem.X.T, bias=True)
    with workers(2) as threads:
        best = shd(problem.dag.weights, select_within(S, 5000, problem.dag.order, threads).weights)
    found = shd(problem.dag.weights, learn(problem.X, jobs=2).candidate.weights)
    assert found <= 1.5 * best + 4


@pytest.mark.parametrize("graph", ["ER2", "ER4", "SF2"])
def test_standardised_data_are_learned_up_to_the_class(graph):
    problem = simulate(graph, n=5000, d=60, seed=7)
    X = problem.X / problem.X.std(axis=0)
    found = learn(X, "unequal", jobs=2).candidate.weights
    assert cpdag_shd(problem.dag.weights, found) <= 12


@pytest.mark.parametrize(
    "options", [{"penalty": 0.0}, {"quiet_rounds": 0}, {"restarts": -1}, {"reach": -1.0}, {"max_parents": 0}]
)
def test_bad_options_are_refused(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        Sparse(**options)


@pytest.mark.parametrize("noise", NOISES)
def test_restarts_never_end_higher_and_keep_what_is_known(noise):
    problem = simulate("ER4", n=500, d=40, seed=2, standardise="data" if noise == "unequal" else None)
    known = Constraints(required_edges=[(3, 7)], tiers=[[1, 2], [30, 31]]).bind(problem.names)
    once, often = (learn(problem.X, noise, known=known, restarts=count) for count in (0, 5))
    assert often.candidate.loss <= once.candidate.loss
    assert often.candidate.weights[3, 7] != 0
    assert known.respects(often.candidate.order)
    assert often.status.code == "converged"
    again = learn(problem.X, noise, known=known, restarts=5, jobs=2)
    assert again.candidate.weights.toarray().tobytes() == often.candidate.weights.toarray().tobytes()


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 10_000), noise=st.sampled_from(NOISES))
def test_a_search_begun_at_a_graph_ends_no_higher_than_it(seed, noise):
    X = table(seed)
    first = learn(X, noise, restarts=0).candidate
    again = learn(X, noise, restarts=0, start=first.weights).candidate
    assert again.loss <= first.loss * (1 + 1e-12)


def test_the_equal_search_begun_at_the_graph_of_the_unequal_one_is_not_stuck():
    problem = simulate("ER6", n=2000, d=60, seed=4, ranges=((-2.0, -0.05), (0.05, 2.0)))
    unequal = learn(problem.X, "unequal").candidate
    begun = learn(problem.X, start=unequal.weights, restarts=0).candidate
    ideal = learn(problem.X, start=problem.dag.weights, restarts=0).candidate
    assert score_gap(begun, ideal, 2000, 60) < search_penalty(2000, 60) or begun.loss < ideal.loss


def test_a_search_begun_at_a_graph_keeps_what_is_known():
    X = table(3)
    known = Constraints(required_edges=[(3, 7)], forbidden_edges=[(1, 2)], tiers=[[4], [5, 6]]).bind(
        [f"x{i}" for i in range(8)]
    )
    start = sp.csr_array((np.zeros(3), ([0, 4, 7], [5, 6, 4])), shape=(8, 8))
    begun = learn(X, start=start, known=known).candidate
    assert known.respects(begun.order)
    assert begun.weights[3, 7] != 0
    assert begun.weights[1, 2] == 0


@pytest.mark.parametrize(
    ("edges", "known", "why"),
    [
        ([(0, 1), (1, 0)], {}, "x0"),
        ([(0, 1)], {"forbidden_edges": [(0, 1)]}, "forbidden"),
        ([(0, 1)], {"tiers": [[1], [0]]}, "x0"),
    ],
)
def test_a_graph_that_cannot_be_begun_at_is_refused(edges, known, why):
    X = table(0)
    graph = sp.csr_array((np.ones(len(edges)), tuple(np.transpose(edges))), shape=(8, 8))
    bound = Constraints(**known).bind([f"x{i}" for i in range(8)])
    with pytest.raises(ValueError, match=f"begin at this graph.*{why}"):
        learn(X, start=graph, known=bound)


@pytest.mark.parametrize(("seed", "penalty"), [(404, 16.61), (415, 17.0)])
def test_restarts_free_a_search_that_is_stuck(seed, penalty):
    strong = ((-2.0, -0.5), (0.5, 2.0))
    problem = simulate("SF4", n=5000, d=100, seed=seed, standardise="data", ranges=strong)
    found = learn(problem.X, "unequal", jobs=2, penalty=penalty).candidate
    assert cpdag_shd(problem.dag.weights, found.weights) <= 2  # 70 and more without restarts
