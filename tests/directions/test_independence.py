"""Shape claims an arrow where the relation is linear and the noise is not Gaussian, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

from psidag.directions.independence import has_shape, noises, pair_tests, thinned
from psidag.system.parallel import SERIAL, workers

PAIRS = 40


def standard(z):
    return (z - z.mean(axis=1, keepdims=True)) / z.std(axis=1, keepdims=True)


def pairs(relation, cause, noise, n, seed=0):
    rng = np.random.default_rng(seed)
    draws = {"gauss": rng.normal} | {
        name: getattr(rng, name) for name in ("laplace", "gumbel", "uniform", "exponential")
    }
    x = standard(draws[cause](size=(PAIRS, n)))
    return x, relation(x, standard(draws[noise](size=(PAIRS, n))))


def linear(x, e):
    return 0.7 * x + 0.7 * e


@pytest.mark.parametrize("noise", ["laplace", "gumbel", "uniform", "exponential"])
def test_linear_relations_are_directed_and_never_wrongly(noise):
    claims = pair_tests(*pairs(linear, noise, noise, 2000), SERIAL).claims
    assert np.mean(claims == 1) >= 0.9
    assert not np.any(claims == -1)


@pytest.mark.parametrize("n", [100, 300, 2000])
def test_gaussian_relations_are_not_directed(n):
    assert np.mean(pair_tests(*pairs(linear, "gauss", "gauss", n), SERIAL).claims != 0) <= 0.05


CURVES = {
    "square": lambda x, e: 0.7 * x + 0.15 * x**2 + 0.7 * e,
    "cube": lambda x, e: x**3 / 3 + 0.7 * e,
    "tanh": lambda x, e: np.tanh(x) + 0.7 * e,
    "exp": lambda x, e: np.exp(x / 2) + 0.7 * e,
    "product": lambda x, e: np.exp(0.4 * x + 0.4 * e),
    "growing noise": lambda x, e: 0.7 * x + 0.5 * e * (0.5 + np.abs(x)),
    "rounded": lambda x, e: np.round(3 * (x + e)),
}


@pytest.mark.parametrize("relation", CURVES.values(), ids=CURVES)
@pytest.mark.parametrize("noise", ["gauss", "gumbel"])
@pytest.mark.parametrize("n", [300, 2000])
def test_curves_and_growing_noise_are_hardly_ever_directed_wrongly(relation, noise, n):
    wrong = np.mean(pair_tests(*pairs(relation, noise, noise, n), SERIAL).claims == -1)
    assert wrong <= (0.05 if n >= 2000 else 0.15)


def test_curved_relations_are_called_so_and_linear_ones_are_not():
    assert np.mean(pair_tests(*pairs(CURVES["cube"], "gauss", "gauss", 2000), SERIAL).curved) > 0.9
    assert not pair_tests(*pairs(linear, "laplace", "laplace", 2000), SERIAL).curved.any()


def test_exchanging_the_ends_turns_the_answer_and_threads_change_nothing():
    x, y = pairs(linear, "laplace", "laplace", 500)
    forward, backward = pair_tests(x, y, SERIAL), pair_tests(y, x, SERIAL)
    np.testing.assert_array_equal(forward.claims, -backward.claims)
    np.testing.assert_allclose(forward.lead, backward.lead[:, ::-1], atol=1e-9)
    with workers(2) as threads:
        np.testing.assert_array_equal(pair_tests(x, y, threads).smooth_p, forward.smooth_p)


rng = np.random.default_rng(5)
COLUMNS = {
    "normal": (rng.normal(size=400), True),
    "rounded to a hundredth": (rng.normal(size=400).round(2), True),
    "few rows": (rng.normal(size=40), False),
    "grades": (rng.integers(5, size=400), False),
    "yes or no": (rng.random(400) < 0.3, False),
    "a tenth of zeros": (np.where(rng.random(400) < 0.1, 0.0, rng.normal(size=400)), False),
    "codes for missing": (np.r_[rng.normal(size=390), np.full(10, -999.0)], False),
    "constant": (np.ones(400), False),
}


@pytest.mark.parametrize(("column", "shaped"), COLUMNS.values(), ids=COLUMNS)
def test_columns_without_a_density_have_no_shape(column, shaped):
    assert has_shape(column) is shaped


def test_what_third_columns_explain_is_taken_out_and_duplicates_leave_nothing():
    z = np.random.default_rng(2).normal(size=(300, 3))
    table = np.column_stack([z[:, 0] + z[:, 2], z[:, 1] - z[:, 2], z[:, 2], 2 * z[:, 2]])
    x, y, left = noises(table, np.array([0, 3]), np.array([1, 1]), [(2,), (2,)])
    assert left.tolist() == [True, False]
    for part in (x[0], y[0]):
        assert abs(np.corrcoef(part, z[:, 2])[0, 1]) < 1e-9


def test_rows_are_thinned_evenly_and_always_alike():
    X = np.arange(10_000.0)[:, None]
    few = thinned(X, 100)
    assert len(few) == 100
    assert few[0] == 0
    assert few[-1] == 9999
    np.testing.assert_array_equal(few, thinned(X, 100))
    np.testing.assert_array_equal(thinned(X[:50], 100), X[:50])
