"""Static plots of a solution: matrix, trace, degrees, weights and confidence. Each returns the axes it drew on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from psidag.exchange.content import as_content
from psidag.graph import colours
from psidag.graph.dag import DAG
from psidag.solution import Solution
from psidag.view import columns
from psidag.view.axes import axes_for, empty, short, tidy, whole_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

#: Up to this many rows have their name beside them.
_NAMED = 40
#: Matrices above this size are drawn as a point an edge.
_DENSE = 400


def plot_matrix(graph: Any, ax: Axes | None = None) -> Axes:
    """The weights in causal order: rows cause columns, and all edges stand above the diagonal.

    Edges of a solution whose direction is open have a ring in their cell; the title says how many there are.

    Parameters
    ----------
    graph : Solution, DAG or matrix
        What to draw: standardised weights of a Solution, else weights as they are.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure, ``plot_matrix(…).figure``.

    Examples
    --------
    >>> from psidag import DAG
    >>> ax = plot_matrix(DAG.from_edges([("dose", "level", 2.0), ("level", "effect", -1.0)]))
    >>> [tick.get_text() for tick in ax.get_yticklabels()]
    ['dose', 'level', 'effect']
    """
    content = as_content(graph)
    dag, free = content.dag, ~np.asarray(content.directed, dtype=bool)
    ax = axes_for(ax, 6.5, 5.5)
    from matplotlib.colors import LinearSegmentedColormap

    place = np.empty(dag.d, dtype=np.intp)
    place[dag.order] = np.arange(dag.d)
    W = dag.weights.tocoo()
    values, label = _weights(graph, dag)
    most = float(np.abs(values).max(initial=0.0)) or 1.0
    middle = "#FFFFFF" if dag.d <= _DENSE else colours.FAINT
    scale = LinearSegmentedColormap.from_list("psidag", [colours.NEGATIVE, middle, colours.POSITIVE])
    if dag.d <= _DENSE:
        dense = np.zeros((dag.d, dag.d))
        dense[place[W.row], place[W.col]] = values
        picture: Any = ax.imshow(dense, cmap=scale, vmin=-most, vmax=most, interpolation="nearest")
    else:
        shade: dict[str, Any] = {
            "c": values,
            "cmap": scale,
            "vmin": -most,
            "vmax": most,
            "linewidths": 0,
            "rasterized": True,
        }
        picture = ax.scatter(place[W.col], place[W.row], s=float(np.clip(8e6 / dag.d**2, 0.5, 8.0)), **shade)
        ax.set(xlim=(-0.5, dag.d - 0.5), ylim=(dag.d - 0.5, -0.5), aspect="equal")
    ax.axline((0, 0), slope=1, color=colours.FAINT, linewidth=0.8)
    if dag.d <= _NAMED:
        names = [short(dag.names[v]) for v in dag.order]
        ax.set_xticks(range(dag.d), names, rotation=90, fontsize=8)
        ax.set_yticks(range(dag.d), names, fontsize=8)
    if free.any():
        size = float(np.clip(3e4 / dag.d**2, 4.0, 60.0))
        ring: dict[str, Any] = {"facecolors": "none", "edgecolors": colours.INK, "linewidths": min(0.9, size / 12)}
        ax.scatter(place[W.col][free], place[W.row][free], s=size, rasterized=dag.d > _DENSE, **ring)
        ax.set_title(f"○ direction open: {int(free.sum()):,} of {dag.n_edges:,} edges", fontsize=9)
    ax.figure.colorbar(picture, ax=ax, label=label, shrink=0.8)
    tidy(ax, xlabel="effect, in causal order", ylabel="cause, in causal order")
    return ax


def _weights(graph: Any, dag: DAG) -> tuple[Floats, str]:
    """The weights of the edges, standardised where variances are known; and what to call them."""
    if isinstance(graph, Solution):
        return np.sign(dag.weights.data) * columns.strength(graph), "standardised weight"
    return np.asarray(dag.weights.data, dtype=np.float64), "weight"


def plot_trace(solution: Solution, ax: Axes | None = None) -> Axes:
    """The loss after each round: within the order, and right after the projection where the engine has one.

    Examples
    --------
    >>> from psidag import learn_dag
    >>> from psidag.simulate import simulate
    >>> plot_trace(learn_dag(simulate("ER2", d=5, n=200, seed=0).X, noise="equal", random_state=0)).get_xlabel()
    'round'
    """
    ax = axes_for(ax)
    if not solution.trace:
        return empty(ax, "The graph was not searched for: there are no rounds to show.")
    rounds = [row.round for row in solution.trace]
    marker = "o" if len(rounds) <= 60 else None
    projected = [row.loss_projected for row in solution.trace]
    if np.isfinite(projected).any():
        ax.plot(rounds, projected, color=colours.NEGATIVE, linestyle="--", marker=marker, label="after the projection")
    ax.plot(rounds, [row.loss for row in solution.trace], color=colours.POSITIVE, marker=marker, label="in the order")
    whole_numbers(ax)
    if len(ax.lines) > 1:
        ax.legend(frameon=False)
    tidy(ax, xlabel="round", ylabel="loss", title=solution.status.message)
    return ax


def plot_degrees(graph: Any, ax: Axes | None = None) -> Axes:
    """How many variables have how many causes, and how many effects.

    Examples
    --------
    >>> from psidag import DAG
    >>> plot_degrees(DAG.from_edges([("dose", "level")])).get_ylabel()
    'variables'
    """
    dag = as_content(graph).dag
    ax = axes_for(ax)
    causes = np.bincount(dag.weights.indices, minlength=dag.d)
    effects = np.diff(dag.weights.indptr)
    most = int(max(causes.max(initial=0), effects.max(initial=0)))
    edges = np.unique(np.round(np.linspace(0, most + 1, min(most + 1, 40) + 1))) - 0.5
    kinds = (causes, effects)
    shade = [colours.POSITIVE, colours.NEGATIVE]
    labels = [f"causes (at most {causes.max(initial=0)})", f"effects (at most {effects.max(initial=0)})"]
    ax.hist(kinds, bins=edges.tolist(), color=shade, label=labels, log=dag.d > 1000)
    whole_numbers(ax)
    ax.legend(frameon=False)
    tidy(ax, xlabel="number of causes or effects", ylabel="variables")
    return ax


def plot_weights(graph: Any, ax: Axes | None = None) -> Axes:
    """How the weights are distributed: standardised ones of a Solution, else as they are.

    Examples
    --------
    >>> from psidag import DAG
    >>> plot_weights(DAG.from_edges([("dose", "level", 2.0)])).get_ylabel()
    'edges'
    """
    dag = as_content(graph).dag
    ax = axes_for(ax)
    if not dag.n_edges:
        return empty(ax, "There are no edges.")
    values, label = _weights(graph, dag)
    most = float(np.quantile(np.abs(values), 0.995))
    shown = np.clip(values, -most, most)
    bins = np.linspace(-most, most, 2 * int(np.clip(np.sqrt(dag.n_edges), 10, 40)) + 1).tolist()
    ax.hist(shown[shown < 0], bins=bins, color=colours.NEGATIVE, label=f"negative ({int((values < 0).sum()):,})")
    ax.hist(shown[shown > 0], bins=bins, color=colours.POSITIVE, label=f"positive ({int((values > 0).sum()):,})")
    ax.legend(frameon=False)
    tidy(ax, xlabel=label, ylabel="edges")
    return ax


def plot_confidence(solution: Solution, ax: Axes | None = None) -> Axes:
    """How often each edge came up in resampled data: a bar an edge, or for many edges a point each by strength.

    Examples
    --------
    >>> from psidag import bootstrap, learn_dag
    >>> from psidag.simulate import simulate
    >>> X = simulate("ER1", d=5, n=300, seed=0).X
    >>> confidence = bootstrap(X, noise="equal", replicates=5, random_state=0)
    >>> ax = plot_confidence(learn_dag(X, noise="equal", random_state=0).with_confidence(confidence))
    """
    found = columns.support(solution)
    count = solution.dag.n_edges
    ax = axes_for(ax, 7.0, max(2.0, 0.28 * count + 1) if found and count <= _NAMED else 4.5)
    if found is None:
        return empty(ax, "No bootstrap was run, so there is no support to show.")
    support, reverse = found.direction, found.reverse
    if count > _NAMED:
        points: dict[str, Any] = {
            "s": float(np.clip(2e4 / count, 2, 20)),
            "linewidths": 0,
            "alpha": 0.5,
            "rasterized": True,
        }
        ax.scatter(columns.strength(solution), found.connection, color=colours.POSITIVE, **points)
        firm = int((found.connection >= 0.9).sum())
        ax.axhline(0.9, color=colours.NODE, linewidth=0.8, linestyle=":")
        ax.set(xscale="log", ylim=(-0.02, 1.02))
        tidy(ax, xlabel="size of the standardised weight", ylabel="support")
        ax.set_title(f"{firm:,} of {count:,} edges are in at least 90 % of the resampled tables")
        return ax
    ranked = np.lexsort((-columns.strength(solution), -support, -found.connection))
    edges = list(solution.dag.edges())
    place = np.arange(count)
    ax.barh(place, support[ranked], color=colours.POSITIVE, label="as drawn")
    ax.barh(place, reverse[ranked], left=support[ranked], color=colours.REVERSED, label="reversed")
    directed = support + reverse
    free = np.maximum(found.connection - directed, 0)
    if free.any():
        ax.barh(place, free[ranked], left=directed[ranked], color=colours.FAINT, label="direction open")
    names = [f"{short(edges[k][0])} → {short(edges[k][1])}" for k in ranked]
    ax.set_yticks(place, names, fontsize=8)
    ax.invert_yaxis()
    ax.set_xlim(0, 1)
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    tidy(ax, xlabel="share of the resampled tables")
    return ax
