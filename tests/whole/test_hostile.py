"""Files made to harm: nothing in them is executed, and no memory is taken on the word of a header."""

import io
import pickle
import tracemalloc
import zipfile

import numpy as np
import pytest

from psidag import Constraints, InputError, Solution, fit_dag
from psidag.data.files import read_table
from psidag.simulate import simulate


class Bomb:
    """Unpickling it would leave a file behind."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return open, (self.path, "w")


def npy(shape, dtype="<f8", content=b""):
    """An .npy file whose header claims anything."""
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": dtype, "fortran_order": False, "shape": shape})
    return out.getvalue() + content


def npz(members, compression=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def sparing(action):
    """The action's error, which must not have taken more than a few megabytes."""
    tracemalloc.start()
    try:
        with pytest.raises(InputError) as caught:
            action()
        assert tracemalloc.get_traced_memory()[1] < 2e7
    finally:
        tracemalloc.stop()
    assert "\n" not in str(caught.value)
    return str(caught.value)


CLAIMS = {
    "t.npy": npy((10**6, 10**6)),
    "small.npy": npy((5, 2), content=bytes(72)),
    "negative.npy": npy((-1, 2)),
    "t.npz": npz({"X.npy": npy((10**6, 10**6))}),
    "stored.npz": npz({"X.npy": npy((10**5, 10**5))}, zipfile.ZIP_STORED),
    "text.npz": npz({"X.npy": npy((2, 2), content=bytes(32)), "names.npy": npy((10**9,), "<U1000")}),
}


@pytest.mark.parametrize("name", CLAIMS)
def test_claims_of_tables_are_held_against_what_is_there(name, tmp_path):
    (tmp_path / name).write_bytes(CLAIMS[name])
    assert name in sparing(lambda: read_table(tmp_path / name))


def test_claims_from_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", type("Stdin", (), {"buffer": io.BytesIO(CLAIMS["t.npy"])}))
    assert "claims an array" in sparing(lambda: read_table("-"))


def test_a_bomb_is_not_unpacked(tmp_path, monkeypatch):
    """A megabyte of zeros that packs a gigabyte is fine on a machine that has it, and refused on one that has not."""
    (tmp_path / "t.npz").write_bytes(npz({"X.npy": npy((10**6, 4), content=bytes(32 * 10**6))}))
    monkeypatch.setattr("psidag.system.memory.available", lambda: 10**7)
    assert "would take 32 MB of memory, and 10 MB are free" in sparing(lambda: read_table(tmp_path / "t.npz"))
    monkeypatch.undo()
    assert read_table(tmp_path / "t.npz").X.shape == (10**6, 4)


@pytest.mark.parametrize("ending", ["npy", "npz"])
def test_objects_are_never_unpickled(ending, tmp_path):
    trace = tmp_path / "trace"
    bomb = np.array([[Bomb(trace), 1.0]], dtype=object)
    if ending == "npy":
        np.save(tmp_path / "t.npy", bomb, allow_pickle=True)
    else:
        np.savez(tmp_path / "t.npz", X=bomb)
    with pytest.raises(InputError):
        read_table(tmp_path / f"t.{ending}")
    for name in ("m.psidag", "k.yaml", "k.toml", "k.txt"):
        (tmp_path / name).write_bytes(pickle.dumps(Bomb(trace)))
        with pytest.raises(InputError):
            (Solution.load if name == "m.psidag" else Constraints.from_file)(tmp_path / name)
    assert not trace.exists()


def model(tmp_path):
    problem = simulate("ER2", d=6, n=40, seed=0)
    fit_dag(problem.X, problem.dag).save(tmp_path / "m.psidag")
    return (tmp_path / "m.psidag").read_bytes()


def test_a_model_whose_members_share_their_bytes_is_refused(tmp_path):
    """Ten thousand entries that all point at the same megabyte would be ten gigabytes."""
    path = tmp_path / "m.psidag"
    content = bytearray(model(tmp_path))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        largest = max(archive.infolist(), key=lambda entry: entry.file_size)
        start = archive.start_dir
    # In the directory at the end every entry claims the size of the whole file.
    for at in range(start, len(content) - 46):
        if content[at : at + 4] == b"PK\x01\x02":
            content[at + 20 : at + 28] = 2 * len(content).to_bytes(4, "little")
    path.write_bytes(content)
    assert largest.file_size < len(content)
    assert "claims to hold more than" in sparing(lambda: Solution.load(path))


YAML_LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [*{old}, *{old}, *{old}, *{old}, *{old}, *{old}, *{old}, *{old}, *{old}]\n"
    for old, new in zip("abcdefghijk", "bcdefghijkl", strict=True)
)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("k.yaml", YAML_LAUGHS),
        ("k.yaml", "tiers: !!python/object/apply:os.system ['true']\n"),
        ("k.yaml", "required_edges: !!python/name:os.system\n"),
        ("k.yaml", "[" * 5000),
        ("k.toml", "tiers = " + "[" * 5000),
        ("k.toml", "tiers = [[" + "9" * 6000 + "]]"),
        ("k.txt", "/knowledge\naddtemporal\n² a b\n"),
        ("k.txt", "/knowledge\naddtemporal\n" + "9" * 6000 + " a b\n"),
        ("k.txt", "/knowledge\naddtemporal\n1* " + " ".join(f"x{k}" for k in range(20_000))),
    ],
)
def test_knowledge_that_unfolds_or_executes_is_refused(name, content, tmp_path):
    (tmp_path / name).write_text(content, encoding="utf-8")
    sparing(lambda: Constraints.from_file(tmp_path / name))
