"""Regressions of a graph against NumPy's, one by one: weights, standard errors, and what is done without an inverse."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from psidag.data.blocks import MomentBlocks, RowBlocks, blocks
from psidag.data.correlations import correlations
from psidag.data.moments import Moments
from psidag.data.sources import Table
from psidag.graph.constraints import Constraints
from psidag.stages import regressions as module
from psidag.stages.regressions import regressions
from psidag.system.parallel import SERIAL, workers


def named(X, sample_weight=None):
    return Table(X, [f"x{i}" for i in range(X.shape[1])], sample_weight)


#: The same correlations, held and computed when they are asked for, in double and in single precision.
HOLDERS = {
    "moments": lambda table: MomentBlocks(table.moments()),
    "rows": lambda table: RowBlocks(table, SERIAL),
    "double": lambda table: correlations(table, SERIAL),
    "single": lambda table: correlations(table, SERIAL, single_from=0),
}


def mixed(n, d, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) @ (np.eye(d) + 0.3 * rng.normal(size=(d, d))) + rng.normal(size=d)


@pytest.mark.parametrize("holder", HOLDERS)
def test_many_regressions_at_once_are_those_one_by_one(monkeypatch, holder):
    monkeypatch.setattr(module, "_CELLS", 2000)
    X, rng = mixed(70, 40, 0), np.random.default_rng(1)
    X[:, 1] = X[:, 0]
    edges = np.triu(rng.random((40, 40)) < 0.2, 2).astype(float)
    edges[:2, :39], edges[:2, 39] = 0.0, 1.0
    with workers(2) as threads:
        W, errors, variance = regressions(HOLDERS[holder](named(X)), sp.csr_array(edges), threads)
    assert len(np.unique(np.count_nonzero(edges, axis=0))) > 5
    found = W.tocoo()
    spread = sp.csr_array((errors, (found.row, found.col)), shape=(40, 40)).toarray()
    Z = X - X.mean(axis=0)
    for j in range(40):
        parents = np.flatnonzero(edges[:, j])
        P = Z[:, parents]
        expected = np.linalg.lstsq(P, Z[:, j])[0] if len(parents) else np.empty(0)
        rest = np.mean((Z[:, j] - P @ expected) ** 2)
        np.testing.assert_allclose(W[:, [j]].toarray()[parents, 0], expected, atol=1e-5)
        assert variance[j] == pytest.approx(rest, rel=1e-5)
        inside = spread[parents, j]
        if j == 39:
            assert np.isnan(inside[:2]).all()
            assert np.isfinite(inside[2:]).all()
        elif len(parents):
            truth = np.sqrt(np.diag(np.linalg.inv(P.T @ P)) * 70 * rest / (70 - P.shape[1] - 1))
            np.testing.assert_allclose(inside, truth, rtol=1e-4)


@pytest.mark.parametrize("holder", HOLDERS)
def test_copies_share_their_weight_and_have_no_error(holder):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 200))
    X = np.column_stack([x, x, y, np.ones(200), 3 * x + 2 * y + rng.normal(size=200)])
    edges = sp.csr_array((np.zeros(4), ([0, 1, 2, 3], [4, 4, 4, 4])), shape=(5, 5))
    W, errors, _ = regressions(HOLDERS[holder](named(X)), edges, SERIAL)
    both = np.linalg.lstsq(np.column_stack([x, y]) - [x.mean(), y.mean()], X[:, 4] - X[:, 4].mean())[0]
    np.testing.assert_allclose(W.data, [both[0] / 2, both[0] / 2, both[1], 0.0], rtol=1e-5, atol=1e-12)
    assert np.isnan(errors).tolist() == [True, True, False, True]


def test_more_parents_than_rows_get_the_shortest_solution():
    X = np.random.default_rng(0).normal(size=(40, 60))
    edges = sp.csr_array((np.zeros(59), (np.arange(1, 60), np.zeros(59, int))), shape=(60, 60))
    W, errors, variance = regressions(RowBlocks(named(X), SERIAL), edges, SERIAL)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    shortest = np.linalg.lstsq(Z[:, 1:], Z[:, 0])[0] * X[:, 0].std() / X[:, 1:].std(axis=0)
    np.testing.assert_allclose(W.toarray()[1:, 0], shortest, atol=1e-9)
    assert W.nnz == 59
    assert np.isnan(errors).all()
    assert variance[0] < 1e-10


@given(seed=st.integers(0, 10_000), weighted=st.booleans())
def test_weights_that_are_given_stay_and_leave_what_they_leave(seed, weighted):
    rng = np.random.default_rng(seed)
    X = mixed(30, 6, seed)
    W = np.triu(rng.normal(size=(6, 6)), 1)
    weight = rng.random(30) + 0.1 if weighted else None
    root = np.ones(30) if weight is None else weight
    for holder in ("moments", "rows"):
        found = regressions(HOLDERS[holder](named(X, weight)), sp.csr_array(W), SERIAL, refit=False)
        np.testing.assert_allclose(found.weights.toarray(), W, rtol=1e-12)
        Z = X - np.average(X, axis=0, weights=root)
        left = np.average((Z - Z @ W) ** 2, axis=0, weights=root)
        np.testing.assert_allclose(found.residual_variance, left, rtol=1e-8)


def test_a_wide_table_is_not_multiplied_out():
    table = named(np.random.default_rng(0).normal(size=(10, 20)))
    assert isinstance(blocks(table, SERIAL), RowBlocks)
    assert not table.has_moments
    assert isinstance(blocks(named(np.random.default_rng(0).normal(size=(50, 20))), SERIAL), MomentBlocks)
    held = Moments.from_rows(table.X)
    np.testing.assert_allclose(RowBlocks(table, SERIAL).mean, held.mean)
    np.testing.assert_allclose(RowBlocks(table, SERIAL).sd, held.sd)


def test_remarks_name_the_required_edges_that_have_no_error():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4))
    X[:, 1] = X[:, 0]
    known = Constraints(required_edges=[(0, 2), (1, 2), (2, 3)]).bind(["a", "b", "c", "d"])
    data = RowBlocks(named(X), SERIAL)
    found = regressions(data, known.with_required(sp.csr_array((4, 4))), SERIAL)
    (sentence,) = found.fitted(data, known, "as given").remarks
    assert "'a -> c', 'b -> c'" in sentence
    assert "d" not in sentence.split("(")[0].split(":")[1]
