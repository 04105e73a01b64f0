"""Tables that break arithmetic: every method gives finite, acyclic, reproducible answers, and says what to distrust."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from psidag import DataWarning, InputError, Moments, PsiDAG, fit_dag, fit_order, learn_dag
from psidag.baselines import Dagma, EqVar, Golem, Notears, SortRegress
from psidag.engines.exact import Exact
from psidag.engines.sparse import Sparse
from psidag.engines.stochastic import Stochastic
from psidag.simulate import simulate

METHODS = {
    "sparse": (Sparse(), "equal"),
    "sparse, unequal": (Sparse(quiet_rounds=2, restarts=1), "unequal"),
    "exact": (Exact(), "equal"),
    "stochastic": (Stochastic(tau1=20, tau2=20, max_rounds=3), "equal"),
    "NOTEARS": (Notears(max_rounds=2), "equal"),
    "GOLEM": (Golem(max_iter=100, checkpoint=50), "equal"),
    "GOLEM, unequal": (Golem(max_iter=100, checkpoint=50), "unequal"),
    "DAGMA": (Dagma(warm_iter=100, max_iter=100, checkpoint=50), "equal"),
    "EqVar": (EqVar(), "equal"),
    "by variance": (SortRegress("variance"), "equal"),
    "by R2": (SortRegress("r2"), "equal"),
}


def tables():
    rng = np.random.default_rng(0)
    X = simulate("ER2", d=10, n=300, seed=1).X
    heavy = rng.standard_cauchy((300, 8))
    heavy[:, 3] += 2 * heavy[:, 1]
    units = 10.0 ** rng.permutation(np.linspace(-12, 12, 10))
    return {
        "units": X * units,
        "units in single precision": (X * units).astype(np.float32),
        "nearly collinear": np.c_[X, X[:, 0] + 1e-7 * rng.normal(size=300), X[:, 1] * (1 + 1e-12)],
        "a sum": np.c_[X, X[:, :3].sum(axis=1)],
        "copies": np.c_[X, X],
        "constants": np.c_[X, np.full(300, 7.0), np.full(300, 1e12), np.zeros(300)],
        "heavy tails": heavy,
        "few rows": simulate("ER2", d=30, n=15, seed=1).X,
        "two rows": X[:2],
        "large means": X + 10.0 ** np.linspace(0, 9, 10),
        "single precision": X.astype(np.float32),
        "nothing varies": np.ones((10, 4)),
    }


TABLES = tables()
#: What must be said of which table.
WARNINGS = {
    "nearly collinear": "linear combination of others",
    "a sum": "linear combination of others",
    "copies": "linear combination of others",
    "constants": "constant columns",
    "nothing varies": "constant columns",
    "few rows": "cannot be told from chance",
    "two rows": "cannot be told from chance",
}


def check(solution):
    """Finite and acyclic."""
    for part in ("intercept", "residual_variance", "mean", "variance"):
        assert np.isfinite(getattr(solution, part)).all(), part
    assert np.isfinite(solution.dag.weights.data).all()
    assert not np.isinf(solution.standard_error).any()
    assert np.isfinite(solution.candidate.loss)
    assert not np.tril(solution.dag.to_dense()[np.ix_(solution.order, solution.order)]).any()


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("method", METHODS)
def test_hard_tables(method, table):
    engine, noise = METHODS[method]
    X, before = TABLES[table], TABLES[table].copy()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        one, two = (learn_dag(X, engine, noise=noise, random_state=0, n_jobs=jobs) for jobs in (1, 2))
    check(one)
    assert np.array_equal(one.dag.to_dense(), two.dag.to_dense())
    assert np.array_equal(X, before)
    # Overflow, division by zero and the like are ours to avoid.
    assert {warning.category for warning in caught} <= {DataWarning}
    if table in WARNINGS:
        assert any(WARNINGS[table] in str(warning.message) for warning in caught)


@settings(max_examples=40)
@given(
    st.integers(2, 8),
    st.integers(2, 30),
    st.lists(st.floats(-12, 12), min_size=8, max_size=8),
    st.lists(st.floats(-1e6, 1e6), min_size=8, max_size=8),
    st.sampled_from(["equal", "unequal"]),
    st.integers(0, 2**31),
)
@pytest.mark.filterwarnings("ignore::psidag.DataWarning")
def test_any_units_and_means(d, n, exponents, means, noise, seed):
    """Few rows, rank below d, units of any size: an answer, and the same one again."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, max(1, d // 2))) @ rng.normal(size=(max(1, d // 2), d))
    X = (X + np.array(means[:d])) * 10.0 ** np.array(exponents[:d])
    first, second = (learn_dag(X, Sparse(restarts=0), noise=noise, random_state=0, n_jobs=1) for _ in range(2))
    check(first)
    assert np.array_equal(first.dag.to_dense(), second.dag.to_dense())


@pytest.mark.filterwarnings("ignore::psidag.DataWarning")
def test_units_change_nothing_but_the_units():
    """Under the score that does not depend on units, edges are the same and weights are rescaled."""
    X, scale = simulate("ER2", d=10, n=300, seed=1).X, 10.0 ** np.linspace(-12, 12, 10)
    plain, scaled = (learn_dag(table, noise="unequal", random_state=0) for table in (X, X * scale))
    expected = plain.dag.to_dense() * scale / scale[:, None]
    np.testing.assert_allclose(scaled.dag.to_dense(), expected, rtol=1e-6)


@pytest.mark.parametrize("engine", [Sparse(), Exact(), Stochastic(), EqVar()], ids=lambda engine: engine.name)
def test_values_beyond_arithmetic_are_an_error_that_names_them(engine):
    X = simulate("ER2", d=4, n=50, seed=0).X * np.array([1, 1e200, 1, 1])
    with pytest.raises(InputError, match=r"too large to reckon with.*'x1'"):
        learn_dag(X, engine)


@pytest.mark.filterwarnings("ignore::psidag.DataWarning")
def test_threads_of_blas_make_no_difference():
    """Whatever is summed outside of a run, BLAS sums it in one thread."""
    problem = simulate("ER2", d=150, n=1500, seed=1)
    gaps = problem.X.copy()
    gaps[np.random.default_rng(0).random(gaps.shape) < 0.02] = np.nan

    def results(threads):
        with threadpool_limits(threads, user_api="blas"):
            model = PsiDAG(random_state=0)
            for part in np.array_split(problem.X, 3):
                model.partial_fit(part)
            return [
                Moments.from_rows(problem.X).scatter,
                model.adjacency_.toarray(),
                fit_dag(problem.X, problem.dag).dag.to_dense(),
                fit_order(problem.X, problem.dag.order).dag.to_dense(),
                learn_dag(gaps, missing="pairwise", random_state=0).dag.to_dense(),
            ]

    for one, two in zip(results(1), results(2), strict=True):
        assert np.array_equal(one, two)
