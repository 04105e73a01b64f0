"""Checks of residuals: one odd variable makes none of the others stand out."""

import numpy as np

from psidag import fit_dag


def test_one_odd_variable_stands_out_alone():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 20))
    X[:, 3] *= 1e-6
    checks = fit_dag(X, np.zeros((20, 20))).check_residuals(X)
    assert checks.standing_out("variance") == ["x3"]
    ratio = np.delete(checks.variance_ratio, 3)
    assert (np.abs(np.log(ratio)) < np.log(1.3)).all()
