"""Every kind of file that is read, damaged at random: each ends in a result or in one clean error."""

import random

import pytest

from psidag import Constraints, InputError, fit_dag
from psidag.cli.graphs import load
from psidag.data.files import read_table
from psidag.data.writing import write_table
from psidag.exchange import FORMATS, format_graph
from psidag.simulate import simulate

#: What breaks parsers.
SPLINTERS = [b'"', b"[", b"{", b"]", b"\n", b",", b"nan", b"1e999", b"->", b"<", b"&", b"\\", b"\x00", b"-1", b"9" * 20]
KNOWLEDGE = {
    "k.toml": b'required_edges = [["a", "b"]]\ntiers = [["a"], ["b"]]\n',
    "k.yaml": b"required_edges: [[a, b]]\ntiers:\n - [a]\n",
    "k.txt": b"/knowledge\naddtemporal\n1 a b\n2* c d\nforbiddirect\na b\n",
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Whole files of every kind, and how each is read."""
    folder = tmp_path_factory.mktemp("whole")
    problem = simulate("ER2", d=6, n=40, seed=0)
    solution = fit_dag(problem.X, problem.dag)
    found = {f"g{entry.endings[0]}": format_graph(solution, name).encode() for name, entry in FORMATS.items()}
    solution.save(folder / "m.psidag")
    found["m.psidag"] = (folder / "m.psidag").read_bytes()
    for ending in ("csv", "npy", "npz", "parquet"):
        if ending == "parquet":
            pytest.importorskip("pyarrow")
        write_table(problem.X, problem.names, str(folder / f"t.{ending}"))
        found[f"t.{ending}"] = (folder / f"t.{ending}").read_bytes()
    return found | KNOWLEDGE


def damage(content, rng):
    broken = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(broken) + 1)
        kind = rng.randrange(5)
        if kind == 0 and broken:
            broken[place % len(broken)] ^= 1 << rng.randrange(8)
        elif kind == 1:
            broken[place:place] = rng.choice(SPLINTERS)
        elif kind == 2:
            del broken[place : place + rng.randint(1, 30)]
        elif kind == 3:
            del broken[place:]
        else:
            other = rng.randrange(len(broken) + 1)
            broken[place:place] = broken[other : other + 20]
    return bytes(broken)


def read_all(files, folder, cases, seed):
    rng = random.Random(seed)
    results = 0
    for _ in range(cases):
        name = rng.choice(sorted(files))
        path = folder / name
        path.write_bytes(damage(files[name], rng))
        read = {"g": lambda p: load(str(p)), "m": lambda p: load(str(p)), "t": read_table, "k": Constraints.from_file}
        try:
            read[name[0]](path)
            results += 1
        except InputError as error:
            assert "\n" not in str(error)  # noqa: PT017
    return results


def test_damaged_files(files, tmp_path):
    assert 0 < read_all(files, tmp_path, 400, seed=0) < 400


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 5))
def test_thousands_of_damaged_files(files, tmp_path, seed):
    read_all(files, tmp_path, 5000, seed)
