"""What a solution says of its directions, in tables, files and the formats of others."""

import json

import numpy as np
import pandas as pd
import pytest

from psidag import DAG, Constraints, InputError, Solution, bootstrap, exchange, learn_dag
from psidag.graph.equivalence import cpdag
from psidag.graph.partial import PartialGraph
from psidag.simulate import simulate
from psidag.solution import storage
from support.solutions import given

NAMES = ["a", "b", "c", "d"]


@pytest.fixture(scope="module")
def rows():
    """A chain a – b – c, and d beside it that points into c."""
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(10_000, 4)) * [1, 2, 1, 3]
    a, d = noise[:, 0], noise[:, 3]
    b = a + noise[:, 1]
    c = b + d + noise[:, 2]
    return np.c_[a, b, c, d]


@pytest.fixture(scope="module")
def unequal(rows):
    return learn_dag(rows, noise="unequal", names=NAMES, random_state=0)


def test_the_unequal_score_directs_what_colliders_direct(unequal):
    assert sorted(unequal.graph.directed_edges()) == [("b", "c"), ("d", "c")]
    assert {frozenset(pair) for pair in unequal.graph.undirected_edges()} == {frozenset("ab")}
    assert unequal.graph.because("b", "c") == "collider"
    assert unequal.graph.because("a", "b") is None


def test_equal_variances_direct_the_rest(rows):
    solution = learn_dag(rows / [1, 2, 1, 3], names=NAMES, random_state=0, constraints=Constraints([("a", "b")]))
    assert not solution.graph.undirected_edges()
    assert solution.graph.because("a", "b") == "knowledge"
    solution = learn_dag(simulate("ER2", d=10, n=1000, seed=0).X, random_state=0, evidence=False)
    assert (solution.graph.to_matrix() != (solution.dag.weights != 0)).nnz == 0
    agreed = cpdag(solution.dag).toarray()
    for source, target in solution.graph.directed_edges():
        i, j = solution.dag.index(source), solution.dag.index(target)
        assert solution.graph.because(source, target) == ("equal variances" if agreed[j, i] else "collider")


def test_knowledge_directs_and_what_follows_from_it(rows):
    known = Constraints(tiers=[["a"], ["b", "c", "d"]])
    solution = learn_dag(rows, noise="unequal", names=NAMES, random_state=0, constraints=known)
    assert solution.graph.because("a", "b") == "knowledge"
    assert not solution.graph.undirected_edges()


def test_tables_and_prints_mark_open_directions(unequal):
    table = unequal.edges()
    frame = table.to_pandas()
    assert frame["directed"].tolist() == [edge.because is not None for edge in table]
    (free,) = [edge for edge in table if not edge.directed]
    text = str(table)
    line = next(line for line in text.splitlines() if " -- " in line)
    assert line.startswith(free.source)
    assert f"{free.weight:.4g}?" in line
    assert " open " in line
    assert "the direction is open" in text
    assert "1 open" in str(unequal)
    assert "2 by colliders" in str(unequal)
    assert "—" in table._repr_html_()


def test_a_solution_keeps_its_directions_in_a_file(unequal, tmp_path):
    unequal.save(tmp_path / "model.psidag")
    again = Solution.load(tmp_path / "model.psidag")
    for key in storage._PER_EDGE:
        np.testing.assert_array_equal(getattr(again.graph, key), getattr(unequal.graph, key))


def test_files_without_directions_still_load(unequal, tmp_path, monkeypatch):
    monkeypatch.setattr(storage, "_PER_EDGE", ())
    unequal.save(tmp_path / "old.psidag")
    again = Solution.load(tmp_path / "old.psidag")
    assert sorted(again.graph.directed_edges()) == sorted(unequal.graph.directed_edges())


def test_a_graph_that_does_not_fit_is_refused(unequal):
    from dataclasses import replace

    with pytest.raises(InputError, match="directed the other way"):
        replace(unequal, graph=PartialGraph.from_dag(DAG.from_weights(unequal.dag.weights.T, names=NAMES)))
    with pytest.raises(InputError, match="do not join the same pairs"):
        replace(unequal, graph=PartialGraph.from_edges(names=NAMES))


def written(solution, format):  # noqa: A002
    return exchange.format_graph(solution, format)


def test_every_format_that_can_says_which_directions_are_open(unequal):
    (free,) = [edge for edge in unequal.edges() if not edge.directed]
    records = json.loads(written(unequal, "json"))["edges"]
    assert [(r["source"], r["target"]) for r in records if not r["directed"]] == [(free.source, free.target)]
    assert {r["because"] for r in records} == {"collider", None}
    assert written(unequal, "dot").count("dir=none") == 1
    assert f'"{free.source}" -- "{free.target}"' in written(unequal, "dagitty")
    assert written(unequal, "dagitty").startswith("pdag {")
    assert 'attr.name="directed" attr.type="boolean"' in written(unequal, "graphml")
    assert written(unequal, "gml").count("directed 0") == 1
    assert written(unequal, "cytoscape").count("is joined to") == 1
    assert "directed" in written(unequal, "edges").splitlines()[0]


@pytest.mark.parametrize("format", exchange.FORMATS)
def test_the_dag_comes_back_from_every_format(unequal, format):  # noqa: A002
    back = exchange.parse_graph(written(unequal, format), format)
    assert sorted(edge[:2] for edge in back.edges()) == sorted(edge[:2] for edge in unequal.dag.edges())


def test_a_graph_without_weights_is_written_as_one_of_its_members():
    graph = PartialGraph.from_edges([("a", "b")], [("c", "d")])
    text = written(graph, "dagitty")
    assert '"a" -> "b" [beta="1.0"]' in text
    assert text.count(" -- ") == 1


def test_networkx_has_the_attribute(unequal):
    graph = exchange.to_networkx(unequal)
    assert sum(not held["directed"] for *_, held in graph.edges(data=True)) == 1


def test_arbitrary_directions_do_not_look_supported(rows):
    """Inside a class every replicate picks a direction; none of them counts as support."""
    found = bootstrap(rows[:3000], noise="unequal", names=NAMES, replicates=20, random_state=0)
    support = {frozenset(edge[:2]): edge for edge in found.edges()}
    free, sure = support[frozenset("ab")], support[frozenset("dc")]
    assert free.connection == sure.connection == 1.0
    assert free.support == free.reverse_support == 0.0
    assert (sure.source, sure.target, sure.support, sure.reverse_support) == ("d", "c", 1.0, 0.0)
    assert found.consensus().n_edges == 3


def test_support_of_older_files_is_that_of_edges(tmp_path, monkeypatch):
    from psidag.solution import Confidence, confidence

    solution = given([("a", "b")])
    empty = bootstrap(np.random.default_rng(0).normal(size=(50, 2)), replicates=1, names=["a", "b"], random_state=0)
    found = empty.add(solution.dag.weights)
    monkeypatch.setattr(confidence, "_PER_PAIR", [key for key in confidence._PER_PAIR if key != "directed"])
    found.save(tmp_path / "draws")
    monkeypatch.undo()
    assert Confidence.load(tmp_path / "draws").support.tolist() == found.support.tolist()


def test_frames_of_edges_hold_reasons_as_text(unequal):
    frame = unequal.edges().to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert set(frame["because"].dropna()) == {"collider"}


def test_a_notebook_shows_the_summary_and_the_edges(unequal):
    shown = unequal._repr_html_()
    assert "3 edges among 4 variables" in shown
    assert shown.count("<tr>") == 4
    awkward = given([("<b>", "c", 2.0)])._repr_html_()
    assert "<b>" not in awkward
    assert "&lt;b&gt;" in awkward
