"""Metrics against hand-worked examples, the counts of the paper, definitions and gadjid."""

import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from psidag.graph.comparison import Comparison, adjustment_distances, compare_graphs
from psidag.graph.dag import DAG
from psidag.graph.equivalence import cpdag
from psidag.graph.metrics import (
    EdgeErrors,
    cpdag_shd,
    edge_errors,
    heldout_gap,
    order_errors,
    relative_gap,
    shd,
    squared_loss,
    weight_error,
)
from psidag.graph.order import CycleError
from psidag.simulate import erdos_renyi, random_weights, scale_free, simulate
from psidag.system.errors import InputError
from support.random_dags import dags, graph

# edges

TRUTH = graph(4, (0, 1), (0, 2), (1, 3), (2, 3))

CASES = {
    "itself": (TRUTH, EdgeErrors(4, 0, 0, 0, 4)),
    "nothing": (graph(4), EdgeErrors(0, 4, 0, 0, 4)),
    "one of each": (graph(4, (0, 1), (2, 0), (1, 3), (1, 2)), EdgeErrors(2, 1, 1, 1, 4)),
    "all reversed": (TRUTH.T, EdgeErrors(0, 0, 0, 4, 4)),
    "an undirected edge": (TRUTH + graph(4, (1, 0)), EdgeErrors(3, 0, 0, 1, 4)),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.coo_matrix, sp.csc_array])
def test_hand_worked_edge_errors(name, form):
    learned, expected = CASES[name]
    assert edge_errors(form(TRUTH), form(learned)) == expected


def test_rates_of_a_hand_worked_example():
    errors = edge_errors(TRUTH, CASES["one of each"][0])
    assert errors.shd == 3
    assert errors.skeleton_errors == 2
    assert errors.tpr == 0.5
    assert errors.fpr == 2 / (6 - 4)
    assert errors.fdr == errors.precision == 0.5
    assert errors.f1 == 0.5


def test_rates_with_nothing_to_divide_by():
    nothing, full = graph(3), graph(3, (0, 1), (0, 2), (1, 2))
    both_empty = edge_errors(nothing, nothing)
    assert (both_empty.tpr, both_empty.fpr, both_empty.fdr, both_empty.f1) == (1, 0, 0, 1)
    assert edge_errors(full, nothing).precision == 1
    assert edge_errors(full, full).fpr == 0
    assert edge_errors(nothing, full).tpr == 1
    assert edge_errors(nothing, full).f1 == 0


@pytest.mark.parametrize(
    ("method", "found", "edges", "published_shd", "published_tpr", "published_fpr"),
    [
        ("GOLEM", 5, 23, 26, 0.294, 0.47),
        ("NOTEARS", 5, 15, 15, 0.294, 0.26),
        ("psiDAG", 7, 14, 14, 0.411, 0.18),
    ],
)
def test_the_sachs_table_of_the_paper_follows_from_its_counts(
    method, found, edges, published_shd, published_tpr, published_fpr
):
    # 17 true edges, 11 variables. SHD = missing + extra + reversed = (17 - found) + extra gives the split.
    extra = published_shd - (17 - found)
    turned = edges - found - extra
    errors = EdgeErrors(correct=found, missing=17 - found - turned, extra=extra, reversed=turned, d=11)
    assert min(errors) >= 0
    assert (errors.true_edges, errors.learned_edges, errors.shd) == (17, edges, published_shd)
    assert errors.tpr == pytest.approx(published_tpr, abs=1e-3)
    assert errors.fpr == pytest.approx(published_fpr, abs=6e-3)


@given(st.integers(2, 7).flatmap(lambda d: st.tuples(dags(d), dags(d), dags(d))))
@settings(max_examples=80, deadline=None)
def test_shd_is_a_metric(three):
    a, b, c = three
    assert (shd(a, b) == 0) == np.array_equal(a, b)
    assert shd(a, b) == shd(b, a)
    assert shd(a, c) <= shd(a, b) + shd(b, c)
    # The definition by dense matrices: pairs whose two entries are not both the same.
    differs = (a != b) | (a.T != b.T)
    assert shd(a, b) == np.triu(differs).sum()


@given(st.integers(2, 8).flatmap(lambda d: st.tuples(dags(d), dags(d), st.permutations(range(d)))))
@settings(max_examples=50, deadline=None)
def test_relabelling_both_graphs_changes_nothing(case):
    a, b, label = case
    label = np.ix_(label, label)
    assert edge_errors(a, b) == edge_errors(a[label], b[label])
    assert cpdag_shd(a, b) == cpdag_shd(a[label], b[label])


def test_graphs_that_cannot_be_compared():
    with pytest.raises(InputError, match="3 and 4 vertices"):
        shd(graph(3), graph(4))
    with pytest.raises(InputError, match="itself"):
        shd(graph(3), np.eye(3))
    a = DAG.from_weights(graph(2, (0, 1)), names=["a", "b"])
    b = DAG.from_weights(graph(2, (1, 0)), names=["b", "a"])
    with pytest.raises(InputError, match="different order"):
        shd(a, b)
    assert shd(a, DAG.from_weights(graph(2, (1, 0)))) == 1


# order, weights, loss


def test_order_errors():
    assert order_errors(TRUTH, [0, 1, 2, 3]) == 0
    assert order_errors(TRUTH, [3, 1, 2, 0]) == 4
    assert order_errors(TRUTH, [0, 3, 2, 1]) == 2
    with pytest.raises(InputError):
        order_errors(TRUTH, [0, 1, 2])


def test_weight_error_counts_missing_edges_as_zero():
    truth = np.array([[0, 3.0, 4.0], [0, 0, 0], [0, 0, 0]])
    assert weight_error(truth, truth) == 0
    assert weight_error(truth, np.zeros((3, 3))) == pytest.approx(np.sqrt(25 / 2))
    assert weight_error(truth, truth + graph(3, (1, 2))) == 0
    assert weight_error(np.zeros((3, 3)), truth) == 0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_loss_is_its_definition(dtype, monkeypatch):
    problem = simulate("ER2", n=300, d=12, seed=0, noise="exponential", dtype=dtype)
    W, X = problem.dag.to_dense(), problem.X.astype(float)
    mean = X.mean(axis=0)
    monkeypatch.setattr("psidag.graph.metrics._BLOCK", 12 * 37)

    def by_hand(rows, shift=0.0):
        return 0.5 * np.mean(np.sum((rows - rows @ W - shift) ** 2, axis=1))

    assert squared_loss(problem.dag, problem.X) == pytest.approx(by_hand(X))
    assert squared_loss(W, problem.X, mean=mean) == pytest.approx(by_hand(X - mean))
    intercept = mean - mean @ W
    assert squared_loss(W, problem.X, intercept=intercept) == pytest.approx(by_hand(X, intercept))
    assert squared_loss(W, problem.X, intercept=intercept) == pytest.approx(by_hand(X - mean))


def test_loss_refuses_what_does_not_fit():
    X = np.zeros((5, 4))
    for wrong in (
        lambda: squared_loss(TRUTH, X[:, :3]),
        lambda: squared_loss(TRUTH, X[:0]),
        lambda: squared_loss(TRUTH, X, mean=np.zeros(3)),
        lambda: squared_loss(TRUTH, X, mean=np.zeros(4), intercept=np.zeros(4)),
        lambda: compare_graphs(TRUTH, TRUTH, mean=np.zeros(4)),
    ):
        with pytest.raises(InputError):
            wrong()


def test_gap():
    problem = simulate("ER2", n=1000, d=10, seed=0)
    assert heldout_gap(problem.dag, problem.dag, problem.X) == 0
    assert heldout_gap(problem.dag, np.zeros((10, 10)), problem.X) > 0
    assert relative_gap(3.0, 2.0) == 0.5
    assert relative_gap(0.0, 0.0) == 0
    assert relative_gap(1.0, 0.0) == np.inf


# gadjid


@given(st.integers(2, 8).flatmap(lambda d: st.tuples(dags(d), dags(d))))
@settings(max_examples=40, deadline=None)
def test_agrees_with_gadjid(case):
    gadjid = pytest.importorskip("gadjid")
    a, b = (matrix.astype(np.int8) for matrix in case)
    assert shd(a, b) == gadjid.shd(a, b)[1]

    def coded(matrix):  # gadjid writes an undirected edge as 2
        found = cpdag(matrix).toarray()
        return (found + (found & found.T)).astype(np.int8)

    assert cpdag_shd(a, b) == gadjid.shd(coded(a), coded(b))[1]


def test_adjustment_distances():
    pytest.importorskip("gadjid")
    chain = graph(3, (0, 1), (1, 2))
    assert set(adjustment_distances(chain, chain).values()) == {0.0}
    turned = adjustment_distances(chain, chain.T)
    assert set(turned) == {"ancestor_aid", "oset_aid", "parent_aid"}
    assert all(0 < share <= 1 for share in turned.values())
    assert compare_graphs(chain, chain.T, adjustment=True)["parent_aid"] == turned["parent_aid"]


def test_adjustment_distances_say_what_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "gadjid", None)
    with pytest.raises(InputError, match="gadjid"):
        compare_graphs(TRUTH, TRUTH, adjustment=True)


# the comparison


def test_comparison_is_a_mapping_that_prints():
    problem = simulate("SF2", n=200, d=15, seed=0, n_test=300)
    learned = random_weights(erdos_renyi(15, 1, rng=3), rng=4)
    found = compare_graphs(problem.dag, learned, X_test=problem.X_test, mean=problem.X.mean(axis=0))
    assert isinstance(found, Comparison)
    assert dict(found) == {key: found[key] for key in found}
    assert list(pd.DataFrame([found]).columns) == list(found)
    assert pd.Series(found)["shd"] == found["shd"]
    errors = edge_errors(problem.dag, learned)
    assert found["shd"] == errors.shd == found["missing"] + found["extra"] + found["reversed"]
    assert found["recall"] == found["tpr"]
    assert found["order_errors"] == order_errors(problem.dag, learned.order)
    assert found["gap"] == pytest.approx((found["loss"] - found["true_loss"]) / found["true_loss"])
    text = str(found)
    assert len(text.splitlines()) == len(found)
    assert "a reversed edge counts once" in text
    assert "(reversed + extra) / (d(d-1)/2 - true edges)" in text


def test_comparison_with_a_topology_leaves_weights_out():
    X = np.random.default_rng(0).normal(size=(20, 4))
    found = compare_graphs(TRUTH, TRUTH, X_test=X, weighted=False)
    assert "loss" in found
    assert not {"gap", "true_loss", "weight_error"} & set(found)


def test_comparison_needs_a_dag():
    with pytest.raises(CycleError):
        compare_graphs(TRUTH, TRUTH + TRUTH.T)


def test_inputs_stay_as_they_are():
    a, b = TRUTH.copy(), sp.csr_array(TRUTH.T)
    before = b.copy()
    compare_graphs(a, b)
    assert np.array_equal(a, TRUTH)
    assert (b != before).nnz == 0


@pytest.mark.slow
def test_a_hundred_thousand_vertices():
    truth = random_weights(scale_free(100_000, 2, rng=0), rng=0)
    learned = random_weights(erdos_renyi(100_000, 2, rng=1), rng=1)
    found = compare_graphs(truth, learned)
    assert found["shd"] == found["missing"] + found["extra"] + found["reversed"]
    assert compare_graphs(truth, truth)["cpdag_shd"] == 0
