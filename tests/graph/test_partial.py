"""The partially directed graph: what it says, and what it refuses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psidag import DAG, InputError
from psidag.graph.equivalence import cpdag
from psidag.graph.partial import CONFLICT, Evidence, PartialGraph
from support.random_dags import dags


@given(st.integers(1, 7).flatmap(dags))
def test_a_matrix_there_and_back(matrix):
    graph = PartialGraph.from_matrix(cpdag(matrix), because="collider")
    assert np.array_equal(graph.to_matrix().toarray(), cpdag(matrix).toarray())
    assert graph.n_edges == matrix.sum()
    assert len(graph.directed_edges()) == graph.n_directed
    assert all(graph.because(*pair) == "collider" for pair in graph.directed_edges())
    for a, b in graph.undirected_edges():
        assert graph.because(a, b) is graph.because(b, a) is None
        assert graph.joined(b, a)
        assert not graph.is_directed(a, b)
        assert not graph.is_directed(b, a)
    assert (graph.rows_of(DAG.from_weights(matrix)) >= 0).all()


def test_evidence_of_either_direction():
    graph = PartialGraph.from_arrays("abc", [0, 1], [1, 2], [True, False], [4, CONFLICT], [9.0, 2.0], [0.96, 0.7])
    assert graph.evidence("a", "b") == Evidence(9.0, 0.96, False)
    assert graph.evidence("b", "a") == pytest.approx((-9.0, 0.04, False))
    assert graph.evidence("b", "c") == Evidence(2.0, 0.7, False)
    assert graph.because("c", "b") == "conflict"
    assert repr(graph) == "PartialGraph(3 variables, 1 directed and 1 undirected edges)"


REFUSED = {
    "twice": (lambda: PartialGraph.from_edges([("a", "b")], [("b", "a")]), "joined more than once"),
    "loop": (lambda: PartialGraph.from_edges([("a", "a")]), "to itself"),
    "stranger": (lambda: PartialGraph.from_edges([("a", "b")], names=["a"]), "'b', which is not among the 1 names"),
    "outside": (lambda: PartialGraph.from_arrays("ab", [0], [2], True), "outside of the 2 variables"),
    "lengths": (lambda: PartialGraph.from_arrays("ab", [0], [1, 0], True), "1 sources and 2 targets"),
    "namesakes": (lambda: PartialGraph.from_arrays("aa", [0], [1], True), "the same name"),
    "reason": (lambda: PartialGraph.from_arrays("ab", [0], [1], False, 0), "undirected edge cannot have the reason"),
    "directed conflict": (lambda: PartialGraph.from_arrays("ab", [0], [1], True, CONFLICT), "a directed edge cannot"),
    "nobody": (lambda: PartialGraph.from_edges([("a", "b")]).because("a", "x"), "no variable named 'x'"),
    "unjoined": (lambda: PartialGraph.from_edges([("a", "b")], names="abc").evidence("a", "c"), "no edge joins"),
    "other pairs": (
        lambda: PartialGraph.from_edges([("a", "b")], names="abc").rows_of(DAG.from_edges([("a", "c")], names="abc")),
        "do not join the same pairs",
    ),
    "turned": (
        lambda: PartialGraph.from_edges([("a", "b")]).rows_of(DAG.from_edges([("b", "a")], names="ab")),
        "'b' -> 'a', which is directed the other way",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case):
    build, message = REFUSED[case]
    with pytest.raises(InputError, match=message):
        build()
