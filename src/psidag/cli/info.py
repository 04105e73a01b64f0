"""``psidag info``: what to know about a table before learning from it, and what to type next."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, get_args

import numpy as np

from psidag.cli import graphs
from psidag.cli.app import app
from psidag.cli.console import in_flags, say, say_json
from psidag.cli.options import AsJson, Columns, Drop, Rows, TableFile, load_table, text_columns
from psidag.data.files import FileTable
from psidag.scores.named import NoiseName
from psidag.system.errors import listing
from psidag.system.memory import as_text
from psidag.tables.doctor import (
    FEW_ROWS,
    Checkup,
    examine,
    next_command,
    rows_advice,
    slow_rows,
    units_factor,
    without_oddities,
)
from psidag.tables.profile import Profile, profile_table

_EXAMPLES = """
Examples:

  psidag info table.parquet

  psidag info model.psidag
"""
#: What several columns of a kind are called where they are counted.
_MANY = {"number": "numbers", "integer": "whole numbers", "category": "categories", "date": "dates", "id": "ids"}
#: What is said of a column of words.
_IS = {
    "category": "is a category",
    "constant": "has one value only",
    "date": "is a date",
    "empty": "is empty",
    "id": "is an id",
    "number": "holds numbers written with signs",
    "text": "is text",
    "yes/no": "has two values",
}
#: What --prepare makes of columns that are not numbers.
_MADE = {"yes/no": "1 and 0", "category": "columns of 1 and 0", "date": "days", "number": "plain numbers"}
#: Columns that are named in one line; the others are counted.
_NAMED = 5


@app.command(epilog=_EXAMPLES)
def info(
    table: TableFile,
    columns: Columns = None,
    drop: Drop = None,
    rows: Rows = None,
    as_json: AsJson = False,
) -> None:
    """Say what is in a table, what stands in the way, and what to type next; or what is in a .psidag file."""
    if table.lower().endswith(".psidag"):
        solution = graphs.load(table)
        if as_json:
            say_json(solution.content().as_dict())
        else:
            say(in_flags(str(solution)))
        return
    from psidag.learning.forecast import forecast

    data = load_table(table, columns, drop, rows, hold="auto")
    found = profile_table(data)
    checkup = examine(data, text_columns(table, data, rows), found)
    plain = without_oddities(data, checkup)
    together = found.complete_rows
    if plain is not data:
        # Of columns together, what is said is what holds without ids and codes.
        seen = profile_table(plain)
        together = seen.complete_rows
        shared = ("collinear", "nearly", "combinations", "sd_range", "r2_range", "r2_median")
        found = found._replace(**{key: getattr(seen, key) for key in shared})
    where = "" if together == found.rows else f" in the {together:,} rows that have all numbers"
    # A look at gaps would tell nothing of hubs.
    rows_seen = data.X if isinstance(data.X, np.ndarray) and together == found.rows else None
    expected = forecast(max(found.rows, 1), len(data.names), table=rows_seen) if len(data.names) > 1 else None
    flags = [*_flag("--columns", columns), *_flag("--exclude", drop), *([] if rows is None else ["--rows", rows])]
    command = next_command(table, flags, found, checkup, data.text, chooses_noise="auto" in get_args(NoiseName))
    if as_json:
        forecasted = None if expected is None else expected._asdict()
        looked = {
            **checkup._asdict(),
            "positive": sorted(checkup.positive),
            "kinds": {**found.kinds, **checkup.kinds},
            "word_gaps": dict(checkup.word_gaps),
            "kept": sorted(checkup.kept),
        }
        say_json({"table": table, **found._asdict(), **looked, "forecast": forecasted, "next": command})
        return
    lines = [f"{table}: {_count(found.rows, 'row')}, {_count(len(found.kinds), 'column')}"]
    for part in (
        _columns(data, found, checkup, where),
        _gaps(found, checkup),
        _numbers(found, checkup, where),
        _ahead(found, checkup, expected, prepared="--prepare" in (command or "").split()),
    ):
        lines += [f"  {label:<11}{text}" for label, text in part]
    if checkup.transposed:
        lines.append("  next       transpose the table: variables are columns, and here they look like rows")
    lines += ["", "Next:", f"  {command}"] if command else []
    say("\n".join(lines))


def _columns(data: FileTable, found: Profile, checkup: Checkup, where: str) -> Iterator[tuple[str, str]]:
    """What kinds of columns there are."""
    kinds = Counter({**found.kinds, **checkup.kinds}.values())
    counted = (f"{count} {_kind(kind, count)}" for kind, count in sorted(kinds.items()))
    yield "types", ", ".join(counted)
    for name, culprit in list(data.text.items())[:_NAMED]:
        kind = checkup.kinds.get(name)
        made = _MADE.get(kind or "") if name in checkup.kept else None
        then = f"--prepare makes {made} of it" if made else f"leave it out with --prepare, or --exclude {name!r}"
        yield "", f"{name!r} {_IS.get(kind or '', 'is not a number')} ({culprit}): {then}"
    if len(data.text) > _NAMED:
        rest = len(data.text) - _NAMED
        more = "1 more column is not a number" if rest == 1 else f"{rest} more columns are not numbers"
        yield "", f"{more}: --prepare says what it does"
    ids = [name for name, kind in checkup.kinds.items() if kind == "id" and name not in data.text]
    if ids:
        yield "ids", f"{listing(ids)}: different in every row, like a number of the row; leave out with --prepare"
    if found.constant:
        yield "constant", f"{listing(found.constant)}: isolated in any graph"
    if found.duplicate:
        pairs = [f"{a} = {b}" for a, b in found.duplicate]
        yield "duplicate", f"{listing(pairs)}: which of two is the cause cannot be told"
    if found.combinations:
        yield "collinear", f"{'; '.join(found.combinations[:_NAMED])}{where}: leave one of each group out"
    told = {re.split(" [=≈] ", text)[0] for text in found.combinations[:_NAMED]}
    exact, nearly = ([name for name in names if name not in told] for names in (found.collinear, found.nearly))
    if exact:
        yield "collinear", f"{listing(exact)}: combinations of other columns{where}"
    if nearly:
        yield "collinear", f"{listing(nearly)}: nearly combinations of other columns{where}"


def _gaps(found: Profile, checkup: Checkup) -> Iterator[tuple[str, str]]:
    """What is missing."""
    empty = [name for name, count in found.missing.items() if count == found.rows]
    gaps = {name: count for name, count in found.missing.items() if count < found.rows} | dict(checkup.word_gaps)
    gaps = dict(sorted(gaps.items(), key=lambda gap: -gap[1]))
    if empty:
        yield "empty", f"{listing(empty)}: leave them out with --exclude, or --prepare"
    if gaps:
        shown = ", ".join(f"{name!r} {count}" for name, count in list(gaps.items())[:_NAMED])
        more = f" and {len(gaps) - _NAMED} more" if len(gaps) > _NAMED else ""
        left = found.complete_rows if checkup.complete is None else checkup.complete
        yield "missing", f"{shown}{more}; {left:,} of {found.rows:,} rows are complete: --missing says what to do"
        if checkup.seldom and checkup.usable is not None and checkup.usable > left:
            yield "", f"without {listing(checkup.seldom)}, missing in most rows, {checkup.usable:,} would be"
    elif not empty and found.rows:
        yield "missing", "none"
    if checkup.sentinels:
        codes = [f"{code:g} in {name!r}" for name, code in checkup.sentinels.items()]
        yield "codes", f"{_few(codes)} may stand for missing values: --prepare takes them so"
    if found.infinite:
        yield "infinite", f"{listing(found.infinite)}: replace these values or leave the columns out"


def _numbers(found: Profile, checkup: Checkup, where: str) -> Iterator[tuple[str, str]]:
    """What the numbers are like."""
    if checkup.outliers:
        far = [f"{name!r} ({count})" for name, count in checkup.outliers.items()]
        yield "outliers", f"{_few(far)}: values far from most others; see whether they are right"
        if checkup.positive:
            yield "", f"the logarithm of {listing(sorted(checkup.positive))} may serve better (--prepare --log)"
    if found.sd_range is not None and sum(kind != "text" for kind in found.kinds.values()) > 1:
        low, high = found.sd_range
        ratio = units_factor(found)
        yield "variances", f"standard deviations from {_size(low)} to {_size(high)}, a factor of {_factor(ratio)}:"
        yield "", _units_advice(ratio)
    if found.r2_range is not None:
        low, high = found.r2_range
        spread = f"from {low:.2f} to {high:.2f}, median {found.r2_median:.2f}" if high - low >= 0.005 else f"{low:.2f}"
        yield "R²", f"of each column on all others {spread}{where}:"
        yield "", _r2_advice(found.r2_median or 0.0)
    yield from _time(found, checkup)


def _time(found: Profile, checkup: Checkup) -> Iterator[tuple[str, str]]:
    """Whether rows follow each other in time."""
    past = "--lags 1 puts the past beside each row"
    if not slow_rows(checkup):
        if checkup.series is not None and checkup.series.group is None and 2 < found.rows <= FEW_ROWS:
            yield "time", f"rows follow each other in {checkup.series.time!r}: if they are a time series, {past}"
        return
    most = max(checkup.slow.values())
    alike = f"consecutive rows are alike in {len(checkup.slow)} columns (correlation up to {most:.2f})"
    if checkup.series is not None:
        time, group = checkup.series
        within = "" if group is None else f", within each value of {group!r}"
        yield "time", f"{alike}, and follow each other in {time!r}{within}:"
        several = "they are a time series" if group is None else "they are several time series"
        apart = "" if group is None else f", --group {group} keeps the series apart"
        yield "", f"{several}, it seems; {past}{apart}"
    elif checkup.sorted_by is not None:
        yield "time", f"{alike}, and sorted by {checkup.sorted_by!r}, which has several rows to a value:"
        yield "", "if neighbours have something in common, there is less to be learned than from as many separate rows"
    else:
        yield "time", f"{alike}:"
        yield "", f"if rows follow each other in time, {past} (--group COLUMN keeps several"
        yield "", "series apart); if they are independent and just sorted, shuffle them: arrows need that"


def _ahead(found: Profile, checkup: Checkup, expected: Any, *, prepared: bool) -> Iterator[tuple[str, str]]:
    """Whether the rows are enough, and what will run."""
    from psidag.baselines import BASELINES
    from psidag.learning.plan import ENGINES

    if not found.rows:
        yield "rows", "none: there is nothing to learn from"
    else:
        yield "rows", rows_advice(found.rows, len(found.kinds), checkup.made if prepared else None)
    if expected is not None:
        others = [name for name in ENGINES if name != expected.engine]
        took = f"about {_duration(expected.seconds)} and {as_text(expected.memory)}"
        yield "engine", f"auto takes {expected.engine}: {took}"
        yield "", f"also {', '.join(others)}, and for comparison {', '.join(BASELINES)} (--solver)"


def _kind(kind: str, count: int) -> str:
    if kind == "few values":
        return "with few values"
    return _MANY.get(kind, kind) if count > 1 else kind


def _few(items: list[str]) -> str:
    """The first of several remarks, and how many more there are."""
    return ", ".join(items[:_NAMED]) + (f" and {len(items) - _NAMED} more" if len(items) > _NAMED else "")


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'s' * (number != 1)}"


def _factor(ratio: float) -> str:
    if ratio >= 1e9:
        return "more than a billion"
    return f"{ratio:.2g}" if ratio < 10 else f"{ratio:,.0f}" if ratio < 1e6 else f"{ratio / 1e6:,.0f} million"


def _size(value: float) -> str:
    return f"{value:,.0f}" if 1000 <= value < 1e9 else f"{value:.3g}"


def _flag(name: str, given: list[str] | None) -> list[str]:
    return [] if given is None else [name, ",".join(given)]


def _units_advice(ratio: float) -> str:
    if ratio < 1.05:
        return "columns look standardised, which hides what equal noise variances would tell about directions"
    if ratio > 10:
        return (
            "columns in different units, it seems; --noise auto, the default, tests whether noise variances are equal, "
            "and if they are not, units play no part"
        )
    return "directions are read off variances only if noise variances pass a test (--noise auto, the default)"


def _r2_advice(median: float) -> str:
    if median > 0.9:
        return "columns nearly determine each other: weights and directions are unstable"
    if median < 0.05:
        return "columns hardly depend on each other: expect few edges"
    return "how well the others predict a column; that says nothing about directions"


def _duration(seconds: float) -> str:
    for size, unit in ((3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 1):.0f} s"
