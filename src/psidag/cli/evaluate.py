"""``psidag evaluate``: a learned graph against the true one."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import typer

from psidag.cli import graphs
from psidag.cli.app import app
from psidag.cli.console import note, say, say_json
from psidag.cli.options import AsJson, load_table
from psidag.system.errors import InputError, listing

_EXAMPLES = """
Examples:

  psidag evaluate truth.json learned.json

  psidag evaluate truth.csv learned.psidag --data test.csv --json
"""


@app.command(epilog=_EXAMPLES)
def evaluate(
    truth: Annotated[str, typer.Argument(help="The true graph, in any format that `psidag convert` knows.")],
    learned: Annotated[str, typer.Argument(help="The learned graph, or a .psidag file.")],
    data: Annotated[
        str | None,
        typer.Option(metavar="TABLE", help="New rows, for the loss and its gap to the truth."),
    ] = None,
    adjustment: Annotated[
        bool, typer.Option("--adjustment", help="Also adjustment identification distances (needs gadjid).")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Compare a learned graph with the true one.

    Variables are matched by name; one that the learned graph lacks counts as isolated. A truth whose weights are
    all 1 is taken as a topology, without a weight error or gap.
    """
    from psidag.graph.comparison import compare_graphs

    true, found = graphs.as_dag(graphs.load(truth)), graphs.load(learned)
    dag = graphs.aligned(graphs.as_dag(found), true.names, learned)
    lacking = [name for name in true.names if name not in set(graphs.as_dag(found).names)]
    if lacking:
        note(f"not in {learned}, counted as isolated: {listing(lacking)}")
    rows, mean = None, None
    if data is not None:
        table = load_table(data, None, None, None).numbers_only()
        absent = [name for name in true.names if name not in table.names]
        if absent:
            raise InputError(f"{data} lacks the columns {listing(absent)}")
        rows = np.asarray(table.X[:, [table.names.index(name) for name in true.names]], dtype=np.float64)
        if not np.isfinite(rows).all():
            raise InputError(f"{data} has missing or infinite values; leave these rows out")
        mean = rows.mean(axis=0)
        if hasattr(found, "mean") and not lacking:
            mean = np.array([found.mean[found.names.index(name)] for name in true.names])
    measures = compare_graphs(
        true, dag, X_test=rows, mean=mean, weighted=bool(np.any(true.weights.data != 1)), adjustment=adjustment
    )
    if as_json:
        say_json(dict(measures))
    else:
        say(str(measures))
