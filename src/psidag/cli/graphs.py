"""Graphs on the command line: files of any format, and saved solutions among them."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal, TypeAlias

import typer

from psidag.exchange import format_of, read_graph, write_graph
from psidag.graph.dag import DAG
from psidag.graph.partial import PartialGraph
from psidag.solution import Solution
from psidag.system.errors import InputError, listing

_SAVED = ".psidag"

Which: TypeAlias = Literal["class", "dag", "both"]
#: The option of commands that show a solution.
Shown = Annotated[
    Which,
    typer.Option(
        "--graph",
        help="Give edges a direction only where it is known (class), all of them one that fits as well as any (dag), "
        "or print both.",
    ),
]


def check_outputs(paths: list[str]) -> None:
    """Raise before the work is done if there is no way to write one of these."""
    for path in paths:
        if path == "-":
            raise InputError("-o needs a file; for standard output use --json")
        if not path.lower().endswith(_SAVED):
            format_of(path)


def save(solution: Solution, path: str) -> None:
    """Write a graph, or everything if the ending is ``.psidag``."""
    if path.lower().endswith(_SAVED):
        solution.save(path)
    else:
        write_graph(solution, path)


def shown(solution: Solution, which: Which) -> Solution:
    """The solution with directions left open where they are not known, or as the one DAG that it has."""
    if which != "dag":
        return solution
    # What is known of a direction stays beside it.
    edges, graph = solution.dag.weights.tocoo(), solution.graph
    rows = graph.rows_of(solution.dag)
    known = graph.reason[rows], graph.delta[rows], graph.probability[rows], graph.derived[rows]
    return replace(solution, graph=PartialGraph.from_arrays(solution.names, edges.row, edges.col, True, *known))


def text(solution: Solution, which: Which) -> str:
    """The summary, and if both are asked for, the edges of the DAG below."""
    if which != "both":
        return str(shown(solution, which))
    return f"{solution}\n\none DAG that agrees with it:\n{shown(solution, 'dag').edges().to_text(10)}"


def load(path: str, format: str | None = None) -> Any:  # noqa: A002
    """A Solution from a ``.psidag`` file, else the DAG of a graph file."""
    if format is None and path.lower().endswith(_SAVED):
        return Solution.load(path)
    return read_graph(path, format)


def as_dag(graph: Any) -> DAG:
    """The DAG of what :func:`load` gives."""
    dag: DAG = graph.dag if isinstance(graph, Solution) else graph
    return dag


def aligned(dag: DAG, names: tuple[str, ...], where: str) -> DAG:
    """The graph with its vertices in the order of the names; those that it lacks become isolated."""
    strangers = [name for name in dag.names if name not in set(names)]
    if strangers:
        raise InputError(f"{where} has variables that the other does not have: {listing(strangers)}")
    known = set(dag.names)
    edges = [(source, target, weight) for source, target, weight in dag.edges()]
    order = [*(dag.names[v] for v in dag.order), *(name for name in names if name not in known)]
    place = {name: k for k, name in enumerate(names)}
    weights = DAG.from_edges(edges, names=names).weights
    return DAG.from_weights(weights, [place[name] for name in order], names, zeros=True)
