"""Moments of the rows that tell about a node, against the rows themselves."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psidag import InputError
from psidag.data.conditions import Conditions
from psidag.data.interventions import Interventions

NAMES = tuple("abcde")
LABELS = [None, "a", ("a", "c"), "d", None, "c"]


def rows(seed=0, n=60):
    rng = np.random.default_rng(seed)
    return rng.normal(1e3, size=(n, 5)) @ rng.normal(size=(5, 5)), LABELS * (n // 6)


def free_rows(labels, node):
    return np.array([label is None or NAMES[node] not in label for label in labels])


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize("node", range(5))
def test_rows_in_which_a_node_was_set_do_not_count_for_it(node):
    X, labels = rows()
    data = Conditions.from_rows(X, Interventions(labels).bind(NAMES))
    free = free_rows(labels, node)
    columns = np.array([1, 4, node] if node not in (1, 4) else [0, 2, node])
    assert data.count(node) == free.sum()
    close(data.covariance(node, columns), np.cov(X[free][:, columns].T, bias=True))
    close(data.free_mean(node, columns), X[free][:, columns].mean(axis=0))


def test_shifted_rows_have_a_mean_of_their_own():
    X, labels = rows()
    data = Conditions.from_rows(X, Interventions(labels, kind="shift").bind(NAMES))
    free = free_rows(labels, 0)
    centred = X.copy()
    for part in (free, ~free):
        centred[part] -= centred[part].mean(axis=0)
    assert data.count(0) == len(X)
    close(data.covariance(0, np.arange(5)), centred.T @ centred / len(X))


@pytest.mark.parametrize("kind", ["perfect", "shift"])
def test_batches_have_means_of_their_own(kind):
    X, labels = rows()
    batch = np.arange(len(X)) % 4 // 2
    X = X + 50.0 * batch[:, None]
    data = Conditions.from_rows(X, Interventions(labels, kind=kind, batch=batch).bind(NAMES))
    for node in range(5):
        free = free_rows(labels, node)
        centred = X.copy()
        groups = [(batch == b) & side for b in (0, 1) for side in (free, ~free)]
        for part in groups:
            centred[part] -= centred[part].mean(axis=0) if part.any() else 0.0
        kept = centred if kind == "shift" else centred[free]
        close(data.covariance(node, np.arange(5)), kept.T @ kept / len(kept))


def test_weights_are_numbers_of_rows():
    X, labels = rows()
    times = np.random.default_rng(1).integers(0, 3, size=len(X))
    weighted = Conditions.from_rows(X, Interventions(labels).bind(NAMES), times.astype(float))
    repeated = Conditions.from_rows(
        np.repeat(X, times, axis=0),
        Interventions([label for label, k in zip(labels, times, strict=True) for _ in range(k)]).bind(NAMES),
    )
    for node in range(5):
        assert weighted.count(node) == repeated.count(node)
        close(weighted.covariance(node, np.arange(5)), repeated.covariance(node, np.arange(5)))


@given(cut=st.integers(1, 59), large=st.booleans(), seed=st.integers(0, 20))
def test_the_statistics_of_two_parts_merge(cut, large, seed):
    X, labels = rows(seed)
    if large:  # a condition with more rows than its moments take
        X, labels = np.tile(X, (3, 1)), labels * 3
    whole = Conditions.from_rows(X, Interventions(labels).bind(NAMES))
    parts = [
        Conditions(NAMES).update(X[part], Interventions(labels[part]).bind(NAMES))
        for part in (slice(cut), slice(cut, None))
    ]
    merged = parts[0].merge(parts[1])
    assert merged.settings == whole.settings
    for node in range(5):
        assert merged.count(node) == whole.count(node)
        close(merged.covariance(node, np.arange(5)), whole.covariance(node, np.arange(5)))
        close(merged.free_mean(node, np.arange(5)), whole.free_mean(node, np.arange(5)))


def test_conditions_can_be_left_out_again():
    X, labels = rows()
    whole = Conditions.from_rows(X, Interventions(labels).bind(NAMES))
    left = whole.without([(0,), (0, 2)])
    kept = np.array([label in (None, "d", "c") for label in labels])
    few = Conditions.from_rows(
        X[kept], Interventions([label for label in labels if label in (None, "d", "c")]).bind(NAMES)
    )
    assert left.settings == few.settings
    for node in range(5):
        close(left.covariance(node, np.arange(5)), few.covariance(node, np.arange(5)))


def test_means_of_conditions():
    X, labels = rows()
    found = Conditions.from_rows(X, Interventions(labels).bind(NAMES)).means()
    assert [each.setting for each in found] == [(), (0,), (0, 2), (2,), (3,)]
    for each in found:
        meant = [k for k, label in enumerate(labels) if tuple(NAMES[j] for j in each.setting) == tuple(label or ())]
        assert each.n == len(meant)
        close(each.mean, X[meant].mean(axis=0))
        np.testing.assert_allclose(each.variance, X[meant].var(axis=0), rtol=1e-5)


def test_rows_are_not_written_to_and_their_order_is_of_no_importance():
    X, labels = rows()
    before = X.copy()
    shuffled = np.random.default_rng(1).permutation(len(X))
    one = Conditions.from_rows(X, Interventions(labels).bind(NAMES))
    other = Conditions.from_rows(X[shuffled], Interventions([labels[k] for k in shuffled]).bind(NAMES))
    close(one.covariance(2, np.arange(5)), other.covariance(2, np.arange(5)))
    np.testing.assert_array_equal(X, before)


def test_other_columns_do_not_merge():
    with pytest.raises(InputError, match="cannot be merged"):
        Conditions(NAMES).merge(Conditions(NAMES, "shift"))


def held(weight=None):
    """Two rows of one target, and so many of another that their moments are kept."""
    X = np.random.default_rng(0).normal(size=(40, 5))
    labels = Interventions([None] * 8 + ["b"] * 2 + [("a", "c")] * 30).bind(NAMES)
    return Conditions(NAMES).update(X, labels, weight)


@pytest.mark.parametrize("weighted", [False, True])
def test_what_is_stored_is_restored(weighted):
    data = held(np.arange(1.0, 41.0) if weighted else None)
    head, arrays = data.stored()
    assert {"rows0", "scatter1"} <= set(arrays)
    again = Conditions.restored(NAMES, json.loads(json.dumps(head)), arrays)
    everything = np.arange(5)
    for node in range(5):
        assert again.count(node) == data.count(node)
        np.testing.assert_array_equal(again.covariance(node, everything), data.covariance(node, everything))


@pytest.mark.parametrize(
    "change",
    [
        lambda head, arrays: head.update(kind="magic"),
        lambda head, arrays: head.pop("batches"),
        lambda head, arrays: head.update(batches=[[None, -1.0]]),
        lambda head, arrays: head.update(batches=[["other", 40.0]]),
        lambda head, arrays: head["parts"][0].__setitem__(0, [5]),
        lambda head, arrays: head["parts"][0].__setitem__(0, []),
        lambda head, arrays: head["parts"][1].__setitem__(0, [2, 0]),
        lambda head, arrays: head["parts"][1].__setitem__(2, float("nan")),
        lambda head, arrays: arrays.pop("rows0"),
        lambda head, arrays: arrays.update(rows0=np.ones((2, 4))),
        lambda head, arrays: arrays.update(scatter1=np.full((5, 5), np.nan)),
    ],
)
def test_what_is_no_statistic_is_not_restored(change):
    head, arrays = held().stored()
    change(head, arrays)
    with pytest.raises((ValueError, KeyError)):
        Conditions.restored(NAMES, head, arrays)
