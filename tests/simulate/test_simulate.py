"""The simulator against what it promises: counts, tails, moments, seeds, standardisation."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psidag.graph.dag import DAG
from psidag.graph.order import CycleError, positions, topological_levels
from psidag.graph.sortability import r2_sortability, var_sortability
from psidag.simulate import (
    NOISES,
    LinearSEM,
    Problem,
    erdos_renyi,
    random_graph,
    random_weights,
    scale_free,
    simulate,
    standard_noise,
)
from psidag.simulate.graphs import _unrank
from psidag.system.errors import InputError

CHAIN = DAG.from_edges([("a", "b", 2.0), ("b", "c", -1.5), ("a", "c", 0.5)])


def forward(dag):
    rows, cols = dag.weights.nonzero()
    place = positions(dag.order)
    return bool(np.all(place[rows] < place[cols]))


# graphs


@given(st.integers(0, 10**15))
def test_pair_numbers_are_a_bijection(number):
    i, j = (int(side[0]) for side in _unrank(np.array([number])))
    assert 0 <= i < j
    assert j * (j - 1) // 2 + i == number


@given(st.sampled_from(["ER0.5", "ER1", "ER4", "SF1", "SF3"]), st.integers(1, 40), st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_random_graphs_are_dags_with_unit_weights(name, d, seed):
    dag = random_graph(name, d, seed)
    assert dag.d == d
    assert forward(dag)
    assert np.all(dag.weights.data == 1)
    assert DAG.from_weights(dag.weights, order=dag.order).n_edges == dag.n_edges


@given(st.integers(1, 30), st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_a_level_is_the_length_of_the_longest_path(d, seed):
    dag = erdos_renyi(d, 1.5, seed)
    longest = np.zeros(d, dtype=int)
    for vertex in dag.order:
        children = dag.weights[[vertex]].indices
        longest[children] = np.maximum(longest[children], longest[vertex] + 1)
    for k, level in enumerate(topological_levels(dag.weights)):
        assert level.tolist() == np.flatnonzero(longest == k).tolist()


def test_a_cycle_has_no_levels():
    with pytest.raises(CycleError) as error:
        topological_levels([[0, 1, 0, 1], [0, 0, 1, 0], [1, 0, 0, 0], [0, 0, 0, 0]])
    assert set(error.value.cycle) == {0, 1, 2}


def test_erdos_renyi_has_k_edges_per_vertex_on_average():
    counts = [erdos_renyi(500, 2, rng=seed).n_edges for seed in range(100)]
    # Binomial: the mean of 100 counts has a standard error of 3.2.
    assert abs(np.mean(counts) - 1000) < 4 * 3.2
    assert abs(np.std(counts) - np.sqrt(1000)) < 4 * np.sqrt(1000 / 200)


def test_erdos_renyi_joins_every_pair_equally_often():
    total = sum((erdos_renyi(6, 1, rng=seed).weights.toarray() != 0).astype(int) for seed in range(2000))
    pairs = (total + total.T)[np.triu_indices(6, 1)]
    expected = 2000 * 6 / 15
    assert np.all(np.abs(pairs - expected) < 5 * np.sqrt(expected))
    # Labels are random, so neither direction is favoured.
    assert np.all(np.abs(total[np.triu_indices(6, 1)] - pairs / 2) < 5 * np.sqrt(expected) / 2)


def test_erdos_renyi_stops_at_the_full_dag():
    assert erdos_renyi(7, 50, rng=0).n_edges == 21
    assert erdos_renyi(1, 2, rng=0).n_edges == 0


@pytest.mark.parametrize(("d", "k"), [(1, 2), (2, 2), (3, 2), (100, 1), (100, 4), (5, 10), (10, 0)])
def test_scale_free_counts(d, k):
    dag = scale_free(d, k, rng=0)
    core = min(k, d - 1)
    assert dag.n_edges == core * (core + 1) // 2 + k * max(0, d - 1 - k)
    out_degree = np.diff(dag.weights.indptr)
    assert out_degree.max() <= k


def test_scale_free_hubs_have_many_parents_with_a_cubic_tail():
    dag = scale_free(30_000, 2, rng=3)
    in_degree = np.bincount(dag.weights.indices, minlength=dag.d)
    assert in_degree.max() > 200
    # Barabási & Albert: P(degree = m) = 2k(k+1) / (m(m+1)(m+2)) for the total degree m >= k.
    degree = in_degree + np.diff(dag.weights.indptr)
    for m in (2, 3, 5, 10):
        expected = 12 / (m * (m + 1) * (m + 2))
        assert np.mean(degree == m) == pytest.approx(expected, abs=4 * np.sqrt(expected / dag.d) + 1e-4)
    # Hill's estimate of the exponent of P(degree >= m), which is 2.
    tail = degree[degree >= 20] / 19.5
    assert 1 / np.log(tail).mean() == pytest.approx(2, abs=0.3)


def test_labels_say_nothing_about_the_order():
    ranks = [np.corrcoef(positions(scale_free(200, 2, seed).order), np.arange(200))[0, 1] for seed in range(30)]
    assert abs(np.mean(ranks)) < 4 / np.sqrt(30 * 200)


@pytest.mark.parametrize("ranges", [((-1, -0.05), (0.05, 1)), ((0.5, 2),), ((-2, -1), (0.1, 0.2), (3, 3))])
def test_weights_fill_their_ranges(ranges):
    weights = random_weights(erdos_renyi(1000, 5, rng=0), rng=1, ranges=ranges).weights.data
    member = [(low <= weights) & (weights <= high) for low, high in ranges]
    assert np.all(np.sum(member, axis=0) == 1)
    for (low, high), inside in zip(ranges, member, strict=True):
        assert inside.mean() == pytest.approx(1 / len(ranges), abs=0.03)
        assert weights[inside].mean() == pytest.approx((low + high) / 2, abs=0.03)
        assert weights[inside].min() - low <= 0.01 * (high - low)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: random_graph("BA2", 10, 0),
        lambda: random_graph("SF1.5", 10, 0),
        lambda: erdos_renyi(0, 2, 0),
        lambda: erdos_renyi(10, -1, 0),
        lambda: random_weights(CHAIN, 0, ranges=[(1, 0.5)]),
        lambda: random_weights(CHAIN, 0, ranges=[(0, 0)]),
        lambda: random_weights(CHAIN, 0, ranges=[]),
        lambda: standard_noise("cauchy"),
        lambda: standard_noise("student_t:2"),
        lambda: standard_noise("student_t:many"),
        lambda: LinearSEM(CHAIN, scale=[1, 2]),
        lambda: LinearSEM(CHAIN, scale=-1),
        lambda: LinearSEM(CHAIN, intercept=np.nan),
        lambda: LinearSEM(CHAIN).sample(-1, 0),
        lambda: LinearSEM(CHAIN).sample(5, 0, dtype=int),
        lambda: next(LinearSEM(CHAIN).stream(0, 0)),
        lambda: LinearSEM(CHAIN).standardised(1, 0),
        lambda: simulate("ER2", n=10, seed=0),
        lambda: simulate("ER2", n=10, d=5, seed=0, ranges=None),
        lambda: simulate(CHAIN, n=10, d=5, seed=0),
        lambda: simulate("ER2", n=10, d=5, seed=0, standardise="yes"),
        lambda: Problem("fixed", np.zeros((2, 3)), CHAIN).stream(5),
    ],
)
def test_wrong_input_is_an_error(wrong):
    with pytest.raises(InputError):
        wrong()


# noise and samples


@pytest.mark.parametrize("name", [*NOISES, "student_t:10"])
def test_noise_has_the_moments_it_claims(name):
    noise = standard_noise(name)
    draws = noise.draw(np.random.default_rng(0), (400_000,))
    assert draws.mean() == pytest.approx(noise.mean, abs=5 * np.sqrt(noise.variance / 400_000))
    assert draws.var() == pytest.approx(noise.variance, rel=0.03)


@pytest.mark.parametrize("noise", NOISES)
def test_samples_follow_the_equations(noise):
    scale, intercept = np.array([1.0, 0.5, 2.0]), np.array([3.0, 0.0, -1.0])
    model = LinearSEM(CHAIN, noise, scale, intercept)
    X = model.sample(500, seed=7)
    draws = standard_noise(noise).draw(np.random.default_rng(7), (500, 3))
    assert np.allclose(X - X @ CHAIN.to_dense(), intercept + scale * draws)


def test_sample_covariance_is_that_of_the_model():
    problem = simulate("ER2", n=200_000, d=8, seed=5, noise="laplace", scale=np.arange(1, 9))
    inverse = np.linalg.inv(np.eye(8) - problem.dag.to_dense())
    expected = inverse.T @ np.diag(problem.model.noise_variance) @ inverse
    spread = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    assert np.abs((np.cov(problem.X.T) - expected) / spread).max() < 0.03


@given(st.integers(0, 300), st.integers(0, 300), st.sampled_from(NOISES))
@settings(max_examples=30, deadline=None)
def test_fewer_rows_are_the_first_of_more(few, more, noise):
    few, more = sorted((few, more))
    model = LinearSEM(CHAIN, noise)
    assert np.array_equal(model.sample(few, 3), model.sample(more, 3)[:few])


@pytest.mark.parametrize("noise", NOISES)
def test_rows_do_not_depend_on_blocks(noise, monkeypatch):
    model = LinearSEM(random_weights(erdos_renyi(30, 2, 0), 1), noise)
    whole = model.sample(100, seed=0)
    monkeypatch.setattr("psidag.simulate.model._BLOCK", 30 * 7)
    assert np.allclose(model.sample(100, seed=0), whole, rtol=1e-12)
    standard = model.standardised(100, seed=0).sample(100, seed=0)
    assert np.allclose(standard, (whole - whole.mean(axis=0)) / whole.std(axis=0))


def test_float32_rows_are_float64_rows_rounded():
    model = simulate("ER4", n=1, d=50, seed=0).model
    assert np.array_equal(model.sample(40, 1, np.float32), model.sample(40, 1).astype(np.float32))


@pytest.mark.parametrize("jobs", [1, 3])
def test_rows_that_go_straight_to_a_file_are_those_of_a_sample(jobs, tmp_path, monkeypatch):
    monkeypatch.setattr("psidag.simulate.model._BLOCK", 500)
    model = LinearSEM(random_graph("ER2", 40, 1))
    written = model.write(tmp_path / "rows.npy", 100, seed=3, dtype=np.float32, n_jobs=jobs)
    assert isinstance(written, np.memmap)
    assert np.array_equal(written, model.sample(100, seed=3, dtype=np.float32))
    path = tmp_path / "problem.npy"
    problem = simulate("ER1", 50, d=30, seed=2, path=path)
    assert np.array_equal(problem.X, simulate("ER1", 50, d=30, seed=2).X)
    assert np.array_equal(np.load(path), problem.X)


def test_a_stream_is_one_long_sample():
    model = LinearSEM(CHAIN)
    batches = list(itertools.islice(model.stream(16, seed=2), 5))
    assert np.array_equal(np.vstack(batches), model.sample(80, seed=2))


# problems


@pytest.mark.parametrize("standardise", [None, "data", "internal"])
def test_same_seed_same_bits(standardise):
    a, b = (simulate("SF2", n=60, d=20, seed=4, n_test=10, standardise=standardise) for _ in range(2))
    assert np.array_equal(a.X, b.X)
    assert np.array_equal(a.X_test, b.X_test)
    assert np.array_equal(a.dag.to_dense(), b.dag.to_dense())
    assert np.array_equal(next(a.stream(5)), next(b.stream(5)))
    assert not np.array_equal(a.X, simulate("SF2", n=60, d=20, seed=5).X)


def test_a_seed_sequence_is_left_as_it_was_and_a_generator_moves_on():
    sequence = np.random.SeedSequence(3)
    a, b = (simulate("ER2", n=5, d=10, seed=sequence) for _ in range(2))
    assert np.array_equal(a.X, b.X)
    rng = np.random.default_rng(3)
    a, b = (simulate("ER2", n=5, d=10, seed=rng) for _ in range(2))
    assert not np.array_equal(a.X, b.X)


def test_parts_of_a_problem_have_seeds_of_their_own():
    plain = simulate("ER2", n=50, d=10, seed=0)
    other = simulate("ER2", n=50, d=10, seed=0, n_test=70, noise="gaussian")
    assert np.array_equal(plain.X, other.X)
    assert np.array_equal(other.X_test[:20], simulate("ER2", n=5, d=10, seed=0, n_test=20).X_test)
    fresh = next(other.stream(50))
    for rows in (other.X, other.X_test[:50]):
        assert abs(np.corrcoef(rows[:, other.dag.order[0]], fresh[:, other.dag.order[0]])[0, 1]) < 0.6
        assert not np.array_equal(rows, fresh)
    exponential = simulate("ER2", n=50, d=10, seed=0, noise="exponential")
    assert np.array_equal(plain.dag.to_dense(), exponential.dag.to_dense())


def test_a_given_graph_keeps_its_edges_and_on_request_its_weights():
    kept = simulate(CHAIN, n=10, seed=0, ranges=None)
    assert np.array_equal(kept.dag.to_dense(), CHAIN.to_dense())
    drawn = simulate(CHAIN, n=10, seed=0)
    assert drawn.names == ("a", "b", "c")
    assert np.array_equal(drawn.dag.to_dense() != 0, CHAIN.to_dense() != 0)
    assert not np.array_equal(drawn.dag.to_dense(), CHAIN.to_dense())


@pytest.mark.parametrize("standardise", ["data", "internal"])
@pytest.mark.parametrize("noise", ["gaussian", "exponential"])
def test_standardised_problems(standardise, noise):
    plain = simulate("ER4", n=3000, d=40, seed=2, noise=noise)
    problem = simulate("ER4", n=3000, d=40, seed=2, noise=noise, n_test=3000, standardise=standardise)
    assert np.allclose(problem.X.mean(axis=0), 0, atol=1e-10)
    assert np.allclose(problem.X.std(axis=0), 1)
    assert np.allclose(problem.X_test.std(axis=0), 1, atol=0.12)
    assert np.array_equal(problem.dag.to_dense() != 0, plain.dag.to_dense() != 0)
    # The model is in the same units as its rows: what it leaves over is its noise.
    residual = problem.X_test - problem.X_test @ problem.dag.to_dense()
    assert np.allclose(residual.mean(axis=0), problem.model.intercept + problem.model.noise_mean, atol=0.1)
    assert np.allclose(residual.var(axis=0), problem.model.noise_variance, rtol=0.2)
    if standardise == "data":
        assert np.allclose(problem.X, (plain.X - plain.X.mean(axis=0)) / plain.X.std(axis=0))


def test_internal_standardisation_follows_its_definition():
    model = LinearSEM(CHAIN, "exponential", scale=[1.0, 2.0, 3.0], intercept=4.0)
    rows = model.internally_standardised(200, seed=1).sample(200, seed=1)
    noise = model.sample(200, 1) - model.sample(200, 1) @ CHAIN.to_dense()
    by_hand = np.zeros((200, 3))
    for j in range(3):
        raw = noise[:, j] + by_hand @ CHAIN.to_dense()[:, j]
        by_hand[:, j] = (raw - raw.mean()) / raw.std()
    assert np.allclose(rows, by_hand)


def test_a_constant_variable_survives_standardisation():
    model = LinearSEM(CHAIN, scale=[0.0, 1.0, 1.0], intercept=[5.0, 0.0, 0.0])
    for variant in (model.standardised(50, 0), model.internally_standardised(50, 0)):
        rows = variant.sample(50, 0)
        assert np.allclose(rows[:, 0], 0)
        assert np.allclose(rows[:, 1:].std(axis=0), 1)


def test_sortability_is_what_standardisation_takes_away():
    def measured(standardise):
        problem = simulate("ER4", n=2000, d=100, seed=1, standardise=standardise)
        return var_sortability(problem.dag, problem.X), r2_sortability(problem.dag, problem.X)

    (raw, raw_r2), (data, data_r2), (internal, internal_r2) = map(measured, (None, "data", "internal"))
    assert raw > 0.95
    assert data == internal == 0.5
    assert raw_r2 > 0.8
    assert data_r2 == pytest.approx(raw_r2)
    assert abs(internal_r2 - 0.5) < 0.15


def test_problem_judges_a_graph():
    problem = simulate("ER2", n=500, d=20, seed=0, n_test=2000, noise="exponential")
    assert problem.compare(problem.dag)["gap"] == 0
    empty = DAG.from_weights(np.zeros((20, 20)))
    assert problem.compare(empty)["gap"] > 0.2
    # Half the noise variance of each variable, since the mean is taken out.
    assert problem.compare(empty)["true_loss"] == pytest.approx(10, rel=0.1)


@pytest.mark.slow
def test_a_hundred_thousand_variables():
    problem = simulate("ER2", n=200, d=100_000, seed=0, dtype=np.float32)
    assert problem.X.dtype == np.float32
    assert problem.dag.n_edges == pytest.approx(200_000, rel=0.02)
    assert scale_free(100_000, 4, rng=0).n_edges == 399_990
