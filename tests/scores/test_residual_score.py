"""Scores of residuals against plain NumPy, and what they promise about units, ties and collinear columns."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psidag.data.correlations import Correlations, correlations
from psidag.data.ingest import as_source
from psidag.scores.nearly_equal import Prior, estimate_prior
from psidag.scores.residual_score import ResidualScore, Sample
from psidag.scores.shape import EVEN_FACTOR, EVEN_MEAN, ODD_FACTOR, few_valued, negentropy, shape_p_values
from psidag.system.parallel import SERIAL


def table(seed, n=400, d=6):
    rng = np.random.default_rng(seed)
    return rng.gumbel(size=(n, d)) @ (np.eye(d) + np.triu(rng.normal(size=(d, d)), 1))


def in_numpy(X, price, node, parents, *, weight=None, prior=None, shape=True):
    """The specification."""
    w = np.ones(len(X)) if weight is None else weight
    n, Z = w.sum(), X - np.average(X, axis=0, weights=w)
    Z = Z / np.sqrt(np.average(Z**2, axis=0, weights=w))
    r = Z[:, node]
    if parents:
        P = Z[:, list(parents)]
        r = r - P @ np.linalg.solve((P * w[:, None]).T @ P, (P * w[:, None]).T @ r)
    v = np.average(r**2, weights=w)
    u = r / np.sqrt(v)
    cost = n * np.log(v) + price * len(parents)
    if shape:
        f, g = (np.average(values, weights=w) for values in (1 / (1 + u * u / 4), u / (1 + u * u / 4)))
        cost -= 2 * n * (EVEN_FACTOR * (f - EVEN_MEAN) ** 2 + ODD_FACTOR * g**2)
    if prior is not None:
        own = np.average((X[:, node] - np.average(X[:, node], weights=w)) ** 2, weights=w)
        cost += (np.log(v * own) - prior.centre) ** 2 / (prior.spread2 + prior.error2)
    return cost


def score_of(X, price=5.0, weight=None, **options):
    source = as_source(X, sample_weight=weight)
    return ResidualScore(Sample.of(correlations(source, SERIAL), X, weight), price, **options)


def all_queries(d):
    everyone = range(d)
    own = [(j, tuple(i for i in everyone if i != j)) for j in everyone]
    fewer = [(j, parents[:k] + parents[k + 1 :]) for j, parents in own for k in range(len(parents))]
    return own + fewer + [(j, (i,)) for j in everyone for i in everyone if i != j] + [(j, ()) for j in everyone]


@pytest.mark.parametrize("shape", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("prior", [None, Prior(0.3, 0.1, 0.01)])
def test_costs_are_those_of_numpy(shape, weighted, prior):
    X = table(0)
    weight = np.random.default_rng(1).uniform(0.5, 2, len(X)) if weighted else None
    score = score_of(X, weight=weight, prior=prior, shaped=np.full(6, shape))
    queries = all_queries(6)
    wanted = [in_numpy(X, 5.0, *query, weight=weight, prior=prior, shape=shape) for query in queries]
    assert np.allclose(score.costs(queries), wanted, atol=2e-2 if shape else 1e-6)
    assert score.cost(*queries[3]) == pytest.approx(score.costs(queries)[3], abs=1e-6)


def test_single_precision_rows_give_nearly_the_same():
    X = table(2)
    data = correlations(as_source(X), SERIAL)
    rows = ((X - data.mean) / data.sd / math.sqrt(len(X))).T.astype(np.float32)
    single = Correlations(data.count, data.mean, data.sd, None, np.ascontiguousarray(rows))
    shaped = np.ones(6, bool)
    scores = [ResidualScore(Sample.of(each, X), 5.0, shaped=shaped) for each in (data, single)]
    assert np.allclose(*(score.costs(all_queries(6)) for score in scores), atol=0.1)


@given(st.lists(st.floats(-6, 6), min_size=6, max_size=6))
@settings(max_examples=20, deadline=None)
def test_differences_of_costs_do_not_depend_on_units(exponents):
    X, units = table(3), 10.0 ** np.array(exponents)
    shaped = np.ones(6, bool)
    mine, theirs = (score_of(each, shaped=shaped).costs(all_queries(6)) for each in (X, X * units))
    assert np.allclose(mine, theirs, atol=0.05)


def test_collinear_and_constant_columns_cost_a_finite_number():
    X = table(4)
    X[:, 3] = X[:, 2]
    X[:, 4] = 7.0
    X[:, 5] = X[:, 0] + X[:, 1]
    assert np.isfinite(score_of(X, shaped=np.ones(6, bool)).costs(all_queries(6))).all()


def test_only_what_explains_something_is_promising():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(500, 4))
    X[:, 3] += X[:, 0] + X[:, 1]
    score = score_of(X)
    assert score.promising(3, (), [0, 1, 2]) == [0, 1]
    assert score.promising(3, (0,), [1, 2]) == [1]


def test_parents_that_explain_nothing_are_idle_the_least_first():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(500, 4))
    X[:, 3] += X[:, 0] + 0.05 * X[:, 1]
    score = score_of(X)
    assert score.idle(3, (0,)) == []
    idle = score.idle(3, (0, 1, 2))
    assert set(idle) <= {1, 2}
    gain = {i: score.cost(3, tuple(p for p in (0, 1, 2) if p != i)) - score.cost(3, (0, 1, 2)) for i in idle}
    assert idle == sorted(idle, key=gain.get)
    assert 2 in idle


def test_too_many_parents_cost_infinitely_much():
    assert score_of(table(6), max_parents=1).cost(0, (1, 2)) == math.inf


def test_the_shape_of_a_node_does_not_speak_for_a_direction_to_a_column_without_one():
    rng = np.random.default_rng(7)
    choice = rng.integers(2, size=2000).astype(float)
    X = np.column_stack([choice, 2 * choice + rng.gumbel(size=2000)])
    shaped = ~few_valued(X)
    assert shaped.tolist() == [False, True]
    score, plain = score_of(X, shaped=shaped, apart={1: (0,)}), score_of(X)
    turned = score.cost(1, ()) + score.cost(0, (1,)) - score.cost(1, (0,)) - score.cost(0, ())
    of_variance = plain.cost(1, ()) + plain.cost(0, (1,)) - plain.cost(1, (0,)) - plain.cost(0, ())
    assert turned == pytest.approx(of_variance, abs=1e-6)


def test_the_constants_of_the_entropy_are_those_of_a_gaussian():
    z = np.linspace(-14, 14, 400001)
    p = np.exp(-z * z / 2) / np.sqrt(2 * np.pi) * (z[1] - z[0])
    f = 1 / (1 + z * z / 4)
    mean = p @ f
    left = p @ f**2 - mean**2 - (p @ (f * (z * z - 1))) ** 2 / 2
    left_odd = p @ (z * f) ** 2 - (p @ (z * z * f)) ** 2
    assert (mean, 1 / (2 * left), 1 / (2 * left_odd)) == pytest.approx((EVEN_MEAN, EVEN_FACTOR, ODD_FACTOR), rel=1e-6)


def test_p_values_of_gaussian_noise_are_uniform():
    u = np.random.default_rng(8).normal(size=(2000, 400))
    u = (u - u.mean(axis=1, keepdims=True)) / u.std(axis=1, keepdims=True)
    f = 1 / (1 + u * u / 4)
    p = shape_p_values(negentropy(f.mean(axis=1), (u * f).mean(axis=1)), 400)
    assert [np.mean(p < level) for level in (0.05, 0.5)] == pytest.approx([0.05, 0.5], abs=0.04)


@pytest.mark.parametrize(
    ("column", "few"),
    [
        (lambda rng: rng.normal(size=1000), False),
        (lambda rng: np.round(rng.normal(size=1000), 2), False),
        (lambda rng: rng.integers(2, size=1000), True),
        (lambda rng: rng.poisson(3, size=1000), True),
        (lambda rng: np.where(rng.random(1000) < 0.3, 0.0, rng.normal(size=1000)), True),
        (lambda rng: np.ones(1000), True),
        (lambda rng: rng.normal(size=20), False),
    ],
)
def test_columns_of_few_values_are_known(column, few):
    assert few_valued(np.asarray(column(np.random.default_rng(0)), float)[:, None]).tolist() == [few]


def test_a_prior_ignores_a_few_odd_columns():
    v = np.exp(np.random.default_rng(0).normal(0.5, 0.1, 200))
    v[:10] *= 1e6
    prior = estimate_prior(v, 10_000)
    assert prior.centre == pytest.approx(0.5, abs=0.05)
    assert math.sqrt(prior.spread2) == pytest.approx(0.1, abs=0.03)
    assert estimate_prior(np.zeros(3), 100).spread2 == math.inf
