"""The exact engine: Algorithm 1 without sampling noise."""

import numpy as np
import pytest

from psidag.data.sources import Table
from psidag.engines.exact import Exact
from psidag.framework import Task, run
from psidag.graph.constraints import Constraints, unconstrained
from psidag.graph.metrics import order_errors
from psidag.graph.order import positions
from psidag.parallel import workers
from psidag.simulate import simulate
from psidag.stages.within_order import least_squares_within

RULES = ["psi", "residual_variance"]


def learn(X, *, jobs=1, known=None, **options):
    source = Table(X, [f"x{i}" for i in range(X.shape[1])])
    known = unconstrained(source.names) if known is None else known
    with workers(jobs) as threads:
        return run(Exact(**options), Task(source, known, np.random.default_rng(0), threads))


@pytest.mark.parametrize("rule", RULES)
def test_the_weights_are_least_squares_within_the_order(rule):
    X = simulate("ER2", n=500, d=30, seed=1).X
    before = X.copy()
    order, W, loss, _ = learn(X, order_by=rule).candidate
    expected = least_squares_within(np.cov(X.T, bias=True), order)
    np.testing.assert_allclose(W, expected.weights.toarray(), atol=1e-8)
    assert loss == pytest.approx(0.5 * expected.residual_variance.sum())
    assert X.tobytes() == before.tobytes()


@pytest.mark.parametrize("rule", RULES)
def test_threads_do_not_change_a_bit(rule):
    X = simulate("ER2", n=500, d=300, seed=2).X
    one, two = (learn(X, jobs=jobs, order_by=rule, max_rounds=2).candidate for jobs in (1, 2))
    assert one.order.tobytes() == two.order.tobytes()
    assert one.weights.tobytes() == two.weights.tobytes()


def test_the_order_is_good():
    problem = simulate("ER2", n=5000, d=50, seed=3)
    edges = problem.dag.n_edges
    assert order_errors(problem.dag.weights, learn(problem.X).candidate.order) <= 0.3 * edges
    by_variance = learn(problem.X, order_by="residual_variance").candidate.order
    assert order_errors(problem.dag.weights, by_variance) <= 0.05 * edges


@pytest.mark.parametrize("rule", RULES)
def test_prior_knowledge_holds(rule):
    X = simulate("ER2", n=300, d=10, seed=4).X
    known = Constraints([(9, 0), (3, 1)], [(9, 1), (0, 2), (2, 0)], [[9, 3], [4]]).bind([f"x{i}" for i in range(10)])
    order, W, *_ = learn(X, known=known, order_by=rule).candidate
    assert known.respects(order)
    assert W[9, 1] == W[0, 2] == W[2, 0] == 0
    assert W[9, 0] != 0
    place = positions(order)
    i, j = W.nonzero()
    assert np.all(place[i] < place[j])


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("shape", [(5, 12), (100, 4)])
def test_awkward_tables_give_finite_weights(rule, shape):
    X = np.random.default_rng(5).normal(size=shape)
    X = np.column_stack([X, X[:, 0], np.ones(len(X)), X[:, 0] - X[:, 1]])
    candidate = learn(X, order_by=rule).candidate
    assert np.isfinite(candidate.weights).all()
    assert np.isfinite(candidate.loss)


@pytest.mark.parametrize("options", [{"order_by": "size"}, {"gradient_steps": 0}])
def test_bad_options_are_refused(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        Exact(**options)
