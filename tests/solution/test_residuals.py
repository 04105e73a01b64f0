"""Checks of residuals: one odd variable makes none of the others stand out."""

import numpy as np
import pytest

from psidag import fit_dag
from psidag.view import write_report


def test_one_odd_variable_stands_out_alone():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 20))
    X[:, 3] *= 1e-6
    checks = fit_dag(X, np.zeros((20, 20))).check_residuals(X)
    assert checks.standing_out("variance") == ["x3"]
    ratio = np.delete(checks.variance_ratio, 3)
    assert (np.abs(np.log(ratio)) < np.log(1.3)).all()


@pytest.mark.filterwarnings("ignore:rows with missing values")
def test_rows_that_were_dropped_in_learning_are_no_hindrance_to_what_is_asked_of_them_later(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    X = np.c_[x, 2 * x + rng.normal(size=300)]
    X[::7, 1] = np.nan
    whole = X[~np.isnan(X).any(axis=1)]
    solution = fit_dag(whole, [[0, 1], [0, 0]])
    np.testing.assert_array_equal(solution.check_residuals(X).skewness, solution.check_residuals(whole).skewness)
    assert solution.effect("x0", "x1", X, replicates=20) == solution.effect("x0", "x1", whole, replicates=20)
    write_report(solution, tmp_path / "report.html", data=X)
    assert "Residuals not looked at" not in (tmp_path / "report.html").read_text()


def test_rows_in_which_a_variable_was_set_say_nothing_of_its_noise():
    rng = np.random.default_rng(0)
    x = rng.normal(size=600)
    X = np.c_[x, 2 * x + rng.normal(size=600)]
    X[500:, 1] = 30.0
    labels = [None] * 500 + ["x1"] * 100
    solution = fit_dag(X[:500], [[0, 1], [0, 0]])
    assert solution.check_residuals(X).standing_out("normality") == ["x1"]
    checks = solution.check_residuals(X, labels)
    assert checks.standing_out("normality") == checks.standing_out("linearity") == []
    free = solution.check_residuals(X[:500])
    assert checks.skewness[1] == pytest.approx(free.skewness[1])
    assert checks.normality_p[1] == pytest.approx(free.normality_p[1])
    assert checks.nonlinearity_p[1] == pytest.approx(free.nonlinearity_p[1])
