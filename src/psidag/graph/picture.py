"""A graph as inline SVG, as notebooks show it: names in boxes, causes to the left of their effects."""

from __future__ import annotations

import html
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from psidag.graph import colours
from psidag.graph.dag import DAG
from psidag.graph.layout import Layout, layered
from psidag.system.text import printable_name

#: Larger graphs are not drawn in a notebook.
DRAWN = 40
#: Up to this many edges have their weight beside them.
_WEIGHED = 30
#: Longer names are cut; the whole of them is shown on hovering.
_LETTERS = 18
#: Pixels: of a letter, of the height of a box, between boxes above each other, and between columns.
_LETTER, _BOX, _ROW, _GAP = 7.2, 24, 38, 70
_HEAD = 9.0


class _Box(NamedTuple):
    x: float
    y: float
    width: float


def picture(
    dag: DAG, directed: NDArray[np.bool_] | None = None, strength: NDArray[np.float64] | None = None
) -> str | None:
    """SVG of a graph of up to some tens of vertices; None for larger ones.

    Parameters
    ----------
    dag : DAG
        What is drawn: blue edges are positive, orange ones negative.
    directed : array of bool, optional
        Which edges, in the order of ``dag.edges()``, have a head; all by default.
    strength : array, optional
        What the thickness of edges goes by; the size of their weights by default.

    Examples
    --------
    >>> picture(DAG.from_edges([("dose", "effect", 2.0)])).count("<path")
    1
    """
    if dag.d > DRAWN or dag.d == 0:
        return None
    place = layered(dag)
    boxes, columns, size_of = _boxes(dag, place)
    W = dag.weights.tocoo()
    size = np.abs(W.data) if strength is None else np.nan_to_num(np.abs(strength))
    most = float(size.max(initial=0.0)) or 1.0
    heads = np.ones(dag.n_edges, dtype=bool) if directed is None else directed
    # Weights that are all 1 are those of a graph without weights.
    weighed = dag.n_edges <= _WEIGHED and bool((W.data != 1).any())
    lines: list[str] = []
    notes: list[str] = []
    for k, (i, j, weight) in enumerate(zip(W.row.tolist(), W.col.tolist(), W.data.tolist(), strict=True)):
        arrow = "→" if heads[k] else "—"
        title = f"{dag.names[i]} {arrow} {dag.names[j]}: {weight:.4g}"
        colour = colours.POSITIVE if weight >= 0 else colours.NEGATIVE
        way = _way(boxes[i], boxes[j], columns[place.layer[i] + 1 :], place.bends[k], headed=bool(heads[k]))
        lines.append(_edge(way, title, colour, 1.2 + 2 * float(size[k]) / most, headed=bool(heads[k])))
        if weighed:
            notes.append(_note(way, f"{weight:.3g}", colour))
    vertices = [_vertex(box, name) for box, name in zip(boxes, dag.names, strict=True)]
    width, height = size_of
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        f'aria-label="{html.escape(repr(dag))}" style="max-width:{width:.0f}px;width:100%;font:12px sans-serif">'
        f"{''.join([*lines, *vertices, *notes])}</svg>"
    )


def _boxes(dag: DAG, place: Layout) -> tuple[list[_Box], list[tuple[float, float]], tuple[float, float]]:
    """A box for each vertex, the left and right end of each column, and the size of the whole."""
    widths = [_LETTER * len(_cut(name)) + 16 for name in dag.names]
    boxes: dict[int, _Box] = {}
    columns: list[tuple[float, float]] = []
    joined = np.flatnonzero(place.layer >= 0).tolist()
    end, floor = 10.0, 0.0
    for k in range(int(place.layer.max()) + 1):
        here = [v for v in joined if place.layer[v] == k]
        wide = max((widths[v] for v in here), default=0.0)
        columns.append((end, end + wide))
        for v in here:
            boxes[v] = _Box(end + wide / 2, _height(float(place.y[v])), widths[v])
            floor = max(floor, boxes[v].y)
        end += wide + _GAP
    floor = max([floor, *(_height(y) for bends in place.bends for y in bends)])
    # What has no edges stands below, in lines as wide as the rest.
    width = max(end - _GAP, 480.0 if len(joined) < dag.d else 0.0)
    x, y = 10.0, floor + (1.3 * _ROW if joined else _BOX)
    for v in np.flatnonzero(place.layer < 0).tolist():
        if x > 10 and x + widths[v] > width:
            x, y = 10.0, y + _ROW
        boxes[v] = _Box(x + widths[v] / 2, y, widths[v])
        x, floor = x + widths[v] + 12, y
    return [boxes[v] for v in range(dag.d)], columns, (width + 10, floor + _BOX)


def _height(y: float) -> float:
    """In pixels; the least height of a layout with edges is 0."""
    return y * _ROW + _BOX


def _way(
    start: _Box, end: _Box, columns: list[tuple[float, float]], bends: tuple[float, ...], *, headed: bool
) -> list[tuple[float, float]]:
    """The points of an edge: out of its box, straight through the columns between, to the other box or its head."""
    points = [(start.x + start.width / 2, start.y)]
    for (left, right), y in zip(columns, bends, strict=False):
        points += [(left, _height(y)), (right, _height(y))]
    return [*points, (end.x - end.width / 2 - (_HEAD if headed else 0), end.y)]


def _edge(way: list[tuple[float, float]], title: str, colour: str, thick: float, *, headed: bool) -> str:
    (x, y), *rest = way
    curve = f"M{x:.1f} {y:.1f}"
    for to_x, to_y in rest:
        middle = (x + to_x) / 2
        curve += f"C{middle:.1f} {y:.1f} {middle:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}"
        x, y = to_x, to_y
    points = f"{x + _HEAD:.1f},{y:.1f} {x:.1f},{y - 4.5:.1f} {x:.1f},{y + 4.5:.1f}"
    head = f'<polygon points="{points}" fill="{colour}"/>' if headed else ""
    return (
        f'<g><title>{_text(title)}</title><path d="{curve}" fill="none" stroke="{colour}" '
        f'stroke-width="{thick:.1f}"/>{head}</g>'
    )


def _note(way: list[tuple[float, float]], text: str, colour: str) -> str:
    """The weight in the middle of the first gap that the edge crosses, where no box is."""
    (x0, y0), (x1, y1) = way[:2]
    return (
        f'<text x="{(x0 + x1) / 2:.1f}" y="{(y0 + y1) / 2 - 3:.1f}" text-anchor="middle" font-size="10" '
        f'fill="{colour}" stroke="#FFFFFF" stroke-width="3" paint-order="stroke">{text}</text>'
    )


def _vertex(box: _Box, name: str) -> str:
    return (
        f'<g><title>{_text(name)}</title><rect x="{box.x - box.width / 2:.1f}" y="{box.y - _BOX / 2:.1f}" '
        f'width="{box.width:.1f}" height="{_BOX}" rx="6" fill="#FFFFFF" stroke="{colours.NODE}"/>'
        f'<text x="{box.x:.1f}" y="{box.y + 4:.1f}" text-anchor="middle" fill="{colours.INK}">'
        f"{_text(_cut(name))}</text></g>"
    )


def _cut(name: str) -> str:
    shown = printable_name(name)
    return shown if len(shown) <= _LETTERS else f"{shown[: _LETTERS - 1]}…"


def _text(text: str) -> str:
    return html.escape(printable_name(text))
