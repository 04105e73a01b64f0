"""A table of edges, and the matrix of weights, as CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from typing import Any

from psidag.data.lines import separator_of
from psidag.exchange.content import Content, build, number
from psidag.graph.dag import DAG
from psidag.system.errors import InputError

#: What spreadsheets take for a formula, with the apostrophes that names of this kind already have.
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_QUOTED = re.compile('[",\t\r\n]')
_SOURCE = ("source", "from", "cause")
_TARGET = ("target", "to", "effect")


def write(content: Content, separator: str = ",") -> str:
    """``source,target,weight,…``, one edge a line; a vertex without edges has a line with the source alone."""
    records = content.edges()
    columns = ["source", "target", "weight", *content.edge_values]
    joined = {record[end] for record in records for end in ("source", "target")}
    lonely: list[dict[str, Any]] = [{"source": name} for name in content.dag.names if name not in joined]
    lines = [_line(columns, separator)]
    for record in [*records, *lonely]:
        row = [record.get(column) for column in columns]
        row[:2] = [None if name is None else _inert(name) for name in row[:2]]
        if not any(row):
            row[2] = 0  # a line of nothing would be passed over
        lines.append(_line(row, separator))
    return "".join(lines)


def write_tabs(content: Content) -> str:
    """The same with tabs."""
    return write(content, "\t")


def write_matrix(content: Content) -> str:
    """The weights with names on both sides; the row causes, the column is caused."""
    names = [_inert(name) for name in content.dag.names]
    lines = [_line(["", *names])]
    for name, row in zip(names, content.dag.to_dense().tolist(), strict=True):
        lines.append(_line([name, *(f"{value:.17g}" for value in row)]))
    return "".join(lines)


def read(text: str, where: str) -> DAG:
    """A table of edges if its header has a source and a target, else a matrix."""
    rows = _rows(text, where)
    header = [cell.strip().lower() for cell in rows[0]]
    source_column, target_column = (
        next((header.index(name) for name in names if name in header), -1) for names in (_SOURCE, _TARGET)
    )
    # The header of a matrix begins with an empty cell.
    if min(source_column, target_column) < 0 or header[0] == "":
        return _read_matrix(rows, where)
    weight_column = header.index("weight") if "weight" in header else None
    names, edges = [], []
    for line, row in enumerate(rows[1:], start=2):
        if len(row) != len(header):
            raise InputError(f"row {line} of {where} has {len(row)} cells, the header has {len(header)}")
        source, target = _plain(row[source_column]), _plain(row[target_column])
        weight = row[weight_column] if weight_column is not None else ""
        # A target without a name is one where the edge has a weight.
        if target or weight not in ("", "0"):
            edges.append((source, target, number(weight, where, source, target)))
        else:
            names.append(source)
    return build(dict.fromkeys([*(end for edge in edges for end in edge[:2]), *names]), edges, where)


def read_matrix(text: str, where: str) -> DAG:
    """A matrix of weights, whatever its columns are called; a table of edges if it is none."""
    rows = _rows(text, where)
    square = len(rows[0]) in (len(rows), len(rows) - 1)
    return _read_matrix(rows, where) if square else read(text, where)


def _rows(text: str, where: str) -> list[list[str]]:
    try:
        separator = separator_of(text.split("\n", 1)[0], ",\t") or ","
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if any(row)]
    except csv.Error as error:
        raise InputError(f"{where} cannot be read: {error}") from None
    if not rows:
        raise InputError(f"{where} is empty")
    return rows


def _line(cells: Sequence[Any], separator: str = ",") -> str:
    """A line of CSV; the writer of the standard library leaves carriage returns without quotes."""
    texts = ["" if cell is None else str(cell) for cell in cells]
    return separator.join(f'"{t.replace(chr(34), chr(34) * 2)}"' if _QUOTED.search(t) else t for t in texts) + "\n"


def _inert(name: str) -> str:
    """A name that no spreadsheet takes for a formula: one that looks like one gets an apostrophe."""
    return f"'{name}" if _FORMULA.match(name) else name


def _plain(cell: str) -> str:
    """The name that was made inert."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def _read_matrix(rows: list[list[str]], where: str) -> DAG:
    body = rows[1:]
    rows = [[_plain(cell) for cell in rows[0]], *rows[1:]]
    labelled = all(len(row) == len(body) + 1 for row in body)
    names = rows[0][1:] if labelled and len(rows[0]) == len(body) + 1 else rows[0]
    if len(names) != len(body) or any(len(row) != len(names) + labelled for row in body):
        raise InputError(
            f"{where} is neither a table of edges (columns source and target) nor a square matrix with a header"
        )
    if labelled and [_plain(row[0]) for row in body] != names:
        raise InputError(f"the rows and columns of the matrix in {where} do not have the same names")
    edges = []
    for name, row in zip(names, body, strict=True):
        for target, cell in zip(names, row[labelled:], strict=True):
            weight = number(cell or "0", where, name, target)
            if weight != 0:
                edges.append((name, target, weight))
    return build(names, edges, where)
