"""The score of experiments: equal to that of pooled rows without targets, and to plain formulas with them."""

import math

import numpy as np
import pytest

from psidag.data.conditions import Conditions
from psidag.data.interventions import Interventions
from psidag.scores.gaussian import EQUAL, UNEQUAL
from psidag.scores.nearly_equal import Prior
from psidag.scores.statistics import Pooled
from psidag.scores.targeted import TargetedScore

NAMES = tuple("abcde")
QUERIES = [(0, ()), (1, (0, 2)), (4, (0, 1, 2, 3)), (1, (0,)), (2, ())]


def rows(labels, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(5.0, size=(len(labels), 5)) @ rng.normal(size=(5, 5))


@pytest.mark.parametrize("score", [EQUAL, UNEQUAL])
def test_without_targets_it_is_the_score_of_all_rows(score):
    X = rows([None] * 60)
    variance = X.var(axis=0)
    targeted = TargetedScore(Conditions.from_rows(X, Interventions([None] * 60).bind(NAMES)), 5.0, score, variance)
    pooled = score.bind(Pooled(np.cov(X.T, bias=True), len(X)), 5.0, variance)
    for query, cost in zip(QUERIES, targeted.costs(QUERIES), strict=True):
        assert cost == pytest.approx(pooled.cost(*query))
        assert targeted.cost(*query) == pytest.approx(cost)


def test_by_the_formula_over_free_rows():
    labels = [None, "a", ("a", "c"), "d", None, "c"] * 20
    X = rows(labels)
    score = TargetedScore(Conditions.from_rows(X, Interventions(labels).bind(NAMES)), 5.0, UNEQUAL)
    for node, parents in QUERIES:
        free = X[[label is None or NAMES[node] not in label for label in labels]]
        design = np.column_stack([np.ones(len(free)), free[:, list(parents)]])
        left = free[:, node] - design @ np.linalg.lstsq(design, free[:, node], rcond=None)[0]
        expected = len(free) * math.log(left.var()) + 5.0 * len(parents)
        assert score.cost(node, parents) == pytest.approx(expected, rel=1e-6)


def test_prior_and_shape_add_what_they_add():
    labels = [None] * 300 + ["a"] * 50
    rng = np.random.default_rng(0)
    X = rng.exponential(size=(350, 5))
    targets = Interventions(labels).bind(NAMES)
    data = Conditions.from_rows(X, targets)
    plain = TargetedScore(data, 5.0, UNEQUAL)
    held = TargetedScore(data, 5.0, UNEQUAL, prior=Prior(0.0, 0.1, 0.01))
    variance = X[:300, 0].var()
    assert held.cost(0, ()) - plain.cost(0, ()) == pytest.approx(math.log(variance) ** 2 / 0.11)
    free = {j: X[:300] if j == 0 else X for j in range(5)}
    shaped = TargetedScore(data, 5.0, UNEQUAL, shaped=np.ones(5, bool), rows=lambda j, at: free[j][:, at])
    assert shaped.cost(0, ()) < plain.cost(0, ()) - 50


def test_promising_parents_are_those_that_pay():
    labels = [None] * 300 + ["b"] * 50
    rng = np.random.default_rng(0)
    X = rng.normal(size=(350, 5))
    X[:, 4] += 2 * X[:, 0]
    score = TargetedScore(Conditions.from_rows(X, Interventions(labels).bind(NAMES)), 8.0, UNEQUAL)
    assert score.promising(4, (), [0, 1, 2, 3]) == [0]
    assert score.promising(4, (0,), [1, 2, 3]) == []


def test_constant_and_collinear_columns():
    labels = [None] * 40 + ["a"] * 10
    X = rows(labels)
    X[:, 1] = 3.0
    X[:, 2] = X[:, 0]
    score = TargetedScore(Conditions.from_rows(X, Interventions(labels).bind(NAMES)), 5.0, UNEQUAL)
    costs = score.costs([(1, ()), (1, (0,)), (3, (0, 2)), (2, (0,)), (3, (1,))])
    assert np.isfinite(costs).all()


def test_rows_that_are_too_few_for_a_parent_tell_nothing():
    X = rows([None] * 60)
    X[:, 0] = X[:, 1]
    for free, most in ((3, 0), (4, 1), (11, 2)):
        labels = ["a"] * (60 - free) + [None] * free
        score = TargetedScore(Conditions.from_rows(X, Interventions(labels).bind(NAMES)), 5.0, UNEQUAL)
        alone = score.cost(0, ())
        for k in range(1, 5):
            cost = score.cost(0, tuple(range(1, k + 1)))
            assert cost < alone - 50 if k <= most else cost == pytest.approx(alone + 5.0 * k)
        assert score.promising(0, (), [1, 2]) == ([1] if most else [])
