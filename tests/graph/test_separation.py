"""d-separation, blankets and adjustment sets against their definitions and against covariances."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psidag import DAG, InputError
from psidag.graph.separation import adjustment_set, d_separated, implied_covariance, markov_blanket
from support.random_dags import dags


def open_paths(matrix, a, b, known):
    """Whether some path between a and b is open, by walking all of them."""
    d = len(matrix)
    reach = np.linalg.matrix_power(np.eye(d) + matrix, d) > 0

    def passes(i, j, k):
        if matrix[i, j] and matrix[k, j]:
            return any(reach[j, v] for v in known)
        return j not in known

    def walk(path):
        if path[-1] == b:
            return True
        return any(
            walk([*path, k])
            for k in range(d)
            if k not in path
            and (matrix[path[-1], k] or matrix[k, path[-1]])
            and (len(path) == 1 or passes(path[-2], path[-1], k))
        )

    return walk([a])


@given(st.integers(2, 5).flatmap(dags))
@settings(max_examples=60, deadline=None)
def test_d_separation_is_that_no_path_is_open(matrix):
    dag = DAG.from_weights(matrix)
    for a, b in combinations(range(dag.d), 2):
        others = [v for v in range(dag.d) if v not in (a, b)]
        for size in range(len(others) + 1):
            for known in combinations(others, size):
                names = [dag.names[v] for v in known]
                found = d_separated(dag, dag.names[a], dag.names[b], names)
                assert found == (not open_paths(matrix, a, b, known))


@given(st.integers(2, 7).flatmap(dags))
@settings(max_examples=60, deadline=None)
def test_a_blanket_separates_from_all_others_and_is_the_least_that_does(matrix):
    dag = DAG.from_weights(matrix)
    for name in dag.names:
        blanket = markov_blanket(dag, name)
        others = [v for v in dag.names if v not in (name, *blanket)]
        assert not others or d_separated(dag, name, others, blanket)
        for dropped in blanket:
            assert not d_separated(dag, name, dropped, [v for v in blanket if v != dropped])


def weighted(matrix, seed):
    weights = np.random.default_rng(seed).uniform(0.5, 1.5, size=matrix.shape)
    return DAG.from_weights(matrix * weights)


@given(st.integers(2, 7).flatmap(dags), st.integers(0, 9))
@settings(max_examples=80, deadline=None)
def test_adjusting_gives_the_total_effect(matrix, seed):
    dag = weighted(matrix, seed)
    noise = np.random.default_rng(seed).uniform(0.5, 2, size=dag.d)
    total = np.linalg.inv(np.eye(dag.d) - dag.to_dense())
    np.testing.assert_allclose(
        implied_covariance(dag, noise, range(dag.d)), total.T @ np.diag(noise) @ total, rtol=1e-9, atol=1e-9
    )
    for i, j in combinations(range(dag.d), 2):
        for a, b in ((i, j), (j, i)):
            source, target = dag.names[a], dag.names[b]
            if target not in dag.descendants(source):
                with pytest.raises(InputError, match="the total effect is 0"):
                    adjustment_set(dag, source, target)
                continue
            columns = [a, *(dag.index(name) for name in adjustment_set(dag, source, target)), b]
            S = implied_covariance(dag, noise, columns)
            assert np.linalg.solve(S[:-1, :-1], S[:-1, -1])[0] == pytest.approx(total[a, b], abs=1e-7)


def test_bad_questions():
    dag = DAG.from_edges([("a", "b")])
    with pytest.raises(InputError, match="no variable named 'x'"):
        d_separated(dag, "a", "x")
    with pytest.raises(InputError, match="named more than once"):
        d_separated(dag, "a", "b", ["a"])
    with pytest.raises(InputError, match="cause and effect at once"):
        adjustment_set(dag, "a", "a")
