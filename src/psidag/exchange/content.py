"""What goes into a file: the DAG, and what is known of its edges and vertices besides."""

from __future__ import annotations

import math
import reprlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psidag.graph.dag import DAG
from psidag.graph.extension import extension
from psidag.graph.partial import PartialGraph
from psidag.system.errors import InputError, listing


@dataclass(frozen=True, eq=False)
class Content:
    """A DAG with columns of values for its edges (in the order of ``dag.edges()``) and its vertices.

    Where there is a column ``directed``, an edge for which it is false could as well point the other way.
    """

    dag: DAG
    edge_values: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    node_values: Mapping[str, Sequence[float]] = field(default_factory=dict)
    about: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        return {"about": dict(self.about), "nodes": self.nodes(), "edges": self.edges()}

    @property
    def directed(self) -> Sequence[bool]:
        """Whether the direction of each edge is known."""
        return self.edge_values.get("directed", [True] * self.dag.n_edges)

    def nodes(self) -> list[dict[str, Any]]:
        """Each vertex as a record: its name and its values; what is not a finite number is None."""
        columns = {key: _plain(values) for key, values in self.node_values.items()}
        return [
            {"name": name} | {key: values[k] for key, values in columns.items()}
            for k, name in enumerate(self.dag.names)
        ]

    def edges(self) -> list[dict[str, Any]]:
        """Each edge as a record: source, target, weight and its values."""
        columns = {key: _plain(values) for key, values in self.edge_values.items()}
        return [
            {"source": source, "target": target, "weight": weight} | {key: values[k] for key, values in columns.items()}
            for k, (source, target, weight) in enumerate(self.dag.edges())
        ]


def as_content(graph: Any) -> Content:
    """The content of a DAG, of a Solution or model that has one, of a PartialGraph, or of a matrix."""
    candidate: Any
    for candidate in (graph, getattr(graph, "solution_", None)):
        if isinstance(candidate, Content):
            return candidate
        if isinstance(candidate, DAG):
            return Content(candidate)
        if isinstance(candidate, PartialGraph):
            dag = extension(candidate)
            return Content(dag, {"directed": candidate.directed[candidate.rows_of(dag)].tolist()})
        if hasattr(candidate, "content"):
            content: Content = candidate.content()
            return content
        if isinstance(getattr(candidate, "dag", None), DAG):
            return Content(candidate.dag)
    return Content(DAG.from_weights(graph))


def build(names: Iterable[str], edges: Iterable[tuple[str, str, float]], where: str) -> DAG:
    """The DAG of a file, with errors that say what in it is wrong."""
    named = list(names)
    twice = [name for name, times in Counter(named).items() if times > 1]
    if twice:
        raise InputError(f"{where} names a vertex twice: {listing(twice)}")
    triples = list(edges)
    known = dict.fromkeys(named)
    known |= dict.fromkeys(chain.from_iterable((source, target) for source, target, _ in triples))
    index = {name: k for k, name in enumerate(known)}
    sources = np.array([index[source] for source, _, _ in triples], dtype=np.intp)
    targets = np.array([index[target] for _, target, _ in triples], dtype=np.intp)
    weights = np.array([weight for *_, weight in triples], dtype=np.float64)
    for k in np.flatnonzero((sources == targets) | _repeated(sources * len(known) + targets) | ~np.isfinite(weights)):
        source, target, weight = triples[k]
        if source == target:
            raise InputError(f"{where} has an edge from {source!r} to itself: not a DAG")
        if not math.isfinite(weight):
            raise InputError(f"{where}: the weight of {source!r} -> {target!r} is {weight:g}; it must be finite")
        raise InputError(f"{where} has the edge {source!r} -> {target!r} twice")
    matrix = sp.coo_array((weights, (sources, targets)), shape=(len(known), len(known)))
    return DAG.from_weights(matrix, names=tuple(known), zeros=True)


def _repeated(keys: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Which keys have come before."""
    ranked = np.argsort(keys, kind="stable")
    found = np.zeros(len(keys), dtype=bool)
    found[ranked[1:]] = keys[ranked[1:]] == keys[ranked[:-1]]
    return found


def number(value: Any, where: str, source: Any, target: Any) -> float:
    """The weight of an edge as a float; one that is not given is 1."""
    if value is None or value == "":
        return 1.0
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        what = f"{source!r} -> {target!r}"
        raise InputError(f"{where}: the weight of {what} is {reprlib.repr(value)}, not a number") from None


def _plain(values: Sequence[Any]) -> list[Any]:
    """What is neither text nor yes or no is a number, or None if that is not finite."""
    return [v if v is None or isinstance(v, str | bool) else float(v) if np.isfinite(v) else None for v in values]
