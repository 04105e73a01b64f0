"""Static plots: what is on them, and that nothing global is touched."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

from psidag import DAG, InputError
from psidag.exchange import write_graph
from psidag.graph import colours
from psidag.graph.partial import PartialGraph
from psidag.simulate import simulate
from psidag.view import (
    columns,
    plot_comparison,
    plot_confidence,
    plot_degrees,
    plot_graph,
    plot_matrix,
    plot_trace,
    plot_weights,
)
from support import solutions


def arrows(ax):
    return [patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]


def drawn(ax):
    """Draw for real: most mistakes of matplotlib show only then."""
    ax.figure.canvas.draw()
    return ax


def test_a_graph_has_its_names_and_edges():
    solution, _ = solutions.sachs()
    ax = drawn(plot_graph(solution))
    assert [text.get_text() for text in ax.texts[: solution.dag.d]] == list(solution.names)
    weights = solution.dag.weights.data
    shades = [arrow.get_edgecolor() for arrow in arrows(ax)]
    assert len(shades) == solution.dag.n_edges
    from matplotlib.colors import to_rgba

    assert shades.count(to_rgba(colours.POSITIVE)) == int((weights > 0).sum())
    assert shades.count(to_rgba(colours.NEGATIVE)) == int((weights < 0).sum())


def test_a_large_graph_is_thinned_out_and_says_so():
    solution, _ = solutions.simulated(200)
    ax = drawn(plot_graph(solution))
    assert len(ax.texts) == 60
    assert ax.get_title().startswith("60 of 200 variables")
    chosen = list(solution.names[:30])
    among = solution.dag.subgraph(chosen)
    ax = plot_graph(solution, names=chosen)
    assert [text.get_text() for text in ax.texts[: len(chosen)]] == chosen
    assert len(arrows(ax)) == among.n_edges
    with pytest.raises(InputError, match="at most 120"):
        plot_graph(solution, names=solution.names[:150])


def test_a_matrix_is_in_causal_order():
    dag = DAG.from_edges([("b", "a", 2.0), ("a", "c", -1.0)], names=["c", "a", "b"])
    ax = drawn(plot_matrix(dag))
    assert [label.get_text() for label in ax.get_yticklabels()] == ["b", "a", "c"]
    assert ax.images[0].get_array().tolist() == [[0, 2, 0], [0, 0, -1], [0, 0, 0]]


@pytest.mark.parametrize("d", [4, 500])
def test_a_matrix_marks_edges_whose_direction_is_open(d):
    names = [f"x{k}" for k in range(d)]
    graph = PartialGraph.from_arrays(names, np.array([0, 1, 2]), np.array([1, 2, 3]), np.array([True, True, False]))
    ax = drawn(plot_matrix(graph))
    assert ax.get_title() == "○ direction open: 1 of 3 edges"
    rings = ax.collections[-1]
    assert len(rings.get_offsets()) == 1
    assert not len(rings.get_facecolor())
    sure = drawn(plot_matrix(DAG.from_edges([("a", "b")])))
    assert sure.get_title() == ""
    assert not sure.collections


def test_curves_stay_on_the_canvas():
    for seed in range(6):
        ax = drawn(plot_graph(simulate("ER2", d=30, n=2, seed=seed).dag))
        frame = ax.get_window_extent()
        for arrow in arrows(ax):
            box = arrow.get_path().transformed(ax.transData).get_extents()
            assert frame.y0 <= box.y0
            assert box.y1 <= frame.y1


def test_a_large_matrix_is_a_point_an_edge():
    dag = simulate("ER2", d=500, n=2, seed=0).dag
    ax = drawn(plot_matrix(dag))
    points = ax.collections[0].get_offsets()
    assert len(points) == dag.n_edges
    assert (points[:, 0] > points[:, 1]).all()


def test_trace_degrees_and_weights():
    solution, _ = solutions.simulated(200)
    ax = drawn(plot_trace(solution))
    assert ax.lines[0].get_ydata() == pytest.approx([row.loss for row in solution.trace])
    ax = drawn(plot_degrees(solution))
    heights = [sum(bar.get_height() for bar in group) for group in ax.containers]
    assert heights == [200, 200]
    ax = drawn(plot_weights(solution))
    assert sum(bar.get_height() for group in ax.containers for bar in group) == solution.dag.n_edges
    nothing = solutions.given([], names=["a", "b"])
    for plot, words in ((plot_trace, "no rounds"), (plot_weights, "no edges"), (plot_confidence, "No bootstrap")):
        assert words in drawn(plot(nothing)).texts[0].get_text()


def test_confidence(monkeypatch):
    def support(solution):
        share = np.linspace(1, 0.2, solution.dag.n_edges)
        return columns.Support(share, share, np.zeros(len(share)))

    monkeypatch.setattr(columns, "support", support)
    solution, _ = solutions.sachs()
    ax = drawn(plot_confidence(solution))
    first = next(iter(solution.dag.edges()))
    assert ax.get_yticklabels()[0].get_text() == f"{first[0]} → {first[1]}"
    assert [bar.get_width() for bar in ax.containers[0]] == pytest.approx(np.linspace(1, 0.2, solution.dag.n_edges))
    large, _ = solutions.simulated(200)
    ax = drawn(plot_confidence(large))
    assert len(ax.collections[0].get_offsets()) == large.dag.n_edges


def test_two_graphs_compared():
    truth = DAG.from_edges([("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")])
    learned = DAG.from_edges([("a", "b"), ("c", "b"), ("b", "d")], names=truth.names)
    ax = drawn(plot_comparison(truth, learned))
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["right (1)", "missing (2)", "extra (1)", "reversed (1)"]
    assert len(arrows(ax)) == 5
    with pytest.raises(InputError, match="same variables"):
        plot_comparison(truth, DAG.from_edges([("a", "z")]))


def test_large_graphs_are_compared_as_a_matrix():
    problem = simulate("ER2", d=150, n=300, seed=0)
    learned = DAG.from_weights(problem.dag.weights.multiply(problem.dag.weights.toarray() > 0), names=problem.names)
    ax = drawn(plot_comparison(problem.dag, learned))
    right, missing, extra, turned = (len(points.get_offsets()) for points in ax.collections[:4])
    assert right == learned.n_edges
    assert right + missing == problem.dag.n_edges
    assert extra == turned == 0


def test_given_axes_are_drawn_on_and_pyplot_is_left_alone():
    ax = Figure().subplots()
    assert plot_graph(DAG.from_edges([("a$", "b_{c}$")]), ax=ax) is ax
    drawn(ax)
    assert "matplotlib.pyplot" not in sys.modules


def test_the_command(call, tmp_path):
    solution, _ = solutions.sachs()
    solution.save(tmp_path / "model.psidag")
    write_graph(solution, tmp_path / "graph.json")
    for kind in ("graph", "matrix", "trace", "degrees", "weights"):
        assert call("plot", "model.psidag", kind, "-o", f"{kind}.png") == (0, "", f"note: wrote {kind}.png\n")
        assert (tmp_path / f"{kind}.png").read_bytes().startswith(b"\x89PNG")
    assert call("plot", "graph.json", "comparison", "--truth", "model.psidag", "-o", "c.svg")[0] == 0
    for arguments, words in [
        (("graph.json", "trace", "-o", "t.png"), ".psidag"),
        (("model.psidag", "confidence", "-o", "t.png"), "--bootstrap"),
        (("graph.json", "comparison", "-o", "t.png"), "--truth"),
        (("graph.json", "graph", "-o", "t.nonsense"), "t.nonsense"),
        (("graph.json", "matrix", "--names", "Akt", "-o", "t.png"), "--names"),
    ]:
        code, _, error = call("plot", *arguments)
        assert code == 2
        assert words in error


def test_open_directions_have_no_head():
    solution = solutions.given([("a", "b", 2.0), ("b", "c", 3.0)])
    graph = PartialGraph.from_edges([("a", "b")], [("b", "c")], ["a", "b", "c"])
    ax = drawn(plot_graph(replace(solution, graph=graph)))
    styles = [type(patch.get_arrowstyle()).__name__ for patch in ax.patches]
    assert sorted(styles) == ["Curve", "CurveFilledB"]
    assert sorted(text.get_text() for text in ax.texts[3:]) == ["2", "3?"]


def test_a_long_edge_runs_around_what_stands_in_its_way():
    # Of three in a row, the edge from the first to the last cannot be straight.
    ax = plot_graph(DAG.from_edges([("a", "b"), ("b", "c"), ("a", "c")]))
    ax.figure.canvas.draw()
    spots = dict(zip("abc", ax.transData.transform(ax.collections[0].get_offsets()), strict=True))
    ends = [("a", "b"), ("a", "c"), ("b", "c")]
    for (source, target), arrow in zip(ends, arrows(ax), strict=True):
        line = arrow.get_path().interpolated(50).vertices
        points = ax.transData.transform(line) if arrow.get_path().vertices.max() < 20 else line
        assert np.hypot(*(points[0] - spots[source])) < np.hypot(*(points[0] - spots[target]))
        other = next(name for name in "abc" if name not in (source, target))
        assert np.hypot(*(points - spots[other]).T).min() > 6
