"""Orientation rules and extensions against all DAGs of a class, one by one."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from psidag import DAG, Constraints, InputError
from psidag.graph.equivalence import cpdag
from psidag.graph.extension import check, extension
from psidag.graph.order import topological_order
from psidag.graph.orientation import ContradictionError, close, markov_class, open_colliders
from psidag.graph.partial import REASONS, Evidence, PartialGraph
from support.random_dags import dags


def members(graph, known, may_collide=frozenset()):
    """All DAGs of a partially directed graph, by trying every direction of every edge."""
    d, pairs = graph.d, list(zip(graph.sources.tolist(), graph.targets.tolist(), strict=True))
    joined = {frozenset(pair) for pair in pairs}
    bound = known.bind(graph.names)

    def colliders(edges):
        return {
            (i, k, j)
            for i, k in edges
            for j, other in edges
            if other == k and i < j and frozenset((i, j)) not in joined
        }

    claimed = {pair for pair, directed in zip(pairs, graph.directed.tolist(), strict=True) if directed}
    permitted = colliders(claimed) | set(may_collide)
    for turns in range(2 ** len(pairs)):
        edges = {(i, j) if turns >> bit & 1 else (j, i) for bit, (i, j) in enumerate(pairs)}
        matrix = np.zeros((d, d))
        for i, j in edges:
            matrix[i, j] = 1
        if claimed <= edges and colliders(edges) <= permitted and acceptable(matrix, bound):
            yield matrix


def acceptable(matrix, bound):
    """Acyclic together with what must come before what, and without directions that are forbidden."""
    d = len(matrix)
    both = sp.lil_array(bound.precedence)
    both[:d, :d] = both[:d, :d] + sp.csr_array(matrix)
    try:
        topological_order(both)
    except InputError:
        return False
    two_way = bound.forbidden_matrix.toarray()
    lone = (two_way == 1) & (two_way.T == 0)
    return not (matrix[lone] != 0).any()


def agreed(found):
    """What a list of DAGs agree on, as :meth:`PartialGraph.to_matrix` writes it."""
    return np.maximum.reduce([matrix.astype(np.int8) for matrix in found])


@st.composite
def known_about(draw, d, *, all_in_tiers):
    """Knowledge that some DAG on d vertices satisfies, with that DAG."""
    matrix = draw(dags(d))
    order = topological_order(matrix).tolist()
    edges = [tuple(edge) for edge in np.argwhere(matrix).tolist()]
    required = draw(st.lists(st.sampled_from(edges), max_size=2)) if edges else []
    others = [(i, j) for i in range(d) for j in range(d) if i != j and (i, j) not in edges]
    forbidden = draw(st.lists(st.sampled_from(others), max_size=3)) if others else []
    cuts = sorted(draw(st.lists(st.integers(0, d), max_size=2)))
    tiers = [order[a:b] for a, b in zip([0, *cuts], [*cuts, d], strict=True)]
    if not all_in_tiers:
        named = draw(st.sets(st.integers(0, d - 1)))
        tiers = [[v for v in tier if v in named] for tier in tiers]
    return matrix, Constraints(required, forbidden, tiers)


@given(st.integers(2, 5).flatmap(lambda d: known_about(d, all_in_tiers=True)))
@settings(max_examples=150, deadline=None)
def test_a_markov_class_with_knowledge_is_what_its_members_agree_on(case):
    matrix, known = case
    dag = DAG.from_weights(matrix)
    bound = known.bind(dag.names)
    found = markov_class(dag, bound)
    equivalent = list(members(PartialGraph.from_matrix(cpdag(matrix)), known))
    assert np.array_equal(found.to_matrix().toarray(), agreed(equivalent))
    assert any(np.array_equal(extension(found, bound).to_dense(), member) for member in equivalent)
    found.rows_of(dag)
    check(found, bound)


@given(st.integers(2, 5).flatmap(lambda d: known_about(d, all_in_tiers=False)), st.data())
@settings(max_examples=150, deadline=None)
def test_claims_of_one_dag_close_to_what_all_members_share(case, data):
    """Any of the directions of a DAG can be claimed: what follows is sound, and the DAG stays a member."""
    matrix, known = case
    dag = DAG.from_weights(matrix)
    bound = known.bind(dag.names)
    edges = dag.weights.tocoo()
    sure = data.draw(st.lists(st.booleans(), min_size=dag.n_edges, max_size=dag.n_edges))
    claims = PartialGraph.from_arrays(dag.names, edges.row, edges.col, sure, np.where(sure, 4, -1))
    possible = open_colliders(claims, dag)
    closed = close(claims, bound, possible)
    everyone = list(members(claims, known, possible))
    assert any(np.array_equal(matrix, member) for member in everyone)
    union = agreed(everyone)
    assert not ((closed.to_matrix().toarray() == 0) & (union != 0)).any()
    chosen = extension(closed, bound, possible).to_dense()
    assert any(np.array_equal(chosen, member) for member in everyone)
    check(closed, bound, possible)


@given(st.integers(2, 5).flatmap(dags), st.data())
@settings(max_examples=150, deadline=None)
def test_an_extension_is_found_exactly_if_there_is_one(matrix, data):
    """Also for directions that no DAG was behind."""
    pairs = np.argwhere(matrix).tolist()
    turned = data.draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs)))
    sure = data.draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs)))
    ends = np.array([pair[::-1] if turn else pair for pair, turn in zip(pairs, turned, strict=True)]).reshape(-1, 2)
    names = [f"x{k}" for k in range(len(matrix))]
    graph = PartialGraph.from_arrays(names, ends[:, 0], ends[:, 1], sure)
    everyone = list(members(graph, Constraints()))
    if everyone:
        assert any(np.array_equal(extension(graph).to_dense(), member) for member in everyone)
    else:
        with pytest.raises(ContradictionError, match="no DAG agrees"):
            extension(graph)


# Each rule alone: the directed edges, the undirected ones, and what follows.
RULES = {
    "away from a collider": ([("a", "b")], [("b", "c")], ("b", "c")),
    "no cycle": ([("a", "b"), ("b", "c")], [("a", "c")], ("a", "c")),
    "two ways to a collider": ([("c", "b"), ("d", "b")], [("a", "b"), ("a", "c"), ("a", "d")], ("a", "b")),
    "round the corner": ([("d", "c"), ("c", "b")], [("a", "b"), ("a", "d"), ("a", "c")], ("a", "b")),
}


@pytest.mark.parametrize("rule", RULES)
def test_each_rule(rule):
    directed, undirected, (cause, effect) = RULES[rule]
    names = sorted({v for pair in directed + undirected for v in pair})
    closed = close(PartialGraph.from_edges(directed, undirected, names, because="shape"))
    assert closed.is_directed(cause, effect)
    assert closed.because(cause, effect) == "shape"
    assert closed.evidence(cause, effect).derived
    assert not any(closed.evidence(*pair).derived for pair in directed)


def test_a_consequence_has_the_least_of_the_evidence_and_the_last_of_the_reasons():
    graph = PartialGraph.from_arrays(
        "abc", [0, 1, 0], [1, 2, 2], [True, True, False], [1, 4, -1], [30.0, 12.0, 3.0], [0.98, 0.999, 0.6]
    )
    closed = close(graph)
    assert closed.because("a", "c") == "shape"
    assert closed.evidence("a", "c") == pytest.approx(Evidence(12.0, 0.98, True))
    assert closed.evidence("c", "a") == pytest.approx(Evidence(-12.0, 0.02, True))
    assert graph.undirected_edges() == [("a", "c")]  # the caller's graph is not changed


def test_of_several_derivations_the_strongest_counts():
    # a -> c follows from shape through b, and from knowledge through d.
    ends = np.array([(0, 1), (1, 2), (0, 3), (3, 2), (0, 2)])
    graph = PartialGraph.from_arrays("abcd", ends[:, 0], ends[:, 1], [1, 1, 1, 1, 0], [4, 4, -1, -1, -1], 10.0, 0.96)
    known = Constraints([("a", "d"), ("d", "c")]).bind("abcd")
    closed = close(graph, known)
    assert closed.because("a", "c") == "knowledge"
    assert closed.evidence("a", "c") == Evidence(np.inf, 1.0, True)


def test_a_collider_that_stays_open_directs_nothing():
    dag = DAG.from_edges([("a", "b"), ("c", "b"), ("b", "d")])
    edges = dag.weights.tocoo()
    claims = PartialGraph.from_arrays(dag.names, edges.row, edges.col, edges.row == 0, np.where(edges.row == 0, 1, -1))
    closed = close(claims, None, open_colliders(claims, dag))
    assert closed.directed_edges() == [("a", "b"), ("b", "d")]
    assert closed.undirected_edges() == [("c", "b")]
    assert close(claims).is_directed("b", "c")  # without it the edge would be turned


def test_a_path_does_not_lead_back_in_time():
    known = Constraints(tiers=[["early"], ["late"]]).bind(["early", "free", "late"])
    graph = PartialGraph.from_arrays(known.names, [2, 1], [1, 0], [True, False], [4, -1], 8.0, 0.97)
    closed = close(graph, known, {(0, 1, 2)})
    assert closed.is_directed("early", "free")
    assert closed.because("early", "free") == "shape"


CONTRADICTIONS = {
    "a cycle": (PartialGraph.from_edges([("a", "b"), ("b", "c"), ("c", "a")]), None, "no DAG agrees"),
    "a ring without shields": (
        PartialGraph.from_edges([], [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")]),
        None,
        "no DAG agrees",
    ),
    "against knowledge": (
        PartialGraph.from_edges([("b", "a")]),
        Constraints([("a", "b")]),
        "knowledge says the reverse",
    ),
    "not closed": (PartialGraph.from_edges([("a", "b")], [("b", "c")]), None, "'b' -> 'c' follows"),
}


@pytest.mark.parametrize("case", CONTRADICTIONS)
def test_contradictions_are_named(case):
    graph, known, message = CONTRADICTIONS[case]
    with pytest.raises(ContradictionError, match=message):
        check(graph, known and known.bind(graph.names))


def test_rules_that_contradict_each_other_name_both_reasons():
    graph = PartialGraph.from_edges([("a", "b"), ("d", "c")], [("b", "c")], because="shape")
    with pytest.raises(ContradictionError, match=r"\(shape\) and the reverse \(shape\)"):
        close(graph)


@given(st.integers(3, 9).flatmap(dags), st.permutations(range(9)))
@settings(max_examples=60, deadline=None)
def test_relabelling_relabels_the_closure(matrix, label):
    label = [v for v in label if v < len(matrix)]
    assume(matrix.any())
    plain = markov_class(DAG.from_weights(matrix)).to_matrix().toarray()
    other = markov_class(DAG.from_weights(matrix[np.ix_(label, label)])).to_matrix().toarray()
    assert np.array_equal(plain[np.ix_(label, label)], other)
    assert np.array_equal(plain, cpdag(matrix).toarray())


def test_tens_of_thousands_of_variables():
    rng = np.random.default_rng(0)
    d = 20_000
    ends = np.sort(rng.integers(d, size=(2 * d, 2)), axis=1)
    ends = np.unique(ends[ends[:, 0] < ends[:, 1]], axis=0)
    W = sp.csr_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(d, d))
    dag = DAG.from_weights(W)
    graph = markov_class(dag)
    assert (graph.to_matrix() != cpdag(dag)).nnz == 0
    assert (cpdag(extension(graph)) != cpdag(dag)).nnz == 0


def test_reasons_are_in_their_order():
    assert REASONS == ("knowledge", "collider", "intervention", "equal variances", "shape")
