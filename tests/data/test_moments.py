"""Moments: the laws of updating and merging, and the errors of a covariance that is none."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from psidag import InputError, Moments
from psidag.data.moments import gram
from psidag.system.parallel import workers

tables = hnp.arrays(
    np.float64, st.tuples(st.integers(2, 30), st.integers(1, 5)), elements=st.floats(-1e3, 1e3, width=32)
)


def same(a, b, scale=1.0):
    assert a.count == b.count
    np.testing.assert_allclose(a.mean, b.mean, atol=1e-9 * scale)
    np.testing.assert_allclose(a.scatter, b.scatter, atol=1e-6 * scale)


@given(tables, st.data())
def test_merging_any_split_gives_the_moments_of_the_whole(X, data):
    cut = data.draw(st.integers(0, len(X)))
    same(Moments.from_rows(X[:cut]).merge(Moments.from_rows(X[cut:])), Moments.from_rows(X))


@given(tables, st.integers(1, 7))
def test_updating_batch_by_batch_gives_the_moments_of_the_whole(X, size):
    moments = Moments(X.shape[1])
    for start in range(0, len(X), size):
        moments.update(X[start : start + size])
    same(moments, Moments.from_rows(X))


@given(tables, st.data())
def test_a_weight_is_a_number_of_copies(X, data):
    copies = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(X), max_size=len(X))))
    if copies.sum():
        same(Moments.from_rows(X, sample_weight=copies), Moments.from_rows(np.repeat(X, copies, axis=0)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_large_means_cost_no_digits(dtype, order):
    rng = np.random.default_rng(0)
    X = np.asarray(rng.normal(size=(5000, 3)) + np.array([1e6, -1e6, 0]), dtype=dtype, order=order)
    exact = np.cov(X.astype(np.longdouble).T.astype(np.float64) - np.array([[1e6], [-1e6], [0]]), bias=True)
    np.testing.assert_allclose(Moments.from_rows(X).covariance, exact, rtol=1e-9, atol=1e-9)


def test_merging_does_not_change_what_is_merged():
    X = np.random.default_rng(0).normal(size=(20, 3))
    a, b = Moments.from_rows(X[:5]), Moments.from_rows(X[5:])
    before = a.scatter.copy(), b.scatter.copy()
    a.merge(b)
    assert (a.scatter == before[0]).all()
    assert (b.scatter == before[1]).all()


def test_threads_do_not_change_a_bit_of_the_scatter():
    X = np.random.default_rng(0).normal(size=(300, 1100))
    results = []
    for jobs in (1, 2):
        with workers(jobs) as threads:
            results.append(gram(X, threads))
    assert (results[0] == results[1]).all()
    np.testing.assert_allclose(results[0], X.T @ X, atol=1e-10)


def test_products_in_single_precision_lose_digits_of_correlations_alone(monkeypatch):
    monkeypatch.setattr("psidag.data.moments._SINGLE_FROM", 600)
    rng = np.random.default_rng(0)
    X = ((rng.normal(size=(300, 600)) + 50) * np.exp(5 * rng.normal(size=600))).astype(np.float32)
    X[:, 1] = 3.0
    exact, results = Moments.from_rows(X), []
    for jobs in (1, 2):
        with workers(jobs) as threads:
            quick = Moments(600)
            for batch in (X[:100], X[100:]):
                quick.update(batch, workers=threads, quick=True)
        results.append(quick.scatter)
    assert quick.count == exact.count
    np.testing.assert_allclose(quick.mean, exact.mean, rtol=1e-12)
    np.testing.assert_allclose(quick.sd, exact.sd, rtol=1e-9)
    scale = np.sqrt(np.outer(np.diag(exact.scatter), np.diag(exact.scatter)))
    assert (np.abs(quick.scatter - exact.scatter) <= 1e-6 * scale).all()
    assert (results[0] == results[1]).all()


@pytest.mark.parametrize(
    ("covariance", "count", "message"),
    [
        ([[1, 2], [0, 1]], 10, r"not symmetric: entries \('x0', 'x1'\) are 2 and 0"),
        ([[1, 2], [2, 1]], 10, "not positive semi-definite"),
        ([[1, 0], [0, -1]], 10, "negative variances: 'x1'"),
        ([[1, np.nan], [np.nan, 1]], 10, "NaN"),
        ([[1, 0, 0], [0, 1, 0]], 10, "square"),
        ([[1, 0], [0, 1]], 1, "at least 2"),
    ],
)
def test_a_covariance_that_is_none(covariance, count, message):
    with pytest.raises(InputError, match=message):
        Moments.from_covariance(covariance, count)


def test_batches_of_another_width_are_refused():
    with pytest.raises(InputError, match="does not fit the 3 columns"):
        Moments(3).update(np.zeros((2, 4)))
    with pytest.raises(InputError, match="different columns"):
        Moments(2, ["a", "b"]).merge(Moments(2, ["a", "c"]))
