"""Small graphs for the tests: by their edges, and at random."""

import numpy as np
from hypothesis import strategies as st


def graph(d, *edges):
    matrix = np.zeros((d, d))
    for i, j in edges:
        matrix[i, j] = 1
    return matrix


@st.composite
def dags(draw, d):
    """A random DAG as a dense 0/1 matrix under random labels."""
    label = draw(st.permutations(range(d)))
    keep = draw(st.lists(st.booleans(), min_size=d * (d - 1) // 2, max_size=d * (d - 1) // 2))
    matrix = np.zeros((d, d))
    matrix[np.triu_indices(d, 1)] = keep
    return matrix[np.ix_(label, label)]
