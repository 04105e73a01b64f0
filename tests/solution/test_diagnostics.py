"""What is said about the noise model and the data behind a graph."""

import warnings

import numpy as np
import pytest

from psidag import DataWarning, Stochastic, fit_dag, learn_dag
from psidag.graph.sortability import r2_sortability, var_sortability
from psidag.simulate import simulate


def sentences(X, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        learn_dag(X, random_state=0, **options)
    return " ".join(str(w.message) for w in caught if issubclass(w.category, DataWarning))


def test_data_that_fit_the_model_are_not_complained_about():
    for noise in ("gaussian", "exponential", "gumbel"):
        assert sentences(simulate("ER2", d=50, n=2000, seed=0, noise=noise).X) == ""


def test_standardised_data_and_unequal_noise_are_noticed():
    X = simulate("ER2", d=50, n=2000, seed=0).X
    standardised = (X - X.mean(axis=0)) / X.std(axis=0)
    assert "as if standardised" in sentences(standardised, noise="equal")
    assert sentences(standardised) == ""
    scale = np.random.default_rng(0).uniform(0.5, 3, 50)
    unequal = simulate("ER2", d=50, n=2000, seed=0, scale=scale).X
    assert "Consider noise='auto'" in sentences(unequal, noise="equal")
    assert "which columns are connected" in sentences(unequal, solver="eqvar")
    assert sentences(unequal, noise="unequal") == sentences(unequal) == ""


def test_how_sure_the_search_is_stands_among_the_diagnostics():
    solution = learn_dag(simulate("ER2", d=20, n=500, seed=0).X, random_state=0)
    assert solution.diagnostics().search == str(solution.status)
    assert "neighbourhoods were opened" in str(solution.diagnostics())


def test_one_odd_column_is_enough():
    X = simulate("ER2", d=50, n=2000, seed=0).X
    X[:, 7] *= 1000
    assert "differ" in sentences(X, noise="equal")


def test_diagnostics_come_from_the_fitted_equations():
    """With the true graph they are close to what the data themselves give."""
    problem = simulate("ER2", d=30, n=20_000, seed=1)
    found = fit_dag(problem.X, problem.dag).diagnostics()
    assert found.var_sortability == pytest.approx(var_sortability(problem.dag, problem.X))
    assert found.r2_sortability == pytest.approx(r2_sortability(problem.dag, problem.X), abs=0.02)
    assert 1.0 <= found.variance_ratio < 1.1
    assert found.rows_per_column == pytest.approx(20_000 / 30)
    assert "var-sortability" in str(found)


def test_auto_says_which_engine_and_why():
    problem = simulate("ER2", d=8, n=300, seed=2)
    assert learn_dag(problem.X).engine.startswith("sparse (chosen because")
    assert learn_dag(iter([problem.X])).engine.startswith("stochastic (chosen because")
    assert learn_dag(problem.X, "sparse").engine == "sparse"
    assert learn_dag(problem.X, Stochastic(max_rounds=2)).engine == "stochastic"


def test_a_score_of_the_solution_is_that_of_its_equations():
    problem = simulate("ER2", d=8, n=300, seed=3)
    solution = learn_dag(problem.X + 5.0, random_state=0)
    residual = problem.X + 5.0 - solution.intercept - (problem.X + 5.0) @ solution.dag.weights
    v = solution.residual_variance
    expected = -0.5 * (np.log(2 * np.pi * v) + residual**2 / v).sum(axis=1).mean()
    assert solution.score(problem.X + 5.0) == pytest.approx(expected)


def test_the_score_of_two_noises_does_not_change_sides_with_the_units():
    problem = simulate("ER2", d=8, n=500, seed=3, n_test=500)
    gaps = []
    for units in (np.ones(8), 10.0 ** np.arange(-4, 4)):
        first, second = (
            learn_dag(problem.X * units, noise="unequal", random_state=seed).score(problem.X_test * units)
            for seed in (0, 1)
        )
        empty = fit_dag(problem.X * units, np.zeros((8, 8))).score(problem.X_test * units)
        gaps.append((first - empty, second - empty))
    np.testing.assert_allclose(gaps[0], gaps[1], rtol=1e-6)
