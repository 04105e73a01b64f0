"""Columns as people write them: by name, by index, or by a pattern such as ``gene_*``."""

from __future__ import annotations

import operator
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psidag.system.errors import InputError, listing

Indices = NDArray[np.intp]

#: What a pattern has that a name seldom has.
_WILD = set("*?[")
#: What an edge may be written as; a text of two letters is no pair of columns.
_PAIR = (tuple, list, np.ndarray)


class Lookup:
    """The columns of one table, found many at a time: lists of forbidden edges can be long.

    A column of categories of which :func:`psidag.prepare` has made several goes on standing for all of them.

    Examples
    --------
    >>> Lookup(["age", "gene_1", "gene_2"]).columns(["gene_*", 0], "tiers").tolist()
    [1, 2, 0]
    >>> Lookup(["city=Rome", "city=Oslo", "age"]).columns(["city"], "exogenous").tolist()
    [0, 1]
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._index = {name: k for k, name in enumerate(names)}
        self._coded = {name.partition("=")[0] for name in names if "=" in name}.difference(self._index)

    def columns(self, vertices: Any, where: str) -> Indices:
        """The indices of columns; a pattern stands for all columns that fit it."""
        if any(self.is_pattern(v) for v in vertices):
            return np.array([k for v in vertices for k in self._one(v, where)], dtype=np.intp)
        return self._plain(vertices, where)

    def pairs(self, edges: Any, where: str) -> Indices:
        """Edges as sorted pairs of indices, each once; patterns stand for all pairs of what fits them."""
        given = items(edges, where, 'pairs such as ("cause", "effect")')
        strange = [edge for edge in given if not isinstance(edge, _PAIR) or len(edge) != 2]
        if strange:
            raise InputError(f'{where} must be pairs such as ("cause", "effect"); got {reprlib.repr(strange[0])}')
        wild: list[Any] = []
        flat = self._by_name(list(chain.from_iterable(given)))
        if flat is None:
            wild = [edge for edge in given if any(map(self.is_pattern, edge))]
            plain = given if not wild else [edge for edge in given if not any(map(self.is_pattern, edge))]
            flat = self._plain([vertex for edge in plain for vertex in edge], where)
        d = max(len(self._names), 1)
        loops = flat[::2][flat[::2] == flat[1::2]]
        if len(loops):
            raise InputError(f"{where} has an edge from {self._names[loops[0]]!r} to itself")
        keys = [flat[::2] * d + flat[1::2]]
        for source, target in wild:
            sources, targets = (np.array(self._one(end, where), dtype=np.intp) for end in (source, target))
            grid = (sources[:, None] * d + targets[None, :]).ravel()
            keys.append(grid[grid // d != grid % d])
        # By sorting: NumPy's unique hashes, which takes seconds for a million edges.
        every = np.sort(np.concatenate(keys))
        return np.column_stack(np.divmod(every[np.diff(every, prepend=-1) > 0], d)).astype(np.intp)

    def is_pattern(self, vertex: Any) -> bool:
        """Whether this text stands for several columns: it has a wildcard, or was a column of categories."""
        if not isinstance(vertex, str) or vertex in self._index:
            return False
        return not _WILD.isdisjoint(vertex) or vertex in self._coded

    def _one(self, vertex: Any, where: str) -> list[int]:
        if not self.is_pattern(vertex):
            found: list[int] = self._plain([vertex], where).tolist()
            return found
        if vertex in self._coded:
            return [k for k, name in enumerate(self._names) if name.startswith(f"{vertex}=")]
        hits = [k for k, name in enumerate(self._names) if fnmatchcase(name, vertex)]
        if not hits:
            raise InputError(f"{where} has the pattern {vertex!r}, which no column fits; {self._hint(vertex)}")
        return hits

    def _by_name(self, vertices: list[Any]) -> Indices | None:
        """The columns if every one is given by its name: a million of them in a tenth of a second."""
        try:
            found = list(map(self._index.get, vertices))
        except TypeError:
            return None
        return None if None in found else np.array(found, dtype=np.intp)

    def _plain(self, vertices: Sequence[Any], where: str) -> Indices:
        names, index = self._names, self._index
        try:
            found = [index[v] if isinstance(v, str) else operator.index(v) for v in vertices]
        except KeyError:
            unknown = next(v for v in vertices if isinstance(v, str) and v not in index)
            raise InputError(f"{where} names {unknown!r}, which is not a column; {self._hint(unknown)}") from None
        except TypeError:
            strange = next(v for v in vertices if not isinstance(v, str | int | np.integer))
            raise InputError(f"{where} must name columns or give their index; got {reprlib.repr(strange)}") from None
        outside = [k for k in found if not 0 <= k < len(names)]
        if outside:
            raise InputError(f"{where} names column {outside[0]}, but there are only columns 0..{len(names) - 1}")
        return np.array(found, dtype=np.intp)

    def _hint(self, wanted: str) -> str:
        close = get_close_matches(wanted, self._names, 3) if len(self._names) <= 10_000 else []
        return f"did you mean {listing(close)}?" if close else f"columns are {listing(self._names)}"


def items(given: Any, where: str, what: str) -> Sequence[Any]:
    """What was given as a list, unless it is something else that can be iterated over."""
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise InputError(f"{where} must be a list of {what}; got {reprlib.repr(given)}")
    return given.tolist() if isinstance(given, np.ndarray) else list(given)
