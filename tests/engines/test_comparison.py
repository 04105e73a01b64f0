"""Columns compared in small integers: the kernel against plain integers, and what is listed against plain products."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psidag.engines import comparison
from psidag.engines.comparison import Compared
from psidag.search._compare import BLOCK, STRIP, compare, confirm, kernels, pack, quantise
from psidag.system.parallel import SERIAL


def unit_rows(X):
    rows = np.ascontiguousarray(X.T - X.mean(axis=0)[:, None], dtype=np.float32)
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, length, out=np.zeros_like(rows), where=length > 0)


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10_000), m=st.integers(1, 70), k=st.integers(1, 70), width=st.sampled_from([64, 256, 1280]),
    beyond=st.one_of(st.just(-70), st.integers(0, 80)),
)  # fmt: skip
def test_every_kernel_lists_the_pairs_that_plain_integers_give(seed, m, k, width, beyond):
    rng = np.random.default_rng(seed)
    left, right = (rng.integers(-31, 32, size=(size, width)).astype(np.int8) for size in (m, k))
    # The largest values there are: sums in sixteen bits must not run over.
    left[0], right[0] = 31, -31
    products = left.astype(np.int64) @ right.T.astype(np.int64)
    bound = np.quantile(np.abs(products), rng.random(m)).astype(np.int32)
    wanted = np.abs(products) > bound[:, None]
    wanted &= np.arange(k) > np.arange(m)[:, None] + beyond
    pairs = list(zip(*(each.tolist() for each in np.nonzero(wanted)), strict=True))
    blocks = -(-k // BLOCK)
    strips, start = np.ones((blocks * BLOCK // STRIP, STRIP * width), np.int8), np.ones(blocks * BLOCK, np.int32)
    pack(right, strips, start, right.sum(axis=1, dtype=np.int32))
    listed = []
    for kernel in kernels().values():
        row, column = np.empty(m * k, np.int32), np.empty(m * k, np.int32)
        count = compare(left, strips, start, bound, beyond, row, column, kernel)
        listed.append((row[:count].tolist(), column[:count].tolist()))
        assert sorted(zip(*listed[-1], strict=True)) == pairs
        # Too little room is told, and nothing is written beyond it.
        few = np.empty(0, np.int32)
        assert compare(left, strips, start, bound, beyond, few, few.copy(), kernel) == count
    # In the same sequence, too.
    assert all(each == listed[0] for each in listed)


def test_small_integers_are_rounded_and_cut_off():
    rows = np.array([[0.4, -0.6, 40.0, -35.2], [0, 0, 0, 0]], dtype=np.float32)
    small, sums = np.ones((2, 256), np.int8), np.empty(2, np.int32)
    gain, error = np.empty(2, np.float32), np.empty(2, np.float32)
    quantise(rows, np.array([1.0, 0.0], np.float32), small, sums, gain, error)
    assert small[0, :5].tolist() == [0, -1, 31, -31, 0]
    assert sums.tolist() == [-1, 0]
    assert not small[1].any()
    x, q = rows[0], small[0, :4].astype(float)
    g = x @ q / (x @ x)
    np.testing.assert_allclose(gain, [g, 1], rtol=1e-6)
    np.testing.assert_allclose(error, [np.linalg.norm(q - g * x) / np.linalg.norm(x), 0], rtol=1e-4)


def test_exact_products_decide():
    rng = np.random.default_rng(0)
    left, columns = (rng.normal(size=(size, 50)).astype(np.float32) for size in (3, 5))
    row, column = (each.astype(np.int32) for each in np.nonzero(np.ones((3, 5))))
    square, level = np.empty(15, np.float32), np.array([10, 20, 30], np.float32)
    kept = confirm(left, columns, level, row, column, square)
    products = (left @ columns.T) ** 2
    wanted = products > level[:, None]
    assert list(zip(row[:kept], column[:kept], strict=True)) == list(zip(*np.nonzero(wanted), strict=True))
    np.testing.assert_allclose(square[:kept], products[wanted], rtol=1e-4)


TABLES = {
    "normal": lambda rng, n, d: rng.normal(size=(n, d)),
    "skewed": lambda rng, n, d: rng.exponential(size=(n, d)),
    "yes or no": lambda rng, n, d: (rng.random((n, d)) < 0.3).astype(float),
    "a few with far outliers": lambda rng, n, d: (
        rng.normal(size=(n, d)) + (np.arange(d) % 9 == 0) * rng.standard_t(1, size=(n, d))
    ),
    "all with far outliers": lambda rng, n, d: rng.standard_t(1, size=(n, d)),
    "constants": lambda rng, n, d: rng.normal(size=(n, d)) * (np.arange(d) % 5 != 0),
}


@pytest.mark.parametrize("kind", TABLES)
def test_what_is_listed_is_what_exact_products_list(kind, monkeypatch):
    monkeypatch.setattr(comparison, "available", lambda: True)
    rng = np.random.default_rng(1)
    X = TABLES[kind](rng, 400, 60)
    X[:, 30:] += 0.3 * X[:, :30]
    columns = unit_rows(X)
    compared = Compared.of(columns, SERIAL)
    assert (compared.small is None) == (kind == "all with far outliers")
    assert kind != "a few with far outliers" or 0 < len(compared.coarse) < 15
    level = np.linspace(0.01, 0.04, 60)
    for left, first, above in (
        (columns[:60], 0, True),
        (columns[20:40], 20, True),
        (columns - 0.5 * columns[::-1], 0, False),
    ):
        wanted = (left.astype(np.float64) @ columns.T.astype(np.float64)) ** 2
        bar = level[: len(left), None]
        looked_at = np.arange(60) > (np.arange(len(left))[:, None] + first if above else -1)
        row, column, square = compared.matches(left, level[: len(left)], first, above)
        found = np.zeros_like(wanted, dtype=bool)
        found[row, column] = True
        np.testing.assert_allclose(square, wanted[row, column], rtol=1e-3, atol=1e-6)
        # Two ways to round may disagree about a product that is as large as the level.
        clear = np.abs(wanted / bar - 1) > 1e-4
        assert np.array_equal((found & looked_at)[clear], ((wanted > bar) & looked_at)[clear])
        assert len(set(zip(row.tolist(), column.tolist(), strict=True))) == len(row)
        assert not (found & ~looked_at).any()


def test_few_rows_and_other_processors_take_the_products_as_they_are(monkeypatch):
    columns = unit_rows(np.random.default_rng(0).normal(size=(100, 20)))
    assert Compared.of(columns, SERIAL).small is None
    monkeypatch.setattr(comparison, "_LEAST_ROWS", 0)
    monkeypatch.setattr(comparison, "available", lambda: False)
    assert Compared.of(columns, SERIAL).small is None
