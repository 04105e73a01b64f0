"""The exact engine: Algorithm 1 with dense moves, against a plain version of itself and the laws of engines."""

import numpy as np
import pytest

from psidag import Constraints, Exact, InputError, Moments, learn_dag, project
from psidag.graph.order import order_mask
from psidag.simulate import simulate

PROBLEM = simulate("ER2", d=30, n=3000, seed=0, n_test=2000)


def test_a_round_is_gradient_steps_then_psi_then_least_squares():
    X = PROBLEM.X - PROBLEM.X.mean(axis=0)
    S = X.T @ X / len(X)
    P = np.diag(np.diag(S) ** -0.25)
    largest = np.linalg.eigvalsh(P @ S @ P)[-1]
    W = np.zeros_like(S)
    for _ in range(20):
        W -= P @ P @ S @ (W - np.eye(30)) / (1.02 * largest)
        np.fill_diagonal(W, 0)
    order = project(W)
    mask = order_mask(order)
    loss = 0.0
    for j in range(30):
        before = np.flatnonzero(mask[:, j])
        loss += 0.5 * (S[j, j] - S[before, j] @ np.linalg.lstsq(S[np.ix_(before, before)], S[before, j])[0])
    seen = []
    engine = Exact(gradient_steps=20, max_rounds=1)
    learn_dag(PROBLEM.X, engine, random_state=0, callback=lambda _, candidate: seen.append(candidate))
    assert seen[0].order.tolist() == order.tolist()
    assert seen[0].loss == pytest.approx(loss)


@pytest.mark.parametrize("ordering", ["psi", "model", "variance"])
def test_it_learns_from_rows_and_from_moments_alike(ordering):
    rows = learn_dag(PROBLEM.X, Exact(ordering), random_state=0)
    moments = learn_dag(Moments.from_rows(PROBLEM.X), Exact(ordering), random_state=0)
    np.testing.assert_allclose(rows.dag.to_dense(), moments.dag.to_dense(), atol=1e-9)
    assert rows.status.ok
    assert PROBLEM.compare(rows.dag)["gap"] < 0.04


def test_threads_do_not_change_a_bit():
    X = simulate("ER2", d=300, n=600, seed=1).X
    one, two = (learn_dag(X, Exact(max_rounds=2), random_state=0, n_jobs=jobs) for jobs in (1, 2))
    assert (one.candidate.weights == two.candidate.weights).all()


@pytest.mark.parametrize("ordering", ["psi", "model", "variance"])
def test_constraints_hold(ordering):
    i, j, _ = next(PROBLEM.dag.edges())
    known = Constraints([(j, i)], tiers=[PROBLEM.names[10:12], PROBLEM.names[3:5]])
    solution = learn_dag(PROBLEM.X, Exact(ordering), constraints=known, random_state=0)
    assert solution.dag.weights[PROBLEM.dag.index(j), PROBLEM.dag.index(i)] != 0
    assert known.bind(PROBLEM.names).respects(solution.order)


def test_time_and_options():
    assert learn_dag(PROBLEM.X, Exact(), max_time=1e-9, random_state=0).dag.n_edges > 0
    for options in ({"ordering": "alphabet"}, {"gradient_steps": 0}, {"patience": 0}):
        with pytest.raises(InputError, match=next(iter(options))):
            Exact(**options)
    with pytest.raises(InputError, match="noise variances to be equal"):
        learn_dag(PROBLEM.X, Exact(), noise="unequal")
