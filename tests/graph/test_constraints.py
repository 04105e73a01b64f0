"""Constraints: what they allow, the orders that respect them, and contradictions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psidag import Constraints, InputError
from psidag.graph.order import check_order, order_change, order_mask, topological_order
from support.knowledge import knowledge


@given(knowledge(), st.permutations(range(6)))
def test_the_nearest_order_respects_the_constraints(known, order):
    bound = known.bind([str(v) for v in range(6)])
    nearest = bound.nearest_order(np.array(order))
    assert bound.respects(nearest)
    assert sorted(nearest) == list(range(6))
    if bound.respects(np.array(order)):
        assert nearest.tolist() == list(order)


@given(knowledge())
def test_what_is_allowed(known):
    bound = known.bind([str(v) for v in range(6)])
    allowed = bound.allowed()
    assert not allowed.diagonal().any()
    assert all(allowed[i, j] for i, j in known.required_edges)
    assert not any(allowed[i, j] for i, j in known.forbidden_edges)
    assert not any(allowed[late, early] for early in known.tiers[0] for late in known.tiers[1])


@pytest.mark.parametrize(
    ("known", "message"),
    [
        (Constraints([("a", "b"), ("b", "c"), ("c", "a")]), "contradict each other: .*-> .*->"),
        (Constraints([("a", "b")], [("a", "b")]), "'a' -> 'b' is both required and forbidden"),
        (Constraints([("c", "b"), ("b", "a")], tiers=[["a"], ["c"]]), r"contradict each other: .*\(tiers\)"),
        (Constraints([("a", "nobody")]), "'nobody', which is not a column"),
        (Constraints([("a", 7)]), "column 7, but there are only columns 0..2"),
        (Constraints(forbidden_edges=[("a", "a")]), "from 'a' to itself"),
        (Constraints(tiers=[["a"], ["b", "a"]]), "'a' stands in tier 0 and in tier 1"),
    ],
)
def test_contradictions_name_the_culprit(known, message):
    with pytest.raises(InputError, match=message):
        known.bind(["a", "b", "c"])


def test_an_unlisted_variable_does_not_carry_a_cause_back_in_time():
    bound = Constraints(tiers=[["early"], ["late"]]).bind(["early", "free", "late"])
    assert not bound.respects(np.array([2, 1, 0]))
    assert bound.respects(np.array([1, 0, 2]))


@given(st.permutations(range(7)))
def test_the_mask_of_an_order_is_a_full_dag(order):
    order = np.array(order)
    mask = order_mask(order)
    assert mask.sum() == 7 * 6 // 2
    assert topological_order(mask).tolist() == order.tolist()
    assert order_change(order, order) == 0
    assert order_change(order, order[::-1]) == 1


def test_a_cycle_is_printed():
    with pytest.raises(InputError, match="the graph has a cycle: ") as caught:
        topological_order([[0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, 0], [0, 1, 0, 0]])
    cycle = caught.value.cycle
    assert cycle[0] == cycle[-1]
    assert set(cycle) == {0, 1, 2}


@pytest.mark.parametrize("order", [[0, 1], [0, 1, 1], [0, 1, 3], [0.0, 1.0, 2.0], [[0, 1, 2]]])
def test_an_order_that_is_no_permutation(order):
    with pytest.raises(InputError, match="order"):
        check_order(order, 3)
