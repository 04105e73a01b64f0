"""Ctrl-C, SIGTERM, pipes and devices: what a shell does to a command."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from psidag import Solution
from psidag.exchange import read_graph
from support.commands import COMMAND, run, start

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and pipes are another matter elsewhere")


def wait_for(process, sign):
    seen = ""
    while not re.search(sign, seen) and process.poll() is None:
        seen += process.stderr.read(1)
    return seen


def wait_until_heeded(process):
    """Until the command has been reached, Python itself answers signals: SIGTERM is caught only from then on."""
    while process.poll() is None:
        with open(f"/proc/{process.pid}/status") as file:
            caught = int(re.search(r"SigCgt:\s*(\w+)", file.read())[1], 16)
        if caught >> (signal.SIGTERM - 1) & 1:
            return
        time.sleep(0.005)


@pytest.fixture
def long_run(tmp_path):
    np.save(tmp_path / "big.npy", np.random.default_rng(0).normal(size=(2000, 200)))
    # The bar says when learning has begun, and a loss that a round has ended.
    process = start("fit", "big.npy", "-o", "graph.json", "--solver", "stochastic", "--progress", cwd=tmp_path)
    wait_for(process, "loss=")
    yield process
    process.kill()


@pytest.mark.parametrize("signals", [[signal.SIGTERM], [signal.SIGINT], [signal.SIGINT, signal.SIGINT]])
def test_what_is_learned_is_saved(long_run, tmp_path, signals):
    for number in signals:
        long_run.send_signal(number)
        time.sleep(0.02)
    out, err = long_run.communicate(timeout=120)
    assert long_run.returncode == 130, err
    assert "Traceback" not in err
    assert "interrupted" in out
    assert read_graph(tmp_path / "graph.json").d == 200


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="only Linux says which signals are caught")
@pytest.mark.parametrize("moment", [0.0, 0.1, 0.4])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_before_there_is_anything(tmp_path, moment, number):
    os.mkfifo(tmp_path / "pipe")
    process = start("fit", "pipe", cwd=tmp_path)
    wait_until_heeded(process)
    time.sleep(moment)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, ""), err
    assert err == "psidag: stopped; nothing is saved\n"


def test_stopped_while_a_module_is_imported(tmp_path):
    """Classes are made by running text; what a signal cuts off there must not decide how the process ends."""
    kill = "import os, signal; os.kill(os.getpid(), signal.SIGTERM); [None for _ in range(1000)]"
    code = f"from psidag.system.interrupts import INTERRUPTS\nwith INTERRUPTS.heeded():\n    exec({kill!r})"
    (tmp_path / "cut.py").write_text(code)
    done = subprocess.run([sys.executable, "-m", "cut"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "psidag: stopped; nothing is saved\n")


def test_pipes_and_devices_are_read_like_standard_input(tmp_path):
    text = "a,b\n" + "".join(f"{x!r},{y!r}\n" for x, y in np.random.default_rng(0).normal(size=(20, 2)).tolist())
    (tmp_path / "t.csv").write_text(text)
    os.mkfifo(tmp_path / "pipe")
    threading.Thread(target=lambda: (tmp_path / "pipe").write_text(text), daemon=True).start()
    answers = [
        subprocess.run([*COMMAND, "info", path, "--json"], cwd=tmp_path, input=given, capture_output=True, text=True)
        for path, given in (("-", text), ("/dev/stdin", text), ("pipe", None))
    ]
    with (tmp_path / "t.csv").open() as file:
        answers.append(
            subprocess.run(
                [*COMMAND, "info", "/dev/stdin", "--json"], cwd=tmp_path, stdin=file, capture_output=True, text=True
            )
        )
    assert all(answer.returncode == 0 for answer in answers), [answer.stderr for answer in answers]
    assert len({str(json.loads(answer.stdout)["sd_range"]) for answer in answers}) == 1
    shell = "psidag info <(cat t.csv) --json".replace("psidag", " ".join(COMMAND))
    done = subprocess.run(["bash", "-c", shell], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_interrupted_bootstrap_goes_on_where_it_was(sachs, tmp_path):
    arguments = ["fit", sachs.name, "--bootstrap", "100000", "--draws", "draws", "--progress", "-o", "model.psidag"]
    process = start(*arguments, cwd=tmp_path)
    seen = wait_for(process, r" [1-9]\d*/100000")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in seen + err
    assert "go on" in out
    done = Solution.load(tmp_path / "model.psidag").confidence.replicates
    assert done >= 1
    arguments[3] = str(done + 2)
    again = run(*arguments, cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert f"of {done + 2} replicates" in again.stdout


def test_an_interrupted_run_goes_on_from_its_checkpoint(tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "t.npy", rng.normal(size=(300, 20)) @ rng.normal(size=(20, 20)))
    fit = ["fit", "t.npy", "--solver", "stochastic", "--seed", "0", "--jobs", "1"]
    kept = [*fit, "--checkpoint", "run", "--checkpoint-interval", "0.01"]
    process = start(*kept, cwd=tmp_path)
    while not (tmp_path / "run").exists() and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "interrupted" in out
    assert run(*kept, "--resume", "-o", "pieces.json", cwd=tmp_path).returncode == 0
    assert run(*fit, "-o", "whole.json", cwd=tmp_path).returncode == 0
    pieces, whole = (read_graph(tmp_path / f"{name}.json") for name in ("pieces", "whole"))
    assert list(pieces.edges()) == list(whole.edges())
