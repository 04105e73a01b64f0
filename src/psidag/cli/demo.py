"""``psidag demo``: a graph simulated, learned and scored, then real data, in well under two minutes."""

from __future__ import annotations

import time
import warnings
from typing import Annotated

import typer

from psidag.cli.app import app
from psidag.cli.console import say

_MEASURES = ("true_edges", "learned_edges", "shd", "missing", "extra", "reversed", "tpr", "fdr", "gap")


@app.command()
def demo(
    nodes: Annotated[int, typer.Option(min=2, help="Size of the simulated graph.")] = 10_000,
    rows: Annotated[int, typer.Option(min=10, help="Rows to learn it from.")] = 5_000,
    seed: Annotated[int, typer.Option(help="The same seed gives the same numbers.")] = 0,
) -> None:
    """See it work: simulate a graph, learn it, score it, then learn the Sachs proteins."""
    from psidag.system.errors import DataWarning

    start = time.perf_counter()
    with warnings.catch_warnings():
        # What they say of Sachs is said below in the words of the demo.
        warnings.simplefilter("ignore", DataWarning)
        _simulated(nodes, rows, seed)
        _sachs(seed)
    say(
        f"All of this took {time.perf_counter() - start:.0f} s. Now yours:\n\n"
        "  psidag info table.csv                                what to know about a table first\n"
        "  psidag fit table.csv -o graph.json                   learn a graph from it\n"
        "  psidag fit table.csv --knowledge known.toml          with edges and tiers that you know\n"
        "  psidag convert graph.json graph.graphml              open it in another tool\n"
        "  psidag simulate ER2 --nodes 50 --rows 1000 -o t.csv --truth truth.json   make a problem of your own\n"
        "  psidag --help                                        everything else"
    )


def _simulated(nodes: int, rows: int, seed: int) -> None:
    from psidag.graph.comparison import Comparison
    from psidag.learning.learn import learn_dag
    from psidag.simulate import simulate

    say(f"1. A random graph of {nodes:,} variables, about two edges each, and {rows:,} rows drawn from it …")
    problem = simulate("ER2", d=nodes, n=rows, n_test=1000, seed=seed, dtype="float32")
    say(f"   … it has {problem.dag.n_edges:,} edges. Learning it from the rows alone …")
    start = time.perf_counter()
    solution = learn_dag(problem.X, names=problem.names, random_state=seed)
    say(f"   … took {time.perf_counter() - start:.1f} s.\n")
    found = problem.compare(solution.dag)
    say(_indent(str(Comparison({key: found[key] for key in _MEASURES}))))
    right = found["true_edges"] - found["missing"] - found["reversed"]
    say(
        f"\n   {right:,.0f} of {found['true_edges']:,.0f} edges are found with their direction, and new rows are "
        f"predicted {100 * found['gap']:.1f} %\n   worse than by the true model.\n"
    )


def _sachs(seed: int) -> None:
    from psidag.datasets import load_sachs
    from psidag.learning.learn import learn_dag

    sachs = load_sachs()
    say(f"2. Real data: {sachs.n} cells, {sachs.d} proteins and lipids (Sachs et al. 2005).\n")
    solution = learn_dag(sachs.X, names=sachs.names, random_state=seed)
    say(_indent(str(solution.edges())))
    score = sachs.compare(solution.dag)
    agreed = score["learned_edges"] - score["extra"]
    say(
        f"\n   {agreed:.0f} of these {score['learned_edges']:.0f} edges join pairs that biologists join too; "
        f"SHD to their graph of {score['true_edges']:.0f} is {score['shd']:.0f}.\n"
        "   Units differ and so does the noise here: trust who is connected more than who causes whom.\n"
    )


def _indent(text: str) -> str:
    return "\n".join("     " + line for line in text.splitlines())
