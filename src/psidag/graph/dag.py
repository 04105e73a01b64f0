"""The DAG: weights, an order that proves it acyclic, and the names of its vertices."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from psidag.graph.order import CycleError, Order, as_adjacency, check_order, edge_ends, positions, topological_order
from psidag.system.errors import InputError


def default_names(d: int) -> tuple[str, ...]:
    """``x0 … x{d-1}``, what columns without names are called."""
    return tuple(f"x{i}" for i in range(d))


@dataclass(frozen=True, eq=False)
class DAG:
    """A weighted directed acyclic graph.

    ``weights[i, j]`` is the weight of the edge i → j and ``order`` lists the vertices such that every edge
    points forward in it. Every entry that ``weights`` stores is an edge, also one of weight 0: prior knowledge may
    require an edge that the data give no weight. Build a DAG with :meth:`from_weights`, which checks both.

    Examples
    --------
    >>> dag = DAG.from_weights([[0, 2.0], [0, 0]], names=["dose", "effect"])
    >>> list(dag.edges())
    [('dose', 'effect', 2.0)]
    """

    weights: sp.csr_array
    order: Order
    names: tuple[str, ...]

    @classmethod
    def from_weights(
        cls,
        weights: Any,
        order: ArrayLike | None = None,
        names: Sequence[str] | None = None,
        *,
        zeros: bool = False,
    ) -> DAG:
        """A DAG from a matrix with ``weights[i, j]`` for i → j; the order is found unless it is given.

        Zeros are no edges, unless ``zeros`` says that those which a sparse matrix stores are edges of weight 0.
        """
        matrix = as_adjacency(weights, zeros=zeros)
        d = matrix.shape[0]
        if names is None:
            names = default_names(d)
        elif len(names) != d:
            raise InputError(f"{len(names)} names were given for a graph of {d} vertices")
        if order is None:
            try:
                found = topological_order(matrix, zeros=True)
            except CycleError as error:
                steps = " -> ".join(str(names[v]) for v in error.cycle)
                raise CycleError(f"the graph has a cycle: {steps}", error.cycle) from None
        else:
            found = check_order(order, d)
            place = positions(found)
            rows, cols = edge_ends(matrix)
            backwards = np.flatnonzero(place[rows] >= place[cols])
            if len(backwards):
                i, j = rows[backwards[0]], cols[backwards[0]]
                raise InputError(
                    f"the edge {names[i]!r} -> {names[j]!r} points backwards in the given order "
                    f"({len(backwards)} such edges): leave the order out to have one found"
                )
        return cls(matrix, found, tuple(names))

    @classmethod
    def from_edges(cls, edges: Iterable[Sequence[Any]], names: Sequence[str] | None = None) -> DAG:
        """A DAG from ``(source, target)`` or ``(source, target, weight)``, by name or by index.

        Without ``names`` the vertices are numbered by their first appearance.
        """
        given = [tuple(edge) for edge in edges]
        ends = [(i, j) for i, j, *_ in given]
        if names is None:
            ends = [(str(i), str(j)) for i, j in ends]
            names = tuple(dict.fromkeys(v for pair in ends for v in pair))
        index = {name: k for k, name in enumerate(names)}
        unknown = [v for pair in ends for v in pair if isinstance(v, str) and v not in index]
        if unknown:
            raise InputError(f"the edges name {unknown[0]!r}, which is not among the {len(names)} names given")
        rows, cols = ([index[e[side]] if isinstance(e[side], str) else int(e[side]) for e in ends] for side in (0, 1))
        values = [float(edge[2]) if len(edge) > 2 else 1.0 for edge in given]
        matrix = sp.coo_array((values, (rows, cols)), shape=(len(names), len(names)))
        return cls.from_weights(matrix, names=names, zeros=True)

    @property
    def d(self) -> int:
        """How many vertices there are."""
        return len(self.names)

    @property
    def n_edges(self) -> int:
        """How many edges there are."""
        return int(self.weights.nnz)

    def edges(self) -> Iterator[tuple[str, str, float]]:
        """``(source, target, weight)`` for each edge, by source."""
        matrix = self.weights.tocoo()
        for i, j, weight in zip(matrix.row, matrix.col, matrix.data, strict=True):
            yield self.names[i], self.names[j], float(weight)

    def parents(self, name: str) -> list[str]:
        """The direct causes of one vertex."""
        column = self.weights[:, [self.index(name)]].tocoo()
        return [self.names[i] for i in column.row]

    def children(self, name: str) -> list[str]:
        """The direct effects of one vertex."""
        row = self.weights[[self.index(name)], :].tocoo()
        return [self.names[j] for j in row.col]

    def ancestors(self, name: str) -> list[str]:
        """Everything with a directed path to one vertex, causes first; not the vertex itself."""
        return self._reached(sp.csr_array(self.weights.T), [self.index(name)], own=False)

    def descendants(self, name: str) -> list[str]:
        """Everything that one vertex has a directed path to, causes first; not the vertex itself."""
        return self._reached(self.weights, [self.index(name)], own=False)

    def subgraph(self, names: Sequence[str]) -> DAG:
        """The graph on some of the vertices, with the edges among them.

        Examples
        --------
        >>> list(DAG.from_edges([("a", "b"), ("b", "c")]).subgraph(["b", "c"]).edges())
        [('b', 'c', 1.0)]
        """
        chosen = [self.index(name) for name in names]
        new = {v: k for k, v in enumerate(chosen)}
        if len(new) < len(chosen):
            raise InputError("a subgraph takes each vertex once")
        order = np.array([new[v] for v in self.order.tolist() if v in new], dtype=np.intp)
        return DAG(sp.csr_array(self.weights[chosen][:, chosen]), order, tuple(names))

    def ancestral_subgraph(self, names: Sequence[str]) -> DAG:
        """The graph on the given vertices and all their ancestors: all that matters for their joint behaviour.

        Examples
        --------
        >>> dag = DAG.from_edges([("age", "dose"), ("dose", "effect"), ("effect", "cost")])
        >>> dag.ancestral_subgraph(["effect"]).names
        ('age', 'dose', 'effect')
        """
        parents = sp.csr_array(self.weights.T)
        return self.subgraph(self._reached(parents, [self.index(name) for name in names], own=True))

    def _reached(self, edges: sp.csr_array, start: list[int], *, own: bool) -> list[str]:
        """What can be reached along edges, in the order of this graph."""
        seen = set(start)
        waiting = list(start)
        while waiting:
            v = waiting.pop()
            for u in edges.indices[edges.indptr[v] : edges.indptr[v + 1]].tolist():
                if u not in seen:
                    seen.add(u)
                    waiting.append(u)
        if not own:
            seen -= set(start)
        return [self.names[v] for v in self.order.tolist() if v in seen]

    def index(self, name: str) -> int:
        """The column of a name."""
        try:
            return self.names.index(name)
        except ValueError:
            raise InputError(f"there is no variable named {name!r} in this graph") from None

    def to_dense(self) -> NDArray[np.float64]:
        """The weights as a dense array."""
        dense: NDArray[np.float64] = self.weights.toarray()
        return dense

    def _repr_html_(self) -> str:
        """What notebooks show: a picture of a small graph, a line about a large one."""
        from psidag.graph.picture import picture

        return picture(self) or f"<p>{html.escape(repr(self))}</p>"

    def __repr__(self) -> str:
        return f"DAG({self.d} variables, {self.n_edges} edges)"
