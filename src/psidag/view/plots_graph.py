"""The graph as a picture, and two graphs compared; causes stand left of their effects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from psidag.exchange.content import as_content
from psidag.graph import colours
from psidag.graph.dag import DAG
from psidag.graph.layout import Layout, layered
from psidag.graph.metrics import pattern
from psidag.solution import Solution
from psidag.system.errors import InputError
from psidag.view import columns
from psidag.view.axes import axes_for, empty, short, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.path import Path

Floats = NDArray[np.float64]

#: Larger graphs are hairballs on paper; a part is drawn, or a matrix.
_DRAWABLE = 120
_PART = 60
#: Inches between layers, and between neighbours in a layer.
_WIDE, _HIGH = 1.5, 0.55
_BENDS = (0.04, -0.04, 0.08, -0.08, 0.13, -0.13)
_HUBS = 3
#: Up to this many edges have their weight beside them.
_WEIGHED = 30


class _Line(NamedTuple):
    colour: str
    style: Any
    label: str


_LINES = {
    "right": _Line(colours.RIGHT, "-", "right"),
    "missing": _Line(colours.NODE, ":", "missing"),
    "extra": _Line(colours.NEGATIVE, "-", "extra"),
    "reversed": _Line(colours.REVERSED, "--", "reversed"),
}


def plot_graph(graph: Any, ax: Axes | None = None, *, names: Sequence[str] | None = None) -> Axes:
    """Draw the graph, layered by the causal order; blue edges are positive, orange ones negative.

    Edges of a solution whose direction is open have no head. Where there are few edges, their weights stand beside
    them.

    Parameters
    ----------
    graph : Solution, DAG or matrix
        What to draw. Of a graph with more than 120 variables, those around its strongest hubs are drawn, which the
        title then says.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure, ``plot_graph(…).figure``.
    names : sequence of str, optional
        Draw these variables and the edges among them.

    Examples
    --------
    >>> ax = plot_graph(DAG.from_edges([("dose", "level", 2.0), ("level", "effect", -1.0)]))
    >>> [text.get_text() for text in ax.texts]
    ['dose', 'level', 'effect', '2', '-1']
    """
    content = as_content(graph)
    dag, directed = content.dag, np.asarray(content.directed, dtype=bool)
    size = columns.strength(graph) if isinstance(graph, Solution) else np.abs(dag.weights.data)
    title = ""
    if names is None and dag.d > _DRAWABLE:
        names = _around_hubs(dag, size)
        title = f"{len(names)} of {dag.d:,} variables: those around the strongest hubs (names= chooses others)"
    elif names is not None and len(names) > _DRAWABLE:
        raise InputError(f"a picture of {len(names)} variables cannot be read: name at most {_DRAWABLE}")
    if names is not None:
        held = {(i, j): k for k, (i, j, _) in enumerate(dag.edges())}
        dag = dag.subgraph(names)
        kept = [held[i, j] for i, j, _ in dag.edges()]
        size, directed = size[kept], directed[kept]
    place = layered(dag)
    ax = _canvas(ax, place)
    W = dag.weights.tocoo()
    most = float(size.max(initial=0.0)) or 1.0
    weighed = []
    values = zip(W.row.tolist(), W.col.tolist(), W.data.tolist(), size.tolist(), directed.tolist(), strict=True)
    for k, (i, j, weight, strength, headed) in enumerate(values):
        colour = colours.POSITIVE if weight > 0 else colours.NEGATIVE
        way = _way(place, i, j, place.bends[k])
        _arrow(ax, way, place, headed=headed, color=colour, linewidth=1.0 + 1.8 * strength / most)
        weighed.append((way, f"{weight:.3g}{'' if headed else '?'}", colour))
    _vertices(ax, dag, place)
    # Weights that are all 1 are those of a graph without weights.
    if dag.n_edges <= _WEIGHED and (W.data != 1).any():
        for label in weighed:
            _weight(ax, *label)
    ax.set_title(title, fontsize=9)
    return ax


def plot_comparison(truth: Any, learned: Any, ax: Axes | None = None) -> Axes:
    """Draw a learned graph over the true one: right, missing, extra and reversed edges.

    Graphs of more than 120 variables are drawn as a matrix in the true order, a point an edge.

    Parameters
    ----------
    truth, learned : Solution, DAG or matrix
        Over the same variables in the same order.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.

    Examples
    --------
    >>> true = DAG.from_edges([("a", "b"), ("b", "c"), ("a", "c")])
    >>> found = DAG.from_edges([("a", "b"), ("c", "b")], names=["a", "b", "c"])
    >>> [text.get_text() for text in plot_comparison(true, found).get_legend().get_texts()]
    ['right (1)', 'missing (1)', 'extra (0)', 'reversed (1)']
    """
    true, found = as_content(truth).dag, as_content(learned).dag
    if true.names != found.names:
        raise InputError("the two graphs do not have the same variables in the same order")
    edges = _compare(true, found)
    place = layered(true)
    handles: list[Any] = []
    if true.d > _DRAWABLE:
        ax = _matrix(axes_for(ax, 6.5, 6.0), true, edges)
        handles += ax.collections[: len(_LINES)]
    else:
        from matplotlib.lines import Line2D

        ax = _canvas(ax, place)
        for key, ends in edges.items():
            line = _LINES[key]
            handles.append(Line2D([], [], color=line.colour, linestyle=line.style, linewidth=1.8))
            for i, j in ends.tolist():
                _arrow(ax, _way(place, i, j), place, color=line.colour, linestyle=line.style, linewidth=1.6)
        _vertices(ax, true, place)
    labels = [f"{_LINES[key].label} ({len(ends):,})" for key, ends in edges.items()]
    ax.legend(handles, labels, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.02), ncols=4, markerscale=4)
    return ax


def _compare(true: DAG, found: DAG) -> dict[str, NDArray[np.intp]]:
    """The ends of the edges of each kind; a reversed one as it was learned."""
    A, B = pattern(true.weights), pattern(found.weights)
    right = A.multiply(B)
    turned = A.T.multiply(B)
    kinds = {"right": right, "missing": A - right - turned.T, "extra": B - right - turned, "reversed": turned}
    return {key: _ends(matrix) for key, matrix in kinds.items()}


def _ends(matrix: Any) -> NDArray[np.intp]:
    points = matrix.tocoo()
    keep = points.data > 0
    return np.column_stack([points.row[keep], points.col[keep]]).astype(np.intp)


def _matrix(ax: Axes, true: DAG, edges: dict[str, NDArray[np.intp]]) -> Axes:
    place = np.empty(true.d, dtype=np.intp)
    place[true.order] = np.arange(true.d)
    size = float(np.clip(4e5 / true.d**2, 1.0, 8.0))
    for key, ends in edges.items():
        # Errors are few and what one looks for.
        points: dict[str, Any] = {
            "s": size if key == "right" else 2 * size,
            "linewidths": 0,
            "color": _LINES[key].colour,
            "rasterized": True,
        }
        ax.scatter(place[ends[:, 1]], place[ends[:, 0]], **points)
    ax.set(xlim=(-0.5, true.d - 0.5), ylim=(true.d - 0.5, -0.5), aspect="equal")
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    tidy(ax, xlabel="effect, in the true order", ylabel="cause, in the true order")
    return ax


def _around_hubs(dag: DAG, size: NDArray[np.float64]) -> list[str]:
    """The vertices with the strongest edges, and those joined to them by strong ones."""
    W = dag.weights.tocoo()
    reach = np.bincount(W.row, size, dag.d) + np.bincount(W.col, size, dag.d)
    chosen = dict.fromkeys(np.argsort(-reach, kind="stable")[:_HUBS].tolist())
    ranked = np.argsort(-size, kind="stable").tolist()
    for _ in range(2):
        core = set(chosen)
        for k in ranked:
            i, j = int(W.row[k]), int(W.col[k])
            if len(chosen) < _PART and (i in core) != (j in core):
                chosen[j if i in core else i] = None
    return [dag.names[v] for v in sorted(chosen)]


def _canvas(ax: Axes | None, place: Layout) -> Axes:
    """Axes as large as the layout needs, without frame, heights growing downwards."""
    wide, high = float(np.ptp(place.x)) if len(place.x) else 0.0, float(np.ptp(place.y)) if len(place.y) else 0.0
    across = float(np.clip(_WIDE * wide + 2, 5, 16))
    # Neither a ribbon nor a tower: what is flat gets more room between its lines.
    ax = axes_for(ax, across, float(np.clip(_HIGH * high + 1.5, max(3, 0.42 * across), 12)))
    if not len(place.x):
        return empty(ax, "There are no variables.")
    ax.set_axis_off()
    ax.set(
        xlim=(place.x.min() - 0.5, place.x.max() + 0.5),
        ylim=(place.y.max() + 0.7, place.y.min() - 0.7),
    )
    return ax


class _Through:
    """The way of an edge on the screen: a smooth line through points, which stops short of the vertices."""

    def __init__(self, ax: Axes, points: Floats) -> None:
        self.ax, self.points = ax, points

    def __call__(
        self, start: Any, end: Any, shrinkA: float = 0.0, shrinkB: float = 0.0, **_: Any
    ) -> Path:  # matplotlib's names
        from matplotlib.path import Path

        points = np.asarray(self.ax.transData.transform(self.points), dtype=np.float64)
        curve = _smooth(points)
        for at, to, gap in ((0, 1, shrinkA), (-1, -2, shrinkB)):
            away = curve[to] - curve[at]
            curve[at] += away * min(gap / (float(np.hypot(*away)) or 1.0), 0.9)
        return Path(curve, [Path.MOVETO, *[Path.CURVE4] * (len(curve) - 1)])


def _smooth(points: Floats) -> Floats:
    """The corners of Bézier curves through points, which run at each point as its two neighbours lie."""
    slope = np.gradient(points, axis=0) if len(points) > 2 else np.tile(points[1] - points[0], (2, 1))
    leaving, coming = points[:-1] + slope[:-1] / 3, points[1:] - slope[1:] / 3
    return np.concatenate([points[:1], np.stack([leaving, coming, points[1:]], axis=1).reshape(-1, 2)])


def _arrow(ax: Axes, way: Floats, place: Layout, *, headed: bool = True, **look: Any) -> None:
    """Draw an edge along the points of its way."""
    from matplotlib.patches import FancyArrowPatch

    arrow = FancyArrowPatch(
        tuple(way[0]),
        tuple(way[-1]),
        connectionstyle=_Through(ax, way),  # type: ignore[arg-type]
        arrowstyle="-|>" if headed else "-",
        mutation_scale=13 if len(place.x) <= 30 else 10,
        shrinkA=5,
        shrinkB=6 if headed else 5,
        zorder=1,
        **look,
    )
    ax.add_patch(arrow)
    # A curve may swing beyond the outermost vertices.
    low, high = ax.get_ylim()
    reach = _smooth(way)[:, 1]
    ax.set_ylim(max(low, float(reach.max()) + 0.2), min(high, float(reach.min()) - 0.2))


def _weight(ax: Axes, way: Floats, text: str, colour: str) -> None:
    """A number on an edge, at two fifths of its first part, where it meets fewest others."""
    from matplotlib.patheffects import withStroke

    t = 0.4
    here, leaving, coming, there = _smooth(way)[:4]
    point = (1 - t) ** 3 * here + 3 * t * (1 - t) ** 2 * leaving + 3 * t**2 * (1 - t) * coming + t**3 * there
    ax.annotate(
        text,
        (float(point[0]), float(point[1])),
        ha="center",
        va="center",
        fontsize=7,
        color=colour,
        zorder=4,
        path_effects=[withStroke(linewidth=2.5, foreground="white")],
    )


def _way(place: Layout, i: int, j: int, bends: Sequence[float] = ()) -> Floats:
    """The points that an edge runs through: its ends alone if it meets no vertex or name on a straight line.

    Else the places that the layout has kept for it in the layers between; an edge without such places is bent.
    """
    ends = np.array([[place.x[i], place.y[i]], [place.x[j], place.y[j]]])
    if not _hits(place, i, j, ends):
        return ends
    layers = [int(place.layer[i]) + 1 + k for k in range(len(bends))]
    through = np.array([ends[0], *zip(layers, bends, strict=True), ends[1]])
    bent = [_curved(ends, bend) for bend in _BENDS]
    ways = [*([through] if bends else []), ends, *bent]
    return ways[int(np.argmin([_hits(place, i, j, way) for way in ways]))]


def _curved(ends: Floats, bend: float) -> Floats:
    """Ends and middle of an arc."""
    scale = np.array([_WIDE, _HIGH])
    here, there = ends * scale
    middle = (here + there) / 2 + bend * np.array([there[1] - here[1], here[0] - there[0]])
    return np.array([ends[0], middle / scale, ends[1]])


def _hits(place: Layout, i: int, j: int, way: Floats) -> int:
    """How many points of a way lie on vertices and names that are not its ends."""
    scale = np.array([_WIDE, _HIGH])
    others = np.delete(np.column_stack([place.x, place.y]) * scale, [i, j], axis=0)
    corners = _smooth(way) * scale
    t = np.linspace(0.05, 0.95, 10)[:, None]
    hits = 0
    for k in range(0, len(corners) - 1, 3):
        a, b, c, d = corners[k : k + 4]
        path = (1 - t) ** 3 * a + 3 * t * (1 - t) ** 2 * b + 3 * t**2 * (1 - t) * c + t**3 * d
        away = path[:, None] - others[None]
        hits += int(((np.abs(away[..., 0]) < 0.22) & (away[..., 1] > -0.1) & (away[..., 1] < 0.3)).sum())
    return hits


def _vertices(ax: Axes, dag: DAG, place: Layout) -> None:
    from matplotlib.patheffects import withStroke

    rim = [withStroke(linewidth=2.5, foreground="white")]
    ax.scatter(place.x, place.y, s=60, color=colours.NODE, edgecolors="white", linewidths=1.0, zorder=2)
    for v, name in enumerate(dag.names):
        ax.annotate(
            short(name),
            (place.x[v], place.y[v]),
            xytext=(0, -7),
            textcoords="offset points",
            ha="center",
            va="top",
            fontsize=8,
            color=colours.INK,
            zorder=3,
            path_effects=rim,
        )
