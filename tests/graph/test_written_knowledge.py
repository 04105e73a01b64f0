"""Knowledge as people write it: the rest, patterns, sources and sinks, dicts, and mistakes."""

import numpy as np
import pytest

from psidag import Constraints, DataWarning, InputError, learn_dag

NAMES = ["age", "gene_1", "gene_2", "sex", "death", "diet"]


@pytest.mark.parametrize(
    ("tiers", "expected"),
    [
        ([["age", "sex"], "*"], [0, 1, 1, 0, 1, 1]),
        (["age", "*", "death"], [0, 1, 1, 1, 2, 1]),
        (["age", "sex"], [0, -1, -1, 1, -1, -1]),
        ([["age", "sex"], "gene_*", "*"], [0, 1, 1, 0, 2, 2]),
        ([["age", "sex"], ["gene_?", "diet"], ["death"]], [0, 1, 1, 0, 2, 1]),
        ([["age"], ["*", "diet"]], [0, 1, 1, 1, 1, 1]),
        ([[0], [1, "gene_2"]], [0, 1, 1, -1, -1, -1]),
    ],
)
def test_tiers(tiers, expected):
    assert Constraints(tiers=tiers).bind(NAMES).tier.tolist() == expected


def test_a_column_may_be_called_star():
    assert Constraints(tiers=["*", "a"]).bind(["a", "*", "b"]).tier.tolist() == [1, 0, -1]


def test_one_tier_says_that_it_says_nothing():
    with pytest.warns(DataWarning, match="one tier says nothing"):
        Constraints(tiers=[["age", "sex"]]).bind(NAMES)


def test_exogenous_and_sinks_forbid_what_they_say():
    bound = Constraints(exogenous=["age", "s*"], sinks="death").bind(NAMES)
    allowed = bound.allowed()
    assert not allowed[:, [0, 3]].any()
    assert not allowed[4].any()
    assert allowed[0, [1, 2, 4, 5]].all()
    assert allowed[:4, 4].all()


def test_edges_by_pattern():
    bound = Constraints([("age", "gene_*")], [("gene_*", "gene_*"), ("death", "*")]).bind(NAMES)
    assert bound.required.tolist() == [[0, 1], [0, 2]]
    assert bound.forbidden.tolist() == [[1, 2], [2, 1], *([4, k] for k in (0, 1, 2, 3, 5))]


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"tiers": "age"}, "tiers must be a list"),
        ({"tiers": ["*", "*"]}, r"both hold '\*'"),
        ({"tiers": ["aeg", "*"]}, "did you mean 'age'"),
        ({"tiers": ["gone_*", "*"]}, "no column fits"),
        ({"required_edges": ("age", "diet")}, "must be pairs"),
        ({"required_edges": [("age", "diet", 1)]}, "must be pairs"),
        ({"required_edges": {"age": "diet"}}, "must be a list of pairs"),
        ({"exogenous": ["death"], "required_edges": [("age", "death")]}, "both required and forbidden"),
        ({"sink": ["death"]}, "the key 'sink'"),
        ([("age", "diet")], r"must be Constraints\(…\) or a dict"),
        ("age -> diet", r"must be Constraints\(…\) or a dict"),
    ],
)
def test_mistakes_are_a_sentence(known, message):
    rows = np.random.default_rng(0).normal(size=(30, len(NAMES)))
    with pytest.raises(InputError, match=message):
        learn_dag(rows, names=NAMES, constraints=known)


def test_a_dict_is_knowledge():
    rng = np.random.default_rng(0)
    age = rng.normal(size=500)
    rows = np.c_[age, rng.normal(size=(500, 4)), 2 * age + rng.normal(size=500)]
    dag = learn_dag(rows, names=NAMES, constraints={"exogenous": ["age"]}, random_state=0).dag
    assert dag.parents("age") == []
    assert "diet" in dag.children("age")


def test_a_million_forbidden_edges_are_no_trouble():
    names = [f"x{k}" for k in range(1100)]
    edges = [(a, b) for a in names for b in names if a < b]
    assert len(Constraints(forbidden_edges=edges).bind(names).forbidden) == len(edges)


def test_files_say_it_too(tmp_path):
    file = tmp_path / "k.toml"
    file.write_text('tiers = [["age", "sex"], "*"]\nexogenous = ["sex"]\nsinks = ["death"]')
    bound = Constraints.from_file(file).bind(NAMES)
    assert bound.tier.tolist() == [0, 1, 1, 0, 1, 1]
    assert not bound.allowed()[:, 3].any()


def test_a_column_that_was_split_into_categories_goes_by_its_name():
    names = ["city=Rome", "city=Oslo", "age", "rent"]
    known = Constraints(exogenous=["city"], forbidden_edges=[("city", "age")]).bind(names)
    assert {(0, 2), (1, 2)} <= {tuple(pair) for pair in known.forbidden.tolist()}
    assert {(2, 0), (3, 1)} <= {tuple(pair) for pair in known.forbidden.tolist()}
    # A column of that very name is meant itself.
    assert Constraints(sinks=["city"]).bind(["city", "city=Rome"]).forbidden.tolist() == [[0, 1]]
