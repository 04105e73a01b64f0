"""GML, as networkx, igraph, Cytoscape and DoWhy read it."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any

from psidag.exchange.content import Content, build, number
from psidag.graph.dag import DAG
from psidag.system.errors import InputError

_TOKEN = re.compile(r'\s*(?:#[^\n]*\n|(?P<string>"[^"]*")|(?P<bracket>[\[\]])|(?P<word>[^\s\[\]"]+))')

_REFERENCE = re.compile(r"&(?:#(?P<decimal>\d{1,8})|#[xX](?P<hex>[0-9a-fA-F]{1,8})|\w+);")


def write(content: Content) -> str:
    """Vertices numbered and labelled by name; in strings, what GML cannot hold is a character reference."""
    lines = ["graph [", "  directed 1"]
    index = {name: k for k, name in enumerate(content.dag.names)}
    for k, record in enumerate(content.nodes()):
        rest = {key: value for key, value in record.items() if key != "name"}
        lines += ["  node [", f"    id {k}", f"    label {_quote(record['name'])}", *_values(rest), "  ]"]
    for record in content.edges():
        ends = [f"    {end} {index[record[end]]}" for end in ("source", "target")]
        rest = {key: value for key, value in record.items() if key not in ("source", "target")}
        lines += ["  edge [", *ends, *_values(rest), "  ]"]
    return "\n".join([*lines, "]"]) + "\n"


def read(text: str, where: str) -> DAG:
    """Vertices are called by their label, else by their id."""
    tree = _block(_tokens(text, where), where, inner=False)
    graph = next((value for key, value in tree if key == "graph" and isinstance(value, list)), None)
    if graph is None:
        raise InputError(f"{where} has no graph in it")
    if dict(_plain(graph)).get("directed") in (None, "0"):
        raise InputError(f"{where} is an undirected graph (it lacks `directed 1`); a DAG has directions")
    names: dict[str, str] = {}
    edges = []
    for key, value in graph:
        if key == "node" and isinstance(value, list):
            node = dict(_plain(value))
            if "id" not in node:
                raise InputError(f"{where} has a node without an id")
            names[node["id"]] = node.get("label", node["id"])
    for key, value in graph:
        if key == "edge" and isinstance(value, list):
            edge = dict(_plain(value))
            ends = [edge.get(end, "") for end in ("source", "target")]
            unknown = [end for end in ends if end not in names]
            if unknown:
                raise InputError(f"{where} has an edge with {unknown[0]!r}, which is not one of its nodes")
            source, target = (names[end] for end in ends)
            edges.append((source, target, number(edge.get("weight"), where, source, target)))
    return build(names.values(), edges, where)


def _tokens(text: str, where: str) -> Iterator[tuple[str, str]]:
    place = 0
    text = text.rstrip() + "\n"
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            if text[place:].strip():
                raise InputError(f"{where} is not GML: a string is not closed")
            return
        place = found.end()
        if found.lastgroup:
            yield found.lastgroup, found[found.lastgroup]


def _block(tokens: Iterator[tuple[str, str]], where: str, *, inner: bool, depth: int = 0) -> list[tuple[str, Any]]:
    """Keys and values up to the closing bracket."""
    if depth > 50:
        raise InputError(f"{where} is not GML: it is nested too deeply")
    found: list[tuple[str, Any]] = []
    for kind, key in tokens:
        if key == "]" and inner:
            return found
        if kind != "word":
            raise InputError(f"{where} is not GML: {key[:20]!r} stands where a key should")
        kind, value = next(tokens, ("end", ""))
        if value == "[" and kind == "bracket":
            found.append((key, _block(tokens, where, inner=True, depth=depth + 1)))
        elif kind == "string":
            found.append((key, _REFERENCE.sub(_character, value[1:-1])))
        elif kind == "word":
            found.append((key, value))
        else:
            raise InputError(f"{where} is not GML: {key!r} has no value")
    if inner:
        raise InputError(f"{where} is not GML: a bracket is not closed")
    return found


def _plain(block: list[tuple[str, Any]]) -> Iterator[tuple[str, str]]:
    return ((key, value) for key, value in block if isinstance(value, str))


def _values(record: dict[str, Any]) -> list[str]:
    # Keys of GML are letters and digits.
    return [f"    {key.replace('_', '')} {_value(value)}" for key, value in record.items() if value is not None]


def _value(value: Any) -> str:
    if isinstance(value, str):
        return _quote(value)
    return str(int(value)) if isinstance(value, bool) else repr(float(value))


def _character(found: re.Match[str]) -> str:
    """What a reference stands for, control characters included, which HTML would not allow."""
    code = found["decimal"] or found["hex"]
    if code is None:
        return html.unescape(found[0])
    try:
        return chr(int(code, 10 if found["decimal"] else 16))
    except (ValueError, OverflowError):
        return found[0]


def _quote(name: str) -> str:
    safe = "".join(c if 32 <= ord(c) < 127 and c not in '&"' else f"&#{ord(c)};" for c in name)
    return f'"{safe}"'
