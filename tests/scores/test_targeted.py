"""Moments of the rows that tell about a node, against the rows themselves."""

import numpy as np
import pytest

from psidag.data.interventions import Interventions
from psidag.scores.gaussian import UNEQUAL
from psidag.scores.statistics import Pooled
from psidag.scores.targeted import Targeted

NAMES = tuple("abcde")


def rows(seed=0, n=60):
    rng = np.random.default_rng(seed)
    labels = [None, "a", ("a", "c"), "d", None, "c"] * (n // 6)
    return rng.normal(1e3, size=(n, 5)) @ rng.normal(size=(5, 5)), labels


@pytest.mark.parametrize("node", range(5))
def test_rows_in_which_a_node_was_set_do_not_count_for_it(node):
    X, labels = rows()
    data = Targeted(X, Interventions(labels).bind(NAMES))
    free = np.array([label is None or NAMES[node] not in label for label in labels])
    columns = np.array([1, 4, node] if node not in (1, 4) else [0, 2, node])
    assert data.count(node) == free.sum()
    expected = np.cov(X[free][:, columns].T, bias=True)
    np.testing.assert_allclose(data.covariance(node, columns), expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max())


def test_shifted_rows_have_a_mean_of_their_own():
    X, labels = rows()
    data = Targeted(X, Interventions(labels, kind="shift").bind(NAMES))
    own = np.array([label is not None and "a" in label for label in labels])
    centred = X.copy()
    for part in (own, ~own):
        centred[part] -= centred[part].mean(axis=0)
    assert data.count(0) == len(X)
    expected = centred.T @ centred / len(X)
    np.testing.assert_allclose(data.covariance(0, np.arange(5)), expected, rtol=1e-8, atol=1e-8 * expected.max())


def test_without_targets_nothing_changes():
    X, _ = rows()
    targeted = UNEQUAL.bind(Targeted(X, Interventions([None] * len(X)).bind(NAMES)), 5.0, np.ones(5))
    pooled = UNEQUAL.bind(Pooled(np.cov(X.T, bias=True), len(X)), 5.0, np.ones(5))
    for node, parents in ((0, ()), (1, (0, 2)), (4, (0, 1, 2, 3))):
        assert targeted.cost(node, parents) == pytest.approx(pooled.cost(node, parents))


def test_the_order_of_rows_is_of_no_importance():
    X, labels = rows()
    shuffled = np.random.default_rng(1).permutation(len(X))
    one = Targeted(X, Interventions(labels).bind(NAMES))
    other = Targeted(X[shuffled], Interventions([labels[k] for k in shuffled]).bind(NAMES))
    np.testing.assert_allclose(one.covariance(2, np.arange(5)), other.covariance(2, np.arange(5)), rtol=1e-9)
