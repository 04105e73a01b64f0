"""What holds for every engine and baseline alike: one table that each of them joins."""

import threading

import numpy as np
import pytest
from tests.support.methods import METHODS

from psidag import Constraints, learn_dag
from psidag.data.files import read_table
from psidag.data.streams import Waiting
from psidag.run.loop import Work
from psidag.simulate import simulate
from psidag.system.clock import NEVER, Deadline, TimeOver

pytestmark = pytest.mark.filterwarnings("ignore::psidag.DataWarning")
every_method = pytest.mark.parametrize("method", METHODS)
PROBLEM = simulate("ER2", d=8, n=400, seed=5)
KNOWN = Constraints(required_edges=[("x6", "x1")], forbidden_edges=[("x0", "x3")], tiers=[["x2"], ["x5", "x7"]])


def learn(method, X=PROBLEM.X, **options):
    return learn_dag(X, **METHODS[method] | {"random_state": 0, "n_jobs": 1} | options)


def check_dag(solution):
    W = solution.dag.to_dense()
    assert np.isfinite(W).all()
    order = solution.order
    assert sorted(order) == list(range(len(order)))
    assert not np.tril(W[np.ix_(order, order)]).any()
    assert np.isfinite(solution.residual_variance).all()
    assert str(solution)


@every_method
def test_the_same_seed_gives_the_same_dag_on_any_number_of_threads_and_leaves_the_input_alone(method):
    X = PROBLEM.X.copy()
    X.flags.writeable = False
    found, again = learn(method, X), learn(method, X, n_jobs=2)
    check_dag(found)
    np.testing.assert_array_equal(found.dag.to_dense(), again.dag.to_dense())
    np.testing.assert_array_equal(X, PROBLEM.X)


@every_method
@pytest.mark.parametrize("threshold", [None, 0.3])
def test_prior_knowledge_holds(method, threshold):
    solution = learn(method, constraints=KNOWN, threshold=threshold)
    check_dag(solution)
    edges = {edge[:2] for edge in solution.dag.edges()}
    assert ("x6", "x1") in edges
    assert ("x0", "x3") not in edges
    assert KNOWN.bind(PROBLEM.names).respects(solution.order)
    if threshold is not None:
        assert all(abs(weight) >= 0.3 or (a, b) == ("x6", "x1") for a, b, weight in solution.dag.edges())


class Clock:
    """Seconds that pass when somebody looks, or when they are told to."""

    def __init__(self, monkeypatch, by_looking=0.0):
        self.now, self.by_looking = 0.0, by_looking
        monkeypatch.setattr("psidag.system.clock._now", self.look)

    def look(self):
        self.now += self.by_looking
        return self.now


@every_method
@pytest.mark.parametrize("looks", [1, 4, 9, 40])
def test_a_clock_that_runs_out_at_any_moment_leaves_a_dag_that_knows_what_it_must(method, looks, monkeypatch):
    """Seconds pass with every look at the clock: the time is over before, in or after the first round."""
    Clock(monkeypatch, by_looking=1.0)
    solution = learn(method, constraints=KNOWN, max_time=float(looks))
    check_dag(solution)
    assert ("x6", "x1") in {edge[:2] for edge in solution.dag.edges()}
    assert solution.status.ok or solution.status.code in ("time_limit", "max_rounds")
    if looks == 1:
        assert solution.status.code == "time_limit"
        assert "max_time=1 s" in solution.status.message


@every_method
def test_no_step_is_made_after_the_time_is_over(method, monkeypatch):
    clock = Clock(monkeypatch)
    steps = []

    def advance(progress, best):
        steps.append(clock.now)
        clock.now += 0.4

    monkeypatch.setattr("psidag.learning.learn._progress_bar", lambda show, name: Bar(advance))
    solution = learn(method, max_time=1.0)
    assert len(steps) <= 3
    assert solution.status.code == "time_limit" or len(steps) == solution.trace[-1].round


class Bar:
    def __init__(self, on_step):
        self.on_step = on_step

    def __enter__(self):
        return self.on_step

    def __exit__(self, *_):
        return None


@pytest.mark.parametrize("method", [name for name, options in METHODS.items() if hasattr(options["solver"], "work")])
def test_what_cannot_end_in_time_is_not_begun(method, monkeypatch):
    """An engine that says how much work it is makes no step that the time does not allow."""
    kind = type(METHODS[method]["solver"])
    for name in ("init", "step", "conclude"):
        monkeypatch.setattr(kind, name, lambda *_: pytest.fail("work that cannot end in time"))
    monkeypatch.setattr(kind, "work", lambda self, d: Work(1e15, 1e15))
    solution = learn(method, max_time=60.0)
    assert solution.status.code == "time_limit"
    assert "is not enough for a first step with 8 columns" in solution.status.message
    assert solution.dag.n_edges == 0
    assert solution.n_samples == 400


@pytest.mark.parametrize("solver", ["sparse", "stochastic", "auto"])
@pytest.mark.parametrize("kind", ["endless", "empty", "one row at a time"])
def test_streams_without_end_are_left_in_time(solver, kind, monkeypatch):
    clock = Clock(monkeypatch)
    size = {"endless": 100, "empty": 0, "one row at a time": 1}[kind]

    def stream():
        rng = np.random.default_rng(0)
        yield PROBLEM.X[:100]
        while True:
            clock.now += 0.01
            assert clock.now < 11.5, "rows are still asked for"
            yield PROBLEM.X[rng.integers(400, size=size)]

    solution = learn_dag(stream(), solver, max_time=10.0, random_state=0)
    check_dag(solution)
    assert solution.n_samples >= 100


@pytest.mark.parametrize("solver", ["sparse", "stochastic"])
@pytest.mark.parametrize("given", [0, 1, 3])
def test_a_stream_that_hangs_is_not_waited_for(solver, given):
    released = threading.Event()

    def stream():
        for _ in range(given):
            yield PROBLEM.X
        released.wait(60)

    try:
        if given:
            solution = learn_dag(stream(), solver, max_time=0.4, random_state=0)
            check_dag(solution)
            assert solution.n_samples == 400 * given
        else:
            with pytest.raises(ValueError, match="before the stream gave its first batch"):
                learn_dag(stream(), solver, max_time=0.4)
        assert not released.is_set()
    finally:
        released.set()


def test_a_late_batch_is_the_next_one_and_errors_of_a_stream_reach_the_caller():
    released = threading.Event()

    def items():
        yield 1
        released.wait(60)
        yield 2
        raise KeyError("lost")

    source = Waiting(items())
    assert source.next(Deadline(60)) == 1
    for _ in range(2):
        with pytest.raises(TimeOver):
            source.next(Deadline(0.01))
    released.set()
    assert source.next(NEVER) == 2
    with pytest.raises(KeyError, match="lost"):
        source.next(Deadline(60))
    with pytest.raises(StopIteration):
        source.next(NEVER)


def test_files_that_cannot_be_read_in_time_say_so(tmp_path, monkeypatch):
    np.save(tmp_path / "rows.npy", PROBLEM.X)
    Clock(monkeypatch, by_looking=1.0)
    with pytest.raises(ValueError, match="over before the data had been read once"):
        learn_dag(read_table(tmp_path / "rows.npy", hold=1), max_time=1.0)
