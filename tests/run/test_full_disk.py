"""Checkpoints that cannot be written: the run goes on, and says so once."""

import os
import subprocess
import sys

import pytest

from psidag import InputError, Solution, learn_dag
from psidag.simulate import simulate
from psidag.system.errors import CheckpointWarning
from support.bits import essence

pytestmark = pytest.mark.filterwarnings("ignore::psidag.DataWarning")

PROBLEM = simulate("ER2", d=10, n=300, seed=0)

#: Learns with checkpoints in a folder that they outgrow, then saves the model elsewhere, and there where it is full.
FILLING = """
import os, resource, signal, sys, warnings
from psidag import InputError, learn_dag
from psidag.simulate import simulate

full, free = sys.argv[1:]
mounted = os.path.ismount(full)

def limit(size):
    if not mounted:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, -1))

X = simulate("ER4", d=60, n=500, seed=0).X
limit(20_000)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    solution = learn_dag(X, checkpoint=full + "/run", checkpoint_interval=0.0, random_state=0)
limit(-1)
solution.save(free + "/model")
with open(full + "/model", "wb") as file:
    file.write(b"old")
limit(10_000)
try:
    with open(full + "/filler", "wb", buffering=0) as file:
        while mounted:
            file.write(bytes(1000))
except OSError as error:
    pass
try:
    solution.save(full + "/model")
except InputError as error:
    print(error)
limit(-1)
print(*[w.message for w in caught if w.category.__name__ == "CheckpointWarning"], sep="\\n")
"""


@pytest.fixture
def small_disk(tmp_path):
    """A folder with room for 44 kB: a file system of its own where we may mount one, else files are kept small."""
    folder = tmp_path / "disk"
    folder.mkdir()
    try:
        command = ["mount", "-t", "tmpfs", "-o", "size=44k", "tmpfs", str(folder)]
        mounted = subprocess.run(command, capture_output=True).returncode == 0
    except OSError:
        mounted = False
    yield folder
    if mounted:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.skipif(os.name != "posix", reason="neither a small disk nor a limit on files can be had")
def test_a_disk_that_fills_up_costs_the_checkpoint_and_not_the_run(small_disk, tmp_path):
    command = [sys.executable, "-c", FILLING, small_disk, tmp_path]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    model, *checkpoints = ended.stdout.splitlines()
    assert model.startswith(f"cannot write '{small_disk}/model'")
    assert len(checkpoints) == 1
    assert checkpoints[0].startswith("the run goes on without a new checkpoint: cannot write")
    assert (small_disk / "model").read_bytes() == b"old"
    assert sorted(p.name for p in small_disk.iterdir()) == ["filler", "model", "run"]
    X = simulate("ER4", d=60, n=500, seed=0).X
    whole = learn_dag(X, random_state=0)
    assert list(Solution.load(tmp_path / "model").dag.edges()) == list(whole.dag.edges())
    # The last checkpoint that was written whole is still good.
    (tmp_path / "run").write_bytes((small_disk / "run").read_bytes())
    found = learn_dag(X, random_state=0, checkpoint=tmp_path / "run", resume=True)
    assert essence(found) == essence(whole)


def test_a_failed_write_is_told_once(tmp_path, monkeypatch):
    def full(*_):
        raise InputError("cannot write 'run': No space left on device")

    monkeypatch.setattr("psidag.run.checkpoint.write_archive", full)
    with pytest.warns(CheckpointWarning, match="No space left") as caught:
        learn_dag(PROBLEM.X, random_state=0, checkpoint=tmp_path / "run", checkpoint_interval=0.0)
    assert len([w for w in caught if w.category is CheckpointWarning]) == 1
