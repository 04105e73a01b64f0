"""GraphML, as Gephi, yEd, igraph and networkx read it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from psidag.exchange.content import Content, build, number
from psidag.graph.dag import DAG
from psidag.system.errors import InputError

#: A carriage return may stand in XML, but is read as a line feed.
_UNFIT = re.compile("[\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]|_(?=x[0-9A-F]{4}_)")
_ESCAPED = re.compile("_x([0-9A-F]{4})_")
_SPACE = "http://graphml.graphdrawing.org/xmlns"


def write(content: Content) -> str:
    """Vertices and edges with their values; the name of a vertex is its id and its ``name`` and ``label``."""
    from xml.etree import ElementTree as ET

    ET.register_namespace("", _SPACE)
    root = ET.Element(f"{{{_SPACE}}}graphml")
    nodes, edges = content.nodes(), content.edges()
    keys: dict[tuple[str, str], str] = {}
    columns = [("node", key, "string") for key in ("name", "label")]
    columns += [("node", key, "double") for key in content.node_values]
    columns += [("edge", key, _kind(values)) for key, values in {"weight": [], **content.edge_values}.items()]
    for kind, key, what in columns:
        keys[kind, key] = f"d{len(keys)}"
        ET.SubElement(
            root,
            f"{{{_SPACE}}}key",
            {"id": keys[kind, key], "for": kind, "attr.name": key, "attr.type": what},
        )
    graph = ET.SubElement(root, f"{{{_SPACE}}}graph", {"id": "psidag", "edgedefault": "directed"})
    for record in nodes:
        node = ET.SubElement(graph, f"{{{_SPACE}}}node", {"id": _escape(record["name"])})
        _data(node, "node", record | {"label": record["name"]}, keys)
    for record in edges:
        ends = {end: _escape(record[end]) for end in ("source", "target")}
        edge = ET.SubElement(graph, f"{{{_SPACE}}}edge", ends)
        _data(edge, "edge", record, keys)
    ET.indent(root, space=" ")
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def read(text: str, where: str) -> DAG:
    """Vertices are called by their ``name`` or ``label`` where they have one, else by their id."""
    from xml.etree import ElementTree as ET

    # Entities can be made to expand without end, and no GraphML needs a document type.
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise InputError(f"{where} declares a document type, which is not read")
    try:
        root = ET.fromstring(text)
    except (ET.ParseError, ValueError, LookupError) as error:
        raise InputError(f"{where} is not XML: {error}") from None
    graph = next((element for element in root.iter() if _tag(element) == "graph"), None)
    if graph is None:
        raise InputError(f"{where} has no graph in it")
    if graph.get("edgedefault") == "undirected":
        raise InputError(f"{where} is an undirected graph; a DAG has directions")
    meaning = {key.get("id"): key.get("attr.name", "") for key in root.iter() if _tag(key) == "key"}

    def values(element: Any) -> dict[str, str]:
        return {str(meaning.get(data.get("key"))): data.text or "" for data in element if _tag(data) == "data"}

    names: dict[str, str] = {}
    for node in (element for element in graph if _tag(element) == "node"):
        held, identity = values(node), node.get("id", "")
        names[identity] = _unescape(held.get("name") or held.get("label") or identity)
    edges = []
    for edge in (element for element in graph if _tag(element) == "edge"):
        ends = [edge.get(end, "") for end in ("source", "target")]
        unknown = [end for end in ends if end not in names]
        if unknown:
            raise InputError(f"{where} has an edge with {unknown[0]!r}, which is not one of its nodes")
        source, target = (names[end] for end in ends)
        edges.append((source, target, number(values(edge).get("weight"), where, source, target)))
    return build(names.values(), edges, where)


def _data(element: Any, kind: str, record: dict[str, Any], keys: dict[tuple[str, str], str]) -> None:
    from xml.etree import ElementTree as ET

    for key, value in record.items():
        if (kind, key) in keys and value is not None and not (isinstance(value, float) and math.isnan(value)):
            text = str(value).lower() if isinstance(value, bool) else str(value)
            ET.SubElement(element, f"{{{_SPACE}}}data", {"key": keys[kind, key]}).text = _escape(text)


def _kind(values: Sequence[Any]) -> str:
    """What GraphML calls values of this kind."""
    kinds = {bool: "boolean", str: "string"}
    return next((kinds.get(type(value), "double") for value in values if value is not None), "double")


def _escape(text: str) -> str:
    """Characters that XML has no place for as ``_x0001_``, the way of spreadsheets, and ``_x0001_`` itself so, too."""
    return _UNFIT.sub(lambda found: f"_x{ord(found[0][0]):04X}_", text)


def _unescape(text: str) -> str:
    return _ESCAPED.sub(lambda found: _unfit(chr(int(found[1], 16)), found[0]), text)


def _unfit(character: str, written: str) -> str:
    return character if character == "_" or _UNFIT.fullmatch(character) else written


def _tag(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]
