"""Memory budgets: what cannot fit is refused before it is begun, and a run that outgrows its budget ends well."""

import numpy as np
import pytest

from psidag import InputError, learn_dag
from psidag.baselines import Dagma, EqVar, Golem, Notears, SortRegress
from psidag.engines.exact import Exact
from psidag.engines.sparse import Sparse
from psidag.engines.stochastic import Stochastic
from psidag.run.loop import Progress
from psidag.simulate import simulate
from psidag.system.memory import as_bytes, available, check_available, in_use

pytestmark = pytest.mark.filterwarnings("ignore::psidag.DataWarning")

PROBLEM = simulate("ER2", d=12, n=300, seed=0)
ENGINES = [
    Sparse(),
    Exact(),
    Stochastic(tau1=5, tau2=5),
    Notears(),
    Golem(max_iter=500, checkpoint=50),
    Dagma(warm_iter=500, max_iter=500, checkpoint=50),
    EqVar(),
    SortRegress(),
]
needs_counts = pytest.mark.skipif(in_use() is None, reason="this system does not tell how much memory is in use")


@needs_counts
@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_what_cannot_fit_is_refused_before_it_is_begun(engine):
    wide = np.zeros((2, 20_000), dtype=np.float32)
    begun = []
    with pytest.raises(InputError, match=rf"{engine.name} engine needs about .* max_memory is") as caught:
        learn_dag(wide, engine, max_memory=in_use() + 5 * 10**7, callback=lambda *_: begun.append(1))
    assert not begun
    assert "raise it" in str(caught.value)


@pytest.mark.parametrize("engine", ENGINES[:6], ids=lambda engine: engine.name)
def test_a_run_that_outgrows_its_budget_gives_the_best_so_far(engine, monkeypatch):
    """The process grows by a gigabyte in the first step."""
    held = iter([10**6])
    monkeypatch.setattr("psidag.run.loop.in_use", lambda: next(held, 10**9))
    solution = learn_dag(PROBLEM.X, engine, max_memory="500MB", random_state=0)
    assert solution.status.code == "memory_limit"
    assert "1.0 GB in use is more than max_memory=500 MB" in solution.status.message
    assert not np.tril(solution.dag.to_dense()[np.ix_(solution.order, solution.order)]).any()


@needs_counts
def test_a_budget_that_is_kept_changes_nothing():
    free = learn_dag(PROBLEM.X, random_state=0)
    kept = learn_dag(PROBLEM.X, random_state=0, max_memory="64GB")
    assert np.array_equal(free.dag.weights.toarray(), kept.dag.weights.toarray())
    assert kept.status == free.status


class Greedy(Exact):
    """Closes one round, and finds no memory for the second."""

    def step(self, task, state):
        if state.last_order is not None:
            raise MemoryError
        return super().step(task, state)


def test_memory_that_runs_out_leaves_the_best_so_far():
    solution = learn_dag(PROBLEM.X, Greedy(), random_state=0)
    assert solution.status.code == "memory_limit"
    assert len(solution.trace) == 1
    assert not solution.status.ok
    with pytest.raises(MemoryError):
        learn_dag(PROBLEM.X, Hopeless(), random_state=0)


class Hopeless(Exact):
    """Finds no memory at all."""

    def step(self, task, state) -> tuple[object, Progress]:
        raise MemoryError


@pytest.mark.parametrize("size", ["", "4", "much", "-1GB", "0", "1e9", "9" * 40, "NaN", -5, float("nan"), float("inf")])
def test_amounts_that_are_none(size):
    if size == "4":
        assert as_bytes(size) == 4
        return
    with pytest.raises(InputError, match="max_memory must be"):
        as_bytes(size)


def test_what_is_free_is_known_and_heeded():
    if available() is None:
        pytest.skip("this system does not tell how much memory is free")
    check_available(1e6, "a small table")
    with pytest.raises(InputError, match=r"a large table would take .* of memory, and .* are free"):
        check_available(1e18, "a large table")
