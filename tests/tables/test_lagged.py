"""Rows in time: the past beside the present, series kept apart, and no arrow against time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psidag import InputError, lagged, learn_dag, prepare


@given(
    lengths=st.lists(st.integers(1, 6), min_size=1, max_size=4),
    lags=st.integers(1, 3),
    seed=st.integers(0, 2**32 - 1),
)
def test_each_row_stands_beside_its_own_past(lengths, lags, seed):
    rng = np.random.default_rng(seed)
    series = rng.permutation(np.repeat(np.arange(len(lengths)), lengths))
    X = np.c_[np.arange(len(series)) + 0.5, rng.normal(size=len(series))]
    expected = []
    for who in np.unique(series):
        own = X[series == who]
        expected += [np.concatenate([own[t - back] for back in range(lags + 1)]) for t in range(lags, len(own))]
    table = prepare({"a": X[:, 0], "b": X[:, 1]}) if len(series) > 1 else None
    if table is None or len(table.names) < 2:
        return
    if not expected:
        with pytest.raises(InputError, match="no past"):
            lagged(table, lags, series)
        return
    made = lagged(table, lags, series)
    assert sorted(map(tuple, made.X.tolist())) == sorted(map(tuple, np.array(expected).tolist()))
    assert made.names == tuple(f"{x}[t-{k}]" if k else x for k in range(lags + 1) for x in "ab")


def svar(d, n, seed):
    """A structural vector autoregression with two lags: rows, and the weights now and one and two steps back."""
    rng = np.random.default_rng(seed)
    now = np.triu(rng.random((d, d)) < 2 / (d - 1), 1) * rng.choice([-1, 1], (d, d)) * rng.uniform(0.4, 0.8, (d, d))
    mixed = rng.permutation(d)
    now = now[np.ix_(mixed, mixed)]
    back = [(rng.random((d, d)) < 1 / d) * rng.choice([-1, 1], (d, d)) * rng.uniform(0.2, 0.4, (d, d)) for _ in "12"]
    total = np.linalg.inv(np.eye(d) - now)
    step = np.block([[(back[0] @ total).T, (back[1] @ total).T], [np.eye(d), np.zeros((d, d))]])
    radius = max(1.0, np.abs(np.linalg.eigvals(step)).max() / 0.9)
    back = [back[0] / radius, back[1] / radius**2]
    X = np.zeros((n + 200, d))
    for t in range(2, n + 200):
        X[t] = (X[t - 1] @ back[0] + X[t - 2] @ back[1] + rng.normal(size=d)) @ total
    return X[200:], [now, *back]


@pytest.mark.parametrize("seed", [11, 12, 13])
def test_an_autoregression_is_found(seed):
    d = 20
    X, true = svar(d, 2000, seed)
    table = lagged(X, lags=2)
    W = learn_dag(table, constraints=table.constraints, random_state=0).dag.to_dense() != 0
    assert not W[:, d:].any(), "an arrow into the past"
    wrong = 0
    for k, weights in enumerate(true):
        found, there = W[k * d : (k + 1) * d, :d], weights != 0
        wrong += (found ^ there).sum() - (found & there.T & ~there).sum() * (k == 0)
    assert wrong <= 0.05 * sum((weights != 0).sum() for weights in true)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"lags": 0}, "whole number"),
        ({"lags": 1.5}, "whole number"),
        ({"lags": 9}, "no past"),
        ({"group": "nobody"}, "no column 'nobody'"),
        ({"group": [1, 2]}, "2 values for 6 rows"),
    ],
)
def test_mistakes(arguments, message):
    with pytest.raises(InputError, match=message):
        lagged({"x": [1.0, 2, 3, 4, 5, 7], "y": [2.0, 1, 4, 3, 6, 5]}, **arguments)
