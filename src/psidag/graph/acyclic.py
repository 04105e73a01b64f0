"""From weights with cycles to a DAG: the smallest threshold that breaks every cycle."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from psidag.graph.constraints import BoundConstraints
from psidag.graph.order import Order, topological_order


class Acyclic(NamedTuple):
    """Weights without cycles, their order, and the threshold it took: every |weight| below is gone."""

    weights: NDArray[np.float64]
    order: Order
    threshold: float


def break_cycles(W: ArrayLike, at_least: float = 0.0, constraints: BoundConstraints | None = None) -> Acyclic:
    """Keep |W[i, j]| ≥ t for the smallest t ≥ ``at_least`` that leaves no cycle.

    The edges that a threshold keeps shrink as it grows, so bisection over the sorted weights finds it, with
    one search for strong components per trial: O(nnz log nnz).

    Parameters
    ----------
    W : array of shape (d, d)
        Weights, ``W[i, j]`` for i → j; not written to. The diagonal holds no edges and is dropped.
    at_least : float
        The threshold to start from.
    constraints : BoundConstraints, optional
        Required edges are kept whatever their weight, and t is such that the order respects the tiers. Edges
        that the constraints rule out must be zero in ``W``.

    Examples
    --------
    >>> cut = break_cycles([[0, 0.9, 0], [0.4, 0, 0.2], [0, 0, 0]])
    >>> cut.weights
    array([[0. , 0.9, 0. ],
           [0. , 0. , 0. ],
           [0. , 0. , 0. ]])
    >>> 0.4 < cut.threshold < 0.4001
    True
    """
    weights = np.array(W, dtype=np.float64)
    np.fill_diagonal(weights, 0.0)
    size = np.abs(weights)
    d = len(weights)
    before = sp.coo_array((d, d)) if constraints is None else constraints.precedence.tocoo()
    rows, cols = np.nonzero((size >= at_least) & (size > 0))
    strongest_first = size[rows, cols].argsort(kind="stable")[::-1]
    rows, cols = rows[strongest_first], cols[strongest_first]
    magnitude = size[rows, cols]

    def graph(count: int) -> sp.csr_array:
        """The strongest edges, and who must come before whom."""
        pairs = (np.concatenate([rows[:count], before.row]), np.concatenate([cols[:count], before.col]))
        return sp.csr_array((np.ones(len(pairs[0])), pairs), shape=before.shape)

    # Edges of equal weight go together: cuts[k] is how many edges the k largest distinct weights have.
    cuts = np.concatenate([[0], 1 + np.flatnonzero(np.diff(magnitude)), [len(magnitude)]])
    acyclic, cyclic = 0, len(cuts)
    trial = len(cuts) - 1
    while acyclic < cyclic - 1:
        if _is_acyclic(graph(cuts[trial])):
            acyclic = trial
        else:
            cyclic = trial
        trial = (acyclic + cyclic) // 2
    kept = int(cuts[acyclic])
    threshold = at_least if kept == len(magnitude) else float(np.nextafter(magnitude[kept], np.inf))
    gone = size < threshold
    if constraints is not None:
        gone[constraints.required[:, 0], constraints.required[:, 1]] = False
    weights[gone] = 0.0
    found = topological_order(graph(kept))
    return Acyclic(weights, found[found < d], threshold)


def _is_acyclic(graph: sp.csr_array) -> bool:
    """Whether every strong component is a single vertex; there are no loops on one vertex."""
    components, _ = sp.csgraph.connected_components(graph, directed=True, connection="strong")
    return bool(components == graph.shape[0])
