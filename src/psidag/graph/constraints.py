"""Prior knowledge: edges that must be there, edges that must not, and tiers that fix who comes first."""

from __future__ import annotations

import reprlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psidag.graph.lookup import Lookup, items
from psidag.graph.order import CycleError, Order, edge_ends, find_cycle, order_mask, positions
from psidag.system.errors import DataWarning, InputError, listing

Vertex: TypeAlias = str | int
Edge: TypeAlias = tuple[Vertex, Vertex]


@dataclass(frozen=True)
class Constraints:
    """What is known about the graph before looking at the data.

    Parameters
    ----------
    required_edges, forbidden_edges : sequences of (source, target)
        Edges that the learned graph has, and edges that it does not have, by column name or index.
        Patterns such as ``gene_*`` stand for all columns that fit them.
    tiers : sequence of groups
        Groups of variables from the earliest to the latest: no variable is caused, directly or through
        others, by one of a later tier. Variables in no tier are free. A group is a list of names, indices and
        patterns, or one of them; ``"*"`` is the group of all that no other tier names.
    exogenous, sinks : sequences of columns
        Variables without causes among the columns, and variables without effects among them.

    Examples
    --------
    >>> known = Constraints(required_edges=[("dose", "effect")], tiers=[["age", "sex"], ["dose"], ["effect"]])
    >>> known.bind(["age", "sex", "dose", "effect"]).required.tolist()
    [[2, 3]]
    >>> Constraints(tiers=[["age", "sex"], "*"]).bind(["dose", "age", "effect", "sex"]).tier.tolist()
    [1, 0, 1, 0]
    """

    required_edges: Sequence[Edge] = ()
    forbidden_edges: Sequence[Edge] = ()
    tiers: Sequence[Sequence[Vertex] | Vertex] = ()
    exogenous: Sequence[Vertex] = ()
    sinks: Sequence[Vertex] = ()

    @classmethod
    def from_file(cls, path: str | Path) -> Constraints:
        r"""Knowledge from a TOML or YAML file with the same keys, or from a knowledge file of Tetrad.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     file = Path(folder, "known.toml")
        ...     _ = file.write_text('required_edges = [["dose", "effect"]]\ntiers = [["age"], ["dose", "effect"]]')
        ...     known = Constraints.from_file(file)
        >>> known.required_edges, known.tiers
        ([('dose', 'effect')], [['age'], ['dose', 'effect']])
        """
        from psidag.graph.knowledge import read_knowledge

        return read_knowledge(path)

    @classmethod
    def of(cls, given: Any) -> Constraints:
        """Knowledge from what a caller gave: None, a Constraints, or a mapping with the same keys.

        Examples
        --------
        >>> Constraints.of({"tiers": [["age", "sex"], "*"]}).tiers
        [['age', 'sex'], '*']
        """
        if isinstance(given, cls):
            return given
        if given is None:
            return cls()
        keys = [field.name for field in fields(cls)]
        if not isinstance(given, Mapping):
            raise InputError(
                f"constraints must be Constraints(…) or a dict with keys among {listing(keys)}; got "
                f"{reprlib.repr(given)}"
            )
        unknown = [key for key in given if key not in keys]
        if unknown:
            raise InputError(f"constraints have the key {unknown[0]!r}; the keys are {listing(keys)}")
        return cls(**given)

    def bind(self, names: Sequence[str]) -> BoundConstraints:
        """The same knowledge in terms of column indices; contradictions are an error that names them."""
        lookup = Lookup(names)
        forbidden = [lookup.pairs(self.forbidden_edges, "forbidden_edges")]
        everything = np.arange(len(names), dtype=np.intp)
        for key, end in (("exogenous", 1), ("sinks", 0)):
            given = getattr(self, key)
            for k in lookup.columns([given] if isinstance(given, str) else items(given, key, "columns"), key):
                others = everything[everything != k]
                alone = np.full_like(others, k)
                forbidden.append(np.column_stack((others, alone) if end else (alone, others)))
        bound = BoundConstraints(
            names=tuple(names),
            required=lookup.pairs(self.required_edges, "required_edges"),
            forbidden=forbidden[0] if len(forbidden) == 1 else np.unique(np.concatenate(forbidden), axis=0),
            tier=self._tiers(lookup, names),
        )
        bound.check()
        return bound

    def _tiers(self, lookup: Lookup, names: Sequence[str]) -> NDArray[np.intp]:
        """The tier of each column, -1 for those that are free."""
        tier = np.full(len(names), -1, dtype=np.intp)
        rest = None
        groups = items(self.tiers, "tiers", "groups of columns")
        for level, members in enumerate(groups):
            if lookup.is_pattern("*") and (members == "*" or (isinstance(members, list | tuple) and "*" in members)):
                if rest is not None:
                    raise InputError(f"tiers {rest} and {level} both hold '*', the columns that no other tier names")
                rest = level
                members = [] if members == "*" else [member for member in members if member != "*"]
            given = [members] if isinstance(members, str) else items(members, "tiers", "groups of columns")
            for k in lookup.columns(given, "tiers").tolist():
                if tier[k] not in (-1, level):
                    raise InputError(f"{names[k]!r} stands in tier {tier[k]} and in tier {level}")
                tier[k] = level
        if rest is not None:
            tier[tier < 0] = rest
        elif len(groups) == 1:
            warnings.warn(
                "one tier says nothing by itself: add what comes after it, '*' for all other columns", DataWarning
            )
        return tier


@dataclass(frozen=True, eq=False)
class BoundConstraints:
    """Constraints tied to the columns of one table; what every stage, move and baseline takes.

    An order *respects* them if required edges point forward in it and tiers ascend. Within such an order a
    graph satisfies them if it has the required edges and none of the forbidden ones.
    """

    names: tuple[str, ...]
    required: NDArray[np.intp]
    forbidden: NDArray[np.intp]
    tier: NDArray[np.intp] = field(repr=False)

    @property
    def d(self) -> int:
        """How many columns there are."""
        return len(self.names)

    @property
    def empty(self) -> bool:
        """Whether nothing is known."""
        return not (len(self.required) or len(self.forbidden) or self.has_tiers)

    @property
    def has_tiers(self) -> bool:
        """Whether any column stands in a tier."""
        return bool(np.any(self.tier >= 0))

    @property
    def permits(self) -> Callable[[int, int], bool] | None:
        """Whether an edge may be there; None where anything may."""
        if self.empty:
            return None
        forbidden = {(int(i), int(j)) for i, j in self.forbidden} | {(int(j), int(i)) for i, j in self.required}
        tier = self.tier.tolist()
        return lambda u, v: (u, v) not in forbidden and not (0 <= tier[v] < tier[u])

    def check(self) -> None:
        """Raise if no DAG can satisfy all of it."""
        forbidden = np.append(np.sort(self.forbidden @ np.array([self.d, 1])), -1)
        both = self.required_keys[forbidden[np.searchsorted(forbidden[:-1], self.required_keys)] == self.required_keys]
        if len(both):
            i, j = divmod(int(both[0]), self.d)
            raise InputError(f"the edge {self.names[i]!r} -> {self.names[j]!r} is both required and forbidden")
        self.nearest_order(np.arange(self.d))

    @cached_property
    def required_keys(self) -> NDArray[np.intp]:
        """Required edges i → j as the numbers i·d + j."""
        keys: NDArray[np.intp] = self.required @ np.array([self.d, 1])
        return keys

    def with_required(self, weights: Any) -> sp.csr_array:
        """The weights with an entry for every required edge: a stored zero where there was none.

        Examples
        --------
        >>> known = Constraints(required_edges=[("a", "b")]).bind(["a", "b"])
        >>> known.with_required(sp.csr_array((2, 2))).nnz
        1
        """
        found: Any = sp.coo_array(weights)
        missing = self.required[~np.isin(self.required_keys, found.row.astype(np.intp) * self.d + found.col)]
        ends = (np.concatenate([found.row, missing[:, 0]]), np.concatenate([found.col, missing[:, 1]]))
        values = np.concatenate([found.data.astype(np.float64), np.zeros(len(missing))])
        return sp.csr_array((values, ends), shape=(self.d, self.d))

    @cached_property
    def required_matrix(self) -> sp.csr_array:
        """Required edges as a sparse matrix of ones."""
        return _pattern(self.required, self.d)

    @cached_property
    def forbidden_matrix(self) -> sp.csr_array:
        """Forbidden edges as a sparse matrix of ones, without what tiers forbid."""
        return _pattern(self.forbidden, self.d)

    def among(self, columns: NDArray[np.intp]) -> BoundConstraints:
        """What is known about these columns alone, which are numbered anew in the sequence given."""

        def inside(edges: sp.csr_array) -> NDArray[np.intp]:
            return np.column_stack(edge_ends(edges[columns][:, columns])).astype(np.intp)

        names = tuple(self.names[k] for k in columns)
        known = inside(self.required_matrix), inside(self.forbidden_matrix)
        return BoundConstraints(names, *known, self.tier[columns])

    def allowed(self) -> NDArray[np.bool_]:
        """``allowed[i, j]``: may i → j be an edge, whatever the order. The diagonal is never allowed."""
        mask = ~np.eye(self.d, dtype=bool)
        mask[self.forbidden[:, 0], self.forbidden[:, 1]] = False
        mask[self.required[:, 1], self.required[:, 0]] = False
        if self.has_tiers:
            later = (self.tier[:, None] > self.tier[None, :]) & (self.tier[None, :] >= 0)
            mask &= ~later
        return mask

    def allowed_within(self, order: Order) -> NDArray[np.bool_]:
        """``allowed()`` restricted to edges that point forward in the order."""
        return self.allowed() & order_mask(order)

    def respects(self, order: Order) -> bool:
        """Whether required edges point forward in the order and tiers ascend along it."""
        place = positions(order)
        tiers = self.tier[order]
        return bool(
            np.all(place[self.required[:, 0]] < place[self.required[:, 1]]) and np.all(np.diff(tiers[tiers >= 0]) >= 0)
        )

    def nearest_order(self, order: Order) -> Order:
        """The order itself if it respects the constraints, else one that does and keeps its ranking where it can.

        Kahn's algorithm on "must come before", taking the available vertex that stands first in the order.
        """
        if self.respects(order):
            return order
        before = self.precedence
        count = before.shape[0]
        place = np.concatenate([positions(order), np.full(count - self.d, -1)])
        waiting = np.bincount(before.indices, minlength=count)
        heap = [(int(place[v]), int(v)) for v in np.flatnonzero(waiting == 0)]
        heapify(heap)
        result: list[int] = []
        while heap:
            v = heappop(heap)[1]
            result.append(v)
            for u in before.indices[before.indptr[v] : before.indptr[v + 1]]:
                waiting[u] -= 1
                if waiting[u] == 0:
                    heappush(heap, (int(place[u]), int(u)))
        if len(result) < count:
            loop = find_cycle(before, np.setdiff1d(np.arange(count), result))
            steps = " -> ".join(self.names[v] if v < self.d else "(tiers)" for v in loop)
            raise CycleError(f"the constraints contradict each other: {steps}", loop)
        return np.array([v for v in result if v < self.d], dtype=np.intp)

    @cached_property
    def precedence(self) -> sp.csr_array:
        """Who must come before whom; a milestone vertex between consecutive tiers keeps it sparse."""
        levels = np.unique(self.tier[self.tier >= 0])
        edges = [tuple(edge) for edge in self.required.tolist()]
        for k, (early, late) in enumerate(pairwise(levels)):
            milestone = self.d + k
            edges += [(int(v), milestone) for v in np.flatnonzero(self.tier == early)]
            edges += [(milestone, int(v)) for v in np.flatnonzero(self.tier == late)]
            if k:
                edges.append((milestone - 1, milestone))
        return _pattern(np.array(edges, dtype=np.intp).reshape(-1, 2), self.d + max(0, len(levels) - 1))


def unconstrained(names: Sequence[str]) -> BoundConstraints:
    """Constraints that say nothing."""
    return Constraints().bind(names)


def _pattern(pairs: NDArray[np.intp], size: int) -> sp.csr_array:
    ones = np.ones(len(pairs), dtype=np.int8)
    return sp.csr_array((ones, (pairs[:, 0], pairs[:, 1])), shape=(size, size))
