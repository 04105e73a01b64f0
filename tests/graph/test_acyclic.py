"""Breaking cycles: the result is acyclic, and no smaller threshold would do."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from psidag.graph.acyclic import break_cycles
from psidag.graph.constraints import Constraints
from psidag.graph.dag import DAG
from psidag.graph.order import CycleError, topological_order

#: Few distinct values, so that ties are common.
squares = st.integers(1, 7).flatmap(
    lambda d: arrays(np.float64, (d, d), elements=st.integers(-4, 4).map(lambda k: k / 4))
)


@settings(deadline=None)
@given(squares, st.sampled_from([0.0, 0.3, 0.5]))
def test_the_smallest_threshold_is_found(W, at_least):
    before = W.copy()
    cut = break_cycles(W, at_least)
    np.testing.assert_array_equal(W, before)
    DAG.from_weights(cut.weights, cut.order)
    off_diagonal = np.where(np.eye(len(W), dtype=bool), 0.0, W)
    np.testing.assert_array_equal(cut.weights, np.where(np.abs(off_diagonal) >= cut.threshold, off_diagonal, 0))
    assert cut.threshold >= at_least
    if cut.threshold > at_least:
        with pytest.raises(CycleError):
            topological_order(np.where(np.abs(off_diagonal) >= cut.threshold - 1e-9, off_diagonal, 0))


def test_a_dag_stays_as_it_is():
    W = np.triu(np.arange(25.0).reshape(5, 5), 1)
    cut = break_cycles(W)
    np.testing.assert_array_equal(cut.weights, W)
    assert cut.threshold == 0.0


def test_required_edges_survive_and_tiers_hold():
    names = ["a", "b", "c", "d"]
    known = Constraints(required_edges=[("a", "b")], tiers=[["c"], ["d"]]).bind(names)
    W = np.zeros((4, 4))
    W[0, 1] = 0.01  # required, and the weakest of the cycle a → b → c → a
    W[1, 2], W[2, 0] = 0.5, 0.4
    W[3, 0] = 0.7  # d → a → b → c runs against the tiers
    cut = break_cycles(W, constraints=known)
    assert known.respects(cut.order)
    kept = sorted(zip(*(part.tolist() for part in np.nonzero(cut.weights)), strict=True))
    assert kept == [(0, 1), (3, 0)]
    assert cut.threshold == pytest.approx(0.5)
