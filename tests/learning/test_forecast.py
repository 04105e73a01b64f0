"""What a forecast must get right whatever the machine: what grows with what."""

import numpy as np
import pytest

import psidag.learning.forecast as module
from psidag.engines.exact import Exact
from psidag.engines.sparse import Sparse
from psidag.learning.forecast import Pace, forecast, measure_pace
from psidag.simulate import simulate

MEASURE, COMPARE = measure_pace, module._comparisons


@pytest.fixture(autouse=True)
def steady(monkeypatch):
    monkeypatch.setattr(module, "measure_pace", lambda: Pace(1e11, 1.0))
    monkeypatch.setattr(module, "_comparisons", lambda: 1e11)


@pytest.mark.parametrize("solver", ["sparse", "exact", "stochastic"])
def test_every_named_engine_has_a_forecast_that_grows(solver):
    small, large = forecast(2000, 100, solver), forecast(2000, 1000, solver)
    assert small.engine == solver
    assert 0 < small.seconds < large.seconds
    assert 0 < small.memory < large.memory


def test_blocks_need_less_memory_than_the_matrix_and_time_by_the_square(monkeypatch):
    held, blocks = forecast(2000, 30_000, Sparse(max_memory=1e12)), forecast(2000, 30_000, Sparse(max_memory=0))
    assert held.memory > 4 * 30_000**2 > blocks.memory
    seconds = [forecast(1000, d, Sparse(max_memory=0)).seconds for d in (10**6, 2 * 10**6)]
    assert 3.5 < seconds[1] / seconds[0] < 4
    monkeypatch.setattr(module, "_comparisons", lambda: 1e10)
    assert forecast(2000, 30_000, Sparse(max_memory=0)).seconds > blocks.seconds


def test_hubs_in_the_table_take_longer():
    seconds = {}
    for graph in ("ER2", "SF4"):
        X = simulate(graph, 800, d=2000, seed=5, dtype=np.float32).X
        seconds[graph] = forecast(800, 2000, Sparse(max_memory=0), X).seconds
    blind = forecast(800, 2000, Sparse(max_memory=0)).seconds
    assert blind <= seconds["ER2"] < 2 * blind
    assert seconds["SF4"] > 2 * seconds["ER2"]
    # Nothing to compare, nothing found.
    assert forecast(800, 2000, Sparse(max_memory=0), np.zeros((800, 2000))).seconds == pytest.approx(blind)


def test_an_order_by_variance_is_cheaper_than_gradients():
    assert forecast(500, 300, Exact(ordering="variance")).seconds < forecast(500, 300, Exact()).seconds


def test_unknown_engines_have_none():
    class Own(Exact):
        name = "own"

    assert forecast(100, 10, Own()) is None


def test_the_pace_is_measured():
    pace = MEASURE()
    assert pace.flops > 0
    assert pace.slowdown >= 1


def test_the_comparison_of_columns_is_tried(monkeypatch):
    monkeypatch.setattr(module, "_TRIAL", (200, 256, 64))
    assert COMPARE() > 0
