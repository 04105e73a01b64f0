"""Runs that are broken off and gone on with: the same bits, or a clear error and nothing lost."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from psidag import Constraints, InputError, Interrupted, Moments, learn_dag
from psidag.baselines import Dagma, EqVar, Golem, Notears, SortRegress
from psidag.data.files import read_table
from psidag.data.ingest import as_source
from psidag.data.rows import ScanFeed
from psidag.data.scans import Scan, array_batches
from psidag.engines import candidates
from psidag.engines.exact import Exact
from psidag.engines.noise_search import NoiseSearch
from psidag.engines.sparse import Sparse
from psidag.engines.stochastic import Stochastic
from psidag.run.checkpoint import Checkpoint
from psidag.simulate import simulate
from psidag.stages.steps import SGD
from psidag.system.parallel import SERIAL
from support.bits import essence

pytestmark = pytest.mark.filterwarnings("ignore::psidag.DataWarning")

PROBLEM = simulate("ER2", d=10, n=300, seed=0)
KNOWN = Constraints(required_edges=[(0, 1)], forbidden_edges=[(2, 3)], tiers=[[4], [5]])
RUNS = {
    "sparse": (Sparse(), {}),
    "sparse, unequal": (Sparse(quiet_rounds=2, restarts=1), {"noise": "unequal"}),
    "sparse, restarts, knowledge": (Sparse(restarts=2), {"constraints": KNOWN}),
    "exact": (Exact(), {}),
    "stochastic": (Stochastic(tau1=20, tau2=20, max_rounds=4), {}),
    "stochastic, order": (Stochastic(tau2=20, max_rounds=3, rule=SGD(), order=np.arange(10), dtype="float64"), {}),
    "NOTEARS": (Notears(max_rounds=3), {}),
    "GOLEM": (Golem(max_iter=300, checkpoint=100), {"noise": "unequal"}),
    "DAGMA": (Dagma(warm_iter=200, max_iter=300, checkpoint=100), {"constraints": KNOWN}),
    "EqVar": (EqVar(), {}),
    "random order": (SortRegress("random"), {}),
}


class Killed(BaseException):
    """What the tests raise instead of a signal: nothing catches it."""


def broken_off(path, steps, data=PROBLEM.X, engine=None, **options):
    """A run that ends without warning after this many steps, each of which left a checkpoint."""
    left = [steps]

    class Mortal(Checkpoint):
        def keep(self, at, *, last):
            super().keep(at, last=True)
            left[0] -= 1
            if not left[0]:
                raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("psidag.learning.learn.Checkpoint", Mortal)
        try:
            return learn_dag(data, engine or Sparse(), checkpoint=path, resume=True, random_state=0, **options)
        except Killed:
            return None


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("steps", [1, 3])
def test_a_run_in_pieces_ends_like_a_whole_one(name, steps, tmp_path):
    engine, options = RUNS[name]
    whole = learn_dag(PROBLEM.X, engine, random_state=0, **options)
    found, lives = None, 0
    while found is None:
        found = broken_off(tmp_path / "run", steps, engine=engine, **options)
        lives += 1
    assert essence(found) == essence(whole)
    assert lives > 1 or len(whole.trace) <= steps
    # What has ended stays ended.
    again = learn_dag(PROBLEM.X, engine, checkpoint=tmp_path / "run", resume=True, **options)
    assert essence(again) == essence(whole)


def test_a_run_with_columns_in_the_order_ends_like_one_without_and_goes_on_in_pieces(tmp_path, monkeypatch):
    """In A2 the columns of many stand in the order; files have them as they were."""
    engine = Stochastic(tau1=20, tau2=20, max_rounds=3, look_every=7, dtype="float64")
    as_they_are = learn_dag(PROBLEM.X, engine, random_state=0)
    for module in ("psidag.engines.stochastic", "psidag.stages.descent"):
        monkeypatch.setattr(f"{module}.TILE", 4)
    whole = learn_dag(PROBLEM.X, engine, random_state=0)
    np.testing.assert_allclose(whole.candidate.weights, as_they_are.candidate.weights, atol=1e-9)
    np.testing.assert_allclose([r.loss for r in whole.trace], [r.loss for r in as_they_are.trace], rtol=1e-9)
    found = None
    while found is None:
        found = broken_off(tmp_path / "run", 1, engine=engine)
    assert essence(found) == essence(whole)


@pytest.mark.parametrize("steps", [1, 7])
def test_a_choice_of_noise_in_pieces_passes_all_its_phases(steps, tmp_path, monkeypatch):
    scale = np.geomspace(0.3, 3, 8)
    X = simulate("ER2", d=8, n=400, seed=3, noise="laplace", scale=scale).X
    phases = []
    dump = NoiseSearch.dump
    monkeypatch.setattr(NoiseSearch, "dump", lambda self, state: phases.append(state.phase) or dump(self, state))
    engine = Sparse(quiet_rounds=2, restarts=1)
    whole = learn_dag(X, engine, random_state=0)
    found = None
    while found is None:
        found = broken_off(tmp_path / "run", steps, X, engine)
    assert list(dict.fromkeys(phases)) == ["equal", "unequal", "again", "refined"]
    assert essence(found) == essence(whole)
    assert found.noise == whole.noise
    assert found.graph.directed_edges() == whole.graph.directed_edges()


def test_what_has_been_compared_is_not_compared_again(tmp_path, monkeypatch):
    monkeypatch.setattr(candidates, "_NODES", 8)
    monkeypatch.setattr(candidates, "_PAIRS", 1)
    blocks, compare = [], candidates._Block.__call__

    def counted(self, part):
        blocks.append((self.into is None, part.start))
        return compare(self, part)

    monkeypatch.setattr(candidates._Block, "__call__", counted)
    X, engine = simulate("ER2", d=120, n=220, seed=1).X, Sparse(max_memory=0)
    whole = learn_dag(X, engine, noise="equal", random_state=0)
    once = sorted(blocks)
    assert [start for first, start in once if first] == list(range(0, 120, 8))
    blocks.clear()
    # In the midst of the first comparison, and twice in the midst of what follows.
    for steps in (5, 30, 20):
        assert broken_off(tmp_path / "run", steps, X, engine, noise="equal", n_jobs=1) is None
    found = learn_dag(X, engine, noise="equal", random_state=0, checkpoint=tmp_path / "run", resume=True)
    assert essence(found) == essence(whole)
    assert sorted(blocks) == once


@pytest.mark.parametrize("kind", ["parquet", "npy"])
@pytest.mark.parametrize("rows", [50, 700], ids=["fewer than are read", "over the end of the table"])
def test_rows_that_stay_on_disk_are_read_again_to_where_the_run_stood(kind, rows, tmp_path, monkeypatch):
    monkeypatch.setattr("psidag.data.scans._BATCH", 256 * 10)
    table = pd.DataFrame(simulate("ER2", d=10, n=900, seed=0).X, columns=list("abcdefghij"))
    path, run = tmp_path / f"table.{kind}", tmp_path / "run"
    if kind == "npy":
        np.save(path, table.to_numpy())
    else:
        table.to_parquet(path)
    path = read_table(path, hold=1)
    assert len(list(as_source(path).batches())) > 2
    engine = Stochastic(tau1=7, tau2=7, max_rounds=2, batch_size=rows)
    whole = learn_dag(path, engine, random_state=0)
    assert broken_off(run, 1, path, engine) is None
    assert broken_off(run, 1, path, engine) is None
    # Rows are set aside as they were, whatever the seed is now.
    assert essence(learn_dag(path, engine, checkpoint=run, resume=True)) == essence(whole)


@pytest.mark.parametrize(
    "wrong",
    [{"aside": np.arange(3)}, {"aside": np.zeros(30, int)}, {"waiting": np.array([300])}, {"position": -1}],
    ids=repr,
)
def test_rows_that_are_not_in_the_table_are_not_gone_on_with(wrong):
    scan = Scan(array_batches(PROBLEM.X), PROBLEM.names)
    rows = ScanFeed(scan, 50, 0.1, np.random.default_rng(0), SERIAL)
    rows.restore(rows.dump())
    with pytest.raises(ValueError, match="rows"):
        rows.restore(rows.dump() | wrong)


def test_moments_and_threads_make_no_difference(tmp_path):
    moments = Moments.from_rows(PROBLEM.X)
    whole = learn_dag(moments, Exact(), random_state=0, n_jobs=1)
    assert broken_off(tmp_path / "run", 1, moments, Exact(), n_jobs=1) is None
    found = learn_dag(moments, Exact(), random_state=0, n_jobs=2, checkpoint=tmp_path / "run", resume=True)
    assert essence(found) == essence(whole)


def test_without_a_seed_the_one_in_the_file_serves(tmp_path):
    options = {"noise": "unequal", "checkpoint": tmp_path / "run"}
    first = learn_dag(PROBLEM.X, **options)
    assert essence(learn_dag(PROBLEM.X, resume=True, **options)) == essence(first)


@pytest.mark.parametrize("limit", ["time", "hand"])
def test_a_run_that_was_stopped_goes_on(limit, tmp_path):
    engine, options = Sparse(), {"noise": "unequal", "random_state": 0, "checkpoint": tmp_path / "run"}
    whole = learn_dag(PROBLEM.X, engine, noise="unequal", random_state=0)

    def stop(round_, candidate):
        raise KeyboardInterrupt

    if limit == "time":
        stopped = learn_dag(PROBLEM.X, engine, max_time=1e-9, **options)
        assert stopped.status.code == "time_limit"
    else:
        with pytest.raises(Interrupted) as caught:
            learn_dag(PROBLEM.X, engine, callback=stop, **options)
        assert caught.value.solution.status.code == "interrupted"
    assert essence(learn_dag(PROBLEM.X, engine, resume=True, **options)) == essence(whole)


@pytest.fixture
def half(tmp_path):
    """The checkpoint of a run that was broken off."""
    path = tmp_path / "run"
    assert broken_off(path, 4) is None
    return path


@pytest.mark.parametrize(
    ("changed", "culprit"),
    [
        ({"data": PROBLEM.X + 1e-9}, "data"),
        ({"data": PROBLEM.X.astype(np.float32)}, "data"),
        ({"names": list("abcdefghij")}, "columns"),
        ({"solver": Sparse(penalty=3.0)}, "engine"),
        ({"solver": Exact()}, "engine"),
        ({"noise": "unequal"}, "noise"),
        ({"constraints": KNOWN}, "constraints"),
        ({"random_state": 1}, "seed"),
        ({"sample_weight": np.ones(300)}, "data"),
    ],
)
def test_a_foreign_checkpoint_is_refused_and_kept(half, changed, culprit):
    before = half.read_bytes()
    call = {"data": PROBLEM.X, "solver": Sparse(), "random_state": 0} | changed
    with pytest.raises(InputError, match=f"belongs to another run: not the same .*'{culprit}'"):
        learn_dag(**call, checkpoint=half, resume=True)
    assert half.read_bytes() == before


def test_another_version_is_refused(half, monkeypatch):
    monkeypatch.setattr("importlib.metadata.version", lambda _: "9.9")
    with pytest.raises(InputError, match=r"written by psidag .* and this is 9\.9"):
        learn_dag(PROBLEM.X, random_state=0, checkpoint=half, resume=True)


def test_a_checkpoint_is_not_overwritten_by_a_new_run(half):
    before = half.read_bytes()
    with pytest.raises(InputError, match="go on from it"):
        learn_dag(PROBLEM.X, random_state=0, checkpoint=half)
    assert half.read_bytes() == before


@pytest.mark.parametrize("share", [0.0, 0.3, 0.999])
def test_a_truncated_checkpoint_is_refused_and_kept(half, share):
    whole = half.read_bytes()
    part = whole[: int(share * len(whole))]
    half.write_bytes(part)
    with pytest.raises(InputError, match="not a whole psidag checkpoint"):
        learn_dag(PROBLEM.X, random_state=0, checkpoint=half, resume=True)
    assert half.read_bytes() == part


def test_a_model_is_no_checkpoint(tmp_path):
    learn_dag(PROBLEM.X, random_state=0).save(tmp_path / "model")
    with pytest.raises(InputError, match="is not a psidag checkpoint"):
        learn_dag(PROBLEM.X, random_state=0, checkpoint=tmp_path / "model", resume=True)


def test_what_cannot_be_kept_is_said_before_the_run(tmp_path):
    (tmp_path / "file").write_text("")
    for path, why in ((tmp_path / "none" / "run", "No such file"), (tmp_path / "file" / "run", "Not a directory")):
        with pytest.raises(InputError, match=why):
            learn_dag(PROBLEM.X, checkpoint=path)
    with pytest.raises(InputError, match="it is a folder"):
        learn_dag(PROBLEM.X, checkpoint=tmp_path)
    with pytest.raises(InputError, match="do not come again"):
        learn_dag(iter([PROBLEM.X]), Stochastic(), checkpoint=tmp_path / "run")
    with pytest.raises(InputError, match="needs the checkpoint"):
        learn_dag(PROBLEM.X, resume=True)
    with pytest.raises(InputError, match="checkpoint_interval"):
        learn_dag(PROBLEM.X, checkpoint=tmp_path / "run", checkpoint_interval=-1)
    assert not (tmp_path / "run").exists()


def test_leftovers_of_killed_writers_are_removed(half):
    leftover = half.parent / f".{half.name}.psidag-0123456789ab.tmp"
    leftover.write_bytes(b"part")
    (half.parent / "other.tmp").write_bytes(b"")
    learn_dag(PROBLEM.X, random_state=0, checkpoint=half, resume=True)
    assert sorted(p.name for p in half.parent.iterdir()) == ["other.tmp", "run"]


def rewritten(path, change):
    """The archive with its head changed, all checksums right."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    head = json.loads(members["checkpoint.json"])
    change(head, members)
    members["checkpoint.json"] = json.dumps(head).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def searched(head):
    """The state of the search, within that of the choice of a noise model."""
    return head["run"]["mapping"]["state"]["mapping"]["search"]["mapping"]


def swap(key, other):
    def change(head, members):
        net = searched(head)["net"]["mapping"]
        net[key] = net[other]

    return change


def put(key, value):
    def change(head, members):
        searched(head)[key] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        swap("parents", "order"),
        swap("queue", "parents"),
        swap("children", "parents"),
        swap("nodes", "order"),
        swap("inverses", "weights"),
        put("level", 77),
        put("net", {"mapping": {}}),
        put("tried", 3),
        put("closed", {"tuple": [1, 2, 3]}),
        lambda head, members: head["run"]["mapping"]["state"]["mapping"].update(phase="last"),
        lambda head, members: head.update(run=[1]),
        lambda head, members: head.update(owner=None),
        lambda head, members: head.update(version=2),
        lambda head, members: head["run"]["mapping"].update(random={"mapping": {"bit_generator": "PCG64"}}),
    ],
)
def test_a_forged_checkpoint_is_a_clean_error(half, change):
    rewritten(half, change)
    with pytest.raises(InputError, match=r"damaged|version 2"):
        learn_dag(PROBLEM.X, Sparse(), random_state=0, checkpoint=half, resume=True)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills are by signals between processes")
def test_killed_at_random_fifty_times(tmp_path):
    script = Path(__file__).parents[1] / "support" / "kill_runs.py"
    ended = subprocess.run([sys.executable, script, tmp_path], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert int(ended.stdout.split()[-1]) >= 50
