"""``psidag plot``: a graph or a saved solution as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import typer

from psidag.cli import graphs
from psidag.cli.app import app
from psidag.cli.console import note
from psidag.cli.outputs import check_places
from psidag.solution import Solution
from psidag.system.errors import InputError

_EXAMPLES = """
Examples:

  psidag plot graph.json graph -o graph.png

  psidag plot model.psidag matrix -o matrix.pdf

  psidag plot learned.json comparison --truth truth.json -o errors.svg
"""

Kind = Literal["graph", "matrix", "trace", "degrees", "weights", "confidence", "comparison"]
_NEED_SOLUTION = ("trace", "confidence")


@app.command(epilog=_EXAMPLES)
def plot(
    graph: Annotated[str, typer.Argument(metavar="GRAPH", help="A .psidag file, or a graph in any known format.")],
    kind: Annotated[Kind, typer.Argument(help=f"What to draw: {', '.join(get_args(Kind))}.")],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="The picture: .png .pdf .svg or another ending.")
    ],
    truth: Annotated[str | None, typer.Option(metavar="FILE", help="The true graph, for a comparison.")] = None,
    names: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Of a graph, draw these variables only; with commas.")
    ] = None,
) -> None:
    r"""Draw a graph with matplotlib (pip install "psidag\[plot]")."""
    from psidag import view

    if (truth is None) != (kind != "comparison"):
        raise InputError("a comparison needs --truth, and nothing else takes it")
    if names is not None and kind != "graph":
        raise InputError(f"--names chooses variables of a graph, not of {kind!r}")
    check_places([output], [graph, truth])
    held: Any = graphs.load(graph)
    if kind in _NEED_SOLUTION and not isinstance(held, Solution):
        raise InputError(f"{kind!r} needs a whole solution, not only its graph: a file that ends with .psidag")
    if kind == "confidence" and held.confidence is None:
        raise InputError(f"{graph} holds no bootstrap to draw: `psidag fit … --bootstrap 100 -o {graph}`")
    if kind == "comparison":
        true = graphs.as_dag(graphs.load(str(truth)))
        ax = view.plot_comparison(true, graphs.aligned(graphs.as_dag(held), true.names, graph))
    elif kind == "graph":
        chosen = None if names is None else [name.strip() for name in names.split(",")]
        ax = view.plot_graph(held, names=chosen)
    else:
        ax = getattr(view, f"plot_{kind}")(held)
    try:
        figure: Any = ax.figure
        figure.savefig(Path(output))
    except ValueError as error:
        raise InputError(f"cannot draw into {output!r}: {error}") from None
    note(f"wrote {output}")
