"""``psidag info``: what to know about a table before learning from it."""

from __future__ import annotations

from collections import Counter
from typing import Any

from psidag.cli import graphs
from psidag.cli.app import app
from psidag.cli.console import say, say_json
from psidag.cli.options import AsJson, Columns, Drop, Rows, TableFile, load_table
from psidag.data.files import HOLD, FileTable
from psidag.system.errors import listing
from psidag.system.memory import as_text
from psidag.tables.profile import Profile, profile_table

_EXAMPLES = """
Examples:

  psidag info table.parquet

  psidag info model.psidag
"""


@app.command(epilog=_EXAMPLES)
def info(
    table: TableFile,
    columns: Columns = None,
    drop: Drop = None,
    rows: Rows = None,
    which: graphs.Shown = "class",
    as_json: AsJson = False,
) -> None:
    """Say what is in a table, and what learning from it would take; or what is in a .psidag file."""
    if table.lower().endswith(".psidag"):
        solution = graphs.load(table)
        if as_json:
            say_json(graphs.shown(solution, which).content().as_dict())
        else:
            say(graphs.text(solution, which))
        return
    from psidag.learning.forecast import forecast

    data = load_table(table, columns, drop, rows, hold=HOLD)
    found = profile_table(data)
    expected = forecast(max(found.rows, 1), len(data.names)) if len(data.names) > 1 else None
    if as_json:
        say_json({"table": table, **found._asdict(), "forecast": None if expected is None else expected._asdict()})
    else:
        say("\n".join(_lines(table, data, found, expected)))


def _lines(table: str, data: FileTable, found: Profile, expected: Any) -> list[str]:
    lines = [f"{table}: {found.rows} rows, {len(found.kinds)} columns"]

    def tell(label: str, text: str) -> None:
        lines.append(f"  {label:<11}{text}")

    kinds = Counter(found.kinds.values())
    tell("types", "; ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())))
    for name, culprit in list(data.text.items())[:5]:
        tell("", f"{name!r} is not numbers ({culprit}): leave it out with --drop {name!r}")
    empty = [name for name, count in found.missing.items() if count == found.rows]
    gaps = {name: count for name, count in found.missing.items() if count < found.rows}
    if empty:
        tell("empty", f"{listing(empty)}: leave them out with --drop")
    if gaps:
        shown = ", ".join(f"{name!r} {count}" for name, count in list(gaps.items())[:5])
        more = f" and {len(gaps) - 5} more columns" if len(gaps) > 5 else ""
        tell(
            "missing", f"{shown}{more}; {found.complete_rows} of {found.rows} rows are complete: choose with --missing"
        )
    elif not empty:
        tell("missing", "none")
    if found.infinite:
        tell("infinite", f"{listing(found.infinite)}: replace these values or leave the columns out")
    if found.constant:
        tell("constant", f"{listing(found.constant)}: isolated in any graph")
    if found.duplicate:
        pairs = [f"{a} = {b}" for a, b in found.duplicate]
        tell("duplicate", f"{listing(pairs)}: which of two is the cause cannot be told")
    if found.collinear:
        tell("collinear", f"{listing(found.collinear)}: combinations of other columns")
    if found.sd_range is not None:
        low, high = found.sd_range
        ratio = high / low if low else float("inf")
        tell("variances", f"standard deviations from {low:.3g} to {high:.3g}, a factor of {ratio:.3g}:")
        tell("", _units_advice(ratio))
    if found.r2_range is not None:
        low, high = found.r2_range
        tell("R²", f"of each column on all others from {low:.2f} to {high:.2f}, median {found.r2_median:.2f}:")
        tell("", _r2_advice(found.r2_median or 0.0))
    if expected is not None:
        tell("engine", f"{expected.engine}: about {_duration(expected.seconds)} and {as_text(expected.memory)}")
    return lines


def _units_advice(ratio: float) -> str:
    if ratio < 1.05:
        return "standardised columns tell nothing of the order by variance: trust edges more than directions"
    return "directions are read off variances; trust them if all columns share a unit and a noise level"


def _r2_advice(median: float) -> str:
    if median > 0.9:
        return "columns nearly determine each other: weights and directions are unstable"
    if median < 0.05:
        return "columns hardly depend on each other: expect few edges"
    return "the further down the order, the higher it tends to be; that alone is no evidence of a direction"


def _duration(seconds: float) -> str:
    for size, unit in ((3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 1):.0f} s"
