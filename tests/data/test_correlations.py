"""Correlations: those of NumPy, and the same in any units."""

from __future__ import annotations

import numpy as np
import pytest

from psidag.data.correlations import correlations
from psidag.data.ingest import as_source
from psidag.system.parallel import SERIAL


def table(seed, n=200, d=8):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 100 * rng.normal(size=d)


@pytest.mark.parametrize("weighted", [False, True])
def test_correlations_are_those_of_numpy(weighted):
    X = table(0)
    copies = np.random.default_rng(1).integers(0, 4, len(X)) if weighted else np.ones(len(X), int)
    weight = copies.astype(float) if weighted else None
    found = correlations(as_source(X, sample_weight=weight), SERIAL)
    np.testing.assert_allclose(found.matrix, np.corrcoef(np.repeat(X, copies, axis=0).T), atol=1e-9)
    assert found.count == copies.sum()


@pytest.mark.parametrize("seed", range(5))
def test_units_change_no_bit_of_small_tables(seed):
    X = table(seed)
    factors = 10.0 ** np.random.default_rng(seed).uniform(-6, 6, X.shape[1])
    one, other = (correlations(as_source(rows), SERIAL).matrix for rows in (X, X * factors))
    # A number halfway between two steps may be rounded to either.
    assert np.mean(one != other) < 0.1
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_neither_correlations_nor_their_order_depend_on_how_columns_stand(seed):
    X = table(seed)
    mixed = np.random.default_rng(seed).permutation(X.shape[1])
    one, other = (correlations(as_source(rows), SERIAL) for rows in (X, X[:, mixed]))
    np.testing.assert_allclose(other.matrix, one.matrix[np.ix_(mixed, mixed)], rtol=0, atol=1e-14)
    np.testing.assert_array_equal(mixed[other.own_order], one.own_order)
    wide = [correlations(as_source(rows[:15]), SERIAL, max_memory=0.0) for rows in (X, X[:, mixed])]
    assert wide[0].matrix is None
    np.testing.assert_array_equal(mixed[wide[1].own_order], wide[0].own_order)


def test_constant_columns_and_copies():
    X = table(0, d=4)
    X = np.column_stack([X, np.full(len(X), 7.0), 1e-3 * X[:, 0]])
    C = correlations(as_source(X), SERIAL).matrix
    assert C[4].tolist() == [0, 0, 0, 0, 1, 0]
    assert C[0, 5] == pytest.approx(1.0, abs=1e-12)
