"""Rows that depend on each other direct nothing; independent rows do, however they are sorted."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from psidag import Constraints, DataWarning, lagged, learn_dag
from psidag.directions.row_order import follows_row_order, rows_have_more_in_common
from psidag.system.parallel import SERIAL, workers

NAMES = ["a", "b", "c", "d"]


def collider(noise: np.ndarray) -> np.ndarray:
    """Rows of a → c ← b and c → d."""
    a, b, c, d = noise.T
    c = a + b + 0.5 * c
    return np.column_stack([a, b, c, c + d])


def in_time(noise: np.ndarray) -> np.ndarray:
    """Noise that is like that of the row before."""
    made = np.zeros_like(noise)
    for t in range(1, len(noise)):
        made[t] = 0.7 * made[t - 1] + noise[t]
    return made


def graph_of(X: np.ndarray, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return learn_dag(X, names=NAMES, random_state=0, **options).graph


def no_edges(d: int) -> sp.csr_array:
    return sp.csr_array((d, d))


def test_independent_rows_direct_whatever_column_sorts_them():
    X = collider(np.random.default_rng(1).exponential(size=(800, 4)))
    arrows = graph_of(X).directed_edges()
    assert ("a", "c") in arrows
    assert ("b", "c") in arrows
    for j in range(4):
        order = np.argsort(X[:, j])
        assert graph_of(X[order]).directed_edges() == arrows
        assert graph_of(X[order[::-1]]).directed_edges() == arrows


def test_rows_in_twos_direct_nothing_and_say_why():
    X = collider(np.repeat(np.random.default_rng(2).exponential(size=(400, 4)), 2, axis=0))
    assert graph_of(np.random.default_rng(0).permutation(X)).directed_edges()
    with pytest.warns(DataWarning, match="follows the order of the rows"):
        solution = learn_dag(X, names=NAMES)
    assert not solution.graph.directed_edges()
    assert solution.graph.n_edges >= 3
    assert "no edge is directed" in " ".join(solution.warnings)


def test_knowledge_directs_points_in_time_all_the_same():
    X = collider(in_time(np.random.default_rng(3).normal(size=(600, 4))))
    graph = graph_of(X, constraints=Constraints(required_edges=[("c", "d")]))
    assert graph.directed_edges() == [("c", "d")]
    assert graph.because("c", "d") == "knowledge"


def test_the_past_as_columns_leaves_the_present_to_be_directed():
    rng = np.random.default_rng(4)
    X = np.zeros((1500, 4))
    for t in range(1, len(X)):
        X[t] = collider(rng.exponential(size=(1, 4)))[0] + 0.6 * X[t - 1]
    table = lagged(dict(zip(NAMES, X.T, strict=True)), lags=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        graph = learn_dag(table, constraints=table.constraints).graph
    arrows = graph.directed_edges()
    assert ("a", "c") in arrows
    assert ("b", "c") in arrows


@pytest.mark.parametrize("draw", ["normal", "standard_cauchy", "exponential"])
def test_independent_noise_rarely_follows_the_rows(draw):
    noise = getattr(np.random.default_rng(5), draw)(size=(200, 2000))
    assert follows_row_order(noise, no_edges(2000), SERIAL).mean() < 0.005


@pytest.mark.parametrize("n", [300, 6000])
def test_any_distance_between_rows_is_seen(n):
    rng = np.random.default_rng(6)
    white = rng.normal(size=n)
    season = np.tile(rng.normal(size=50), n // 50) + white
    groups = np.repeat(rng.normal(size=10), n // 10) + rng.normal(size=n)
    before = np.convolve(rng.normal(size=n), [1, 0.7])[:n]
    X = np.column_stack([white, season, groups, before])
    assert follows_row_order(X, no_edges(4), SERIAL).tolist() == [False, True, True, True]


def test_units_and_threads_change_nothing():
    rng = np.random.default_rng(7)
    X = in_time(rng.normal(size=(300, 200))) * rng.integers(0, 2, 200) + rng.normal(size=(300, 200))
    found = follows_row_order(X, no_edges(200), SERIAL)
    assert 50 < found.sum() < 150
    scale = 10.0 ** rng.uniform(-6, 6, 200)
    with workers(2) as threads:
        assert np.array_equal(follows_row_order(X * scale + 1, no_edges(200), threads), found)


def test_few_rows_and_constants_follow_nothing():
    assert not follows_row_order(np.arange(40.0).reshape(20, 2), no_edges(2), SERIAL).any()
    assert not follows_row_order(np.ones((100, 2)), no_edges(2), SERIAL).any()


def test_columns_that_knowledge_has_first_do_not_count():
    follows = np.array([True, True, True, False, False])
    assert rows_have_more_in_common(follows, np.full(5, -1))
    assert not rows_have_more_in_common(follows, np.array([0, 0, 0, 1, 1]))
    assert not rows_have_more_in_common(np.array([True, False]), np.full(2, -1))
