"""Prior knowledge: files in three formats, and that it holds in every engine, always."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from psidag import Constraints, InputError, fit_order, learn_dag
from support.methods import METHODS

KNOWN = Constraints(
    required_edges=[("a", "b")], forbidden_edges=[("c", "b"), ("d", "e")], tiers=[["a"], ["b", "c"], ["d", "e"]]
)
TOML = """
required_edges = [["a", "b"]]
forbidden_edges = [["c", "b"], ["d", "e"]]
tiers = [["a"], ["b", "c"], ["d", "e"]]
"""
YAML = """
required_edges:
  - [a, b]
forbidden_edges: [[c, b], [d, e]]
tiers:
  - [a]
  - [b, c]
  - [d, e]
"""
TETRAD = """/knowledge
addtemporal

1 a
2 b c
3 d e

forbiddirect
c b
d e

requiredirect
a b
"""


@pytest.mark.parametrize(("name", "text"), [("k.toml", TOML), ("k.yaml", YAML), ("k.txt", TETRAD)])
def test_three_formats_say_the_same(tmp_path, name, text):
    if name.endswith("yaml"):
        pytest.importorskip("yaml")
    (tmp_path / name).write_text(text)
    found = Constraints.from_file(tmp_path / name).bind(list("abcde"))
    expected = KNOWN.bind(list("abcde"))
    for key in ("required", "forbidden", "tier"):
        np.testing.assert_array_equal(getattr(found, key), getattr(expected, key))


def test_indices_and_tiers_that_are_closed(tmp_path):
    (tmp_path / "k.toml").write_text("required_edges = [[0, 1]]")
    assert Constraints.from_file(tmp_path / "k.toml").bind(["x", "y"]).required.tolist() == [[0, 1]]
    (tmp_path / "k.knowledge").write_text("/knowledge\naddtemporal\n0* a b\n1 c\n")
    found = Constraints.from_file(tmp_path / "k.knowledge").bind(["a", "b", "c"])
    assert found.forbidden.tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("k.toml", "required_edges = 3", "must be a list"),
        ("k.toml", "required_edges = [['a']]", "pairs such as"),
        ("k.toml", "required_edges = [['a', 1.5]]", "name columns"),
        ("k.toml", "tiers = 'a'", "must be a list"),
        ("k.toml", "required = [['a', 'b']]", "has the key 'required'; the keys are 'required_edges'"),
        ("k.toml", "tiers = [", "not TOML"),
        ("k.yaml", "tiers: [", "not YAML"),
        ("k.yaml", "- 1", "must hold the keys"),
        ("k.yaml", "!!python/object/apply:os.system ['true']", "not YAML"),
        ("k.txt", "hello", "neither"),
        ("k.txt", "/knowledge\naddtemporal\nfirst a", "number of a tier"),
        ("k.txt", "/knowledge\nforbiddirect\na b c", "line 3"),
        ("k.txt", "/knowledge\naddtemporal\n1 X*", "write the names out"),
        ("k.toml", b"\xff\xff", "cannot read"),
    ],
)
def test_bad_files_are_named(tmp_path, name, text, message):
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError, match=message):
        Constraints.from_file(tmp_path / name)


def test_no_file(tmp_path):
    with pytest.raises(InputError, match="no file"):
        Constraints.from_file(tmp_path / "k.toml")


def holds(dag, known):
    """Spelled out independently of the code under test."""
    edges = {(dag.names.index(i), dag.names.index(j)) for i, j, _ in dag.edges()}
    tier = {v: level for level, members in enumerate(known.tiers) for v in members}
    reach = np.linalg.matrix_power(np.eye(dag.d) + (dag.to_dense() != 0), dag.d) > 0
    return (
        set(known.required_edges) <= edges
        and not edges & set(known.forbidden_edges)
        and not any(reach[i, j] and tier[i] > tier[j] for i in tier for j in tier)
    )


@st.composite
def knowledge(draw, d):
    order = draw(st.permutations(range(d)))
    pairs = [(order[i], order[j]) for i in range(d) for j in range(i + 1, d)]
    required = draw(st.lists(st.sampled_from(pairs), max_size=4, unique=True))
    every = [(i, j) for i in range(d) for j in range(d) if i != j and (i, j) not in required]
    forbidden = draw(st.lists(st.sampled_from(every), max_size=8, unique=True))
    cuts = sorted(draw(st.lists(st.integers(0, d), max_size=2)))
    tiers = [list(order[a:b]) for a, b in zip([0, *cuts], [*cuts, d], strict=True)]
    members = draw(st.sets(st.integers(0, d - 1)))
    return Constraints(required, forbidden, [[v for v in tier if v in members] for tier in tiers])


@pytest.mark.parametrize("engine", METHODS)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    known=knowledge(6),
    seed=st.integers(0, 100),
    threshold=st.sampled_from([None, 0.0, 0.3]),
    noise=st.sampled_from(["equal", "unequal"]),
)
def test_knowledge_always_holds(engine, known, seed, threshold, noise):
    rng = np.random.default_rng(seed)
    W = np.triu(rng.normal(size=(6, 6)), 1)[np.ix_(*[rng.permutation(6)] * 2)]
    X = rng.normal(size=(200, 6)) @ np.linalg.inv(np.eye(6) - W)
    options = {"threshold": threshold, "random_state": seed} | ({"noise": noise} if engine == "sparse" else {})
    solution = learn_dag(X, **METHODS[engine] | options, constraints=known, n_jobs=1)
    assert holds(solution.dag, known)
    again = fit_order(X, solution.order, constraints=known, threshold=threshold)
    assert holds(again.dag, known)
