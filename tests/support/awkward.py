"""Tables and prior knowledge that engines must cope with, for several tests."""

import numpy as np
from hypothesis import strategies as st

from psidag.graph.constraints import Constraints


def awkward_tables():
    """Tables with constant, duplicate and collinear columns, wild units, and fewer rows than columns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 6))
    sums = np.column_stack([X, X[:, 0] + X[:, 1], X[:, 2], np.ones(100)])
    return {
        "collinear": sums,
        "units": sums * 10.0 ** np.arange(-12, 15, 3),
        "wide": rng.normal(size=(12, 30)) + rng.normal(size=(12, 1)),
        "two rows": rng.normal(size=(2, 5)),
        "constant": np.ones((50, 4)),
        "two columns": rng.normal(size=(50, 1)) + 0.1 * rng.normal(size=(50, 2)),
    }


@st.composite
def knowledge(draw, d):
    """Required and forbidden edges and tiers among d nodes that do not contradict each other."""
    rank = np.random.default_rng(draw(st.integers(0, 10_000))).permutation(d)
    pairs = [(int(i), int(j)) for i in range(d) for j in range(d) if rank[i] < rank[j]]
    required = draw(st.lists(st.sampled_from(pairs), max_size=4, unique=True))
    anywhere = [(i, j) for i in range(d) for j in range(d) if i != j and (i, j) not in required]
    forbidden = draw(st.lists(st.sampled_from(anywhere), max_size=10, unique=True))
    tiers = [[int(j) for j in range(d) if rank[j] == t] for t in (0, 3, d - 1)] if draw(st.booleans()) else []
    return Constraints(required, forbidden, tiers)
