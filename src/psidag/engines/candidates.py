"""Who may become a parent of whom, where correlations are too many to hold: lists, filled by products in blocks.

The search asks for single correlations, which are computed from the table when they are asked for; only to find
new parents must a node be compared with everyone. A *scan* does that: the residuals of a block of nodes are multiplied
with all columns, and what stands out of the noise goes onto the node's list, which is all that additions look
at. The first scan, of nodes without parents, is the correlations themselves. 2 n d² operations for all nodes.

A product r with the residual of j pays if r² exceeds the least useful gain times the variance of the other node given
the parents of j. That variance is about 1 unless the node is correlated with one of these parents; then it is on
that parent's list, which additions look at too. So a scan need only list what pays at nearly full variance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psidag.engines.comparison import Compared
from psidag.system.parallel import Workers, tiles
from psidag.system.tree import stored_array

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

#: Residuals that one thread compares at a time with all columns, which are read from memory once for them: a part of
#: all nodes between these bounds.
_NODES, _MOST_NODES, _PARTS = 512, 2048, 64
#: Pairs that one thread compares in one slice of a scan, at the least.
_PAIRS = 1 << 28
#: Columns that are multiplied at a time, and how many tell what is to be expected of the others.
_COLUMNS, _SOME = 1024, 512
#: Rows of a matrix that one thread looks through at a time.
_ROWS = 64
# How long lists are decides time, memory and errors together: benchmarks/huge.md.
#: A list has no more than this many nodes from one scan, the strongest.
_MOST = 1024
#: A node is listed for a hub if it would pay with this share of its variance left.
_HUBS = 0.25
#: This many correlations per column are kept on average: where more are large enough, the weaker ones wait for a scan.
_AVERAGE = 64


class Candidates(NamedTuple):
    """Lists of nodes that may be parents: those of j are ``items[start[j]:start[j + 1]]``, ascending.

    ``seen`` are the marks (:func:`parent_marks`) of the parents that each node had when it was last scanned; all
    pairs with a squared correlation above ``level`` are listed.
    """

    start: Longs
    items: Ints
    seen: NDArray[np.uint64]
    level: float = 0.0

    def unseen(self, weights: sp.csr_array, level: Floats) -> NDArray[np.intp]:
        """The nodes whose parents have changed since they were compared, and who may have gained candidates by it.

        A node looks for squared products above ``level[j]`` with its residual. A column that is not correlated with its
        parents has the same product with the node itself: where the lists go down to that level it is on them.
        """
        return np.flatnonzero((parent_marks(weights) != self.seen) & (level < self.level))


class Scan(NamedTuple):
    """A scan under way: nodes whose product r with the residual of ``nodes[k]`` has r² > ``level[k]`` are looked for.

    The first ``done`` nodes have been compared with everyone; ``found`` are pairs (node, candidate).
    """

    nodes: NDArray[np.intp]
    level: Floats
    done: int = 0
    found: tuple[Ints, ...] = ()

    @property
    def ended(self) -> bool:
        """Whether all nodes have been compared."""
        return self.done >= len(self.nodes)

    def share(self, first: bool) -> float:
        """How much of the work is done; in the first scan a node is compared with those behind it."""
        share = self.done / max(1, len(self.nodes))
        return 1 - (1 - share) ** 2 if first else share


#: No lists: everyone is a candidate.
EVERYONE = Candidates(np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.uint64))


def first_scan(columns: Singles, least: float, workers: Workers) -> Scan:
    """The scan for squared correlations above ``least``, or above more where too many columns are correlated.

    Judged by some columns spread over the table.
    """
    d = len(columns)
    some = columns[_spread(d)]

    def work(part: slice) -> Singles:
        squares = np.square(columns[part] @ some.T)
        return np.asarray(squares[squares > least])

    squares = np.concatenate(workers.map(work, tiles(d, _COLUMNS)))
    return Scan(np.arange(d), np.full(d, _enough(squares, len(some), least)))


def correlated(matrix: NDArray[np.floating], least: float, workers: Workers) -> Candidates:
    """The lists that a first scan for squared correlations above ``least`` gives, where all correlations are held."""
    d = len(matrix)
    some = matrix[_spread(d)]
    bound = np.sqrt(matrix.dtype.type(_enough(np.square(some).ravel(), len(some), least)))

    def work(part: slice) -> tuple[NDArray[np.intp], Ints]:
        block = matrix[part]
        # By far faster than pairs of indices at once.
        found = np.flatnonzero((block > bound) | (block < -bound))
        row, column = found // d, found % d
        other = column != row + part.start
        return np.bincount(row[other], minlength=len(block)), column[other].astype(np.int32)

    counts, items = zip(*workers.map(work, tiles(d, _ROWS)), strict=True)
    start = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
    return Candidates(start, np.concatenate(items), np.zeros(d, np.uint64), float(bound) ** 2)


@dataclass(frozen=True, eq=False)
class _Block:
    """Compares blocks of nodes, here or in another process; ``into`` are the weights of the parents of each node."""

    compared: Compared
    nodes: NDArray[np.intp]
    level: Floats
    into: sp.csr_array | None

    def __call__(self, part: slice) -> Ints:
        """The pairs of one block."""
        nodes, columns = self.nodes[part], self.compared.columns
        if self.into is None:
            # All nodes in their order: the first of the block is the number of its column.
            row, column, _ = self.compared.matches(columns[nodes], self.level[part], int(nodes[0]), above=True)
        else:
            residuals = columns[nodes] - self.into[nodes] @ columns
            row, column, strength = self.compared.matches(residuals, self.level[part])
            other = column != nodes[row]
            row, column = _strongest(row[other], column[other], strength[other])
        return np.stack([nodes[row].astype(np.int32), column])


def advance(compared: Compared, scan: Scan, weights: sp.csr_array | None, workers: Workers) -> Scan:
    """The next slice of a scan. Without weights residuals are the columns, and a pair is looked at once.

    Blocks of nodes are compared by threads, or on a cluster: whoever does it, the same pairs are found.
    """
    d, at_once = len(compared.columns), max(1, int(getattr(workers.remote, "jobs", 1)))
    # Some tenths of a second for whoever is there: which slices there are does not show in what is found.
    nodes = min(max(_NODES, d // _PARTS), max(_NODES, _MOST_NODES))
    size = at_once * max(1, _PAIRS // (nodes * d)) * nodes
    into = None if weights is None else sp.csr_array(sp.csc_array(weights).astype(np.float32).T)
    block, last = _Block(compared, scan.nodes, scan.level, into), min(scan.done + size, len(scan.nodes))
    parts = [slice(scan.done + part.start, scan.done + part.stop) for part in tiles(last - scan.done, nodes)]
    return scan._replace(done=last, found=(*scan.found, *workers.remote.map(block, parts)))


def for_hubs(compared: Compared, nodes: Longs, least: Floats, weights: sp.csr_array, workers: Workers) -> Candidates:
    """Lists for hubs alone: whose product r with the residual of ``nodes[k]`` has r² above a share of ``least[k]``.

    The lists of its parents together name most nodes; to compare it with all of them takes less.
    """
    d = len(compared.columns)
    into = sp.csr_array(sp.csc_array(weights).astype(np.float32).T)
    block = _Block(compared, nodes, _HUBS * least, into)
    pairs = np.concatenate([np.empty((2, 0), np.int32), *workers.map(block, tiles(len(nodes), _NODES))], axis=1)
    # Node after node, so that their ends are where the lists begin.
    start = np.concatenate([[0], np.cumsum(np.bincount(pairs[0], minlength=d))])
    return Candidates(start, np.append(pairs[1], np.int32(0)), np.empty(0, np.uint64))


def listed(scan: Scan, d: int, before: Candidates | None = None, marks: NDArray[np.uint64] | None = None) -> Candidates:
    """Lists from a scan that has ended, together with those of before; ``marks`` are of the parents of each node now.

    Without lists of before the scan was the first one, and its pairs go both ways.
    """
    pairs = np.concatenate([np.empty((2, 0), np.int32), *scan.found], axis=1).astype(np.int64)
    keys = pairs[0] * d + pairs[1]
    seen = np.zeros(d, np.uint64)
    if before is None:
        keys, level = np.concatenate([keys, pairs[1] * d + pairs[0]]), float(scan.level.max(initial=0.0))
    else:
        old = np.repeat(np.arange(d), np.diff(before.start)) * d + before.items
        keys, seen, level = np.concatenate([old, keys]), before.seen.copy(), before.level
    if marks is not None:
        seen[scan.nodes] = marks[scan.nodes]
    # NumPy's own way to unique numbers takes seven times as long for so many.
    keys.sort()
    keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])] if len(keys) else keys
    start = np.searchsorted(keys, np.arange(d + 1) * d).astype(np.int64)
    return Candidates(start, (keys % d).astype(np.int32), seen, level)


def parent_marks(weights: sp.csr_array) -> NDArray[np.uint64]:
    """A number for the set of parents of each node, 0 for none: other parents, another number."""
    edges = sp.coo_array(weights)
    with np.errstate(over="ignore"):
        mixed = (edges.row.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        marks = np.zeros(weights.shape[0], np.uint64)
        np.add.at(marks, edges.col, mixed)
    return marks


def stored_candidates(held: Any, d: int) -> Candidates | None:
    """Lists out of a file; ValueError if they are none of these columns."""
    if held is None:
        return None
    start, items, seen, level = held
    if len(start) == 0:
        return EVERYONE
    start = stored_array(start, (d + 1,), np.int64)
    items = stored_array(items, (len(items),), np.int32)
    if start[0] != 0 or start[-1] != len(items) or np.any(np.diff(start) < 0) or _outside(items, d):
        raise ValueError("lists of candidates that do not fit the columns")
    return Candidates(start, items, stored_array(seen, (d,), np.uint64), float(level))


def stored_scan(held: Any, d: int) -> Scan | None:
    """A scan out of a file; ValueError if it is none of these columns."""
    if held is None:
        return None
    nodes, level, done, found = held
    nodes = stored_array(nodes, (len(nodes),), np.intp)
    pieces = tuple(stored_array(piece, (2, piece.shape[-1]), np.int32) for piece in found)
    if not 0 <= done <= len(nodes) or any(_outside(part, d) for part in (nodes, *pieces)):
        raise ValueError("a scan that does not fit the columns")
    return Scan(nodes, stored_array(level, nodes.shape), int(done), pieces)


def _spread(d: int) -> slice:
    """Some of d columns, spread over the table."""
    step = max(1, d // _SOME)
    return slice(0, step * min(d, _SOME), step)


def _enough(squares: NDArray[np.floating], columns: int, least: float) -> float:
    """The lowest level, at or above ``least``, that few enough squared correlations of this many columns exceed."""
    above, kept = squares[squares > least], _AVERAGE * columns
    if len(above) <= kept:
        return least
    return float(np.partition(above, len(above) - kept)[len(above) - kept])


def _outside(nodes: NDArray[np.integer], d: int) -> bool:
    return bool(nodes.size) and not (nodes.min() >= 0 and nodes.max() < d)


def _strongest(row: NDArray[np.intp], column: Ints, strength: Singles) -> tuple[NDArray[np.intp], Ints]:
    """At most this many columns of each row."""
    if not len(row) or np.bincount(row).max() <= _MOST:
        return row, column
    by_strength = np.lexsort((column, -strength, row))
    row, column = row[by_strength], column[by_strength]
    rank = np.arange(len(row)) - np.searchsorted(row, row)
    return row[rank < _MOST], column[rank < _MOST]
