"""What residuals say about the noise, whatever the units, the outliers, the threads and the number of looks."""

import numpy as np
import pytest
import scipy.sparse as sp

from psidag.simulate import simulate
from psidag.stages.noise_facts import noise_facts
from psidag.system.parallel import workers


def facts(X, weights=None, weight=None, n_jobs=1):
    d = X.shape[1]
    graph = sp.csr_array((d, d)) if weights is None else sp.csr_array(weights)
    with workers(n_jobs) as pool:
        return noise_facts(X, weight, np.average(X, axis=0, weights=weight), graph, pool)


@pytest.mark.parametrize("draw", ["laplace", "uniform", "gumbel"])
@pytest.mark.parametrize("shape", [(400, 12), (6000, 400)], ids=["one look", "two looks"])
def test_shape_is_told_from_gaussian_noise(draw, shape):
    rng = np.random.default_rng(0)
    assert not facts(rng.normal(size=shape)).shaped.any()
    assert facts(getattr(rng, draw)(size=shape)).shaped.mean() > 0.95


def test_one_shaped_column_among_hundreds():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(6000, 400))
    X[:, 7] = rng.exponential(size=6000)
    np.testing.assert_array_equal(np.flatnonzero(facts(X).shaped), [7])


def test_it_is_the_residual_that_counts():
    problem = simulate("ER2", d=30, n=3000, seed=2, noise="laplace")
    mixed = facts(problem.X)
    found = facts(problem.X, problem.dag.weights)
    assert found.shaped.all()
    # Sums of noises are closer to Gaussian than each of them, whose kurtosis is 6.
    assert mixed.kurtosis.mean() < found.kurtosis.mean()
    assert abs(found.kurtosis.mean() - 6) < 1


def test_units_and_offsets_change_nothing():
    rng = np.random.default_rng(3)
    problem = simulate("ER2", d=20, n=1000, seed=4, noise="uniform")
    scale = 2.0 ** rng.integers(-60, 60, size=20)
    graph = problem.dag.weights.toarray() * (scale[None, :] / scale[:, None])
    before, after = facts(problem.X, problem.dag.weights), facts(problem.X * scale, graph)
    np.testing.assert_array_equal(before.shaped, after.shaped)
    np.testing.assert_allclose(before.kurtosis, after.kurtosis, rtol=1e-3)


def test_a_few_outliers_are_no_shape():
    X = np.random.default_rng(5).normal(size=(1000, 10))
    X[:7] *= 1e6
    assert not facts(X).shaped.any()


def test_columns_without_a_density_have_no_shape():
    rng = np.random.default_rng(6)
    X = np.column_stack([rng.integers(3, size=500), np.ones(500), rng.exponential(size=500), np.zeros(500)])
    X[:, 3] = 2 * X[:, 2]
    graph = np.zeros((4, 4))
    graph[2, 3] = 2.0
    found = facts(X, graph)
    np.testing.assert_array_equal(found.valued, [False, False, True, False])
    np.testing.assert_array_equal(found.shaped, found.valued)


def test_a_weight_counts_a_row_as_often():
    rng = np.random.default_rng(7)
    X, times = rng.gumbel(size=(400, 5)), rng.integers(1, 3, size=400)
    once, again = facts(X, weight=times.astype(float)), facts(np.repeat(X, times, axis=0))
    np.testing.assert_allclose(once.kurtosis, again.kurtosis, rtol=1e-3)


def test_threads_change_no_bit():
    X = np.random.default_rng(8).exponential(size=(6000, 300))
    one, two = facts(X), facts(X, n_jobs=2)
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)
