"""Replicates, what is counted in them, and how they go on after an interruption."""

import numpy as np
import pandas as pd
import pytest

from psidag import (
    DAG,
    SGD,
    Confidence,
    Constraints,
    Exact,
    InputError,
    Moments,
    PsiDAG,
    Solution,
    Sparse,
    Stochastic,
    bootstrap,
    exchange,
    learn_dag,
)
from psidag.data.resampling import Resampler
from psidag.data.sources import Stream, Summary, Table
from psidag.datasets import load_sachs
from psidag.simulate import simulate
from psidag.system.parallel import SERIAL, workers
from support.bits import same


@pytest.fixture(scope="module")
def problem():
    return simulate("ER2", d=12, n=150, seed=3)


@pytest.mark.parametrize("method", ["bootstrap", "subsample"])
def test_counts_are_those_of_learning_from_the_drawn_rows(problem, method):
    # What is opened is drawn at random, for each draw anew.
    options = {"noise": "equal", "solver": Sparse(restarts=0)}
    found = bootstrap(problem.X, replicates=9, method=method, random_state=1, **options)
    resampler = Resampler(Table(problem.X, problem.names), method, 0.5, found.entropy)
    weights = []
    for k in range(9):
        rows = np.repeat(problem.X, resampler.row_counts(k), axis=0)
        weights.append(learn_dag(rows, random_state=0, **options).dag.to_dense())
    stack = np.array(weights)
    there = stack != 0
    assert set(zip(found.sources, found.targets, strict=True)) == set(zip(*np.nonzero(there.any(axis=0)), strict=True))
    columns = (found.support, found.reverse_support, found.weight_mean, found.weight_sd)
    for i, j, support, reverse, mean, sd in zip(found.sources, found.targets, *columns, strict=True):
        values = stack[there[:, i, j], i, j]
        assert support == len(values) / 9
        assert reverse == there[:, j, i].mean()
        assert mean == pytest.approx(values.mean(), rel=1e-6)
        if len(values) > 1:
            assert sd == pytest.approx(values.std(ddof=1), rel=1e-4, abs=1e-9)
        else:
            assert np.isnan(sd)


def test_bootstrap_draws_all_rows_with_replacement_and_pairs_of_subsamples_are_disjoint(problem):
    table = Table(problem.X, problem.names)
    drawn = Resampler(table, "bootstrap", 0.5, [1])
    counts = np.array([drawn.row_counts(k) for k in range(400)])
    assert (counts.sum(axis=1) == problem.n).all()
    assert counts.var() == pytest.approx(1 - 1 / problem.n, rel=0.02)
    halves = Resampler(table, "subsample", 0.5, [1])
    for k in range(0, 10, 2):
        first, second = halves.row_counts(k), halves.row_counts(k + 1)
        assert first.max() == second.max() == 1
        assert (first + second == 1).all()
    third = Resampler(table, "subsample", 0.3, [1])
    assert (third.row_counts(0) + third.row_counts(1)).max() == 1
    assert third.row_counts(1).sum() == 45


def test_a_weight_of_two_is_a_row_that_is_there_twice(problem):
    weight = np.ones(problem.n)
    weight[:50] = 2
    table = Table(problem.X, problem.names, weight)
    counts = np.array([Resampler(table, "bootstrap", 0.5, [1]).row_counts(k) for k in range(500)])
    assert (counts.sum(axis=1) == problem.n + 50).all()
    assert counts[:, :50].mean() == pytest.approx(2, rel=0.02)
    halves = Resampler(table, "subsample", 0.5, [1])
    np.testing.assert_array_equal(halves.row_counts(4) + halves.row_counts(5), weight)
    with pytest.raises(InputError, match="whole numbers"):
        bootstrap(problem.X, method="subsample", sample_weight=weight / 3, replicates=2)


def test_long_tables_are_summed_in_blocks(problem, monkeypatch):
    monkeypatch.setattr("psidag.data.resampling._BLOCK", 12 * 256)
    X = np.tile(problem.X, (8, 1)) + 100.0
    resampler = Resampler(Table(X, problem.names), "bootstrap", 0.5, [2])
    moments = resampler.draw(3, SERIAL).moments()
    again = np.repeat(X, resampler.row_counts(3), axis=0)
    assert moments.count == len(X)
    np.testing.assert_allclose(moments.covariance, np.cov(again.T, bias=True), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(moments.mean, again.mean(axis=0), rtol=1e-12)


@pytest.mark.parametrize("n", [40, 5])
def test_moments_without_rows_are_drawn_as_those_of_gaussian_rows(n):
    """Mean and variance of each entry of a Wishart matrix, also where rows are fewer than columns."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(7, 7))
    S = A @ A.T / 7
    drawn = Resampler(Summary(Moments.from_covariance(S, n, np.arange(7.0))), "bootstrap", 0.5, [5])
    found = [drawn.draw(k, SERIAL).moments() for k in range(4000)]
    scatter = np.array([m.scatter for m in found])
    error = np.sqrt((S**2 + np.outer(np.diag(S), np.diag(S))) * (n - 1))
    assert (np.abs(scatter.mean(axis=0) - (n - 1) * S) < 5 * error / np.sqrt(4000)).all()
    np.testing.assert_allclose(scatter.std(axis=0), error, rtol=0.15)
    assert np.linalg.matrix_rank(scatter[0]) == min(7, n - 1)
    means = np.array([m.mean for m in found])
    np.testing.assert_allclose(np.cov(means.T, bias=True), S / n, atol=5 * np.diag(S).max() / n / np.sqrt(4000) * 2)
    assert (np.abs(means.mean(axis=0) - np.arange(7.0)) < 5 * np.sqrt(np.diag(S) / n / 4000)).all()


def test_same_bits_on_any_number_of_threads_and_in_either_mode(problem, monkeypatch):
    one = bootstrap(problem.X, replicates=7, random_state=4, n_jobs=1)
    same(one, bootstrap(problem.X, replicates=7, random_state=4, n_jobs=3))
    monkeypatch.setattr("psidag.learning.bootstrap._ABREAST", 5)
    same(one, bootstrap(problem.X, replicates=7, random_state=4, n_jobs=2))
    other = bootstrap(problem.X, replicates=7, random_state=5)
    assert not np.array_equal(one.weight_mean, other.weight_mean)


def test_wide_tables_give_the_same_bits_on_any_number_of_threads(monkeypatch):
    problem = simulate("ER2", d=550, n=1000, seed=0)
    one = bootstrap(problem.X, replicates=2, random_state=4, n_jobs=1)
    monkeypatch.setattr("psidag.learning.bootstrap._ABREAST", 5)
    same(one, bootstrap(problem.X, replicates=2, random_state=4, n_jobs=2))


@pytest.mark.parametrize("method", ["bootstrap", "subsample"])
def test_resumed_is_unbroken(problem, method, tmp_path):
    whole = bootstrap(problem.X, replicates=11, method=method, random_state=7)
    part = bootstrap(problem.X, replicates=5, method=method, random_state=7)
    same(whole, bootstrap(problem.X, replicates=11, method=method, resume=part))
    file = tmp_path / "draws.psidag"
    bootstrap(problem.X, replicates=3, method=method, random_state=7, resume=file)
    again = bootstrap(problem.X, replicates=11, method=method, resume=file)
    same(whole, again)
    same(whole, Confidence.load(file))
    assert again.status == ("complete", "all 11 replicates")
    same(whole, bootstrap(problem.X, replicates=4, method=method, resume=file))


def test_only_the_same_data_and_options_are_resumed(problem):
    part = bootstrap(problem.X, replicates=2, random_state=7)
    with pytest.raises(InputError, match=r"other noise \(auto, now unequal\)"):
        bootstrap(problem.X, noise="unequal", resume=part)
    with pytest.raises(InputError, match="other rows"):
        bootstrap(problem.X[1:], resume=part)
    with pytest.raises(InputError, match="other method"):
        bootstrap(problem.X, method="subsample", resume=part)
    with pytest.raises(InputError, match="other columns or other constraints"):
        bootstrap(problem.X, constraints=Constraints(forbidden_edges=[(0, 1)]), resume=part)
    with pytest.raises(InputError, match="other columns"):
        bootstrap(problem.X, names=list("abcdefghijkl"), resume=part)


def test_wrong_arguments_name_the_remedy(problem):
    for options, message in [
        ({"replicates": 0}, "from 1 on"),
        ({"method": "jackknife"}, "'bootstrap' or 'subsample'"),
        ({"method": "subsample", "fraction": 0.6}, "at most 0.5"),
        ({"method": "subsample", "fraction": 0.01}, "raise it"),
        ({"noise": "some"}, "noise must be"),
        ({"threshold": -1.0}, "threshold"),
        ({"max_time": 0.0}, "max_time"),
    ]:
        with pytest.raises(InputError, match=message):
            bootstrap(problem.X, **options)
    with pytest.raises(InputError, match="pass only once"):
        bootstrap(Stream(iter([problem.X]), problem.names))
    with pytest.raises(InputError, match="no rows to choose from"):
        bootstrap(Moments.from_rows(problem.X), method="subsample")


@pytest.mark.parametrize("solver", [Exact(), Stochastic(rule=SGD(), tau1=20, tau2=20, max_rounds=2)])
def test_any_engine(problem, solver):
    before = problem.X.copy()
    found = bootstrap(problem.X, solver, replicates=3, threshold=0.3, random_state=0)
    same(found, bootstrap(problem.X, solver, replicates=3, threshold=0.3, random_state=0, n_jobs=1))
    assert found.replicates == 3
    assert (np.abs(found.weight_mean) >= 0.3).all()
    np.testing.assert_array_equal(problem.X, before)


def test_constraints_hold_in_the_consensus_whatever_the_threshold(problem):
    early, late = [1, 4], [0, 7]
    known = Constraints(required_edges=[(3, 2)], forbidden_edges=[(5, 6)], tiers=[early, late])
    found = bootstrap(problem.X, replicates=12, random_state=0, constraints=known)
    for threshold in (0.0, 0.1, 0.5, 1.0):
        dag = found.consensus(threshold)
        DAG.from_weights(dag.weights, dag.order)
        assert dag.weights[3, 2] != 0
        assert dag.weights[5, 6] == 0
        assert not set(dag.ancestors("x1")) & {"x0", "x7"}
        assert not set(dag.ancestors("x4")) & {"x0", "x7"}


def test_the_estimator_bootstraps_with_its_own_options(problem):
    model = PsiDAG(random_state=2, threshold=0.4).fit(problem.X)
    found = model.bootstrap(problem.X, replicates=6)
    same(found, bootstrap(problem.X, replicates=6, random_state=2, threshold=0.4))
    assert model.solution_.confidence is found
    assert PsiDAG(random_state=2).bootstrap(pd.DataFrame(problem.X), replicates=2).names[0] == "0"


def test_support_goes_into_tables_and_files(problem, tmp_path):
    found = bootstrap(problem.X, replicates=10, random_state=0)
    plain = learn_dag(problem.X, random_state=0)
    assert plain.edges()[0].support is None
    assert "support" not in plain.edges().to_pandas()
    solution = plain.with_confidence(found)
    ends = zip(found.sources.tolist(), found.targets.tolist(), strict=True)
    expected = dict(zip([(f"x{i}", f"x{j}") for i, j in ends], found.support.tolist(), strict=True))
    for edge in solution.edges():
        assert edge.support == expected.get((edge.source, edge.target), 0.0)
        assert edge.reverse_support == expected.get((edge.target, edge.source), 0.0)
    assert list(solution.edges().to_pandas().columns[-3:]) == ["connection", "support", "reverse_support"]
    exchange.write_graph(solution, tmp_path / "edges.csv")
    written = pd.read_csv(tmp_path / "edges.csv").dropna(subset="target")
    assert written["support"].tolist() == [
        expected.get((s, t), 0.0) for s, t in zip(written["source"], written["target"], strict=True)
    ]
    solution.save(tmp_path / "model.psidag")
    again = Solution.load(tmp_path / "model.psidag")
    same(found, again.confidence)
    assert str(again.edges()) == str(solution.edges())
    assert "10 replicates (bootstrap)" in str(again)
    assert again.with_confidence(None).confidence is None
    other = learn_dag(problem.X, names=[f"y{k}" for k in range(12)])
    with pytest.raises(InputError, match="same variables"):
        other.with_confidence(found)


def test_sachs_support_is_high_for_the_strongest_edges():
    problem = load_sachs()
    found = bootstrap(np.log(problem.X), names=problem.names, replicates=50, random_state=0)
    best = {frozenset(edge[:2]) for edge in found.edges(0.9)}
    assert frozenset(("Raf", "Mek")) in best
    assert frozenset(("Erk", "Akt")) in best
    assert found.consensus().n_edges <= 30


def test_stream_of_workers_is_ordered_and_stops():
    done = []

    def work(k):
        if k == 6:
            raise RuntimeError("six")
        done.append(k)
        return k

    with workers(2) as threads:
        assert list(threads.stream(work, range(6))) == list(range(6))
        with pytest.raises(RuntimeError, match="six"):
            list(threads.stream(work, range(100)))
    assert max(done) < 20


def test_the_noise_is_chosen_once_on_all_rows(monkeypatch):
    """Replicates do not choose again: rows that are drawn twice would be misjudged."""
    from psidag.engines.noise_search import NoiseSearch

    X = simulate("ER2", d=8, n=400, seed=1, noise="exponential").X
    chosen = []
    settle = NoiseSearch._settle
    monkeypatch.setattr(
        NoiseSearch,
        "_settle",
        lambda self, task, state, found: (chosen.append(self.decided), settle(self, task, state, found))[1],
    )
    bootstrap(X, replicates=3, random_state=0, n_jobs=1)
    assert chosen[0] is None
    assert len(chosen) == 4
    assert {noise.chosen for noise in chosen[1:]} == {"equal"}
    assert all(noise.shape for noise in chosen[1:])


def test_directions_count_only_where_the_noise_gives_them():
    """Mixed units and Gaussian noise: who is joined is supported, who causes whom is not."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=500)
    b = 1000 * (a + rng.normal(size=500))
    found = bootstrap(np.column_stack([a, b, rng.normal(size=500) / 50]), replicates=10, random_state=0)
    assert found.replicates == 10
    assert found.connection.max() == 1.0
    assert found.support.max() == 0.0
