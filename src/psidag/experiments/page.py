"""One page that needs nothing else: claims with their answers, every figure with its numbers; and its short form."""

from __future__ import annotations

import base64
import html
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from psidag.experiments.catalogue import Experiment, cells_of
from psidag.experiments.cells import SACHS
from psidag.experiments.claims import CLAIMS
from psidag.experiments.claims_sachs import PUBLISHED_SACHS
from psidag.experiments.figures import picture
from psidag.experiments.methods import METHODS
from psidag.experiments.presets import Preset
from psidag.experiments.summaries import grouped, growth, median, problem_of, shown_seconds, timing
from psidag.experiments.table import Row, write_csv
from psidag.experiments.verdicts import Claim, Verdict

_HOW = (
    "The criterion is f(x) − f(x̄) ≤ 0.1·f(x̄), with f on the validation rows and x̄ the true model, judged off "
    "the clock every few steps. An iterate counts after being made acyclic: by its order for ours, by the "
    "smallest threshold that breaks all cycles for GOLEM, DAGMA and NOTEARS. The graph that a run returns, its "
    "weights solved for and its edges chosen, is no iterate: it is drawn apart, and SHD, TPR and the gap of the "
    "tables are its. A stochastic gradient is that of one row; a gradient over all n rows counts as n, and where "
    "that matters the answer is given for both ways of counting. Drawing rows, fresh ones too, is off the clock. "
    "On one thread seconds are the processor's, so that other work on the machine does not count. SHD counts a "
    "reversed edge once. Memory is the most held while learning, data not counted. A run that a budget ended is a "
    "run that did not meet the criterion in that time; none is left out. Intervals are of 95 %; what they do not "
    "decide is called undecided."
)

_SERIES = (
    "ψDAG as printed is Algorithms 1 to 3 and no more: one row a gradient, steps in W, one average, ψ, no "
    "intercept (its criterion has none either, which matters under exponential and Gumbel noise), no solve at the "
    "end, threshold 0.3. ψDAG is the engine that comes with psidag: batches, scaled steps, averages begun anew "
    "each stage, an order from the model that A2 ended with, order and weights settled at the end, edges by "
    "evidence. ψDAG in batches is the same with ψ for the order, as version 0.1 had it."
)

_AUTHORS = (
    "The program that the authors released (github.com/kz29/-psiDAG, main.py and data_generator.py at commit "
    "f0750ac) differs from the text in ways that bear on a comparison: the radius of the universal method is the "
    "norm of the true weights, rounded up; every gradient is of one fresh sample of the true model, and the 5,000 "
    "training rows are not used; these samples are Gaussian whatever the noise of the validation rows; iterate "
    "and average of the optimiser are not cut to the order when it changes. Its graphs have k·d/2 edges in the "
    "mean where the text has k·d."
)

_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}
h1{font-size:1.7rem}h2{font-size:1.25rem;margin-top:2.5rem}img{max-width:100%;height:auto}
table{border-collapse:collapse;font-size:.85rem;margin:1rem 0}td,th{padding:.2rem .6rem;border-bottom:1px solid #ddd;
text-align:right;vertical-align:top}td:first-child,th:first-child,.text td,.text th{text-align:left}
.claim{font-style:italic}.confirmed{color:#00694b}.not-confirmed{color:#a33b00}.undecided{color:#7a5c00}.not-testable-here{color:#555}
.answer{font-weight:600;white-space:nowrap}details{margin:.5rem 0;overflow-x:auto}@media print{details{display:none}}
"""


def write_page(experiments: Sequence[Experiment], preset: Preset, rows: Sequence[Row], folder: Path) -> Path:
    """Write ``index.html``, ``README.md``, the pictures and ``results.csv`` into the folder; the page's path."""
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    answers = [(claim, claim.judge(rows)) for claim in CLAIMS if claim.where in {e.name for e in experiments}]
    sections, short = [], []
    for experiment in experiments:
        mine = _rows_of(experiment, preset, rows)
        image = picture(experiment, mine)
        if image is not None:
            (folder / "figures" / f"{experiment.name}.png").write_bytes(image)
        sections.append(_section(experiment, mine, image))
        short.append(_short_section(experiment, mine, image))
    about = [*_about(preset, rows), _not_run(experiments, preset, rows)]
    page = folder / "index.html"
    page.write_text(_page(about, answers, sections), encoding="utf-8")
    (folder / "README.md").write_text(_readme(about, answers, short), encoding="utf-8")
    write_csv(rows, folder / "results.csv")
    return page


def _rows_of(experiment: Experiment, preset: Preset, rows: Sequence[Row]) -> list[Row]:
    """The rows of an experiment's problems and methods, whichever run they come from."""
    wanted = {(cell.problem.name, cell.method) for cell in cells_of(experiment, preset)}
    recorded = {(row.key[0], row.method) for row in rows if row.recorded and _belongs(row, experiment, preset)}
    found = [row for row in rows if (row.key[0], row.method) in wanted | recorded]
    rank = list(METHODS)
    return sorted(found, key=lambda row: (row.graph, row.d, row.noise, rank.index(row.method), row.seed))


def _belongs(row: Row, experiment: Experiment, preset: Preset) -> bool:
    """Whether a recorded row is of a problem that the experiment has at its full size."""
    return any(
        row.graph in block.graphs
        and row.noise in block.noises
        and row.method in block.methods
        and row.d in (*block.sizes, *preset.reduced.get(experiment.name, {}).values())
        for block in experiment.blocks
    )


def _about(preset: Preset, rows: Sequence[Row]) -> list[str]:
    own = [row for row in rows if not row.recorded]
    lines = [
        f"Preset {preset.name}: {preset.about}. {preset.n:,} rows to learn from, {preset.n_test:,} to be judged on."
    ]
    for machine, group in grouped(own, lambda row: (row.machine, row.threads, row.at_once)).items():
        name, threads, at_once = machine
        lines.append(f"{len(group)} cells on {name}; {threads} thread each, {at_once} at once.")
    if len(own) < len(rows):
        machines = ", ".join(sorted({row.machine for row in rows if row.recorded}))
        lines.append(f"{len(rows) - len(own)} cells come from the recorded run ({machines}) and are marked as such.")
    return lines


def _not_run(experiments: Sequence[Experiment], preset: Preset, rows: Sequence[Row]) -> str:
    missing = {cell.key for e in experiments for cell in cells_of(e, preset)} - {row.key for row in rows}
    return f"{len(missing)} cells of the preset have not been run." if missing else "Every cell of the preset was run."


def _page(about: list[str], answers: list[tuple[Claim, Verdict]], sections: list[str]) -> str:
    claims = "".join(
        f'<tr><td><a href="#{claim.where}">{_escape(claim.says)}</a></td>'
        f'<td class="answer {verdict.answer.replace(" ", "-")}">{verdict.answer}</td>'
        f"<td>{_escape(verdict.numbers)}</td></tr>"
        for claim, verdict in answers
    )
    body = "".join(f"<p>{_escape(line)}</p>" for line in [*about, _HOW, _SERIES, _AUTHORS])
    table = f'<table class="text"><tr><th>the paper says</th><th>here</th><th>numbers</th></tr>{claims}</table>'
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>ψDAG's experiments, reproduced</title><style>{_STYLE}</style>"
        f"<h1>The experiments of the ψDAG paper, reproduced</h1>{body}<h2>The claims</h2>{table}"
        f"{''.join(sections)}</html>\n"
    )


def _section(experiment: Experiment, rows: Sequence[Row], image: bytes | None) -> str:
    parts = [
        f'<h2 id="{experiment.name}">{_escape(experiment.title)} <small>({experiment.name})</small></h2>',
        f'<p class="claim">The paper: {_escape(experiment.claim)}</p>',
        f"<p>Here: {_escape(_measured(experiment, rows))}</p>",
    ]
    if image is not None:
        data = base64.b64encode(image).decode()
        parts.append(f'<img alt="{_escape(experiment.title)}" src="data:image/png;base64,{data}">')
    if experiment.kind == "runtime":
        parts.append(_html_table(_growth_table(rows)))
    if experiment.kind == "table":
        parts.append(_html_table(_sachs_table(rows)))
    elif rows:
        parts.append(_html_table(_structure(rows)))
        numbers = _html_table(_details(rows))
        parts.append(f"<details><summary>All numbers: errors, rates, memory, ends</summary>{numbers}</details>")
    return "".join(parts)


def _short_section(experiment: Experiment, rows: Sequence[Row], image: bytes | None) -> str:
    parts = [f"## {experiment.name}: {experiment.title}", f"*The paper:* {experiment.claim}"]
    parts.append(f"*Here:* {_measured(experiment, rows)}")
    if image is not None:
        parts.append(f"![{experiment.title}](figures/{experiment.name}.png)")
    if experiment.kind == "runtime":
        parts.append(_markdown_table(_growth_table(rows)))
    if experiment.kind == "table":
        parts.append(_markdown_table(_sachs_table(rows)))
    elif rows and experiment.kind != "story":
        parts.append(_markdown_table(_structure(rows)))
    return "\n\n".join(parts)


def _readme(about: list[str], answers: list[tuple[Claim, Verdict]], sections: list[str]) -> str:
    table = [["the paper says", "here", "numbers"]]
    table += [[claim.says, f"**{verdict.answer}**", verdict.numbers] for claim, verdict in answers]
    files = "`index.html` is the whole page in one file, with every number; `results.csv` is the table behind it."
    head = ["# The experiments of the ψDAG paper, reproduced", *about, _HOW, _SERIES, _AUTHORS, files, "## The claims"]
    return "\n\n".join([*head, _markdown_table(table), *sections]) + "\n"


def _measured(experiment: Experiment, rows: Sequence[Row]) -> str:
    """One sentence: what each method did over all problems of the experiment."""
    if not rows:
        return "not run."
    if experiment.kind == "table":
        return f"{len({row.method for row in rows})} methods, medians over seeds."
    parts = []
    for method, group in grouped(rows, lambda row: row.method).items():
        found = timing(group)
        part = f"{METHODS[method].label} met the criterion in {found.reached} of {found.runs}"
        if found.reached:
            quick = median(row.goal_seconds for row in group if row.reached)
            part += f" ({shown_seconds(quick)} in the median)"
        if found.over_budget:
            part += f", {found.over_budget} over budget"
        parts.append(part)
    sizes = sorted({row.d for row in rows})
    span = f"d = {sizes[0]:,}" + (f" to {sizes[-1]:,}" if len(sizes) > 1 else "")
    return f"{span}, {len({row.key[0] for row in rows})} problems. " + "; ".join(parts) + "."


Table = list[list[str]]


def _growth_table(rows: Sequence[Row]) -> Table:
    """For each method the power of d that its time grows with, over which sizes, and the times themselves."""
    sizes = sorted({row.d for row in rows})
    table = [["graph, noise, method", "power of d", "fitted over d", *(f"d = {d:,}" for d in sizes)]]
    for (graph, noise, method), group in grouped(rows, lambda row: (row.graph, row.noise, row.method)).items():
        fit = growth(group)
        slope = ["–", "–"] if fit is None else [f"{fit.slope:.2f}", f"{fit.first:,} to {fit.last:,}"]
        times = []
        for d in sizes:
            found = timing([row for row in group if row.d == d])
            times.append(_time(found.median, found.bound, found.over_budget) if found.runs else "–")
        table.append([f"{graph}, {noise}, {METHODS[method].label}", *slope, *times])
    return table


def _time(middle: float, bound: float, over_budget: int) -> str:
    if math.isfinite(middle):
        return shown_seconds(middle)
    return f"> {shown_seconds(bound)}" if over_budget else f"never (end at {shown_seconds(bound)})"


def _sachs_table(rows: Sequence[Row]) -> Table:
    """At the paper's threshold, with what the paper prints."""
    table = [
        ["method", "SHD", "missing/extra/reversed", "TPR", "FPR", "FDR", "edges", "published: SHD, TPR, FPR, edges",
         "SHD by evidence", "test loss", "seconds", "memory/MB", "ended"]
    ]  # fmt: skip
    for method, group in grouped((row for row in rows if row.graph == SACHS.graph), lambda row: row.method).items():
        middle = _medians(group)
        published = PUBLISHED_SACHS.get(method)
        table.append(
            [
                METHODS[method].label,
                f"{middle('shd_03'):.0f}",
                "/".join(f"{middle(name):.0f}" for name in ("missing_03", "extra_03", "reversed_03")),
                f"{middle('tpr_03'):.3f}",
                f"{middle('fpr_03'):.2f}",
                f"{middle('fdr_03'):.2f}",
                f"{middle('learned_edges_03'):.0f}",
                ", ".join(map(str, published)) if published else "–",
                f"{middle('shd'):.0f}",
                f"{middle('loss'):,.0f}",
                f"{middle('seconds'):.2g}",
                f"{middle('memory'):.0f}",
                group[0].status,
            ]
        )
    return table


def _structure(rows: Sequence[Row]) -> Table:
    """For each problem and method the returned graph: its gap, SHD and TPR, medians over the seeds."""
    methods = [method for method in METHODS if any(row.method == method for row in rows)]
    table = [["gap %, SHD, TPR of the returned graph", *(METHODS[method].label for method in methods)]]
    for (graph, d, noise), group in grouped(rows, problem_of).items():
        runs = grouped((row for row in group if not math.isnan(row.shd)), lambda row: row.method)
        cells = []
        for method in methods:
            middle = _medians(runs.get(method, []))
            found = method in runs
            cells.append(
                f"{100 * middle('graph_gap'):.2g}, {middle('shd'):,.0f}, {middle('tpr'):.2f}" if found else "–"
            )
        if any(cell != "–" for cell in cells):
            table.append([f"{graph} d={d:,} {noise}", *cells])
    return table


def _details(rows: Sequence[Row]) -> Table:
    """For each problem and method, medians over seeds; the graph is the one with edges by evidence."""
    table = [
        ["problem", "method", "runs", "met the criterion", "seconds to it", "gradients to it", "whole run, s", "gap",
         "SHD", "missing/extra/reversed", "of edges", "TPR", "FDR", "SHD at 0.3", "memory/MB", "ended"]
    ]  # fmt: skip
    for (problem, method), group in grouped(rows, lambda row: (problem_of(row), row.method)).items():
        middle, found = _medians(group), timing(group)
        spread = f" ({_brief(found.low)}–{_brief(found.high)})" if found.runs > 1 and found.reached else ""
        ends = sorted({row.message if row.over_budget else row.status for row in group})
        graph, d, noise = problem
        table.append(
            [
                f"{graph} d={d:,} {noise}",
                METHODS[method].label + (" (recorded)" if all(row.recorded for row in group) else ""),
                str(found.runs),
                str(found.reached),
                _brief(found.median) + spread,
                _brief(timing(group, lambda row: row.goal_gradients).median),
                _brief(middle("seconds")),
                _brief(middle("gap")),
                _brief(middle("shd")),
                "/".join(_brief(middle(name)) for name in ("missing", "extra", "reversed")),
                _brief(middle("true_edges")),
                _brief(middle("tpr")),
                _brief(middle("fdr")),
                _brief(middle("shd_03")),
                _brief(middle("memory")),
                "; ".join(ends),
            ]
        )
    return table


def _medians(group: Sequence[Row]) -> Callable[[str], float]:
    return lambda name: median(float(getattr(row, name)) for row in group)


def _brief(value: float) -> str:
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "never"
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.2g}"


def _html_table(table: Table) -> str:
    def line(cells: Iterable[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{_escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    return f"<table>{line(table[0], 'th')}{''.join(line(row, 'td') for row in table[1:])}</table>"


def _markdown_table(table: Table) -> str:
    lines = [table[0], ["---"] * len(table[0]), *table[1:]]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _escape(text: str) -> str:
    return html.escape(text)
