"""Targets left out of the fit: what is predicted of them, and who moved by himself."""

import numpy as np
import pytest

from psidag import InputError, check_interventions
from psidag.simulate import simulate
from psidag.simulate.experiment import experiment
from psidag.view import plot_shifts


@pytest.fixture(scope="module")
def made():
    model = simulate("ER1", d=8, n=2, seed=1, ranges=((-1, -0.5), (0.5, 1))).model
    return experiment(model, rows=60, control_rows=400, seed=1)


@pytest.fixture(scope="module")
def checks(made):
    return check_interventions(made.X, made.labels, names=made.names, folds=4, random_state=0)


def test_a_right_model_predicts_what_it_has_not_seen(checks):
    assert len(checks) == 8 * 7
    assert checks.correlation > 0.95
    assert checks.explained > 0.85
    assert len(checks.off_targets) <= 1
    assert "targets left out of the fit" in str(checks)


def test_off_targets_are_named(made):
    X = made.X.copy()
    target = [k for k, label in enumerate(made.labels) if label == ("x3",)]
    moved = next(j for j in range(8) if j != 3)
    X[target, moved] += 6 * X[:, moved].std()
    found = check_interventions(X, made.labels, names=made.names, folds=8, random_state=0)
    row = next(shift for shift in found if shift.target == "x3" and shift.variable == made.names[moved])
    assert abs(row.unexplained) > 10
    assert row.off_target or row.descendant


def test_picture(checks):
    pytest.importorskip("matplotlib").use("agg")
    ax = plot_shifts(checks)
    assert ax.get_xlabel() == "predicted shift, in standard errors"


def test_what_cannot_be_checked(made):
    with pytest.raises(InputError, match="folds"):
        check_interventions(made.X, made.labels, names=made.names, folds=1)
    with pytest.raises(InputError, match="nothing was set"):
        check_interventions(made.X, [None] * len(made.X), names=made.names)
    alone = np.array([label is not None for label in made.labels])
    with pytest.raises(InputError, match="against rows in which nothing was set"):
        check_interventions(made.X[alone], [label for label in made.labels if label], names=made.names)
