"""Levels of a graph, wide or deep."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from psidag.graph import order
from psidag.graph.order import CycleError, topological_levels


@given(d=st.integers(1, 30), share=st.floats(0, 1), few=st.sampled_from([0, 3, 100]), seed=st.integers(0, 2**32 - 1))
def test_a_level_is_the_length_of_the_longest_path(d, share, few, seed):
    rng = np.random.default_rng(seed)
    places = rng.permutation(d)
    graph = (np.triu(rng.random((d, d)), 1) > 1 - share)[np.ix_(places, places)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(order, "_FEW", few)
        levels = topological_levels(graph)
    longest, step = np.zeros(d, int), np.ones(d, bool)
    for length in range(d):
        longest[step] = length
        step = graph[step].any(axis=0)
    assert [level.tolist() for level in levels] == [np.flatnonzero(longest == k).tolist() for k in range(len(levels))]
    assert sum(map(len, levels)) == d


def test_a_long_chain_is_no_trouble():
    d = 50_000
    chain = sp.coo_array((np.ones(d - 1), (np.arange(d - 1), np.arange(1, d))), shape=(d, d))
    assert len(topological_levels(chain)) == d
    loop = sp.coo_array((np.ones(d), (np.arange(d), np.roll(np.arange(d), -1))), shape=(d, d))
    with pytest.raises(CycleError):
        topological_levels(loop)
