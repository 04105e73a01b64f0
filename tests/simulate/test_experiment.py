"""Rows of experiments on a model: what was set is set, what is downstream follows, the rest stays."""

import numpy as np
import pytest

from psidag import DAG, InputError
from psidag.simulate import LinearSEM, experiment

MODEL = LinearSEM(DAG.from_edges([("a", "b", 2.0), ("b", "c", 1.0)]), noise="gumbel", scale=[1.0, 2.0, 0.5])
N = 40_000


def condition(manner):
    made = experiment(MODEL, ["b"], N, control_rows=N, manner=manner, seed=0)
    assert made.labels == [None] * N + [("b",)] * N
    return made.X[:N], made.X[N:]


@pytest.mark.parametrize(
    ("manner", "moved", "left", "tied"),
    [("knockdown", -2, 0.3, False), ("randomise", 0, 1, False), ("shift", 2, 1, True), ("knockout", None, 0, False)],
)
def test_manners(manner, moved, left, tied):
    control, done = condition(manner)
    mean, sd = control[:, 1].mean(), control[:, 1].std()
    shift = -mean / sd if moved is None else moved
    assert (done[:, 1].mean() - mean) / sd == pytest.approx(shift, abs=0.05)
    assert done[:, 1].std() / sd == pytest.approx(left, abs=0.03)
    assert done[:, 0].mean() == pytest.approx(control[:, 0].mean(), abs=0.05)
    assert done[:, 2].mean() - control[:, 2].mean() == pytest.approx(shift * sd, abs=0.1)
    if left:
        assert (abs(np.corrcoef(done[:, 0], done[:, 1])[0, 1]) > 0.1) == tied


def test_every_variable_by_default_and_the_same_rows_again():
    one, other = (experiment(MODEL, rows=2, control_rows=3, seed=5) for _ in range(2))
    assert one.labels[3:] == [("a",), ("a",), ("b",), ("b",), ("c",), ("c",)]
    assert np.array_equal(one.X, other.X)


def test_bad_input():
    with pytest.raises(InputError, match="manner must be one of"):
        experiment(MODEL, manner="soft", seed=0)
    with pytest.raises(InputError, match="no variable named 'z'"):
        experiment(MODEL, ["z"], seed=0)
