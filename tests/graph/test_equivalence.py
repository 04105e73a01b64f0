"""The CPDAG against the union of all DAGs of a class."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from psidag.graph.equivalence import cpdag
from psidag.graph.metrics import cpdag_shd
from support.random_dags import dags


def v_structures(matrix):
    d = len(matrix)
    return {
        (i, j, k)
        for k in range(d)
        for i in range(d)
        for j in range(i)
        if matrix[i, k] and matrix[j, k] and not matrix[i, j] and not matrix[j, i]
    }


def acyclic(matrix):
    return not np.trace(np.linalg.matrix_power(np.eye(len(matrix)) + matrix, len(matrix))) > len(matrix)


def cpdag_by_brute_force(matrix):
    """The union of all DAGs with the same skeleton and the same v-structures."""
    pairs = np.argwhere(np.triu(matrix + matrix.T))
    union, colliders = np.zeros_like(matrix), v_structures(matrix)
    for directions in range(2 ** len(pairs)):
        other = np.zeros_like(matrix)
        for bit, (i, j) in enumerate(pairs):
            other[(i, j) if directions >> bit & 1 else (j, i)] = 1
        if acyclic(other) and v_structures(other) == colliders:
            union = np.maximum(union, other)
    return union


def test_cpdag_of_every_dag_on_four_vertices_up_to_labels():
    upper = np.triu_indices(4, 1)
    for edges in range(2**6):
        matrix = np.zeros((4, 4))
        matrix[upper] = [edges >> bit & 1 for bit in range(6)]
        assert np.array_equal(cpdag(matrix).toarray(), cpdag_by_brute_force(matrix))


@given(st.integers(4, 5).flatmap(dags))
@settings(max_examples=60, deadline=None)
def test_cpdag_of_random_dags(matrix):
    found = cpdag(matrix)
    assert np.array_equal(found.toarray(), cpdag_by_brute_force(matrix))
    assert cpdag_shd(matrix, matrix) == 0


@given(st.integers(3, 12).flatmap(dags), st.randoms())
@settings(max_examples=60, deadline=None)
def test_turning_a_covered_edge_keeps_the_cpdag(matrix, random):
    # x -> y is covered if y has the parents of x and x itself; turning it stays in the class (Chickering).
    covered = [
        (i, j) for i, j in np.argwhere(matrix) if np.array_equal(matrix[:, j], matrix[:, i] + np.eye(len(matrix))[i])
    ]
    if covered:
        i, j = random.choice(covered)
        other = matrix.copy()
        other[i, j], other[j, i] = 0, 1
        assert cpdag_shd(matrix, other) == 0
