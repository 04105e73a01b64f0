"""Work in processes of their own: what comes back, what is killed, what is left behind."""

import os
import pickle
import signal
import sys
import threading
import time

import pytest

from psidag.system.process import Apart

WORK = '''
"""Work for the tests."""
import os, signal, sys, time
BEFORE = dict(os.environ)
seen = []

def work(order, report):
    kind, value = order
    if kind == "echo":
        print("this is no answer")
        seen.append(value)
        for k in range(3):
            report((k, value))
        return {"value": value, "seen": list(seen), "pid": os.getpid(), "variable": BEFORE.get("APART")}
    if kind == "raise":
        report("begun")
        raise ValueError(value)
    if kind == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if kind == "sleep":
        report(os.getpid())
        time.sleep(value)
    if kind == "grow":
        held = bytearray(b"x") * (value << 20)
        time.sleep(60)
        return len(held)
'''


def pickled(*order):
    return pickle.dumps(order)


@pytest.fixture(params=[True, False], ids=["forked", "started"])
def apart(request, tmp_path, monkeypatch):
    """Calls of ``work``, forked where that is done and started anew."""
    if request.param and sys.platform != "linux":
        pytest.skip("processes are forked on Linux only")
    (tmp_path / "work_apart.py").write_text(WORK)
    monkeypatch.syspath_prepend(str(tmp_path))
    with Apart("work_apart:work", {"APART": "yes"}, forks=request.param) as calls:
        yield calls


def gone(pid):
    try:
        os.kill(pid, 0)
    except OSError:
        return True
    return False


def test_an_answer_comes_back_with_what_was_said_on_the_way(apart):
    ended = [apart.run(pickled("echo", value)) for value in (1, 2)]
    for value, end in zip((1, 2), ended, strict=True):
        assert (end.answered, end.code, end.killed) == (True, 0, "")
        assert end.reports == [(k, value) for k in range(3)]
        # Nothing is left of the call before: its changes were in another process.
        assert end.answer["seen"] == [value]
        assert end.answer["variable"] == "yes"
    assert len({end.answer["pid"] for end in ended} | {os.getpid()}) == 3


def test_what_goes_wrong_is_said_and_harms_no_other_call(apart):
    raised = apart.run(pickled("raise", "a reason"))
    assert (raised.answered, raised.code, raised.reports) == (False, 1, ["begun"])
    assert raised.remark == "ValueError: a reason"
    crashed = apart.run(pickled("crash", None))
    assert not crashed.answered
    assert crashed.code == -signal.SIGSEGV
    assert apart.run(pickled("echo", 3)).answered


def test_over_a_limit_it_is_killed(apart):
    late = apart.run(pickled("sleep", 600), max_seconds=0.5)
    assert (late.answered, late.killed, late.code) == (False, "time", -signal.SIGKILL)
    assert all(map(gone, late.reports))
    large = apart.run(pickled("grow", 700), memory=500)
    assert (large.answered, large.killed) == (False, "memory")
    assert apart.run(pickled("echo", 4)).answered


def test_calls_side_by_side_and_a_word_that_stops_them(apart):
    stop, ended = threading.Event(), []
    threads = [
        threading.Thread(target=lambda: ended.append(apart.run(pickled("sleep", 600), stop=stop))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    assert apart.run(pickled("echo", 5)).answered
    stop.set()
    for thread in threads:
        thread.join()
    assert [end.killed for end in ended] == ["stop"] * 3
    assert apart.run(pickled("echo", 6)).answered


def test_a_function_that_cannot_be_imported_is_named(tmp_path):
    with Apart("no_such_module:work") as calls:
        ended = calls.run(pickled("echo", 1))
    assert not ended.answered
    assert "no_such_module" in ended.remark


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux only")
def test_another_fork_server_takes_over_when_one_is_killed(tmp_path, monkeypatch):
    (tmp_path / "work_apart.py").write_text(WORK)
    monkeypatch.syspath_prepend(str(tmp_path))
    with Apart("work_apart:work") as calls:
        calls.run(pickled("echo", 1))
        servers = list(calls._idle)
        os.kill(servers[0]._process.pid, signal.SIGKILL)
        servers[0]._process.wait()
        assert calls.run(pickled("echo", 2)).answer["seen"] == [2]
        assert calls._idle != servers
        last = calls._idle[0]._process
    deadline = time.monotonic() + 60
    while last.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
