"""Names that formats, spreadsheets and terminals trip over come back as they were."""

import json
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psidag import DAG, InputError
from psidag.exchange import FORMATS, format_graph, parse_graph, read_graph, write_graph
from psidag.graph.constraints import Constraints
from psidag.system.text import printable, printable_json, printable_name

HOSTILE = [
    "",
    "\x01",
    "a\tb",
    "line\nfeed",
    "return\r",
    "=cmd|'/c calc'!A0",
    "'=x",
    "-1",
    "\x9b2J",
    "_x0001_",
    "&#65;",
    "<",
]


def edges_of(dag):
    return sorted(dag.edges()), set(dag.names)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("odd", HOSTILE)
def test_a_hostile_name_comes_back(tmp_path, name, odd):
    lonely = DAG.from_edges([("plain", "other", 1.5)], names=("plain", "other", odd))
    caused = DAG.from_edges([("plain", odd, 1.5), (odd, "other", -2.0)], names=("plain", "other", odd))
    for dag in (lonely, caused):
        path = tmp_path / f"graph{FORMATS[name].endings[0]}"
        write_graph(dag, path)
        assert edges_of(read_graph(path)) == edges_of(dag)


@pytest.mark.parametrize("name", FORMATS)
@given(names=st.lists(st.text(st.characters(codec="utf-8"), max_size=4), min_size=2, max_size=4, unique=True))
def test_any_names_come_back(name, names):
    dag = DAG.from_edges([(names[0], names[1], 0.5)], names=names)
    assert edges_of(parse_graph(format_graph(dag, name), name)) == edges_of(dag)


@pytest.mark.parametrize("names", [("cause", "effect"), ("source", "target"), ("from", "to", "weight")])
def test_a_matrix_may_have_the_columns_of_an_edge_table(tmp_path, names):
    dag = DAG.from_edges([(names[0], names[1], 2.0)], names=names)
    write_graph(dag, tmp_path / "g.matrix.csv")
    assert edges_of(read_graph(tmp_path / "g.matrix.csv")) == edges_of(dag)
    bare = "\n".join([",".join(names), *(",".join(map(repr, row)) for row in dag.to_dense().tolist())])
    assert edges_of(parse_graph(bare, "matrix")) == edges_of(dag)


def test_no_cell_of_a_csv_is_a_formula():
    names = ["=1+1", "+x", "-x", "@sum", "\tx", "plain"]
    dag = DAG.from_edges([(name, "plain", 0.5) for name in names[:-1]], names=names)
    for name in ("edges", "matrix"):
        for line in format_graph(dag, name).splitlines()[1:]:
            assert line.lstrip('"')[0] not in "=+-@\t\r"


def test_graphml_is_xml_whatever_the_names():
    every = "".join(map(chr, [*range(0x20), 0x7F, 0x9B, 0xFFFE, 0xD800]))
    ET.fromstring(format_graph(DAG.from_edges([(every, "b", 1.0)]), "graphml"))


@pytest.mark.parametrize(
    "text",
    [
        '{"nodes": ["a", "b"], "edges": [{"source": "a", "target": "b", "weight": ' + "9" * 400 + "}]}",
        '{"nodes": ["a", "b"], "edges": [["a", "b"]]}',
        '{"nodes": [["a"], {"name": {}}], "edges": [3]}',
        '{"nodes": {"a": 1}, "edges": {}}',
        '{"elements": {"nodes": 3, "edges": null}}',
        '{"elements": {"nodes": [{"data": {"id": [1]}}], "edges": [{"data": []}]}}',
        '{"elements": [1, 2]}',
        '{"nodes": [], "edges": [null]}',
        '{"nodes": ["a", "b"], "edges": [{"source": "a", "target": "b", "weight": [1]}]}',
    ],
)
def test_json_of_another_shape_is_refused_in_a_sentence(text):
    with pytest.raises(InputError) as caught:
        parse_graph(text, "json")
    assert len(str(caught.value)) < 300


def test_a_key_that_stands_twice_is_refused(tmp_path):
    (tmp_path / "k.yaml").write_text("required_edges: [[a, b]]\nrequired_edges: [[b, c]]\n")
    with pytest.raises(InputError, match="'required_edges' stands there twice"):
        Constraints.from_file(tmp_path / "k.yaml")


@given(st.text())
def test_what_is_printed_moves_no_cursor(text):
    assert all(ord(c) >= 32 and not 127 <= ord(c) < 160 for c in printable_name(text))
    assert set(printable(text)) & {"\x1b", "\x9b", "\r", "\x08"} == set()
    assert json.loads(printable_json(json.dumps(text, ensure_ascii=False))) == text
