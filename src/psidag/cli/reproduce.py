"""``psidag reproduce``: the paper's experiments on this machine, and a page about them."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from psidag.cli.app import app
from psidag.cli.console import complain, progress, say

_EXAMPLES = """
Examples:

  psidag reproduce --preset smoke

  psidag reproduce fig-runtime table-sachs --output results

  psidag reproduce --preset recorded --only 'ER2/500/psidag-*' --only '*/1000/golem'

  psidag reproduce --list
"""


@app.command(epilog=_EXAMPLES)
def reproduce(
    figures: Annotated[
        list[str] | None, typer.Argument(metavar="FIGURE...", help="Figures and tables by name; all by default.")
    ] = None,
    preset: Annotated[str, typer.Option(help="How much: smoke, laptop, recorded or paper.")] = "laptop",
    show_list: Annotated[
        bool, typer.Option("--list", help="List the figures with the time they are expected to take, and stop.")
    ] = False,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FOLDER", help="Where results, pictures and the page go.")
    ] = "reproduction",
    at_once: Annotated[int | None, typer.Option(help="Cells that run side by side; all cores by default.")] = None,
    threads: Annotated[int, typer.Option(help="Threads of each cell.")] = 1,
    address: Annotated[
        str | None,
        typer.Option("--cluster", metavar="ADDRESS", help="Run the cells on the workers of this Dask scheduler."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN",
            help="Run only cells like GRAPH/SIZE/METHOD, with * for any, in this order; may be repeated.",
        ),
    ] = None,
    only_page: Annotated[bool, typer.Option("--only-page", help="Run nothing; draw what is there.")] = False,
    recorded: Annotated[
        bool, typer.Option(help="Also draw the recorded run that comes with psidag, marked as such.")
    ] = True,
) -> None:
    """Run the experiments of the ψDAG paper and write a page with every figure, claim by claim.

    Stopped at any moment, the same command goes on where it was.
    """
    from psidag import experiments
    from psidag.data.cluster import cluster
    from psidag.experiments.figures import needs_matplotlib
    from psidag.system.parallel import available_cores

    chosen, size = experiments.choose(figures or ()), experiments.preset_named(preset)
    cells = experiments.like(experiments.plan(chosen, size), only) if only else experiments.plan(chosen, size)
    side_by_side = at_once or max(1, available_cores() // threads)
    if show_list:
        say(_listing(preset, side_by_side))
        return
    needs_matplotlib()
    folder = Path(output)
    table = experiments.ResultTable(folder / "results.jsonl")
    if not only_page:
        try:
            with nullcontext() if address is None else cluster(address) as machines:
                side_by_side = at_once or (side_by_side if machines is None else machines.jobs)
                experiments.run_cells(
                    cells, table, at_once=side_by_side, threads=threads, machines=machines, say=progress
                )
        except KeyboardInterrupt:
            complain(f"stopped; what is done is in {table.path}, and the same command goes on from there")
            raise SystemExit(130) from None
    others = experiments.recorded_rows(size.n) if recorded else []
    progress("drawing")
    say(str(experiments.write_page(chosen, size, experiments.merged(table.rows(), others), folder)))


def _listing(preset: str, at_once: int) -> str:
    """Every figure with the cells of a preset and the time they are expected to take, each alone, then all together."""
    from psidag.experiments import choose, expected_seconds, plan, preset_named
    from psidag.experiments.runner import duration

    size = preset_named(preset)
    lines = [f"preset {preset}: {size.about}; {at_once} cells at once"]
    for experiment in choose():
        cells = plan([experiment], size)
        took = duration(sum(map(expected_seconds, cells)) / at_once)
        lines.append(f"{experiment.name:<20}{len(cells):>5} cells {took:>8}  {experiment.title}")
    cells = plan(choose(), size)
    took = duration(sum(map(expected_seconds, cells)) / at_once)
    return "\n".join([*lines, f"{'all, shared cells once':<20}{len(cells):>3} cells {took:>8}"])
