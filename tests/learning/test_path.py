"""The path over the penalty."""

import pytest

from psidag import InputError, Moments, learn_dag, penalty_path
from psidag.simulate import simulate

PROBLEM = simulate("ER2", d=25, n=1500, seed=0)


def test_fewer_edges_at_a_higher_price_and_the_chosen_point_is_the_default():
    path = penalty_path(PROBLEM.X, (4.0, 0.25))
    assert len(path) == 3
    assert list(path.penalties) == sorted(path.penalties, reverse=True)
    edges = [solution.dag.n_edges for solution in path.solutions]
    assert edges == sorted(edges)
    default = learn_dag(PROBLEM.X, random_state=0)
    assert (path.solutions[path.chosen].dag.weights != default.dag.weights).nnz == 0
    assert "<- chosen" in str(path)


def test_it_takes_moments_and_refuses_nonsense():
    assert len(penalty_path(Moments.from_rows(PROBLEM.X), (2.0,), noise="unequal")) == 2
    with pytest.raises(InputError, match="positive multiples"):
        penalty_path(PROBLEM.X, (0.0,))
