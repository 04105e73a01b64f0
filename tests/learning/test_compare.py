"""Comparing methods: a row for each, whatever becomes of it."""

import math
import os
import sys
import time

import pytest

from psidag import compare
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
    assert 0 < good.seconds < 10
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


def test_a_process_that_hangs_crashes_or_chatters(monkeypatch):
    monkeypatch.setattr(sys.modules[compare.__module__], "_GRACE", 6.0)
    methods = {"hangs": Sleeps(), "crashes": Crashes(), "chatters": Chatters()}
    scores = compare(simulate("ER2", n=100, d=5, seed=0), methods, max_time=1, n_jobs=1)
    assert [score.status for score in scores] == ["killed", "failed", "converged"]
    assert "code 3" in scores[1].message


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
