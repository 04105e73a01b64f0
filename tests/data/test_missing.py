"""Missing values: each choice against its definition."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psidag import DataWarning, InputError, PsiDAG, Solution, learn_dag
from psidag.data.ingest import as_source
from psidag.data.missing import pairwise_moments
from psidag.data.scans import array_batches
from psidag.data.sources import Summary
from psidag.simulate import simulate

PROBLEM = simulate("ER2", d=6, n=400, seed=0)


def with_gaps(share=0.05, seed=0):
    X = PROBLEM.X.copy()
    X[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return X


def test_drop_keeps_the_complete_rows():
    X = with_gaps()
    whole = X[~np.isnan(X).any(axis=1)]
    with pytest.warns(UserWarning, match=rf"left out: {len(X) - len(whole)} of 400"):
        source = as_source(X, missing="drop")
    np.testing.assert_array_equal(source.X, whole)
    weight = np.arange(400.0)
    with pytest.warns(UserWarning, match="left out"):
        weighted = as_source(X, missing="drop", sample_weight=weight)
    np.testing.assert_array_equal(weighted.sample_weight, weight[~np.isnan(X).any(axis=1)])


def test_mean_fills_in_the_mean():
    X = with_gaps()
    filled = as_source(X, missing="mean").X
    np.testing.assert_allclose(filled.mean(axis=0), np.nanmean(X, axis=0))
    np.testing.assert_array_equal(filled[~np.isnan(X)], X[~np.isnan(X)])
    assert np.isnan(X).any()
    weight = np.linspace(1, 2, 400)
    weighted = as_source(X, missing="mean", sample_weight=weight)
    there = ~np.isnan(X[:, 0])
    assert weighted.moments().mean[0] == pytest.approx(np.average(X[there, 0], weights=weight[there]))


def test_pairwise_is_pandas_pairwise_correlation():
    X = with_gaps()
    source = as_source(X, missing="pairwise")
    assert isinstance(source, Summary)
    S = source.moments().covariance
    sd = np.sqrt(np.diag(S))
    np.testing.assert_allclose(S / np.outer(sd, sd), pd.DataFrame(X).corr().to_numpy(), atol=1e-10)
    np.testing.assert_allclose(np.diag(S), np.nanvar(X, axis=0))
    np.testing.assert_allclose(source.moments().mean, np.nanmean(X, axis=0))
    assert 340 < source.moments().count < 400


@settings(deadline=None)
@given(st.integers(0, 10_000), st.integers(3, 12), st.floats(0.0, 0.4), st.sampled_from([1.0, 1e6]))
def test_pairwise_is_always_a_covariance(seed, n, share, far):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) + far
    X[:, 3] = X[:, 0]
    X[rng.random(X.shape) < share] = np.nan
    try:
        moments = pairwise_moments(array_batches(X), list("abcd"))
    except InputError:
        return  # a pair with fewer than two rows
    S = moments.covariance
    sd = np.sqrt(np.maximum(np.diag(S), 1e-300))
    assert np.linalg.eigvalsh(S / np.outer(sd, sd))[0] > -1e-9
    assert 2 - 1e-9 <= moments.count <= n + 1e-9


def test_pairwise_learns_nearly_what_whole_data_would():
    whole = simulate("ER2", d=10, n=4000, seed=1)
    X = whole.X.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    learned = learn_dag(X, missing="pairwise", random_state=0)
    assert whole.compare(learned.dag)["shd"] <= 3
    assert learned.n_samples == pytest.approx(0.81 * 4000, rel=0.02)
    with pytest.raises(InputError, match="samples rows"):
        learn_dag(X, "stochastic", missing="pairwise")


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("error", r"'x1' in 400 of 400 rows.*missing=\"drop\""),
        ("drop", "without a single value: 'x1'"),
        ("mean", "without a single value: 'x1'"),
        ("pairwise", "without a single value: 'x1'"),
        ("often", "missing must be one of 'error', 'drop', 'mean', 'pairwise'"),
    ],
)
def test_empty_column_and_unknown_choice(missing, message):
    X = PROBLEM.X.copy()
    X[:, 1] = np.nan
    with pytest.raises(InputError, match=message):
        learn_dag(X, missing=missing)


def test_nothing_left_to_learn_from():
    X = PROBLEM.X[:6].copy()
    np.fill_diagonal(X, np.nan)
    with pytest.raises(InputError, match="leaves 0 of 6 rows"):
        learn_dag(X, missing="drop")
    with pytest.raises(InputError, match="sample_weight"):
        learn_dag(with_gaps(), missing="pairwise", sample_weight=np.ones(400))


def test_streams_can_only_drop():
    batches = [with_gaps()[:200], with_gaps()[200:]]
    with pytest.raises(InputError, match="only drop"):
        learn_dag(iter(batches), missing="mean")
    with pytest.warns(UserWarning, match="left out"):
        solution = learn_dag(iter(batches), missing="drop", random_state=0)
    assert solution.n_samples == (~np.isnan(with_gaps()).any(axis=1)).sum()


def test_estimator_takes_the_choice():
    with pytest.warns(UserWarning, match="left out"):
        model = PsiDAG(missing="drop", random_state=0).fit(with_gaps())
    assert model.solution_.n_samples < 400
    with pytest.warns(UserWarning, match="left out"):
        model = PsiDAG(missing="drop", random_state=0).partial_fit(with_gaps())
    assert model.solution_.n_samples < 400


@pytest.mark.parametrize("kind", ["nullable", "polars", "object"])
def test_nulls_of_tables_are_missing_values(kind):
    columns = {"a": [1, 2, None, 4, 6], "b": [True, False, True, None, False], "c": [0.5, 1.0, 1.5, 2.0, 2.5]}
    if kind == "nullable":
        frame = pd.DataFrame(columns).astype({"a": "Int64", "b": "boolean", "c": "Float64"})
    elif kind == "polars":
        frame = pl.DataFrame(columns)
    else:
        frame = pd.DataFrame(columns, dtype=object)
    with pytest.raises(InputError, match="'a' in 1 of 5 rows"):
        learn_dag(frame)
    filled = as_source(frame, missing="mean")
    assert filled.X[2, 0] == pytest.approx(13 / 4)
    assert filled.X[3, 1] == pytest.approx(1 / 2)


def test_what_was_done_about_gaps_stays_in_the_solution(tmp_path):
    X = np.random.default_rng(0).normal(size=(100, 4))
    X[3, 1] = np.nan
    with pytest.warns(DataWarning, match="left out"):
        solution = learn_dag(X, missing="drop", random_state=0)
    assert solution.warnings[0] == "rows with missing values were left out: 1 of 100"
    solution.save(tmp_path / "m.psidag")
    assert "left out: 1 of 100" in str(Solution.load(tmp_path / "m.psidag"))
    assert solution.warnings[0] in solution.content().about["warnings"]


def test_pairs_that_contradict_each_other_are_named():
    """A sum whose parts are often missing: its correlations come from different rows and do not add up."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1600, 6))
    X[:, 5] = X[:, 3] - X[:, 4]
    X[rng.random(X.shape) < 0.25] = np.nan
    with pytest.warns(DataWarning, match="do not fit together"):
        solution = learn_dag(X, missing="pairwise", noise="unequal", random_state=0)
    (said,) = (text for text in solution.warnings if "fit together" in text)
    assert all(name in said for name in ("'x3'", "'x4'", "'x5'"))
    assert not any(name in said for name in ("'x0'", "'x1'", "'x2'"))
    assert not any("linear combination" in text for text in solution.warnings)
    assert "learned from about" in str(solution)


def test_near_collinearity_is_told():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4))
    X[:, 3] = X[:, 0] + X[:, 1] + 1e-3 * rng.normal(size=500)
    with pytest.warns(DataWarning, match="almost wholly"):
        solution = learn_dag(X, noise="unequal", random_state=0)
    assert any("leave one of each group out" in text for text in solution.warnings)
