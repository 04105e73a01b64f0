"""What the command line prints: harmless to terminals, and about wide tables as about narrow ones."""

import json

import numpy as np


def test_names_cannot_move_the_cursor(call, tmp_path):
    rng = np.random.default_rng(0)
    a = rng.normal(size=200)
    names = ["evil\x1b[2J", "bell\x07\x9b5m", "two\nlines"]
    np.savez(tmp_path / "t.npz", X=np.c_[a, 2 * a + rng.normal(size=200), np.round(a)], names=names)
    for arguments in (["fit", "t.npz"], ["info", "t.npz"], ["fit", "t.npz", "--json"], ["fit", "t.npz", "-c", "x*"]):
        _, out, err = call(*arguments)
        assert not set(out + err) & {"\x1b", "\x07", "\x9b"}
    _, out, _ = call("fit", "t.npz", "--json")
    assert [node["name"] for node in json.loads(out)["nodes"]] == names


def test_info_takes_as_long_as_the_table_is_wide(call, tmp_path):
    # With work for each pair of columns this would take minutes.
    np.save(tmp_path / "wide.npy", np.random.default_rng(0).normal(size=(5, 60_000)))
    code, out, _ = call("info", "wide.npy")
    assert code == 0
    assert "60,000 columns" in out
