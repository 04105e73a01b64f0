"""The partially directed graph: edges of known direction, why and how surely, and edges that stand either way."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from psidag.graph.dag import DAG, default_names
from psidag.graph.order import CycleError, as_adjacency, positions
from psidag.system.errors import InputError, listing

#: What a direction can rest on; the first of these that directs an edge is its reason.
Reason = Literal["knowledge", "collider", "intervention", "equal variances", "shape"]
REASONS: tuple[Reason, ...] = get_args(Reason)

#: In the array of reasons: no reason; two of them that contradict each other.
NOTHING, CONFLICT = -1, len(REASONS)

Floats = NDArray[np.float64]


class Evidence(NamedTuple):
    """Of one direction.

    Attributes
    ----------
    delta : float
        How much worse the best graph with the edge the other way scores; infinite for knowledge, nan if not measured.
    probability : float
        The calibrated probability that the direction is right; nan if not measured.
    derived : bool
        Whether the direction follows from others by a rule of orientation.
    """

    delta: float
    probability: float
    derived: bool = False


@dataclass(frozen=True, eq=False)
class PartialGraph:
    """A graph some of whose edges are directed, each with its reason and its evidence.

    Build one with :meth:`from_arrays`, :meth:`from_edges` or :meth:`from_matrix`; each pair of variables is joined at
    most once.

    Attributes
    ----------
    names : tuple of str
        The variables.
    sources, targets : arrays of int
        The ends of each edge, sorted. An undirected edge stands as it was given.
    directed : array of bool
        Whether the edge points from its source to its target.
    reason : array of int8
        Index into :data:`REASONS`; −1 for none, ``len(REASONS)`` for a conflict.
    delta, probability, derived : arrays
        The evidence for source → target, of undirected edges too; see :class:`Evidence`.

    Examples
    --------
    >>> graph = PartialGraph.from_edges([("dose", "effect")], [("age", "sex")], because="knowledge")
    >>> graph.directed_edges(), graph.undirected_edges()
    ([('dose', 'effect')], [('age', 'sex')])
    >>> graph.because("dose", "effect"), graph.because("age", "sex")
    ('knowledge', None)
    """

    names: tuple[str, ...]
    sources: NDArray[np.intp]
    targets: NDArray[np.intp]
    directed: NDArray[np.bool_]
    reason: NDArray[np.int8]
    delta: Floats = field(repr=False)
    probability: Floats = field(repr=False)
    derived: NDArray[np.bool_] = field(repr=False)

    @classmethod
    def from_arrays(
        cls,
        names: Sequence[str],
        sources: ArrayLike,
        targets: ArrayLike,
        directed: ArrayLike,
        reason: ArrayLike | None = None,
        delta: ArrayLike | None = None,
        probability: ArrayLike | None = None,
        derived: ArrayLike | None = None,
    ) -> PartialGraph:
        """From one array each; left out are no reason, and evidence that was not measured.

        The reason of an undirected edge can be none or ``CONFLICT``.
        """
        ends = [np.array(end, dtype=np.intp).reshape(-1) for end in (sources, targets)]
        count, d = len(ends[0]), len(names)

        def column(given: ArrayLike | None, kind: Any, default: Any) -> NDArray[Any]:
            made = np.array(np.broadcast_to(np.asarray(default if given is None else given, dtype=kind), count))
            return made[ranked]

        if len(ends[1]) != count:
            raise InputError(f"{count} sources and {len(ends[1])} targets do not make edges")
        outside = [end for end in ends if count and (end.min() < 0 or end.max() >= d)]
        if outside:
            raise InputError(f"an edge ends outside of the {d} variables")
        ranked = np.lexsort((ends[1], ends[0]))
        sources, targets = (end[ranked] for end in ends)
        graph = cls(
            names=tuple(names),
            sources=sources,
            targets=targets,
            directed=column(directed, bool, True),
            reason=column(reason, np.int8, NOTHING),
            delta=column(delta, np.float64, np.nan),
            probability=column(probability, np.float64, np.nan),
            derived=column(derived, bool, False),
        )
        graph._check()
        return graph

    @classmethod
    def from_dag(cls, dag: DAG, because: Reason | None = None) -> PartialGraph:
        """All edges of a DAG, each with its direction, for the same reason."""
        edges = dag.weights.tocoo()
        code = NOTHING if because is None else REASONS.index(because)
        # What is known for certain needs no measurement.
        sure = (np.inf, 1.0) if because == "knowledge" else (np.nan, np.nan)
        return cls.from_arrays(dag.names, edges.row, edges.col, True, code, *sure)

    @classmethod
    def from_edges(
        cls,
        directed: Iterable[Sequence[str]] = (),
        undirected: Iterable[Sequence[str]] = (),
        names: Sequence[str] | None = None,
        because: Reason | None = None,
    ) -> PartialGraph:
        """From pairs of names, all directed ones for the same reason; names by first appearance if not given."""
        pairs = [(str(a), str(b)) for a, b in directed]
        count = len(pairs)
        pairs += [(str(a), str(b)) for a, b in undirected]
        given = tuple(dict.fromkeys(v for pair in pairs for v in pair)) if names is None else tuple(names)
        index = {name: k for k, name in enumerate(given)}
        unknown = [v for pair in pairs for v in pair if v not in index]
        if unknown:
            raise InputError(f"the edges name {unknown[0]!r}, which is not among the {len(given)} names given")
        ends = np.array([(index[a], index[b]) for a, b in pairs], dtype=np.intp).reshape(-1, 2)
        points = np.arange(len(pairs)) < count
        code = NOTHING if because is None else REASONS.index(because)
        return cls.from_arrays(given, ends[:, 0], ends[:, 1], points, np.where(points, code, NOTHING))

    @classmethod
    def from_matrix(
        cls, matrix: Any, names: Sequence[str] | None = None, because: Reason | None = None
    ) -> PartialGraph:
        """From a matrix as :meth:`to_matrix` and :func:`~psidag.graph.equivalence.cpdag` return it.

        ``[i, j]`` alone is i → j, ``[i, j]`` with ``[j, i]`` an undirected edge.
        """
        there = as_adjacency(matrix)
        both = sp.csr_array(there.astype(bool).multiply(there.T.astype(bool)))
        once = sp.csr_array(there.astype(np.int8) - both.astype(np.int8)) if both.nnz else there
        one, two = once.nonzero(), sp.triu(both).nonzero()
        points = np.arange(len(one[0]) + len(two[0])) < len(one[0])
        code = NOTHING if because is None else REASONS.index(because)
        return cls.from_arrays(
            default_names(there.shape[0]) if names is None else names,
            np.concatenate([one[0], two[0]]),
            np.concatenate([one[1], two[1]]),
            points,
            np.where(points, code, NOTHING),
        )

    @property
    def d(self) -> int:
        """How many variables there are."""
        return len(self.names)

    @property
    def n_edges(self) -> int:
        """How many edges there are, directed or not."""
        return len(self.sources)

    @property
    def n_directed(self) -> int:
        """How many of them are directed."""
        return int(self.directed.sum())

    def directed_edges(self) -> list[tuple[str, str]]:
        """``(cause, effect)`` of each directed edge."""
        return self._pairs(self.directed)

    def undirected_edges(self) -> list[tuple[str, str]]:
        """The two ends of each undirected edge."""
        return self._pairs(~self.directed)

    def because(self, a: str, b: str) -> Reason | Literal["conflict"] | None:
        """What the direction of the edge between two variables rests on.

        None where it has none; ``"conflict"`` where two sources contradict each other, so that it has none.
        """
        code = int(self.reason[self._row(a, b)[0]])
        return reason_name(code)

    def evidence(self, a: str, b: str) -> Evidence:
        """The evidence for a → b, of an undirected edge too: for b → a it is the opposite."""
        row, forward = self._row(a, b)
        delta, probability = float(self.delta[row]), float(self.probability[row])
        derived = bool(self.derived[row])
        return Evidence(delta, probability, derived) if forward else Evidence(-delta, 1 - probability, derived)

    def is_directed(self, a: str, b: str) -> bool:
        """Whether the edge a → b is there and has this direction; an error if nothing joins the two."""
        row, forward = self._row(a, b)
        return forward and bool(self.directed[row])

    def joined(self, a: str, b: str) -> bool:
        """Whether there is an edge between two variables."""
        i, j = self.index(a), self.index(b)
        return int(self.find(np.array([i]), np.array([j]))[0]) >= 0

    def index(self, name: str) -> int:
        """The column of a name."""
        try:
            return self._columns[name]
        except KeyError:
            raise InputError(f"there is no variable named {name!r} in this graph") from None

    def find(self, a: NDArray[np.integer], b: NDArray[np.integer]) -> NDArray[np.intp]:
        """The rows of edges between columns, in either direction; −1 where nothing joins them."""
        low, high = np.minimum(a, b).astype(np.int64), np.maximum(a, b).astype(np.int64)
        keys, order = self._keys
        if not len(keys):
            return np.full(len(low), -1, dtype=np.intp)
        wanted = low * self.d + high
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where(keys[place] == wanted, order[place], -1).astype(np.intp)

    def rows_of(self, dag: DAG) -> NDArray[np.intp]:
        """The row of each edge of a DAG, in the order of ``dag.edges()``; an error if it is no member of this graph.

        A member joins the same pairs, and its edges agree with the directed ones.
        """
        edges = dag.weights.tocoo()
        rows = self.find(edges.row, edges.col)
        if dag.names != self.names or len(rows) != self.n_edges or (rows < 0).any():
            raise InputError("the two graphs do not join the same pairs of variables")
        turned = np.flatnonzero(self.directed[rows] & (self.sources[rows] != edges.row))
        if len(turned):
            pair = self.names[edges.row[turned[0]]], self.names[edges.col[turned[0]]]
            raise InputError(f"the DAG has the edge {pair[0]!r} -> {pair[1]!r}, which is directed the other way")
        return rows

    def to_matrix(self) -> sp.csr_array:
        """``[i, j]`` alone is i → j, ``[i, j]`` with ``[j, i]`` an undirected edge; int8."""
        rows = np.concatenate([self.sources, self.targets[~self.directed]])
        cols = np.concatenate([self.targets, self.sources[~self.directed]])
        return sp.csr_array((np.ones(len(rows), dtype=np.int8), (rows, cols)), shape=(self.d, self.d))

    def _pairs(self, chosen: NDArray[np.bool_]) -> list[tuple[str, str]]:
        ends = zip(self.sources[chosen].tolist(), self.targets[chosen].tolist(), strict=True)
        return [(self.names[i], self.names[j]) for i, j in ends]

    def _row(self, a: str, b: str) -> tuple[int, bool]:
        i, j = self.index(a), self.index(b)
        row = int(self.find(np.array([i]), np.array([j]))[0])
        if row < 0:
            raise InputError(f"no edge joins {a!r} and {b!r}")
        return row, int(self.sources[row]) == i

    @cached_property
    def _columns(self) -> dict[str, int]:
        return {name: k for k, name in enumerate(self.names)}

    @cached_property
    def _keys(self) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
        """A sorted number for each pair, and the row it belongs to."""
        low = np.minimum(self.sources, self.targets).astype(np.int64)
        keys = low * self.d + np.maximum(self.sources, self.targets)
        order = np.argsort(keys, kind="stable")
        return keys[order], order

    def _check(self) -> None:
        if len(set(self.names)) < self.d:
            raise InputError("two variables have the same name")
        loops = np.flatnonzero(self.sources == self.targets)
        if len(loops):
            raise InputError(f"an edge joins {self.names[self.sources[loops[0]]]!r} to itself")
        keys, order = self._keys
        twice = np.flatnonzero(np.diff(keys) == 0)
        if len(twice):
            row = order[twice[0]]
            ends = self.names[self.sources[row]], self.names[self.targets[row]]
            raise InputError(f"{ends[0]!r} and {ends[1]!r} are joined more than once")
        lowest = np.where(self.directed, NOTHING, CONFLICT)
        wrong = (self.reason != NOTHING) & ((self.reason < 0) | (self.reason > CONFLICT) | (self.reason < lowest))
        wrong |= self.directed & (self.reason == CONFLICT)
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            kind = "a directed" if self.directed[row] else "an undirected"
            raise InputError(f"{kind} edge cannot have the reason {listing([int(self.reason[row])])}")

    def _repr_html_(self) -> str:
        """What notebooks show: a picture of a small graph, undirected edges without a head; else a line."""
        from psidag.graph.picture import picture

        try:
            inside = DAG.from_edges(self.directed_edges(), names=self.names)
        except CycleError:
            return f"<p>{html.escape(repr(self))}</p>"
        # Undirected edges stand along any order that the directed ones allow.
        place = positions(inside.order)
        turned = ~self.directed & (place[self.sources] > place[self.targets])
        rows, cols = np.where(turned, self.targets, self.sources), np.where(turned, self.sources, self.targets)
        dag = DAG.from_edges(zip(rows.tolist(), cols.tolist(), strict=True), names=self.names)
        return picture(dag, self.directed[np.lexsort((cols, rows))]) or f"<p>{html.escape(repr(self))}</p>"

    def __repr__(self) -> str:
        directed, undirected = self.n_directed, self.n_edges - self.n_directed
        return f"PartialGraph({self.d} variables, {directed} directed and {undirected} undirected edges)"


def reason_name(code: int) -> Reason | Literal["conflict"] | None:
    """The name of a number in the array of reasons."""
    if code == CONFLICT:
        return "conflict"
    return None if code == NOTHING else REASONS[code]
