"""Regression within an order: against plain NumPy, and on data that breaks naive solvers."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psidag.graph.constraints import Constraints
from psidag.graph.order import positions
from psidag.stages.within_order import (
    evidence_penalty,
    least_squares_within,
    most_parents,
    search_penalty,
    select_within,
)
from psidag.system.parallel import workers
from support.awkward import awkward_tables


def rows(seed, n=200, d=8, density=0.4):
    """Rows of a random linear model, and an order that has nothing to do with it."""
    rng = np.random.default_rng(seed)
    W = np.triu(rng.normal(size=(d, d)) * (rng.random((d, d)) < density), 1)
    X = rng.normal(size=(n, d)) @ np.linalg.inv(np.eye(d) - W)
    return X[:, rng.permutation(d)] - X.mean(axis=0), rng.permutation(d)


def residual_variance(S, j, parents):
    if not parents:
        return S[j, j]
    block = S[np.ix_(parents, parents)]
    return S[j, j] - S[j, parents] @ np.linalg.solve(block, S[parents, j])


def select_in_numpy(S, n, j, candidates, penalty, sigma2, locked=()):
    """The specification: best single addition while it pays, then single drops while they pay."""

    def cost(parents):
        v = residual_variance(S, j, parents)
        return (n * math.log(v) if sigma2 is None else n * v / sigma2) + penalty * len(parents)

    parents = list(locked)
    while True:
        while len(parents) > 1:
            leave = {i: cost([p for p in parents if p != i]) for i in parents[:-1] if i not in locked}
            best = min(leave, key=leave.get, default=None)
            if best is None or leave[best] > cost(parents):
                break
            parents.remove(best)
        enter = {i: cost([*parents, i]) for i in candidates if i not in parents}
        best = min(enter, key=enter.get, default=None)
        if best is None or enter[best] >= cost(parents):
            return parents
        parents.append(best)


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 10_000), known=st.booleans(), penalty=st.sampled_from([1.0, 6.0, 30.0]))
def test_selection_is_its_numpy_specification(seed, known, penalty):
    X, order = rows(seed)
    n, S = len(X), X.T @ X / len(X)
    sigma2 = 1.3 if known else None
    with workers(1) as threads:
        found = select_within(S, n, order, threads, penalty=penalty, sigma2=sigma2)
    for t, j in enumerate(order):
        parents = select_in_numpy(S, n, j, order[:t].tolist(), penalty, sigma2)
        column = found.weights[:, [j]].toarray().ravel()
        assert set(np.flatnonzero(column)) == set(parents)
        assert found.residual_variance[j] == pytest.approx(residual_variance(S, j, parents))
        if parents:
            expected = np.linalg.solve(S[np.ix_(parents, parents)], S[parents, j])
            np.testing.assert_allclose(column[parents], expected, atol=1e-10)


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10_000), data=st.data())
def test_constraints_hold_within_the_order(seed, data):
    X, order = rows(seed, d=7)
    place = positions(order)
    pairs = [(int(i), int(j)) for i in range(7) for j in range(7) if place[i] < place[j]]
    required = data.draw(st.lists(st.sampled_from(pairs), max_size=5, unique=True))
    others = sorted(set(pairs) - set(required))
    forbidden = data.draw(st.lists(st.sampled_from(others), max_size=8, unique=True))
    known = Constraints(required, forbidden).bind([f"x{i}" for i in range(7)])
    with workers(1) as threads:
        W = select_within(np.cov(X.T), len(X), order, threads, constraints=known).weights.toarray()
    assert all(W[i, j] != 0 for i, j in required)
    assert all(W[i, j] == 0 for i, j in forbidden)
    assert np.all(place[W.nonzero()[0]] < place[W.nonzero()[1]])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_hub_of_hundreds_of_parents(dtype):
    rng = np.random.default_rng(1)
    d, n = 401, 5000
    X = rng.normal(size=(n, d))
    X[:, -1] = X[:, :-1] @ rng.choice([-0.5, 0.5], size=d - 1) + rng.normal(size=n)
    S = np.corrcoef(X.T).astype(dtype)
    with workers(2) as threads:
        found = select_within(S, n, np.arange(d), threads)
    assert found.weights[:, [-1]].nnz == d - 1
    exact = np.linalg.solve(np.corrcoef(X.T)[:-1, :-1], np.corrcoef(X.T)[:-1, -1])
    np.testing.assert_allclose(found.weights[:, [-1]].toarray().ravel()[:-1], exact, atol=1e-4)


def test_threads_do_not_change_a_bit_and_the_input_stays():
    X, _ = rows(3, n=300, d=120, density=0.05)
    S, order = np.cov(X.T), np.random.default_rng(0).permutation(120)
    before = S.copy()
    answers = []
    for jobs in (1, 2):
        with workers(jobs) as threads:
            answers.append(select_within(S, 300, order, threads))
    assert (answers[0].weights != answers[1].weights).nnz == 0
    assert answers[0].residual_variance.tobytes() == answers[1].residual_variance.tobytes()
    assert S.tobytes() == before.tobytes()


def test_relabelling_the_columns_relabels_the_answer():
    X, order = rows(4, d=20)
    S, shuffle = np.cov(X.T), np.random.default_rng(0).permutation(20)
    with workers(1) as threads:
        one = select_within(S, 200, order, threads).weights.toarray()
        other = select_within(S[np.ix_(shuffle, shuffle)], 200, positions(shuffle)[order], threads)
    np.testing.assert_allclose(other.weights.toarray(), one[np.ix_(shuffle, shuffle)], atol=1e-12)


@pytest.mark.parametrize("name", awkward_tables())
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_awkward_tables_give_finite_weights(name, dtype):
    X = awkward_tables()[name]
    S = np.cov(X.T, bias=True)
    if dtype == np.float32:
        sd = np.sqrt(np.diag(S))
        sd[sd == 0] = 1
        S = S / np.outer(sd, sd)
    order = np.random.default_rng(1).permutation(len(S))
    with workers(1) as threads:
        found = select_within(S.astype(dtype), len(X), order, threads)
    full = least_squares_within(S, order)
    for answer in (found, full):
        assert np.isfinite(answer.weights.data).all()
        assert np.all(answer.residual_variance >= 0)
    assert np.bincount(found.weights.indices, minlength=1).max() <= most_parents(len(X))


@pytest.mark.parametrize("rule", [None, "random"])
def test_least_squares_is_one_regression_a_node(rule):
    X, order = rows(5)
    S = np.cov(X.T)
    allowed = None if rule is None else np.random.default_rng(2).random(S.shape) < 0.6
    W, v = least_squares_within(S, order, allowed)
    for t, j in enumerate(order):
        parents = [i for i in order[:t] if allowed is None or allowed[i, j]]
        expected = np.zeros(len(S))
        if parents:
            expected[parents] = np.linalg.solve(S[np.ix_(parents, parents)], S[parents, j])
        np.testing.assert_allclose(W[:, [j]].toarray().ravel(), expected, atol=1e-9)
        assert v[j] == pytest.approx(residual_variance(S, j, parents))


@pytest.mark.parametrize(("n", "d"), [(2, 2), (10, 11), (100, 3), (50, 1000), (5000, 1000), (1e9, 2)])
def test_the_penalty_is_sane(n, d):
    price = evidence_penalty(n, d)
    assert price >= max(math.log(n), 4.0)
    assert price <= 2 * math.log(d) + math.log(n) + 4.0
    assert price <= search_penalty(n, d) <= price + 2 * math.log(2) + 1e-12
