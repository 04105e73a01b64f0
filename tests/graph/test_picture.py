"""Graphs as notebooks show them: every vertex and edge once, nothing that a name could smuggle in, boxes apart."""

import re
from xml.etree import ElementTree

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from psidag import DAG
from psidag.graph.partial import PartialGraph
from psidag.graph.picture import DRAWN, picture
from support.random_dags import dags

SVG = "{http://www.w3.org/2000/svg}"


def boxes(svg):
    return [[float(rect.get(key)) for key in ("x", "y", "width", "height")] for rect in svg.iter(f"{SVG}rect")]


@settings(max_examples=30)
@given(st.integers(1, 9).flatmap(dags))
def test_each_vertex_and_edge_is_drawn_and_boxes_do_not_touch(matrix):
    dag = DAG.from_weights(matrix)
    svg = ElementTree.fromstring(picture(dag))
    assert len(list(svg.iter(f"{SVG}path"))) == len(list(svg.iter(f"{SVG}polygon"))) == dag.n_edges
    found = boxes(svg)
    assert len(found) == dag.d
    for k, (x, y, width, height) in enumerate(found):
        for other_x, other_y, other_width, other_height in found[:k]:
            apart_across = x + width <= other_x or other_x + other_width <= x
            assert apart_across or y + height <= other_y or other_y + other_height <= y
    _, _, width, height = map(float, svg.get("viewBox").split())
    assert all(x >= 0 and x + w <= width and y >= 0 and y + h <= height for x, y, w, h in found)


@settings(max_examples=30)
@given(st.integers(2, 9).flatmap(dags))
def test_edges_run_to_the_right_around_the_boxes(matrix):
    """A long edge crosses the columns between its ends where no box is."""
    svg = ElementTree.fromstring(picture(DAG.from_weights(matrix)))
    for path in svg.iter(f"{SVG}path"):
        numbers = [float(number) for number in re.findall(r"-?[\d.]+", path.get("d"))]
        points = np.array(numbers).reshape(-1, 2)[::3]
        assert (np.diff(points[:, 0]) > 0).all()
        for (left, y), (right, _) in zip(points[1:-1:2], points[2:-1:2], strict=True):
            assert not any(
                x < right and left < x + width and top < y < top + height for x, top, width, height in boxes(svg)
            )


def test_open_edges_have_no_head():
    graph = PartialGraph.from_edges([("a", "c")], [("c", "b")])
    page = graph._repr_html_()
    assert page.count("<polygon") == 1
    assert "a → c" in page
    assert "b — c" in page or "c — b" in page
    cyclic = PartialGraph.from_edges([("a", "b"), ("b", "c"), ("c", "a")])
    assert "3 directed" in cyclic._repr_html_()


def test_names_are_text_and_large_graphs_a_line():
    dag = DAG.from_edges([("<script>", "a & b", -2.0)])
    page = dag._repr_html_()
    ElementTree.fromstring(page)
    assert "<script>" not in page
    assert "-2" in page
    large = DAG.from_edges([(f"x{k}", f"x{k + 1}") for k in range(DRAWN)])
    assert large._repr_html_() == f"<p>DAG({DRAWN + 1} variables, {DRAWN} edges)</p>"
