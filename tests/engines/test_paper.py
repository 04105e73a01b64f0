"""ψDAG as printed, step by step against a plain transcription of Algorithms 1 to 3 that shares no code with it."""

import itertools

import numpy as np
import pytest

from psidag import Stochastic, learn_dag
from psidag.data.rows import PILOT
from psidag.graph.metrics import heldout_gap
from psidag.simulate import simulate


def psi(W, vertices):
    """Algorithm 2."""
    if not len(vertices):
        return []
    rows, columns = (W**2).sum(axis=1), (W**2).sum(axis=0)
    last, first = int(np.argmin(rows)), int(np.argmin(columns))
    to_end = rows[last] <= columns[first]
    out = last if to_end else first
    rest = psi(np.delete(np.delete(W, out, 0), out, 1), np.delete(vertices, out))
    return [*rest, vertices[out]] if to_end else [vertices[out], *rest]


def printed(samples, d, D, tau1, tau2, rounds):
    """Algorithms 1 and 3 with Algorithm 4.1 of Rodomanov et al.; yields W_k after each round."""

    def gradient(W):
        x = next(samples)
        return -np.outer(x, x - x @ W) * mask

    mask = 1.0 - np.eye(d)
    W, average, steps = np.zeros((d, d)), np.zeros((d, d)), 0
    g = gradient(W)
    trial = W - D * g / np.linalg.norm(g)
    beta, r2 = np.sum((trial - W) * (gradient(trial) - g)), np.sum((trial - W) ** 2)
    H = max(0.0, beta) / (D**2 + r2 / 2) or np.linalg.norm(g) / D
    for k in range(rounds):
        for stage in (1, 2):
            if stage == 2:
                place = np.argsort(psi(average, np.arange(d)))
                mask = (place[:, None] < place[None, :]).astype(float)
            else:
                mask = 1.0 - np.eye(d)
            if stage == 2 or k > 0:
                W, average = W * mask, average * mask
                g = gradient(W)
            for _ in range(tau1 if stage == 1 else tau2):
                new = W - g / H
                new *= min(1.0, D / np.linalg.norm(new))
                g_new = gradient(new)
                beta, r2 = np.sum((new - W) * (g_new - g)), np.sum((new - W) ** 2)
                H += max(0.0, beta - H * r2 / 2) / (D**2 + r2 / 2)
                W, g, steps = new, g_new, steps + 1
                average = average + (W - average) / steps
        yield average.copy()


@pytest.mark.parametrize(("tau1", "tau2", "rounds"), [(2, 1, 40), (3, 2, 20), (150, 100, 3)])
@pytest.mark.parametrize("radius", [3.0, 25.0])
def test_agrees_with_the_transcription_after_every_round(tau1, tau2, rounds, radius):
    """A1 has at least two steps: the first gradient is symmetric, and ψ of it is a matter of rounding."""
    d = 9
    rows = simulate("ER2", d=d, n=PILOT + 2 * rounds * (tau1 + tau2 + 4), seed=4).X + 0.5
    seen = []
    engine = Stochastic.paper(radius=radius, tau1=tau1, tau2=tau2, max_rounds=rounds)
    solution = learn_dag(iter(np.array_split(rows, 7)), engine, callback=lambda _, c: seen.append(c.weights.copy()))
    expected = list(printed(iter(rows[PILOT:]), d, radius, tau1, tau2, rounds))
    assert len(seen) == rounds
    for found, literal in zip(seen, expected, strict=True):
        np.testing.assert_allclose(found, literal, rtol=1e-7, atol=1e-10)
    large = np.where(np.abs(expected[-1]) >= 0.3, expected[-1], 0)
    np.testing.assert_allclose(solution.dag.to_dense(), large, rtol=1e-7, atol=1e-10)
    assert solution.selection == "weights of at least 0.3"


@pytest.mark.parametrize("batch_size", [1, 8])
def test_a_found_radius_covers_the_solution(batch_size):
    problem = simulate("ER2", d=20, n=2000, seed=1, n_test=2000)
    engine = Stochastic.paper(batch_size=batch_size, max_rounds=6)
    seen = []
    learn_dag(problem.stream(256), engine, callback=lambda _, c: seen.append(c.weights))
    assert heldout_gap(problem.dag, seen[-1], problem.X_test) < 0.1


def test_options_can_be_otherwise_and_the_caller_decides_about_the_threshold():
    problem = simulate("ER2", d=6, n=400, seed=0)
    engine = Stochastic.paper(tau1=20, tau2=20, intercept=True, max_rounds=2)
    assert engine.intercept
    solution = learn_dag(problem.X, engine, threshold=0.0, random_state=0)
    assert solution.selection == "weights of at least 0"
    assert solution.dag.n_edges > learn_dag(problem.X, engine, random_state=0).dag.n_edges


def test_without_an_intercept_rows_are_taken_as_they_are():
    """Two columns with means and no relation: only through the origin does one explain the other."""
    rng = np.random.default_rng(0)
    batches = (rng.normal(5.0, 1.0, size=(200, 2)) for _ in itertools.count())
    through, centred = (
        learn_dag(
            batches, Stochastic.paper(radius=2.0, tau1=100, tau2=100, max_rounds=3, intercept=asked), threshold=0.0
        )
        for asked in (False, True)
    )
    assert np.abs(through.dag.to_dense()).max() > 0.8
    assert np.abs(centred.dag.to_dense()).max() < 0.3
