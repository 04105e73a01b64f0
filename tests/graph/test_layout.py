"""Where vertices stand: laws that any drawing by causal order keeps."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from psidag import DAG
from psidag.graph.layout import layered
from psidag.simulate import simulate
from support.random_dags import dags


@given(st.integers(1, 9).flatmap(dags))
def test_edges_point_to_the_right_and_nobody_shares_a_place(matrix):
    dag = DAG.from_weights(matrix)
    place = layered(dag)
    rows, cols = dag.weights.nonzero()
    assert (place.layer[rows] < place.layer[cols]).all()
    assert (place.x[rows] < place.x[cols]).all()
    points = np.column_stack([place.x, place.y])
    apart = np.abs(points[:, None] - points[None]).max(axis=2)[~np.eye(dag.d, dtype=bool)]
    assert (apart > 0.1).all()
    alone = (matrix.sum(axis=0) == 0) & (matrix.sum(axis=1) == 0)
    assert (place.layer[alone] == -1).all()
    if alone.any() and not alone.all():
        assert place.y[alone].min() > place.y[~alone].max()


def crossings(dag, place):
    rows, cols = dag.weights.nonzero()
    near = place.layer[cols] - place.layer[rows] == 1
    ends = np.column_stack([place.layer[rows], place.y[rows], place.y[cols]])[near]
    first, second = ends[:, None], ends[None]
    same = first[..., 0] == second[..., 0]
    return int((same & ((first[..., 1] - second[..., 1]) * (first[..., 2] - second[..., 2]) < 0)).sum() // 2)


def test_sweeps_undo_crossings_that_need_not_be():
    names = [f"{side}{k}" for side in "ab" for k in range(6)]
    dag = DAG.from_edges([(f"a{k}", f"b{5 - k}") for k in range(6)], names=names)
    assert crossings(dag, layered(dag)) == 0


def test_fewer_crossings_than_by_chance():
    dag = simulate("ER2", d=80, n=2, seed=0).dag
    place = layered(dag)
    shuffled = place._replace(y=np.random.default_rng(0).permutation(place.y))
    assert crossings(dag, place) < 0.6 * crossings(dag, shuffled)


def test_full_layers_are_staggered_and_edges_still_point_to_the_right():
    dag = DAG.from_edges([(f"a{k}", f"b{k % 7}") for k in range(100)])
    place = layered(dag)
    rows, cols = dag.weights.nonzero()
    assert len(np.unique(place.x[place.layer == 0])) > 5
    assert (place.x[rows] < place.x[cols]).all()


def test_the_same_graph_is_laid_out_the_same():
    dag = simulate("SF2", d=60, n=2, seed=3).dag
    first, second = layered(dag), layered(dag)
    assert first.bends == second.bends
    assert all(np.array_equal(a, b) for a, b in zip(first[:3], second[:3], strict=True))


def test_time_runs_from_left_to_right():
    edges = [("a[t-2]", "b"), ("a[t-1]", "b"), ("b[t-1]", "a"), ("a", "b"), ("b[t-2]", "b")]
    dag = DAG.from_edges(edges)
    x = dict(zip(dag.names, layered(dag).x.tolist(), strict=True))
    assert x["a[t-2]"] == x["b[t-2]"] < x["a[t-1]"] == x["b[t-1]"] < x["a"] < x["b"]
    # Against time there is no such picture; every edge still points to the right.
    odd = DAG.from_edges([("a", "a[t-1]"), ("a[t-1]", "b")])
    place = layered(odd)
    rows, cols = odd.weights.nonzero()
    assert (place.x[rows] < place.x[cols]).all()
