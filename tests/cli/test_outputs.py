"""What a command writes: never over its input, never lost, and checked before the work."""

import os
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest

from psidag import Solution
from psidag.exchange import read_graph


@pytest.fixture
def table(tmp_path):
    rows = np.random.default_rng(0).normal(size=(30, 3)).tolist()
    path = tmp_path / "t.csv"
    path.write_text("a,b,c\n" + "\n".join(",".join(map(repr, row)) for row in rows) + "\n")
    return path


@pytest.fixture
def no_learning(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("learned before the outputs were checked")

    monkeypatch.setattr("psidag.learning.learn.learn_dag", refuse)


@pytest.mark.parametrize("spelling", ["t.csv", "./t.csv", "../{here}/t.csv", "link.csv", "hard.csv", "sub/../t.csv"])
@pytest.mark.parametrize("given", ["t.csv", "link.csv", "."])
def test_an_input_is_never_overwritten(call, table, tmp_path, no_learning, spelling, given):
    (tmp_path / "sub").mkdir()
    (tmp_path / "link.csv").symlink_to(table)
    os.link(table, tmp_path / "hard.csv")
    before = table.read_bytes()
    code, out, err = call("fit", given, "-o", spelling.format(here=tmp_path.name))
    assert (code, out) == (2, "")
    assert "would be overwritten" in err
    assert table.read_bytes() == before
    assert (tmp_path / "link.csv").is_symlink()


def test_other_commands_keep_their_inputs_too(call, table, tmp_path):
    assert call("fit", "t.csv", "-o", "m.psidag", "-o", "g.json")[0] == 0
    (tmp_path / "r.html").symlink_to("m.psidag")
    (tmp_path / "p.png").symlink_to("g.json")
    (tmp_path / "d.csv").symlink_to("g.json")
    held = {name: (tmp_path / name).read_bytes() for name in ("m.psidag", "g.json", "t.csv")}
    for arguments in (
        ["convert", "g.json", "./g.json"],
        ["report", "m.psidag", "-o", "r.html"],
        ["plot", "g.json", "graph", "-o", "p.png"],
        ["simulate", "g.json", "-o", "d.csv"],
        ["fit", "t.csv", "--bootstrap", "2", "--draws", "t.csv"],
        ["fit", "t.csv", "--checkpoint", "t.csv"],
    ):
        code, _, err = call(*arguments)
        assert code == 2, arguments
        assert "would be overwritten" in err
    assert all((tmp_path / name).read_bytes() == content for name, content in held.items())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "no/such/folder/g.json"], "cannot write"),
        (["-o", "g.json", "--report", "no/such/folder/r.html"], "cannot write"),
        (["--bootstrap", "2", "--draws", "no/such/folder/draws"], "cannot write"),
        (["-o", "folder.json"], "it is a folder"),
        (["-o", "g.bmp"], "no ending"),
        (["-o", "g.json", "--report", "r.txt"], ".html"),
        (["-o", "g.json", "-o", "./g.json"], "the same file"),
    ],
)
def test_outputs_are_checked_before_anything_is_learned(call, table, tmp_path, no_learning, arguments, message):
    (tmp_path / "folder.json").mkdir()
    code, _, err = call("fit", "t.csv", *arguments)
    assert code == 2
    assert message in err
    assert not (tmp_path / "g.json").exists()


def test_a_disk_without_room_is_seen_before_learning(call, table, no_learning, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr("psidag.system.atomic.shutil.disk_usage", lambda _: usage(10, 10, 0))
    code, _, err = call("fit", "t.csv", "-o", "g.json")
    assert code == 2
    assert "left on the disk" in err


def test_one_output_that_fails_leaves_the_others(call, table, tmp_path, monkeypatch):
    def full(graph, path, *_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("psidag.cli.graphs.write_graph", full)
    code, out, err = call("fit", "t.csv", "-o", "g.json", "-o", "m.psidag", "--report", "r.html")
    assert code == 2
    assert "'g.json'" in err
    assert "No space left" in err
    assert "edges" in out
    assert Solution.load(tmp_path / "m.psidag").dag.d == 3
    assert (tmp_path / "r.html").exists()
    assert "rescue" not in err


def test_what_could_be_written_nowhere_is_kept(call, table, tmp_path, monkeypatch):
    def full(graph, path, *_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("psidag.cli.graphs.write_graph", full)
    code, _, err = call("fit", "t.csv", "-o", "g.json")
    assert code == 2
    (kept,) = tmp_path.glob("psidag-rescue-*.psidag")
    assert kept.name in err
    assert Solution.load(kept).names == ("a", "b", "c")


def test_a_bootstrap_that_fails_does_not_take_the_graph_along(call, table, tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise MemoryError("no memory for replicates")

    monkeypatch.setattr("psidag.learning.bootstrap.bootstrap", refuse)
    code, _, err = call("fit", "t.csv", "--bootstrap", 5, "-o", "g.json")
    assert code == 2
    assert "no memory for replicates" in err
    assert read_graph(tmp_path / "g.json").d == 3


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="there is no such device")
def test_a_device_can_be_written_to(call, table):
    Path("g.csv").write_text("source,target\na,b\n")
    assert call("convert", "g.csv", "/dev/null", "--to", "json")[0] == 0
