"""Scores: their laws against plain NumPy, the cost of a node bound to moments, and one added from outside."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psidag import InputError, learn_dag
from psidag.scores.gaussian import EQUAL, UNEQUAL, GaussianScore
from psidag.scores.named import SCORES, as_score
from psidag.scores.statistics import Pooled, residual_variance

variances = st.lists(st.floats(0.01, 100), min_size=1, max_size=8).map(np.array)


@given(v=variances)
def test_typical_variance_is_the_exponential_of_the_score(v):
    """Of the score at its most likely noise variances: log s + v / s − 1 on average."""
    for score in SCORES.values():
        s = score.noise_variance(v)
        assert math.isclose(score.typical_variance(v), math.exp(np.mean(np.log(s) + v / s - 1)), rel_tol=1e-9)


@given(v=variances, scale=st.floats(0.1, 10))
def test_noise_variances_are_most_likely(v, scale):
    def deviance(s):
        return float(np.sum(np.log(s) + v / s))

    for score in SCORES.values():
        s = score.noise_variance(v)
        assert deviance(s) <= deviance(scale * s) + 1e-9


def test_constants_have_no_say_in_the_common_variance():
    np.testing.assert_allclose(EQUAL.noise_variance(np.array([0.0, 2.0, 4.0])), 3.0)
    assert UNEQUAL.misfit(np.array([0.0, 1.0])) == 0.0


@given(seed=st.integers(0, 1000), parents=st.sets(st.integers(0, 3)))
def test_residual_variance_is_that_of_least_squares(seed, parents):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50, 5)) @ rng.normal(size=(5, 5)) * [1, 10, 0.1, 1, 5]
    X -= X.mean(axis=0)
    X[:, 3] = X[:, 0] + X[:, 1]  # collinear
    P = sorted(parents)
    scaled = X[:, P] / X[:, P].std(axis=0)
    rest = X[:, 4] - scaled @ np.linalg.lstsq(scaled, X[:, 4])[0]
    found = residual_variance(Pooled(X.T @ X / 50, 50), 4, tuple(P))
    assert math.isclose(found, np.mean(rest**2), rel_tol=1e-6)


def test_a_bound_score_gives_the_cost_of_a_node():
    S = np.array([[1.0, 0.8], [0.8, 4.0]])
    v = 4 - 0.64
    assert math.isclose(UNEQUAL.bind(Pooled(S, 100), 5.0, np.ones(2)).cost(1, (0,)), 100 * math.log(v) + 5)
    assert math.isclose(EQUAL.bind(Pooled(S, 100), 5.0, np.array([1.0, 3.0])).cost(1, (0,)), 100 * v / 2 + 5)


def test_bind_takes_rows_of_its_own_for_a_node():
    class Two:
        """Column 0 was set from outside in half of the rows."""

        def count(self, node):
            return 50.0 if node == 0 else 100.0

        def covariance(self, node, columns):
            S = np.eye(2) if node == 0 else np.array([[1.0, 0.5], [0.5, 1.0]])
            return S[np.ix_(columns, columns)]

    bound = UNEQUAL.bind(Two(), 3.0, np.ones(2))
    assert math.isclose(bound.cost(0, (1,)), 3.0)
    assert math.isclose(bound.cost(1, (0,)), 100 * math.log(0.75) + 3)


class Known(GaussianScore):
    """Noise variances that are known beforehand: one class, and the search works with it."""

    name = "known"
    title = "known noise variances"
    own_variances = False
    policy = EQUAL.policy

    def __init__(self, variances):
        self.variances = np.asarray(variances, dtype=float)

    def noise_variance(self, residual_variance):
        return self.variances


def test_a_score_of_ones_own_goes_in_by_the_front_door():
    rng = np.random.default_rng(3)
    cause = 3 * rng.normal(size=2000)
    effect = cause + 0.5 * rng.normal(size=2000)
    X = np.c_[effect, cause]
    # Least squares with one variance sees the smaller total variance in the wrong direction.
    solution = learn_dag(X, noise=Known([0.25, 9.0]), random_state=0)
    assert [edge[:2] for edge in solution.dag.edges()] == [("x1", "x0")]


@pytest.mark.parametrize("noise", ["equals", 3, None])
def test_what_is_no_score_is_refused(noise):
    with pytest.raises(InputError, match=r"noise must be one of .* or a score"):
        as_score(noise)
