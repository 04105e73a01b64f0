"""A table of edges, and the matrix of weights, as CSV."""

from __future__ import annotations

import csv
import io
from typing import Any

from psidag.exchange.content import Content, build, number
from psidag.graph.dag import DAG
from psidag.system.errors import InputError

_SOURCE = ("source", "from", "cause")
_TARGET = ("target", "to", "effect")


def write(content: Content) -> str:
    """``source,target,weight,…``, one edge a line; a vertex without edges has a line with the source alone."""
    records = content.edges()
    columns = ["source", "target", "weight", *content.edge_values]
    joined = {record[end] for record in records for end in ("source", "target")}
    lonely: list[dict[str, Any]] = [{"source": name} for name in content.dag.names if name not in joined]
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(columns)
    for record in [*records, *lonely]:
        table.writerow([record.get(column) for column in columns])
    return out.getvalue()


def write_matrix(content: Content) -> str:
    """The weights with names on both sides; the row causes, the column is caused."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(["", *content.dag.names])
    for name, row in zip(content.dag.names, content.dag.to_dense().tolist(), strict=True):
        table.writerow([name, *(f"{value:.17g}" for value in row)])
    return out.getvalue()


def read(text: str, where: str) -> DAG:
    """A table of edges if its header has a source and a target, else a matrix."""
    try:
        separator = "\t" if "\t" in text.split("\n", 1)[0] else ","
        rows = [row for row in csv.reader(io.StringIO(text), delimiter=separator) if any(row)]
    except csv.Error as error:
        raise InputError(f"{where} cannot be read: {error}") from None
    if not rows:
        raise InputError(f"{where} is empty")
    header = [cell.strip().lower() for cell in rows[0]]
    source_column, target_column = (
        next((header.index(name) for name in names if name in header), -1) for names in (_SOURCE, _TARGET)
    )
    if min(source_column, target_column) < 0:
        return _read_matrix(rows, where)
    weight_column = header.index("weight") if "weight" in header else None
    names, edges = [], []
    for line, row in enumerate(rows[1:], start=2):
        if len(row) != len(header):
            raise InputError(f"row {line} of {where} has {len(row)} cells, the header has {len(header)}")
        source, target = row[source_column], row[target_column]
        if target:
            weight = row[weight_column] if weight_column is not None else None
            edges.append((source, target, number(weight, where, f"{source!r} -> {target!r}")))
        else:
            names.append(source)
    return build(dict.fromkeys([*(end for edge in edges for end in edge[:2]), *names]), edges, where)


def _read_matrix(rows: list[list[str]], where: str) -> DAG:
    body = rows[1:]
    labelled = all(len(row) == len(body) + 1 for row in body)
    names = rows[0][1:] if labelled and len(rows[0]) == len(body) + 1 else rows[0]
    if len(names) != len(body) or any(len(row) != len(names) + labelled for row in body):
        raise InputError(
            f"{where} is neither a table of edges (columns source and target) nor a square matrix with a header"
        )
    if labelled and [row[0] for row in body] != names:
        raise InputError(f"the rows and columns of the matrix in {where} do not have the same names")
    edges = []
    for name, row in zip(names, body, strict=True):
        for target, cell in zip(names, row[labelled:], strict=True):
            weight = number(cell or "0", where, f"{name!r} -> {target!r}")
            if weight != 0:
                edges.append((name, target, weight))
    return build(names, edges, where)
