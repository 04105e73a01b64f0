"""Interventional equivalence against its definition, for all small graphs."""

from itertools import combinations, product

import numpy as np
import pytest

from psidag import InputError
from psidag.graph.constraints import Constraints
from psidag.graph.dag import DAG
from psidag.graph.interventional import Settings, interventional_class, interventional_shd


def all_dags(d):
    pairs = list(combinations(range(d), 2))
    for marks in product((0, 1, 2), repeat=len(pairs)):
        A = np.zeros((d, d))
        for (i, j), mark in zip(pairs, marks, strict=True):
            if mark:
                A[(i, j) if mark == 1 else (j, i)] = 1
        reach = np.linalg.matrix_power(A + np.eye(d), d)
        if not np.any((reach > 0) & (reach.T > 0) & ~np.eye(d, dtype=bool)):
            yield A


def skeleton_and_colliders(A):
    joined = (A + A.T) > 0
    d = len(A)
    colliders = {
        (i, j, k) for j in range(d) for i, k in combinations(range(d), 2) if A[i, j] and A[k, j] and not joined[i, k]
    }
    return joined.tobytes(), frozenset(colliders)


def perfect(A, settings):
    """Skeleton and colliders of the graph under each intervention, in which nothing points at what is set."""
    keys = []
    for setting in settings:
        cut = A.copy()
        cut[:, list(setting)] = 0
        keys.append(skeleton_and_colliders(cut))
    return tuple(keys)


def soft(A, settings):
    """Skeleton and colliders of the graph with a further node for each intervention that points at what it sets."""
    d, more = len(A), [setting for setting in settings if setting]
    whole = np.zeros((d + len(more), d + len(more)))
    whole[:d, :d] = A
    for k, setting in enumerate(more):
        whole[d + k, list(setting)] = 1
    return skeleton_and_colliders(whole)


@pytest.mark.parametrize("kind", [perfect, soft])
@pytest.mark.parametrize(
    "settings", [[()], [(), (0,)], [(), (0, 1)], [(), (0, 1), (1, 2)], [(), (0,), (1,), (2,), (3,)]]
)
def test_the_class_is_what_all_equivalent_graphs_agree_on(kind, settings):
    d = 4
    classes = {}
    for A in all_dags(d):
        classes.setdefault(kind(A, settings), []).append(A)
    for members in list(classes.values())[::3]:
        agreed = np.minimum(1, np.sum(members, axis=0))
        found = interventional_class(DAG.from_weights(members[0]), Settings(settings, d, soft=kind is soft))
        np.testing.assert_array_equal(found.to_matrix().toarray(), agreed)


def test_reasons_and_what_follows():
    dag = DAG.from_edges([("a", "b"), ("b", "c"), ("x", "y"), ("z", "y")])
    graph = interventional_class(dag, Settings([(), (dag.index("a"),)], dag.d))
    assert graph.because("x", "y") == "collider"
    assert graph.because("a", "b") == graph.because("b", "c") == "intervention"
    assert graph.evidence("b", "c").derived
    assert not graph.evidence("a", "b").derived


def test_knowledge_goes_first():
    dag = DAG.from_edges([("a", "b"), ("b", "c")])
    known = Constraints(required_edges=[("a", "b")]).bind(dag.names)
    graph = interventional_class(dag, Settings([(), (0,)], 3), known)
    assert graph.because("a", "b") == "knowledge"


def test_shifts_without_controls_need_a_condition_that_leaves_both_alone():
    conditions = [(0,), (1,)]
    assert Settings(conditions, 3).tells(0, 1)
    assert not Settings(conditions, 3, soft=True).tells(0, 1)
    assert Settings([*conditions, (2,)], 3, soft=True).tells(0, 1)


def test_distance_of_classes():
    one, other = DAG.from_edges([("a", "b")]), DAG.from_edges([("b", "a")], names=["a", "b"])
    assert interventional_shd(one, other, [()]) == 0
    assert interventional_shd(one, other, [(), ("a",)]) == 1
    assert interventional_shd(one, other, [(), ("a", "b")]) == 0
    with pytest.raises(InputError, match="outside of the 2"):
        interventional_shd(one, other, [(5,)])
