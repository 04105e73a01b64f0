"""Graphs through every file format and library, names and weights whole."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from psidag import DAG, InputError, exchange, fit_dag
from psidag.exchange import FORMATS, format_graph, parse_graph, read_graph, write_graph
from psidag.simulate import simulate

NASTY = [
    "a b",
    'say "hi"',
    "it's",
    "Größe µ",
    "日本",
    "x,y;z",
    "<tag>&amp;",
    "back\\slash",
    "[x]{y}",
    "a->b",
    "0",
    "graph",
]
# Line breaks and other control characters have no place in a column name of XML, GML or CSV.
NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cn", "Co"]), min_size=1, max_size=12).filter(
    lambda name: name == name.strip()
)


def nasty_dag():
    rng = np.random.default_rng(0)
    W = np.triu(rng.normal(size=(12, 12)), 1) * (rng.random((12, 12)) < 0.3)
    W[:, 5] = W[5] = 0
    return DAG.from_weights(W, names=NASTY)


def same(a, b):
    assert set(a.names) == set(b.names)
    assert sorted(a.edges()) == sorted(b.edges())


@pytest.mark.parametrize("name", FORMATS)
def test_file_formats_round_trip(name, tmp_path):
    dag = nasty_dag()
    same(parse_graph(format_graph(dag, name), name), dag)
    path = tmp_path / f"graph{FORMATS[name].endings[0]}"
    write_graph(dag, path)
    same(read_graph(path), dag)
    again = read_graph(path)
    if name not in ("edges", "tsv"):  # a table of edges has no place for the order of the vertices
        assert again.names == dag.names


@pytest.mark.parametrize("name", FORMATS)
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=40)
@given(data=st.data())
def test_any_names_round_trip(name, data):
    names = data.draw(st.lists(NAMES, min_size=2, max_size=6, unique=True))
    bits = data.draw(st.lists(st.floats(-1e6, 1e6).filter(bool), min_size=15, max_size=15))
    W = np.zeros((len(names), len(names)))
    upper = np.triu_indices(len(names), 1)
    W[upper] = [w if k % 2 else 0 for k, w in enumerate(bits[: len(upper[0])])]
    dag = DAG.from_weights(W, names=names)
    same(parse_graph(format_graph(dag, name), name), dag)


@pytest.mark.parametrize("name", FORMATS)
def test_solutions_carry_their_values_and_are_read_back(name):
    problem = simulate("ER2", d=5, n=200, seed=0)
    solution = fit_dag(problem.X, problem.dag)
    text = format_graph(solution, name)
    same(parse_graph(text, name), solution.dag)
    if name in ("json", "edges", "graphml", "cytoscape"):
        assert "standard_error" in text


@pytest.mark.parametrize("name", FORMATS)
def test_empty_graph(name):
    dag = DAG.from_weights(np.zeros((2, 2)), names=["a", "b"])
    same(parse_graph(format_graph(dag, name), name), dag)


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_broken_files_are_clean_errors(name, data):
    text = format_graph(nasty_dag(), name)
    place = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, 20))
    junk = data.draw(
        st.text(max_size=5) | st.sampled_from(['"', "[", "{", "}", "]", "\\", "<", "&", "->", "--", "\n", ","])
    )
    broken = text[:place] + junk + text[place + length :]
    try:
        parse_graph(broken, name)
    except InputError as error:
        assert str(error)  # noqa: PT017


def test_what_cannot_be_a_dag():
    for text, name, message in [
        ("source,target\na,b\nb,a\n", "edges", "cycle"),
        ("source,target\na,a\n", "edges", "itself"),
        ("source,target\na,b\na,b\n", "edges", "twice"),
        ("source,target,weight\na,b,heavy\n", "edges", "'heavy', not a number"),
        ("source,target,weight\na,b,inf\n", "edges", "finite"),
        ("source,target,weight\na,b,inf\n", "edges", "finite"),
        ("source,target\na\n", "edges", "row 2"),
        ("a,b,c\n1,2,3\n", "edges", "neither a table"),
        ("", "edges", "empty"),
        (",a,b\na,0,1\nc,0,0\n", "matrix", "same names"),
        ("graph { a -- b }", "dot", "undirected"),
        ("digraph { a -- b }", "dot", "arrows only"),
        ("dag { a <-> b }", "dagitty", "arrows only"),
        ("digraph { a -> b", "dot", "closing brace"),
        ("hello", "dot", "expected"),
        ("[1, 2]", "json", "JSON object"),
        ("{", "json", "not JSON"),
        ('{"nodes": [{"name": "a"}], "edges": [{"source": "a", "target": "b"}]}', "json", "'b', which is not"),
        ('{"format": "psidag-graph", "version": 9, "nodes": [], "edges": []}', "json", "version 9"),
        ("<graphml><graph edgedefault='undirected'/></graphml>", "graphml", "undirected"),
        ("<!DOCTYPE x [<!ENTITY a 'b'>]><graphml/>", "graphml", "document type"),
        ("<graphml", "graphml", "not XML"),
        ("graph [ node [ id 0 ]", "gml", "not closed"),
        ("graph [ node [ id 0 ] ]", "gml", "undirected"),
    ]:  # fmt: skip
        with pytest.raises(InputError, match=message):
            parse_graph(text, name)


def test_files_of_others_are_read():
    same(
        parse_graph("digraph G { node [shape=box]; rankdir=LR; a -> b -> {c d} [color=red]; e }", "dot"),
        DAG.from_edges([("a", "b"), ("b", "c"), ("b", "d"), ("a", "c"), ("a", "d")][:3], names=list("abcde")),
    )
    same(
        parse_graph('dag {\nbb="0,0,1,1"\nX [exposure,pos="0,1"]\nY [outcome]\nX -> Y\nY <- Z\n}', "dagitty"),
        DAG.from_edges([("X", "Y"), ("Z", "Y")], names=["X", "Y", "Z"]),
    )
    same(
        parse_graph(
            '{"directed": true, "nodes": [{"id": 0}, {"id": 1}], "links": [{"source": 0, "target": 1}]}', "json"
        ),
        DAG.from_edges([("0", "1")]),
    )
    same(parse_graph("from\tto\na\tb\n", "edges"), DAG.from_edges([("a", "b")]))
    same(parse_graph("a,b\n0,2\n0,0\n", "matrix"), DAG.from_edges([("a", "b", 2.0)]))


#: Pieces of DOT that mean something, or nothing, one behind the other.
PIECES = st.lists(
    st.sampled_from([
        "a", "b", "c", '"d"', '"e f"', '"g;h"', "subgraph", "SUBGRAPH s", "node", "->", " -> ", "<-", "--", ";",
        ";\n  ", "\n", "{", "}", ",", "=", '[weight="2"]', ' [weight="-1.5", label="-1.5"]', "[color=red; a -> b;]",
        "// x\n", "a -> b;", 'c->"d";', 'a -> c [weight="0.5", label="0.5"];', '"d" -> b [weight="x", label="x"];',
        "{a -> b; c}",
    ]),
    max_size=14,
)  # fmt: skip


def answer(text):
    try:
        dag = parse_graph(text, "dot")
    except InputError as error:
        return str(error)
    return dag.names, sorted(dag.edges())


@given(PIECES)
def test_edges_of_dot_in_one_go_are_read_as_piece_by_piece(pieces):
    text = "digraph {" + "".join(pieces) + "}"
    # A tab before an arrow changes nothing but the way in which the edge is read.
    assert answer(text) == answer(text.replace("->", "\t->"))


def test_unknown_formats_and_endings(tmp_path):
    with pytest.raises(InputError, match="no ending"):
        write_graph(nasty_dag(), tmp_path / "graph.xyz")
    with pytest.raises(InputError, match="no graph format"):
        format_graph(nasty_dag(), "xyz")
    with pytest.raises(InputError, match="no file"):
        read_graph(tmp_path / "graph.json")
    (tmp_path / "graph.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="cannot read"):
        read_graph(tmp_path / "graph.json")


def test_pandas_and_lingam():
    dag = nasty_dag()
    same(exchange.from_pandas(exchange.to_pandas(dag)), dag)
    same(exchange.from_lingam(exchange.to_lingam(dag), dag.names), dag)
    B = exchange.to_lingam(dag)
    i, j = dag.weights.nonzero()
    assert B[j[0], i[0]] == dag.weights[i[0], j[0]]
    with pytest.raises(InputError, match="same names"):
        exchange.from_pandas(exchange.to_pandas(dag).iloc[::-1])


def test_networkx_object_and_files(tmp_path):
    nx = pytest.importorskip("networkx")
    dag = nasty_dag()
    same(exchange.from_networkx(exchange.to_networkx(dag)), dag)
    write_graph(dag, tmp_path / "g.graphml")
    same(exchange.from_networkx(nx.read_graphml(tmp_path / "g.graphml")), dag)
    write_graph(dag, tmp_path / "g.gml")
    same(exchange.from_networkx(nx.read_gml(tmp_path / "g.gml")), dag)
    nx.write_graphml(exchange.to_networkx(dag), tmp_path / "h.graphml")
    same(read_graph(tmp_path / "h.graphml"), dag)
    nx.write_gml(exchange.to_networkx(dag), tmp_path / "h.gml")
    same(read_graph(tmp_path / "h.gml"), dag)
    with pytest.raises(InputError, match="undirected"):
        exchange.from_networkx(nx.Graph([("a", "b")]))
    assert nx.is_directed_acyclic_graph(exchange.to_networkx(dag))
