"""The path over the penalty."""

import numpy as np
import pytest

from psidag.path import penalty_path
from psidag.simulate import simulate
from psidag.stages.within_order import evidence_penalty

X = simulate("ER2", n=800, d=15, seed=3).X


@pytest.mark.parametrize("noise", ["equal", "unequal"])
def test_cheaper_edges_are_more_edges(noise):
    path = penalty_path(X, noise=noise, random_state=0)
    edges = [point.edges for point in path.points]
    assert edges == sorted(edges)
    assert path.points[path.chosen].penalty == pytest.approx(evidence_penalty(800, 15))
    assert "chosen" in str(path)


def test_given_prices_are_taken_from_the_highest_on():
    path = penalty_path(X, [5.0, 50.0], random_state=0)
    assert [point.penalty for point in path.points] == [50.0, 5.0]
    assert path.chosen == int(abs(np.log(50 / evidence_penalty(800, 15))) > abs(np.log(5 / evidence_penalty(800, 15))))
    assert all(point.kept <= point.edges for point in path.points)


def test_bad_prices_are_refused():
    with pytest.raises(ValueError, match="penalties"):
        penalty_path(X, [0.0, 1.0])
