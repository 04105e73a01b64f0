"""Replicates that are stopped by hand or by the clock, here or elsewhere: what is done is kept."""

import pickle
import threading

import numpy as np
import pytest

from psidag import (
    BootstrapInterrupted,
    InputError,
    Moments,
    bootstrap,
    learn_dag,
)
from psidag.learning import bootstrap as runner
from psidag.learning import plan
from psidag.simulate import simulate
from support.bits import same


@pytest.fixture(scope="module")
def problem():
    return simulate("ER2", d=12, n=150, seed=3)


class Impatient:
    """The sparse engine's learning, with a hook before each replicate."""

    def __init__(self, hook):
        self.hook, self.calls, self.lock = hook, 0, threading.Lock()
        self.run = plan.run

    def __call__(self, *args, **options):
        with self.lock:
            self.calls += 1
            calls = self.calls
        self.hook(calls)
        return self.run(*args, **options)


@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_keeps_what_is_done(problem, monkeypatch, jobs):
    def hook(calls):
        if calls == 5:
            raise KeyboardInterrupt

    whole = bootstrap(problem.X, replicates=8, noise="equal", random_state=7)
    monkeypatch.setattr(plan, "run", Impatient(hook))
    with pytest.raises(BootstrapInterrupted) as stopped:
        bootstrap(problem.X, replicates=8, noise="equal", random_state=7, n_jobs=jobs)
    part = stopped.value.confidence
    assert part.status.code == "interrupted"
    # On two threads a replicate or two may end beside the one that is interrupted.
    assert part.replicates == 4 if jobs == 1 else 3 <= part.replicates < 8
    assert f"{part.replicates} of 8" in part.status.message
    assert not part.status.ok
    monkeypatch.undo()
    same(whole, bootstrap(problem.X, replicates=8, noise="equal", resume=part))


@pytest.mark.parametrize("jobs", [1, 2])
def test_out_of_time_keeps_what_is_done(problem, monkeypatch, jobs):
    now = [0.0]
    monkeypatch.setattr(runner.time, "perf_counter", lambda: now[0])

    def hook(calls):
        now[0] += calls > 3

    monkeypatch.setattr(plan, "run", Impatient(hook))
    part = bootstrap(problem.X, replicates=8, random_state=7, n_jobs=jobs, max_time=1.0)
    assert part.status.code == "time_limit"
    assert part.replicates <= 3
    assert "max_time=1 s was over" in part.status.message
    assert "resume=" in part.status.message
    monkeypatch.undo()
    same(bootstrap(problem.X, replicates=8, random_state=7), bootstrap(problem.X, replicates=8, resume=part))


class Elsewhere:
    """A mapper whose work is a copy, as in another process; before each group there is a hook."""

    def __init__(self, jobs, hook=lambda groups: None):
        self.jobs, self.hook, self.groups = jobs, hook, []

    def map(self, work, items):
        self.groups.append(list(items))
        self.hook(len(self.groups))
        return [pickle.loads(pickle.dumps(work))(item) for item in self.groups[-1]]


def test_replicates_go_elsewhere_in_groups(problem):
    whole = bootstrap(problem.X, replicates=11, random_state=7)
    mapper = Elsewhere(2)
    same(whole, bootstrap(problem.X, replicates=11, random_state=7, n_jobs=mapper))
    assert [[number for number, _ in group] for group in mapper.groups] == [[*range(8)], [8, 9, 10]]
    gaussian = Moments.from_rows(problem.X)
    drawn = bootstrap(gaussian, replicates=3, random_state=7)
    same(drawn, bootstrap(gaussian, replicates=3, random_state=7, n_jobs=mapper))


def test_ctrl_c_keeps_the_groups_that_are_done_elsewhere(problem):
    def hook(groups):
        if groups == 2:
            raise KeyboardInterrupt

    with pytest.raises(BootstrapInterrupted) as stopped:
        bootstrap(problem.X, replicates=8, random_state=7, n_jobs=Elsewhere(1, hook))
    part = stopped.value.confidence
    assert "4 of 8" in part.status.message
    same(bootstrap(problem.X, replicates=8, random_state=7), bootstrap(problem.X, replicates=8, resume=part))


@pytest.mark.parametrize("late", ["between groups", "within a replicate"])
def test_out_of_time_elsewhere(problem, monkeypatch, late):
    now = [0.0]
    monkeypatch.setattr(runner.time, "perf_counter", lambda: now[0])

    def hook(number):
        now[0] += 0.4

    mapper = Elsewhere(2, hook if late == "between groups" else lambda groups: None)
    if late != "between groups":
        monkeypatch.setattr(plan, "run", Impatient(hook))
    part = bootstrap(problem.X, replicates=20, noise="equal", random_state=7, n_jobs=mapper, max_time=1.0)
    monkeypatch.undo()
    assert part.status.code == "time_limit"
    assert part.replicates == {"between groups": 6, "within a replicate": 2}[late]
    assert [seconds for _, seconds in mapper.groups[0]] == [1.0, 1.0]
    same(
        bootstrap(problem.X, replicates=8, noise="equal", random_state=7),
        bootstrap(problem.X, replicates=8, noise="equal", resume=part),
    )


def test_no_replicate_in_time(problem):
    nothing = bootstrap(problem.X, replicates=5, max_time=1e-9)
    assert nothing.replicates == 0
    assert len(nothing.edges()) == 0
    assert "0 of 5" in str(nothing)
    with pytest.raises(InputError, match="no replicate"):
        nothing.consensus()
    edges = learn_dag(problem.X).with_confidence(nothing).edges()
    assert np.isnan(edges[0].support)
