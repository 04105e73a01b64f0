"""Sortability against its definition, and R² against regressions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psidag.data.moments import Moments
from psidag.graph.order import CycleError
from psidag.graph.sortability import r2_sortability, r_squared, sortability, var_sortability
from psidag.simulate import erdos_renyi, simulate
from psidag.system.errors import InputError
from support.random_dags import dags, graph


def sortability_by_definition(matrix, score):
    """Reisach et al.: over all powers of the 0/1 adjacency matrix, dense."""
    edges, power = matrix != 0, matrix != 0
    rising = np.subtract.outer(-score, -score)
    paths = right = 0.0
    for _ in range(len(matrix) - 1):
        paths += power.sum()
        right += (power & (rising > 0)).sum() + (power & (rising == 0)).sum() / 2
        power = (power.astype(int) @ edges.astype(int)) > 0
    return right / paths


@given(st.integers(2, 9).flatmap(lambda d: st.tuples(dags(d), st.lists(st.integers(0, 4), min_size=d, max_size=d))))
@settings(max_examples=80, deadline=None)
def test_sortability_is_its_definition(case):
    matrix, score = case[0], np.array(case[1], dtype=float)
    if matrix.any():
        assert sortability(matrix, score) == pytest.approx(sortability_by_definition(matrix, score))
        assert sortability(matrix, score) + sortability(matrix, -score) == pytest.approx(1)
    else:
        assert np.isnan(sortability(matrix, score))


def test_sortability_does_not_depend_on_how_sources_are_split(monkeypatch):
    dag = erdos_renyi(80, 3, rng=0)
    score = np.random.default_rng(0).normal(size=80).round(1)
    whole = sortability(dag, score)
    monkeypatch.setattr("psidag.graph.sortability._SOURCES", 17)
    assert sortability(dag, score) == whole
    assert whole == pytest.approx(sortability_by_definition(dag.to_dense(), score))


def test_sortability_takes_rows_or_moments():
    problem = simulate("ER2", n=500, d=30, seed=0)
    moments = Moments.from_rows(problem.X)
    assert var_sortability(problem.dag, problem.X) == var_sortability(problem.dag, moments)
    assert r2_sortability(problem.dag, problem.X) == r2_sortability(problem.dag, moments)
    assert var_sortability(problem.dag, problem.X.astype(np.float32)) > 0.8
    with pytest.raises(InputError):
        sortability(problem.dag, np.zeros(3))
    with pytest.raises(CycleError):
        sortability(graph(2, (0, 1), (1, 0)), np.zeros(2))


def test_r_squared_is_that_of_regressions():
    X = simulate("ER2", n=300, d=8, seed=1).X + 5
    for j, found in enumerate(r_squared(X)):
        rest = np.column_stack([np.delete(X, j, axis=1), np.ones(len(X))])
        residual = X[:, j] - rest @ np.linalg.lstsq(rest, X[:, j], rcond=None)[0]
        assert found == pytest.approx(1 - residual.var() / X[:, j].var())


def test_r_squared_of_degenerate_columns():
    X = np.random.default_rng(0).normal(size=(50, 4))
    X[:, 2] = X[:, 0] * 2
    X[:, 3] = 7.0
    found = r_squared(X)
    assert found[[0, 2]] == pytest.approx(1)
    assert found[1] < 0.2
    assert found[3] == 0
