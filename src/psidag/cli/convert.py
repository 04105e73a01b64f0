"""``psidag convert``: a graph from one format to another."""

from __future__ import annotations

from typing import Annotated

import typer

from psidag.cli import graphs
from psidag.cli.app import app
from psidag.cli.outputs import check_places
from psidag.exchange import FORMATS, format_of, write_graph

_EXAMPLES = """
Examples:

  psidag convert graph.json graph.graphml

  psidag convert model.psidag - --to dagitty
"""


def _formats() -> list[str]:
    return list(FORMATS)


@app.command(epilog=_EXAMPLES)
def convert(
    source: Annotated[str, typer.Argument(help="A graph file or a .psidag file; - for standard input.")],
    target: Annotated[str, typer.Argument(help="The file to write; - for standard output.")],
    from_: Annotated[
        str | None,
        typer.Option("--from", help="Format of the source, if its ending does not say.", autocompletion=_formats),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option("--to", help=f"One of {', '.join(FORMATS)}; by default by the ending.", autocompletion=_formats),
    ] = None,
) -> None:
    """Convert a graph between JSON, edge CSV, matrix CSV, GraphML, GML, DOT, DAGitty and Cytoscape."""
    chosen = to or ("json" if target == "-" else format_of(target))
    if target != "-":
        check_places([target], [source])
    write_graph(graphs.load(source, from_), target, chosen)
