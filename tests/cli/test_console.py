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


def test_mistakes_are_told_in_words_of_the_command_line(call, tmp_path):
    (tmp_path / "gaps.csv").write_text("a,b\n1,2\n,3\n2,5\n4,4\n")
    (tmp_path / "one.csv").write_text("a\n1\n2\n4\n")
    code, _, err = call("fit", "gaps.csv")
    assert code == 2
    assert "values are missing: 'a' in 1 of 4 rows" in err
    assert "--missing drop" in err
    assert "NaN" not in err
    assert 'missing="' not in err
    code, _, err = call("fit", "one.csv")
    assert code == 2
    assert err.endswith("psidag: a graph needs at least two columns\n")
