"""Every kind of file that is read, damaged at random: each ends in a result or in one clean error."""

import io
import json
import random
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psidag import Constraints, InputError, fit_dag, learn_dag
from psidag.cli.graphs import load
from psidag.data.files import read_table
from psidag.data.writing import write_table
from psidag.exchange import FORMATS, format_graph
from psidag.simulate import simulate

pytestmark = pytest.mark.filterwarnings("ignore::psidag.DataWarning")

PROBLEM = simulate("ER2", d=6, n=40, seed=0)
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
    problem = PROBLEM
    solution = fit_dag(problem.X, problem.dag)
    found = {f"g{entry.endings[0]}": format_graph(solution, name).encode() for name, entry in FORMATS.items()}
    solution.save(folder / "m.psidag")
    found["m.psidag"] = (folder / "m.psidag").read_bytes()
    for ending in ("csv", "npy", "npz", "parquet"):
        if ending == "parquet":
            pytest.importorskip("pyarrow")
        write_table(problem.X, problem.names, str(folder / f"t.{ending}"))
        found[f"t.{ending}"] = (folder / f"t.{ending}").read_bytes()
    learn_dag(problem.X, checkpoint=folder / "c.run", random_state=0)
    found["c.run"] = (folder / "c.run").read_bytes()
    return found | KNOWLEDGE


def resume(path):
    return learn_dag(PROBLEM.X, random_state=0, n_jobs=1, checkpoint=path, resume=True)


READERS = {"g": lambda p: load(str(p)), "m": lambda p: load(str(p)), "t": read_table, "k": Constraints.from_file}
READERS["c"] = resume


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
        try:
            READERS[name[0]](path)
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


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def places(value, path=()):
    """The paths of everything in a JSON value."""
    yield path
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(item, (*path, key))


def forged(content, path, junk):
    """An archive whose head has junk in one place, with all checksums right."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    head_name = next(name for name in members if name.endswith(".json"))
    head = json.loads(members[head_name])
    inner = head
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = junk
    members[head_name] = json.dumps(head).encode()
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return held.getvalue()


def everywhere(content):
    """The paths of everything in the head of an archive."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        head = json.loads(archive.read(next(n for n in archive.namelist() if n.endswith(".json"))))
    return [path for path in places(head) if path]


def read_forged(path, content, place, junk):
    path.write_bytes(forged(content, place, junk))
    try:
        READERS[path.name[0]](path)
    except InputError as error:
        assert "\n" not in str(error)  # noqa: PT017


@pytest.mark.parametrize("name", ["m.psidag", "c.run"])
def test_a_head_with_nothing_in_one_place(files, name, tmp_path):
    for place in everywhere(files[name]):
        read_forged(tmp_path / name, files[name], place, None)


@pytest.mark.parametrize("name", ["m.psidag", "c.run"])
@pytest.mark.slow
def test_forged_heads(files, name, tmp_path):
    """Thousands of cases: every place of the head, replaced by junk that no checksum can catch."""

    @settings(max_examples=500, database=None)
    @given(st.sampled_from(everywhere(files[name])), JUNK)
    def check(place, junk):
        read_forged(tmp_path / name, files[name], place, junk)

    check()
