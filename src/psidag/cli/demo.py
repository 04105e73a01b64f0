"""``psidag demo``: a graph simulated, learned and scored, then real data, in well under two minutes."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from psidag.cli.app import app
from psidag.cli.console import say


@app.command()
def demo(
    nodes: Annotated[int, typer.Option(min=2, help="Size of the simulated graph.")] = 200,
    seed: Annotated[int, typer.Option(help="The same seed gives the same numbers.")] = 0,
) -> None:
    """See it work: simulate a graph, learn it, score it, then learn the Sachs proteins."""
    from psidag.datasets import load_sachs
    from psidag.learn import learn_dag
    from psidag.simulate import simulate

    problem = simulate("ER2", d=nodes, n=5000, n_test=1000, seed=seed)
    say(f"1. Simulated: {problem.n} rows of {problem.d} variables; the true graph has {problem.dag.n_edges} edges.")
    start = time.perf_counter()
    solution = learn_dag(problem.X, names=problem.names, random_state=seed)
    say(f"   Learned from the rows alone in {time.perf_counter() - start:.1f} s by the {solution.engine} engine:\n")
    found = problem.compare(solution.dag)
    say(_indent(str(found)))
    right = found["true_edges"] - found["missing"] - found["reversed"]
    say(
        f"\n   {right:.0f} of {found['true_edges']:.0f} edges are right, and new rows are predicted "
        f"{100 * found['gap']:.1f} % worse than by the true model.\n"
    )
    sachs = load_sachs()
    say(f"2. Real data: {sachs.n} cells, {sachs.d} proteins and lipids (Sachs et al. 2005).")
    learned = learn_dag(sachs.X, names=sachs.names, threshold=0.3, random_state=seed)
    score = sachs.compare(learned.dag)
    say(
        f"   Learned {score['learned_edges']:.0f} edges with the paper's threshold; SHD {score['shd']:.0f} to the "
        f"biologists' graph of {score['true_edges']:.0f} edges.\n   The strongest:\n"
    )
    strongest = sorted(learned.dag.edges(), key=lambda edge: -abs(edge[2]))[:8]
    for source, target, weight in strongest:
        say(f"     {source:>6} -> {target:<6} {weight:8.3f}")
    say(
        "\nNow yours:\n"
        "  psidag fit table.csv -o graph.json         learn a graph from your own table\n"
        "  psidag info table.csv                      what to know about the table first\n"
        "  psidag --help                              everything else"
    )


def _indent(text: str) -> str:
    return "\n".join("     " + line for line in text.splitlines())
