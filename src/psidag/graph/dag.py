"""The DAG: weights, an order that proves it acyclic, and the names of its vertices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from psidag.errors import InputError
from psidag.graph.order import Order, as_adjacency, check_order, positions, topological_order


def default_names(d: int) -> tuple[str, ...]:
    """``x0 … x{d-1}``, what columns without names are called."""
    return tuple(f"x{i}" for i in range(d))


@dataclass(frozen=True, eq=False)
class DAG:
    """A weighted directed acyclic graph.

    ``weights[i, j]`` is the weight of the edge i → j and ``order`` lists the vertices such that every edge
    points forward in it. Build one with :meth:`from_weights`, which checks both.

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
    def from_weights(cls, weights: Any, order: ArrayLike | None = None, names: Sequence[str] | None = None) -> DAG:
        """A DAG from a matrix with ``weights[i, j]`` for i → j; the order is found unless it is given."""
        matrix = as_adjacency(weights)
        d = matrix.shape[0]
        if names is None:
            names = default_names(d)
        elif len(names) != d:
            raise InputError(f"{len(names)} names were given for a graph of {d} vertices")
        if order is None:
            found = topological_order(matrix)
        else:
            found = check_order(order, d)
            place = positions(found)
            rows, cols = matrix.nonzero()
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
        rows, cols = (
            [index[e[side]] if isinstance(e[side], str) else int(e[side]) for e in ends] for side in (0, 1)
        )
        values = [float(edge[2]) if len(edge) > 2 else 1.0 for edge in given]
        return cls.from_weights(sp.coo_array((values, (rows, cols)), shape=(len(names), len(names))), names=names)

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

    def __repr__(self) -> str:
        return f"DAG({self.d} variables, {self.n_edges} edges)"
