"""Every baseline on every kind of input, and each against what it claims to minimise."""

import math
import warnings

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize

from psidag import Constraints, DataWarning, InputError, Moments, learn_dag
from psidag.baselines import Dagma, EqVar, Golem, Notears, SortRegress
from psidag.baselines.acyclicity import exponential_minus_identity, inverse, trace_exponential
from psidag.baselines.adam import Adam
from psidag.baselines.baseline import Regression
from psidag.baselines.dagma import _gradient, _inverse_in_domain, log_determinant
from psidag.baselines.notears import augmented_lagrangian
from psidag.baselines.owlqn import advance, start
from psidag.datasets import load_sachs
from psidag.graph.constraints import unconstrained
from psidag.graph.dag import DAG
from psidag.scores.gaussian import EQUAL, UNEQUAL
from psidag.simulate import simulate
from psidag.stages.residual_order import residual_variance_order

#: Cut short where that leaves the answer as it is.
METHODS = {
    "NOTEARS": {"solver": Notears()},
    "GOLEM-EV": {"solver": Golem(max_iter=3000)},
    "GOLEM-NV": {"solver": Golem(max_iter=3000), "noise": "unequal"},
    "DAGMA": {"solver": Dagma(warm_iter=2000, max_iter=3000)},
    "EqVar": {"solver": EqVar()},
    "by variance": {"solver": SortRegress()},
    "by R²": {"solver": SortRegress("r2")},
    "at random": {"solver": SortRegress("random")},
}
CONTINUOUS = ["NOTEARS", "GOLEM-EV", "GOLEM-NV", "DAGMA"]

every_method = pytest.mark.parametrize("method", METHODS)
continuous = pytest.mark.parametrize("method", CONTINUOUS)


def chain():
    """x0 → x1 → … → x5 under shuffled labels, strong and plain to see."""
    label = np.array([3, 0, 5, 1, 4, 2])
    weights = np.zeros((6, 6))
    weights[label[:-1], label[1:]] = 1.0
    return simulate(DAG.from_weights(weights), n=2000, seed=3, ranges=None)


def learn(data, method, **options):
    return learn_dag(data, threshold=0.3, random_state=0, n_jobs=1, **METHODS[method] | options)


@every_method
def test_the_result_is_a_dag_and_the_input_is_unchanged(method):
    problem = simulate("ER2", n=500, d=8, seed=1)
    before = problem.X.copy()
    solution = learn(problem.X, method)
    np.testing.assert_array_equal(problem.X, before)
    DAG.from_weights(solution.dag.weights, solution.order)
    assert solution.status.ok
    loss = 0.5 * np.var(problem.X - problem.X @ solution.candidate.weights, axis=0).sum()
    assert solution.candidate.loss == pytest.approx(loss)


@every_method
def test_the_same_seed_gives_the_same_bits_from_rows_and_from_moments(method):
    X = simulate("ER1", n=500, d=5, seed=2).X
    moments = Moments.from_rows(X)
    scatter = moments.scatter.copy()
    runs = [learn(data, method).candidate.weights for data in (X, X, moments)]
    for again in runs[1:]:
        np.testing.assert_array_equal(np.asarray((runs[0] - again) @ np.eye(5)), 0.0)
    np.testing.assert_array_equal(moments.scatter, scatter)


@pytest.mark.parametrize("method", [*CONTINUOUS, "EqVar", "by variance"])
def test_a_chain_is_found(method):
    problem = chain()
    measures = problem.compare(learn(problem.X, method).dag)
    assert measures["shd"] == 0
    assert measures["weight_error"] < 0.15


@every_method
def test_constraints_hold(method):
    problem = chain()
    known = Constraints(
        required_edges=[("x2", "x0")], forbidden_edges=[("x3", "x0")], tiers=[["x1", "x2"], ["x4", "x5"]]
    )
    solution = learn(problem.X, method, constraints=known)
    W = solution.dag.to_dense()
    bound = known.bind(problem.names)
    assert W[2, 0] != 0
    assert not W[~bound.allowed()].any()
    assert bound.respects(solution.order)


@continuous
def test_slices_do_not_change_the_result(method, monkeypatch):
    X = simulate("ER2", n=300, d=6, seed=4).X
    options = {"solver": Golem(max_iter=300)} if "GOLEM" in method else {}
    whole = learn(X, method, **options).candidate.weights
    for module in ("baseline", "notears"):
        monkeypatch.setattr(f"psidag.baselines.{module}.iterations_at_once", lambda d: 7)
    np.testing.assert_array_equal(learn(X, method, **options).candidate.weights, whole)


@every_method
@pytest.mark.parametrize("flaw", ["constant", "duplicate", "few rows", "large mean"])
def test_flawed_tables_do_not_break_anything(method, flaw):
    X = simulate("ER2", n=12 if flaw == "few rows" else 300, d=15, seed=5).X.copy()
    if flaw == "constant":
        X[:, 3] = 7.0
    elif flaw == "duplicate":
        X[:, 3] = X[:, 8]
    elif flaw == "large mean":
        X += 1e6
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        solution = learn(X, method, max_time=5)
    assert math.isfinite(solution.candidate.loss)


def test_what_cannot_be_is_said():
    X = simulate("ER2", n=100, d=5, seed=0).X
    for solver in (Notears(), Dagma(), EqVar()):
        with pytest.raises(InputError, match="noise variances to be equal"):
            learn_dag(X, solver, noise="unequal")
    for make in (
        lambda: SortRegress("size"),
        lambda: Dagma(s=()),
        lambda: Golem(max_iter=0),
        lambda: Notears(h_tol=0.0),
        lambda: learn_dag(X, Notears(lambda1=-1.0)),
    ):
        with pytest.raises(InputError):
            make()


def test_a_raised_threshold_is_said():
    X = simulate("ER4", n=1000, d=12, seed=1).X
    solution = learn_dag(X, Golem(max_iter=1000, lambda2=0.0), threshold=0.05, n_jobs=1)
    assert "were dropped to break cycles" in solution.status.message


def test_dagma_says_that_it_fails_on_sachs():
    problem = load_sachs()
    known = Constraints(required_edges=[("PKA", "Raf")])
    solution = learn_dag(
        problem.X, Dagma(max_iter=5000), threshold=0.3, n_jobs=1, constraints=known, names=problem.names
    )
    assert solution.status.code == "diverged"
    assert "standardise" in solution.status.message
    assert [edge[:2] for edge in solution.dag.edges()] == [("PKA", "Raf")]


def test_eqvar_pivots_on_the_smallest_conditional_variance():
    S = Moments.from_rows(simulate("ER4", n=1000, d=300, seed=6).X).covariance
    order = residual_variance_order(S, unconstrained([f"x{i}" for i in range(300)]))
    for place in (0, 1, 128, 200, 299):
        given, rest = order[:place], order[place:]
        explained = S[np.ix_(rest, given)] @ np.linalg.solve(S[np.ix_(given, given)], S[np.ix_(given, rest)])
        assert rest[np.argmin(np.diag(S[np.ix_(rest, rest)] - explained))] == order[place]


# The pieces -------------------------------------------------------------------------------------------------


def weights(seed=0, d=6, size=0.4):
    W = np.random.default_rng(seed).normal(scale=size, size=(d, d))
    np.fill_diagonal(W, 0.0)
    return W


def problem_of(d=6):
    rng = np.random.default_rng(9)
    A = rng.normal(size=(3 * d, d))
    allowed = 1.0 - np.eye(d)
    return Regression(A.T @ A / (3 * d), 0.1 * allowed, allowed, 3 * d)


def assert_gradient(function, gradient, W):
    """Against central differences, off the diagonal."""
    for i, j in zip(*np.nonzero(~np.eye(len(W), dtype=bool)), strict=True):
        bump = np.zeros_like(W)
        bump[i, j] = 1e-6
        expected = (function(W + bump) - function(W - bump)) / 2e-6
        assert gradient[i, j] == pytest.approx(expected, rel=1e-5, abs=1e-7)


def test_gradient_of_the_trace_exponential():
    W = weights()
    assert trace_exponential(W)[0] == pytest.approx(np.trace(scipy.linalg.expm(W * W)) - 6)
    assert_gradient(lambda V: trace_exponential(V)[0], trace_exponential(W)[1], W)


def test_gradient_of_the_augmented_lagrangian():
    smooth = augmented_lagrangian(problem_of(), rho=7.0, alpha=0.3)
    W = weights()
    assert_gradient(lambda V: smooth(V)[0], smooth(W)[1], W)


@pytest.mark.parametrize("score", [EQUAL, UNEQUAL])
def test_gradient_of_golem(score):
    problem, W, golem = problem_of(), weights(), Golem()
    assert_gradient(lambda V: golem.score(problem, score, V), golem.gradient(problem, score, W), W)


def test_gradient_of_dagma():
    problem, W, mu, s = problem_of(), weights(size=0.2), 0.3, 0.9

    def objective(V):
        return mu * (problem.loss(V)[0] + problem.size(V)) + log_determinant(V, s)

    inverted = _inverse_in_domain(W, s)
    assert_gradient(objective, _gradient(problem, W, inverted, mu), W)
    assert _inverse_in_domain(weights(size=2.0), s) is None


@pytest.mark.parametrize("scale", [0.0, 1e-3, 0.5, 3.0, 30.0])
def test_exponential_of_a_non_negative_matrix(scale):
    A = scale * np.random.default_rng(0).random((9, 9))
    expected = scipy.linalg.expm(A) - np.eye(9)
    np.testing.assert_allclose(exponential_minus_identity(A), expected, rtol=1e-11, atol=1e-15)


def test_exponential_of_a_long_path_takes_all_its_terms():
    A = np.diag(np.full(24, 9.0), 1)
    np.testing.assert_allclose(exponential_minus_identity(A), scipy.linalg.expm(A) - np.eye(25), rtol=1e-10)


def test_inverse():
    A = weights(d=20) + 3 * np.eye(20)
    np.testing.assert_allclose(inverse(A.copy()) @ A, np.eye(20), atol=1e-12)
    assert inverse(np.zeros((3, 3))) is None


def test_adam_is_its_formula():
    adam, m, v = Adam(4, 0.9, 0.99), 0.0, 0.0
    for t in range(1, 6):
        g = weights(seed=t, d=4)
        m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g**2
        expected = (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.99**t)) + 1e-8)
        np.testing.assert_allclose(adam.direction(g.copy()), expected, rtol=1e-12)


def test_owlqn_solves_a_lasso():
    problem = problem_of(10)
    penalty = problem.penalty.copy()
    penalty[0] = 0.0

    def smooth(W):
        value, gradient = problem.loss(W)
        return value, gradient * problem.allowed

    state = start(smooth, penalty, np.zeros((10, 10)))
    while not state.converged:
        state = advance(smooth, penalty, state, 3)

    def doubled(w):
        W = (w[:100] - w[100:]).reshape(10, 10)
        value, gradient = smooth(W)
        both = np.concatenate([gradient.ravel(), -gradient.ravel()])
        return value + np.tile(penalty.ravel(), 2) @ w, both + np.tile(penalty.ravel(), 2)

    peer = scipy.optimize.minimize(doubled, np.zeros(200), jac=True, method="L-BFGS-B", bounds=[(0, None)] * 200)
    assert state.value <= peer.fun + 1e-6
    np.testing.assert_allclose(state.x, (peer.x[:100] - peer.x[100:]).reshape(10, 10), atol=1e-2)
