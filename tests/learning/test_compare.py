"""Comparing methods: a row for each, whatever becomes of it."""

import math
import os
import sys
import time

import numpy as np
import pytest

from psidag import compare, learn_dag
from psidag.baselines import EqVar, Golem, SortRegress
from psidag.simulate import simulate
from psidag.system.errors import InputError


class Sleeps(EqVar):
    def init(self, task):
        time.sleep(60)


class Crashes(EqVar):
    def init(self, task):
        os._exit(3)


class Chatters(EqVar):
    def init(self, task):
        print("this must not mix with the answer")


@pytest.fixture(scope="module")
def scores():
    problem = simulate("ER2", n=500, d=20, seed=0, n_test=200)
    methods = {
        "EqVar": EqVar(),
        "by size": {"solver": EqVar(), "threshold": 0.3},
        "impossible": {"solver": EqVar(), "noise": "unequal"},
        "slow": {"solver": Golem(), "max_time": 0.2},
        "local": type("Local", (EqVar,), {})(),
    }
    return compare(problem, methods, max_time=60, n_jobs=1)


def test_a_row_for_each_method(scores):
    assert [score.method for score in scores] == ["EqVar", "by size", "impossible", "slow", "local"]
    good = scores[0]
    assert good.status == "converged"
    assert good.seconds > 0
    assert 0 <= good.memory < 500
    assert good.measures["shd"] == good.measures["missing"] + good.measures["extra"] + good.measures["reversed"]
    assert math.isfinite(good.measures["gap"])
    assert good.dag.n_edges == good.measures["learned_edges"] != scores[1].measures["learned_edges"]


def test_failure_and_overrun_are_rows(scores):
    impossible, slow, local = scores[2:]
    assert impossible.status == "failed"
    assert "noise variances to be equal" in impossible.message
    assert slow.status == "time_limit"
    assert slow.measures is not None
    assert local.status == "failed"
    assert "process of its own" in local.message


def test_a_process_that_hangs_is_ended(monkeypatch):
    monkeypatch.setattr(sys.modules[compare.__module__], "_GRACE", 2.0)
    (score,) = compare(simulate("ER2", n=100, d=5, seed=0), {"hangs": Sleeps()}, max_time=1, n_jobs=1)
    assert score.status == "killed", score.message


def test_a_process_that_crashes_or_chatters():
    methods = {"crashes": Crashes(), "chatters": Chatters()}
    scores = compare(simulate("ER2", n=100, d=5, seed=0), methods, max_time=1, n_jobs=1)
    assert [score.status for score in scores] == ["failed", "converged"], scores[1].message
    assert "code 3" in scores[0].message


def test_it_prints_and_converts(scores):
    text = str(scores)
    assert "max_time=0.2" in text
    assert "SHD" in text
    table = scores.to_pandas()
    assert list(table["method"]) == [score.method for score in scores]
    assert {"seconds", "memory", "shd", "missing", "extra", "reversed", "gap", "status"} <= set(table)


def test_methods_go_by_their_names_too():
    problem = simulate("ER2", n=100, d=5, seed=0)
    scores = compare(problem, [EqVar(), SortRegress()], n_jobs=1)
    assert [score.method for score in scores] == ["EqVar", "sort-and-regress"]
    assert "-" in str(scores)
    with pytest.raises(InputError, match="several"):
        compare(problem, "stochastic")


@pytest.fixture(scope="module")
def table():
    """A chain in equal units, with a gap, whose graph nobody is told."""
    X = simulate("ER2", n=400, d=8, seed=0).X
    X[3, 2] = np.nan
    return X


@pytest.fixture(scope="module")
def side_by_side(table):
    methods = {"search": "sparse", "again": "sparse", "EqVar": EqVar(), "broken": {"solver": EqVar(), "noise": "odd"}}
    return compare(table, methods, n_jobs=1, missing="drop", random_state=3)


def test_without_a_truth_methods_stand_side_by_side(side_by_side):
    search, again, eqvar, broken = side_by_side
    assert search.measures == again.measures
    assert search.measures["alone"] == 0
    assert side_by_side.in_common("search", "again") == (search.graph.n_edges, 0)
    both, turned = side_by_side.in_common("search", "EqVar")
    assert 0 <= turned <= both <= min(search.graph.n_edges, eqvar.graph.n_edges)
    assert eqvar.measures["alone"] == eqvar.graph.n_edges - both
    assert broken.status == "failed"
    text, page = str(side_by_side), side_by_side._repr_html_()
    assert "held out" in text
    assert all("in common" in shown and "log-likelihood" in shown for shown in (text, page))
    assert page.count("<table>") == 2
    with pytest.raises(InputError, match="nobody"):
        side_by_side.in_common("search", "nobody")


def test_held_out_rows_take_no_part_in_learning(table, side_by_side):
    """The same rows in the same draw give the same graph and the same likelihood."""
    drawn = np.random.default_rng(3).permutation(len(table))
    apart, kept = np.sort(drawn[:100]), np.sort(drawn[100:])
    fresh = table[apart][np.isfinite(table[apart]).all(axis=1)]
    solution = learn_dag(table[kept], solver="sparse", missing="drop", random_state=3, n_jobs=1)
    assert side_by_side[0].measures["log_likelihood"] == pytest.approx(solution.score(fresh))


def test_a_table_too_small_to_be_split_is_refused():
    with pytest.raises(InputError, match="judged"):
        compare(np.random.default_rng(0).normal(size=(8, 3)), ["sparse"])


def test_opposite_arrows_are_counted_as_turned(table):
    from psidag import Constraints

    ends = [("x0", "x1"), ("x1", "x0")]
    methods = {f"{a} first": {"constraints": Constraints(required_edges=[(a, b)])} for a, b in ends}
    shown = compare(table[:, :3], methods, n_jobs=1, missing="drop")
    assert shown.in_common("x0 first", "x1 first")[1] >= 1
    assert "turned)" in str(shown)
