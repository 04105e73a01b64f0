"""The fused kernels against their NumPy specification, and the step rules against their formulas."""

import math

import numpy as np
import pytest

from psidag import SGD, InputError, Universal
from psidag.stages import _steps
from psidag.stages.descent import Batch, start, step
from psidag.stages.steps import Curvature, Measured
from psidag.system.parallel import workers


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-4), (np.float64, 1e-12)])
def test_kernels_do_what_numpy_would(dtype, tolerance):
    rng = np.random.default_rng(0)
    W, average, G, move = (rng.normal(size=(5, 37)).astype(dtype) for _ in range(4))
    free = (rng.random((5, 37)) < 0.5).astype(np.uint8)
    new = 0.9 * (W - 0.1 * G)
    spec = new, average + 0.25 * (new - average), new - W
    sums = ((new - W) * G).sum(), ((new - W) ** 2).sum(), (new**2).sum()
    np.testing.assert_allclose(_steps.advance(W, average, G, 0.1, 0.9, 0.25), sums, rtol=tolerance)
    for array, expected in zip((W, average, G), spec, strict=True):
        np.testing.assert_allclose(array, expected, atol=tolerance)
    gradient = rng.normal(size=(5, 37)).astype(dtype)
    cut = gradient * free
    sums = (move * cut).sum(), (cut**2).sum(), (W * cut).sum()
    np.testing.assert_allclose(_steps.measure(gradient, free, move, W), sums, rtol=tolerance, atol=tolerance)
    np.testing.assert_array_equal(gradient, cut)


def rows(n, d, seed):
    X = np.random.default_rng(seed).normal(size=(n, d))
    X[:, 1] += X[:, 0]
    return Batch(X, X)


def test_a_descent_follows_the_published_update():
    """Three steps of the universal method, written out with whole matrices."""
    d, D = 6, 3.0
    free = (~np.eye(d, dtype=bool)).astype(np.uint8)

    def gradient(W, batch):
        X = batch.targets
        return free * (-(X.T @ (X - X @ W)) / len(X)).T

    batches = [rows(8, d, seed) for seed in range(5)]
    rule = Universal(radius=D)
    with workers(1) as threads:
        state = start(np.zeros((d, d)), free, batches[0], threads, rule, D)
        W = np.zeros((d, d))
        g = gradient(W.T, batches[0])
        trial = W - D * g / np.linalg.norm(g)
        H = ((trial - W) * (gradient(trial.T, batches[0]) - g)).sum() / (1.5 * D**2)
        assert pytest.approx(H) == state.rule_state.H
        average = np.zeros((d, d))
        for k, batch in enumerate(batches[1:]):
            state = step(state, batch, threads, rule)
            new = W - g / H
            new *= min(1.0, D / np.linalg.norm(new))
            g_new = gradient(new.T, batch)
            beta, r2 = ((new - W) * (g_new - g)).sum(), ((new - W) ** 2).sum()
            H += max(0.0, beta - H * r2 / 2) / (D**2 + r2 / 2)
            W, g = new, g_new
            average += (W - average) / (k + 1)
            np.testing.assert_allclose(state.weights, W, atol=1e-12)
            np.testing.assert_allclose(state.average, average, atol=1e-12)
            assert pytest.approx(H) == state.rule_state.H


@pytest.mark.parametrize("lean", [0.0, 1.0, 3.0])
def test_an_average_that_leans_is_the_weighted_mean_of_the_iterates(lean):
    """Iterate t of T weighs Γ(t + lean) / Γ(t), which is t^lean but for the first few."""
    d, T = 5, 40
    free = (~np.eye(d, dtype=bool)).astype(np.uint8)
    with workers(1) as threads:
        rule = Universal(radius=2.0)
        state = start(np.zeros((d, d)), free, rows(8, d, 0), threads, rule, 2.0)
        iterates = []
        for seed in range(1, T + 1):
            state = step(state, rows(8, d, seed), threads, rule, lean)
            iterates.append(state.weights.copy())
    weight = np.array([math.gamma(t + lean) / math.gamma(t) for t in range(1, T + 1)])
    np.testing.assert_allclose(state.average, np.average(iterates, axis=0, weights=weight), atol=1e-12)


def test_an_ordered_descent_leaves_out_products_that_change_nothing(monkeypatch):
    monkeypatch.setattr("psidag.stages.descent.TILE", 4)
    d, rule = 13, Universal(radius=2.0)
    free = np.tril(np.ones((d, d)), -1).astype(np.uint8)
    with workers(1) as threads:
        first = rows(8, d, 0)
        whole, half = (start(np.zeros((d, d)), free, first, threads, rule, 2.0, ordered=o) for o in (False, True))
        for seed in range(1, 10):
            whole, half = (step(state, rows(8, d, seed), threads, rule) for state in (whole, half))
    assert np.any(whole.average)
    np.testing.assert_allclose(half.average, whole.average, atol=1e-12)
    assert pytest.approx(half.rule_state.H) == whole.rule_state.H


def test_the_ball_holds_the_iterates_but_not_a_larger_one():
    d = 4
    free = (~np.eye(d, dtype=bool)).astype(np.uint8)
    with workers(1) as threads:
        state = start(np.zeros((d, d)), free, rows(50, d, 0), threads, Universal(radius=0.1), 1.0)
        for seed in range(30):
            state = step(state, rows(50, d, seed), threads, Universal())
            assert np.linalg.norm(state.weights) <= 0.1 + 1e-9


def test_noise_that_hides_the_curvature_is_survived():
    rule = Universal(radius=2.0)
    state = rule.init(Measured(0.0, 0.0, 9.0, moved=4.0, bend=-1.0), 1.0)
    assert state == Curvature(1.5, 2.0)
    assert rule.update(state, Measured(1.0, 0.0, 1.0, moved=1.0, bend=-5.0)) == state
    assert rule.step(state, Measured(0.0, 0.0, 0.0)).length == 0


@pytest.mark.parametrize(
    ("schedule", "expected"), [("constant", [0.1, 0.1]), ("sqrt", [0.1, 0.05]), ("linear", [0.1, 0.025])]
)
def test_schedules_of_plain_descent(schedule, expected):
    rule = SGD(0.1, schedule)
    state = rule.init(Measured(0, 0, 1), 1.0)
    lengths = [rule.step(state._replace(steps=k), Measured(0, 0, 1)).length for k in (0, 300)]
    assert lengths == pytest.approx(expected)


@pytest.mark.parametrize("make", [lambda: Universal(radius=-1), lambda: SGD(0), lambda: SGD(schedule="cubic")])
def test_bad_options_are_refused(make):
    with pytest.raises(InputError):
        make()


@pytest.mark.parametrize("rule", [Universal(), SGD()])
def test_a_descent_gets_going_after_a_first_batch_without_a_gradient(rule):
    free = (~np.eye(3, dtype=bool)).astype(np.uint8)
    nothing = Batch(np.zeros((4, 3)), np.zeros((4, 3)))
    with workers(1) as threads:
        state = start(np.zeros((3, 3)), free, nothing, threads, rule, 2.0)
        for batch in (nothing, rows(8, 3, 0), rows(8, 3, 1)):
            state = step(state, batch, threads, rule)
    assert np.isfinite(state.weights).all()
    assert np.abs(state.weights).max() > 0
