"""Orderings: each by name and as an object, and the model that the consistent one reads."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from psidag import InputError, Moments, project
from psidag.graph.constraints import unconstrained
from psidag.graph.order import positions
from psidag.simulate import simulate
from psidag.stages.model import Model, evident_weights, implied_covariance
from psidag.stages.orderings import ORDERINGS, FromModel, Seen, as_ordering, order_by
from psidag.stages.residual_order import residual_variance_order
from psidag.stages.settling import settled
from psidag.system.parallel import workers
from support.knowledge import knowledge


def seen_of(W, S, constraints=None, model=None):
    known = constraints or unconstrained([str(j) for j in range(len(W))])
    return Seen(W, known, lambda: np.diag(S), lambda: S, model)


def random_model(rng, d, density=0.4):
    order = rng.permutation(d)
    place = positions(order)
    W = rng.uniform(-1, 1, (d, d)) * (rng.random((d, d)) < density) * (place[:, None] < place[None, :])
    return Model(order, sp.csr_array(W), rng.uniform(0.5, 2, d))


@given(st.integers(0, 10_000), st.integers(1, 12))
def test_the_implied_covariance_is_that_of_the_equations(seed, d):
    model = random_model(np.random.default_rng(seed), d)
    inverse = np.linalg.inv(np.eye(d) - model.weights.toarray())
    expected = inverse.T @ np.diag(model.residual_variance) @ inverse
    np.testing.assert_allclose(implied_covariance(model), expected, rtol=1e-9, atol=1e-12)


@given(st.integers(0, 10_000))
def test_a_model_of_equal_variances_in_a_wrong_order_gives_back_a_right_one(seed):
    """The regressions of any order imply the same covariance, and that has the true order in it."""
    rng = np.random.default_rng(seed)
    true = random_model(rng, 7)._replace(residual_variance=np.ones(7))
    S = implied_covariance(true)
    order = rng.permutation(7)
    L = np.linalg.cholesky(S[np.ix_(order, order)])
    W = np.zeros((7, 7))
    W[np.ix_(order, order)] = np.triu(-(np.diag(L) * np.linalg.inv(L).T), 1)
    refitted = Model(order, sp.csr_array(W), (np.diag(L) ** 2)[positions(order)])
    found = positions(FromModel().order(seen_of(W, np.eye(7), model=refitted)))
    edges = zip(*np.nonzero(np.abs(true.weights.toarray()) > 1e-2), strict=True)
    assert all(found[i] < found[j] for i, j in edges)


def test_names_stand_for_what_they_say():
    rng = np.random.default_rng(0)
    W = rng.normal(size=(15, 15))
    np.fill_diagonal(W, 0)
    A = rng.normal(size=(15, 15))
    S = A @ A.T
    m = np.diag(S)
    known = unconstrained([str(j) for j in range(15)])
    expected = {
        "model": project(W),
        "psi": project(W),
        "psi-target": project(W, weights=np.broadcast_to(m, (15, 15))),
        "psi-source": project(W, weights=np.broadcast_to(m[:, None], (15, 15))),
        "psi-curvature": project(W, weights=np.broadcast_to(np.sqrt(m)[:, None], (15, 15))),
        "variance": residual_variance_order(S, known),
    }
    assert set(expected) == set(ORDERINGS)
    for name, order in expected.items():
        assert as_ordering(name).order(seen_of(W, S)).tolist() == order.tolist(), name


@given(st.integers(0, 10_000), st.sampled_from(list(ORDERINGS)), knowledge())
def test_every_ordering_respects_constraints(seed, name, known):
    rng = np.random.default_rng(seed)
    bound = known.bind([str(v) for v in range(6)])
    W = rng.normal(size=(6, 6))
    assert bound.respects(order_by(as_ordering(name), seen_of(W, W @ W.T, bound, random_model(rng, 6))))


@pytest.mark.parametrize("wrong", ["alphabet", 3, FromModel, object()])
def test_what_is_no_ordering(wrong):
    with pytest.raises(InputError, match="ordering must be one of"):
        as_ordering(wrong)


def test_an_order_of_ones_own_is_checked():
    class Backwards:
        def order(self, seen):
            return np.arange(len(seen.weights))[::-1]

    class Short:
        def order(self, seen):
            return np.arange(2)

    known = unconstrained(list("abc"))
    assert order_by(Backwards(), seen_of(np.zeros((3, 3)), np.eye(3), known)).tolist() == [2, 1, 0]
    with pytest.raises(InputError, match="an order must be"):
        order_by(Short(), seen_of(np.zeros((3, 3)), np.eye(3), known))


def test_settling_never_ends_with_a_higher_score_and_mends_a_wrong_order():
    problem = simulate("ER2", d=40, n=4000, seed=2)
    moments = Moments.from_rows(problem.X, problem.names)
    known = unconstrained(problem.names)
    W = np.linalg.pinv(moments.covariance)
    with workers(1) as threads:
        found = settled(moments, project(W), FromModel(), known, threads)
        again = settled(moments, found.order, FromModel(), known, threads)
    errors = problem.compare(found.weights)
    assert errors["reversed"] <= 2
    assert errors["extra"] <= 5
    assert again.residual_variance.sum() == pytest.approx(found.residual_variance.sum(), rel=1e-3)


def test_weights_that_rows_support():
    W = np.array([[0.0, 0.5, 0.01], [0.0, 0.0, 0.2], [0.0, 0.0, 0.0]])
    kept = evident_weights(W, np.array([1.0, 1.0, 1.0]), 1.0, 10_000.0).toarray()
    assert (kept != 0).tolist() == [[False, True, False], [False, False, True], [False, False, False]]
    assert not evident_weights(W, np.array([1.0, 1.0, 1.0]), 1.0, 4.0).nnz
