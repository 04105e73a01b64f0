"""JSON: our own, that of networkx (node-link) and that of Cytoscape (``.cyjs``)."""

from __future__ import annotations

import json
from typing import Any

from psidag.exchange.content import Content, build, number
from psidag.graph.dag import DAG
from psidag.system.errors import InputError

_FORMAT = "psidag-graph"
_VERSION = 1


def write(content: Content) -> str:
    """``{"format": "psidag-graph", "version": 1, "about": …, "nodes": […], "edges": […]}``, one record a line."""
    head = {"format": _FORMAT, "version": _VERSION, "about": dict(content.about)}
    lines = [f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in head.items()]
    for key, records in (("nodes", content.nodes()), ("edges", content.edges())):
        body = ",\n".join("  " + json.dumps(record, ensure_ascii=False, allow_nan=False) for record in records)
        lines.append(f' "{key}": [\n{body}\n ]' if body else f' "{key}": []')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def write_cytoscape(content: Content) -> str:
    """Cytoscape's JSON: ``elements`` with nodes and edges, vertices numbered by ``id`` and called by ``name``."""
    ids = {name: str(k) for k, name in enumerate(content.dag.names)}
    nodes = [{"data": {"id": ids[str(record["name"])], **record}} for record in content.nodes()]
    edges = []
    for k, record in enumerate(content.edges()):
        source, target = str(record["source"]), str(record["target"])
        rest = {key: value for key, value in record.items() if key not in ("source", "target")}
        ends = {"id": f"e{k}", "source": ids[source], "target": ids[target]}
        arrow, verb = ("->", "causes") if rest.get("directed", True) else ("--", "is joined to")
        edges.append({"data": ends | {"name": f"{source} {arrow} {target}", "interaction": verb} | rest})
    graph = {"data": {"name": "psidag", **content.about}, "elements": {"nodes": nodes, "edges": edges}}
    return json.dumps(graph, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def read(text: str, where: str) -> DAG:
    """Any of the three, told apart by what they hold."""
    try:
        held = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} is not JSON: {error}") from None
    if not isinstance(held, dict):
        raise InputError(f"{where} is not a graph: a JSON object with nodes and edges is expected")
    version = held.get("version")
    if held.get("format") == _FORMAT and version != _VERSION:
        raise InputError(f"{where} has version {version!r} of our format; this psidag reads version {_VERSION}")
    elements = held.get("elements")
    if isinstance(elements, dict | list):
        return _read_cytoscape(elements, where)
    nodes, edges = held.get("nodes"), held.get("edges", held.get("links"))
    if not isinstance(nodes, list) or not isinstance(edges, list):
        raise InputError(f"{where} is not a graph: it lacks lists of nodes and edges")
    names = [_field(node, "name", _field(node, "id", node)) for node in nodes]
    ids = {_key(_field(node, "id", name)): str(name) for node, name in zip(nodes, names, strict=True)}
    return build(map(str, names), [_edge(edge, ids, where) for edge in edges], where)


def _read_cytoscape(elements: Any, where: str) -> DAG:
    if isinstance(elements, list):
        records = [_data(element, where) for element in elements]
        nodes = [record for record in records if "source" not in record]
        edges = [record for record in records if "source" in record]
    else:
        parts = [elements.get(part, []) for part in ("nodes", "edges")]
        if not all(isinstance(part, list) for part in parts):
            raise InputError(f"{where} is not Cytoscape JSON: its nodes and edges must be lists")
        nodes, edges = ([_data(item, where) for item in part] for part in parts)
    ids = {_key(node.get("id")): str(node.get("name", node.get("id"))) for node in nodes}
    return build(ids.values(), [_edge(edge, ids, where) for edge in edges], where)


def _data(element: Any, where: str) -> dict[str, Any]:
    data = _field(element, "data", None)
    if not isinstance(data, dict):
        raise InputError(f"{where} is not Cytoscape JSON: an element has no data")
    return data


def _edge(edge: Any, ids: dict[str, str], where: str) -> tuple[str, str, float]:
    ends = [_key(_field(edge, end, None)) for end in ("source", "target")]
    unknown = [end for end in ends if end not in ids]
    if unknown:
        raise InputError(f"{where} has an edge with {unknown[0]!r}, which is not one of its nodes")
    source, target = (ids[end] for end in ends)
    return source, target, number(_field(edge, "weight", None), where, source, target)


def _field(record: Any, key: str, default: Any) -> Any:
    return record.get(key, default) if isinstance(record, dict) else default


def _key(value: Any) -> str:
    return json.dumps(value, sort_keys=True) if isinstance(value, list | dict) else str(value)
