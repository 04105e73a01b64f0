"""One page that needs nothing else: claims with their answers, every figure with its numbers; and its short form."""

from __future__ import annotations

import base64
import html
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from psidag.experiments.catalogue import Experiment, cells_of
from psidag.experiments.claims import CLAIMS
from psidag.experiments.figures import picture
from psidag.experiments.methods import METHODS
from psidag.experiments.page_tables import (
    Table,
    details_table,
    forecast_table,
    growth_table,
    sachs_table,
    structure_table,
)
from psidag.experiments.presets import Preset
from psidag.experiments.summaries import grouped, median, shown_seconds, timing
from psidag.experiments.table import Row, write_csv
from psidag.experiments.verdicts import Claim, Verdict

_HOW = (
    "The criterion is f(x) − f(x̄) ≤ 0.1·f(x̄), with f on the validation rows and x̄ the true model, judged off "
    "the clock every few steps; from 2,000 nodes on a dense iterate is judged by the first 1,000 of those rows. "
    "An iterate counts after being made acyclic: by its order for ours, by the smallest threshold that breaks all "
    "cycles for GOLEM, DAGMA and NOTEARS. The graph that a run returns, its weights solved for and its edges chosen, "
    "is no iterate: it is drawn apart, and SHD, TPR and the gap of the "
    "tables are its. A stochastic gradient is that of one row; a gradient over all n rows counts as n, and where "
    "that matters the answer is given for both ways of counting. Drawing rows, fresh ones too, is off the clock. "
    "On one thread seconds are the processor's, so that other work on the machine does not count. SHD counts a "
    "reversed edge once. Memory is the most held while learning, data not counted. A run that a budget ended is a "
    "run that did not meet the criterion in that time; none is left out. Intervals are of 95 %; what they do not "
    "decide is called undecided."
)

_SERIES = (
    "ψDAG as printed is Algorithms 1 to 3 and no more: one row a gradient, steps in W, one average, ψ, no "
    "intercept, no solve at the end, threshold 0.3. Its criterion has no intercept either: under exponential and "
    "Gumbel noise, whose mean is not zero, weights that make up for it undercut the true model, gaps turn "
    "negative, and such runs are drawn but not raced against others. ψDAG is the engine that comes with psidag: "
    "batches, scaled steps, averages begun anew each stage that in A2 lean on later steps, an order from the model "
    "that A2 ended with, order and weights settled at the end, edges by evidence. Some of its runs with 1,000 nodes "
    "and more were recorded with averages that weigh all steps of a stage alike, with which dense graphs take longer. "
    "ψDAG in batches has such averages, and ψ for the order, as version 0.1 had it. From the same 5,000 rows a dense "
    "iterate cannot do better than a gap of about d/2n in its order, 10 % at 1,000 nodes: from there on only the "
    "returned graph, whose edges are chosen, meets the criterion."
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
.answer{font-weight:600;white-space:nowrap}details{margin:.5rem 0}.wide{overflow-x:auto}
.text td:last-child{min-width:22rem}@media print{details{display:none}}
@media(max-width:44rem){.text,.text tbody,.text tr,.text td{display:block}.text th{display:none}.text td{border:0}
.text tr{border-bottom:1px solid #ddd;padding:.4rem 0}.text td:last-child{min-width:0}
.wide img{max-width:none;width:44rem}}
"""


class _Both(NamedTuple):
    """Sections for the page, and their short forms."""

    html: list[str]
    markdown: list[str]


def write_page(experiments: Sequence[Experiment], preset: Preset, rows: Sequence[Row], folder: Path) -> Path:
    """Write ``index.html``, ``README.md``, the pictures and ``results.csv`` into the folder; the page's path."""
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    answers = [(claim, claim.judge(rows)) for claim in CLAIMS if claim.where in {e.name for e in experiments}]
    story, sections = _Both([], []), _Both([], [])
    for experiment in experiments:
        mine = _rows_of(experiment, preset, rows)
        image = picture(experiment, mine)
        if image is not None:
            (folder / "figures" / f"{experiment.name}.png").write_bytes(image)
        place = story if experiment.kind == "story" else sections
        place.html.append(_section(experiment, mine, image))
        place.markdown.append(_short_section(experiment, mine, image))
    about = [_HOW, _SERIES, _AUTHORS, *_about(preset, rows), _not_run(experiments, preset, rows)]
    page = folder / "index.html"
    page.write_text(_page(about, answers, story.html, sections.html), encoding="utf-8")
    (folder / "README.md").write_text(_readme(about, answers, story.markdown, sections.markdown), encoding="utf-8")
    write_csv(rows, folder / "results.csv")
    return page


def _rows_of(experiment: Experiment, preset: Preset, rows: Sequence[Row]) -> list[Row]:
    """The rows of an experiment's problems and methods, whichever run they come from."""
    wanted = {(cell.problem.name, cell.method) for cell in cells_of(experiment, preset)}
    beyond = {(row.key[0], row.method) for row in rows if _belongs(row, experiment, preset)}
    found = [row for row in rows if (row.key[0], row.method) in wanted | beyond]
    rank = list(METHODS)
    return sorted(found, key=lambda row: (row.graph, row.d, row.noise, rank.index(row.method), row.seed))


def _belongs(row: Row, experiment: Experiment, preset: Preset) -> bool:
    """Whether a row is of a problem that the experiment has at its full size, planned here or not."""
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


def _page(about: list[str], answers: list[tuple[Claim, Verdict]], story: list[str], sections: list[str]) -> str:
    claims = "".join(
        f'<tr><td><a href="#{claim.where}">{_escape(claim.says)}</a></td>'
        f'<td class="answer {verdict.answer.replace(" ", "-")}">{verdict.answer}</td>'
        f"<td>{_escape(verdict.numbers)}</td></tr>"
        for claim, verdict in answers
    )
    body = "".join(f"<p>{_escape(line)}</p>" for line in about)
    head = "<tr><th>the paper says</th><th>here</th><th>numbers</th></tr>"
    table = f'<div class="wide"><table class="text">{head}{claims}</table></div>'
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>ψDAG's experiments, reproduced</title><style>{_STYLE}</style>"
        f"<h1>The experiments of the ψDAG paper, reproduced</h1><p>{_escape(_tally(answers))}</p>{''.join(story)}"
        f"<h2>The claims</h2>{table}<h2>How it was measured</h2>{body}{''.join(sections)}</html>\n"
    )


def _tally(answers: list[tuple[Claim, Verdict]]) -> str:
    """How many claims came out which way."""
    counts = Counter(verdict.answer for _, verdict in answers)
    said = ", ".join(f"{count} {answer}" for answer, count in counts.most_common())
    return f"{len(answers)} claims of the paper are held against the runs below: {said}."


def _section(experiment: Experiment, rows: Sequence[Row], image: bytes | None) -> str:
    parts = [
        f'<h2 id="{experiment.name}">{_escape(experiment.title)} <small>({experiment.name})</small></h2>',
        f'<p class="claim">The paper: {_escape(experiment.claim)}</p>',
        f"<p>Here: {_escape(_measured(experiment, rows))}</p>",
    ]
    if image is not None:
        data = base64.b64encode(image).decode()
        shown = f'<img alt="{_escape(experiment.title)}" src="data:image/png;base64,{data}">'
        parts.append(f'<div class="wide" tabindex="0">{shown}</div>')
    parts += [_html_table(table) for table in _times(experiment, rows)]
    if experiment.kind == "table":
        parts.append(_html_table(sachs_table(rows)))
    elif rows and experiment.kind != "story":
        parts.append(_html_table(structure_table(rows)))
        numbers = _html_table(details_table(rows))
        parts.append(f"<details><summary>All numbers: errors, rates, memory, ends</summary>{numbers}</details>")
    return "".join(parts)


def _times(experiment: Experiment, rows: Sequence[Row]) -> list[Table]:
    """How times grow and, where there is something to go by, what runs beyond them would take."""
    if experiment.kind != "runtime":
        return []
    return [growth_table(rows), *(table for table in [forecast_table(rows)] if len(table) > 1)]


def _short_section(experiment: Experiment, rows: Sequence[Row], image: bytes | None) -> str:
    parts = [f"## {experiment.name}: {experiment.title}", f"*The paper:* {experiment.claim}"]
    parts.append(f"*Here:* {_measured(experiment, rows)}")
    if image is not None:
        parts.append(f"![{experiment.title}](figures/{experiment.name}.png)")
    parts += [_markdown_table(table) for table in _times(experiment, rows)]
    if experiment.kind == "table":
        parts.append(_markdown_table(sachs_table(rows)))
    elif rows and experiment.kind != "story":
        parts.append(_markdown_table(structure_table(rows)))
    return "\n\n".join(parts)


def _readme(about: list[str], answers: list[tuple[Claim, Verdict]], story: list[str], sections: list[str]) -> str:
    table = [["the paper says", "here", "numbers"]]
    table += [[claim.says, f"**{verdict.answer}**", verdict.numbers] for claim, verdict in answers]
    files = "`index.html` is the whole page in one file, with every number; `results.csv` is the table behind it."
    head = ["# The experiments of the ψDAG paper, reproduced", _tally(answers), files, *story, "## The claims"]
    return "\n\n".join([*head, _markdown_table(table), "## How it was measured", *about, *sections]) + "\n"


def _measured(experiment: Experiment, rows: Sequence[Row]) -> str:
    """One sentence: what each method did over all problems of the experiment."""
    if not rows:
        return "not run."
    if experiment.kind == "table":
        return f"{len({row.method for row in rows})} methods, medians over seeds."
    if experiment.kind == "story":
        return _largest(rows)
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


def _largest(rows: Sequence[Row]) -> str:
    """For each method the largest graph on which it met the criterion, and after how long."""
    parts = []
    for method, group in grouped((row for row in rows if row.reached), lambda row: row.method).items():
        d = max(row.d for row in group)
        there = timing([row for row in group if row.d == d])
        parts.append(f"{METHODS[method].label} {d:,} nodes ({shown_seconds(there.median)})")
    return "the largest graphs on which an iterate met the criterion, and after how long: " + ", ".join(parts) + "."


def _html_table(table: Table) -> str:
    def line(cells: Iterable[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{_escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    body = "".join(line(row, "td") for row in table[1:])
    return f'<div class="wide"><table>{line(table[0], "th")}{body}</table></div>'


def _markdown_table(table: Table) -> str:
    lines = [table[0], ["---"] * len(table[0]), *table[1:]]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _escape(text: str) -> str:
    return html.escape(text)
