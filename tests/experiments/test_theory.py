"""What is known without a recorded run: exact minima within orders, the constants of the theorem, rounds settling."""

import numpy as np
import pytest

from psidag.experiments.theory import _covariance, _gradient_variance, _problem, random_orders, rate, settling
from psidag.graph.order import order_mask


def test_minima_within_random_orders_are_those_of_least_squares():
    found = random_orders("ER2", 7)
    problem = _problem("ER2", 7)
    S, rng = _covariance(problem), np.random.default_rng(500)
    true = problem.model.noise_variance.sum()
    for gap in found.gaps[:20]:
        order, left = rng.permutation(7), 0.0
        for t, j in enumerate(order):
            before = order[:t]
            left += S[j, j] - S[j, before] @ np.linalg.solve(S[np.ix_(before, before)], S[before, j])
        assert gap == pytest.approx(left / true - 1, abs=1e-10)
    assert found.gaps.min() > -1e-12, "no order beats the true model"


def test_the_covariance_is_that_of_the_rows():
    problem = _problem("ER2", 7)
    rows = problem.model.sample(200_000, 0)
    S = _covariance(problem)
    np.testing.assert_allclose(rows.T @ rows / len(rows), S, atol=0.03 * S.max())


def test_the_constants_of_the_theorem_bound_what_they_should():
    found = rate("ER2", 6)
    problem = _problem("ER2", 6)
    S, mask = _covariance(problem), order_mask(np.asarray(problem.dag.order))
    rng = np.random.default_rng(0)
    V, W = (rng.normal(size=(6, 6)) * mask for _ in range(2))
    change = np.linalg.norm((S @ (V - W)) * mask)
    assert change <= found.smoothness * np.linalg.norm(V - W) * (1 + 1e-9)
    x = problem.model.sample(50_000, 1)
    gradients = -np.einsum("ki,kj->kij", x, x - x @ W) * mask
    variance = ((gradients - gradients.mean(axis=0)) ** 2).sum(axis=(1, 2)).mean()
    assert _gradient_variance(problem, W, S) == pytest.approx(variance, rel=0.15)
    assert found.constant < 1
    assert (np.diff(found.bound) < 0).all()


def test_rounds_have_a_move_and_a_gap_each():
    printed, ours = settling("ER2", 5)
    for found in (printed, ours):
        assert found.order_change.shape == found.gap.shape
        moves = found.order_change[:, 1:]
        assert ((moves >= 0) & (moves <= 1)).all()
    assert np.median(printed.gap[:, -1]) < np.median(printed.gap[:, 0])
