"""``psidag simulate``: data with a known graph."""

from __future__ import annotations

import re
from typing import Annotated, Literal

import typer

from psidag.cli import graphs
from psidag.cli.app import app
from psidag.cli.console import note
from psidag.cli.outputs import check_places

_EXAMPLES = """
Examples:

  psidag simulate ER2 --nodes 100 --rows 5000 -o data.csv --truth truth.json

  psidag simulate truth.json --rows 1000 --noise laplace --seed 1 -o more.parquet
"""


@app.command(epilog=_EXAMPLES)
def simulate(
    graph: Annotated[
        str,
        typer.Argument(help="ER2, SF4 and the like (2 or 4 edges a node), or a graph file with weights."),
    ],
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="FILE", help="Rows: .csv .tsv .npy .npz .parquet, or - for stdout."),
    ],
    nodes: Annotated[int | None, typer.Option(help="Number of variables of a random graph.")] = None,
    rows: Annotated[int, typer.Option(help="Number of rows.")] = 1000,
    truth: Annotated[str | None, typer.Option(metavar="FILE", help="Where to write the true graph.")] = None,
    test: Annotated[str | None, typer.Option(metavar="FILE", help="Where to write as many rows for testing.")] = None,
    noise: Annotated[
        str, typer.Option(help="gaussian, exponential, gumbel, laplace, uniform, student_t or student_t:3.")
    ] = "gaussian",
    standardise: Annotated[
        Literal["data", "internal"] | None,
        typer.Option(help="Bring columns to variance one: afterwards, or each before its children see it."),
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same rows.")] = 0,
) -> None:
    """Draw rows from a random graph, or from one in a file."""
    from psidag.data.writing import check_table_path, write_table
    from psidag.exchange import write_graph
    from psidag.simulate import simulate as draw
    from psidag.simulate.graphs import WEIGHT_RANGES

    for path in (output, test):
        if path is not None:
            check_table_path(path)
    if truth is not None:
        graphs.check_outputs([truth])
    random = re.fullmatch(r"(?i)(ER|SF)[0-9.]+", graph) is not None
    check_places([path for path in (output, test, truth) if path not in (None, "-")], [] if random else [graph])
    problem = draw(
        graph if random else graphs.as_dag(graphs.load(graph)),
        n=rows,
        d=nodes,
        seed=seed,
        noise=noise,
        ranges=WEIGHT_RANGES if random else None,
        n_test=rows if test else 0,
        standardise=standardise,
    )
    write_table(problem.X, problem.names, output)
    if test is not None and problem.X_test is not None:
        write_table(problem.X_test, problem.names, test)
    if truth is not None:
        write_graph(problem.dag, truth)
    note(f"{problem.n} rows of {problem.d} variables, {problem.dag.n_edges} true edges")
