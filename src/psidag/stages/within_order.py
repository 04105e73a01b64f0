"""A2 with an exact answer: every node regressed on nodes that stand before it in an order."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from psidag.data._entries import Entries
from psidag.graph.constraints import BoundConstraints, unconstrained
from psidag.graph.dag import default_names
from psidag.graph.order import Order, positions
from psidag.search._knowledge import Knowledge
from psidag.search._select import select
from psidag.system.parallel import Mapper, tiles

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

#: Nodes that one thread takes at a time. Fixed, so that the work is cut alike on any number of threads.
_NODES = 32


class Selected(NamedTuple):
    """Weights within an order, ``weights[i, j]`` for i → j, and the residual variance of each node."""

    weights: sp.csr_array
    residual_variance: Floats


def evidence_penalty(n: float, d: int) -> float:
    """The price of one edge, in units of twice the log-likelihood: 2 ln d + ln n − 2.5.

    Between the price that keeps out the best of d useless candidates (2 ln d) and the same with BIC's
    ln n on top; the constant comes from the price of least structural error for 100 to 1,000 nodes and 500
    to 5,000 rows. Few nodes leave at least BIC's price, few rows at least that of a test at 5 %.
    """
    return max(2 * math.log(max(d, 1)) + math.log(max(n, 1.0)) - 2.5, math.log(max(n, 1.0)), 4.0)


def search_penalty(n: float, d: int) -> float:
    """The price of one edge where the order is searched too: 2 ln 2 more, as for twice as many nodes.

    Within an order two nodes can be joined in one way, in a search for the order in two. On sparse graphs that is
    nearly twice as many useless edges at the same price, and about as many at this one.
    """
    return evidence_penalty(n, 2 * d)


def most_parents(n: float, common_noise: bool = False) -> int:
    """How many parents a node may be given by evidence: beyond a quarter of the rows fits are no evidence.

    Parents of no use take a share k/n of what is left of a node, and with it of what the next one has to explain. Where
    the noise is that of all nodes the next one has to explain as much as before, and half of the rows are the limit.
    """
    return max(1, int(n) // (2 if common_noise else 4))


def least_squares_within(S: Floats, order: Order, allowed: NDArray[np.bool_] | None = None) -> Selected:
    """Each node regressed on all nodes before it: argmin ½ tr (I − W)ᵀS(I − W) over W within the order.

    With S_π = L Lᵀ the residual variances are diag(L)², and row j of diag(L) L⁻¹ is e_j minus the weights of
    node j on its predecessors: all d regressions from one factorisation, in 2d³/3. Where S is singular
    (constant, duplicate or collinear columns, n ≤ d) the least ridge that makes it regular is added to the
    correlations, so that equal columns share their weight.

    Parameters
    ----------
    S : array of shape (d, d)
        Covariance.
    order : array of shape (d,)
        The order.
    allowed : boolean array of shape (d, d), optional
        ``allowed[i, j]``: may i → j have a weight. Nodes with a predecessor ruled out are solved one by one.
    """
    d = len(order)
    sd = np.sqrt(np.diag(S))
    sd[sd == 0] = 1.0
    C = (S / np.outer(sd, sd))[np.ix_(order, order)]
    L = _regular_cholesky(C)
    inverse = scipy.linalg.solve_triangular(L, np.eye(d), lower=True, check_finite=False)
    weights_in_order = np.triu(-inverse.T * np.diag(L), 1)
    if allowed is not None:
        inside = allowed[np.ix_(order, order)]
        for t in np.flatnonzero(np.triu(~inside, 1).any(axis=0)):
            free = np.flatnonzero(inside[:t, t])
            weights_in_order[:, t] = 0.0
            if len(free):
                block = C[np.ix_(free, free)]
                factor = _regular_cholesky(block)
                weights_in_order[free, t] = scipy.linalg.cho_solve((factor, True), C[free, t])
    W = np.zeros((d, d))
    W[np.ix_(order, order)] = weights_in_order
    W *= sd[None, :] / sd[:, None]
    remainder = np.einsum("ij,ij->j", W, S @ W) - 2 * np.einsum("ij,ij->j", W, S) + np.diag(S)
    return Selected(sp.csr_array(W), np.maximum(remainder, 0.0))


def select_within(
    S: NDArray[np.floating],
    n: float,
    order: Order,
    workers: Mapper,
    *,
    penalty: float | None = None,
    sigma2: float | Floats | None = None,
    constraints: BoundConstraints | None = None,
    max_parents: int | None = None,
    nodes: NDArray[np.intp] | None = None,
) -> Selected:
    """Parents by evidence within an order: for each node j a set P of nodes before it that makes

        n · v(P) / σ² + penalty · |P|     (σ² known)   or   n · log v(P) + penalty · |P|   (each node its own)

    low, where v(P) is the variance of j given P. Forward-backward selection: the candidate of largest gain
    enters while it pays, and after each entry parents that no longer pay leave; O(k d) a step. Greedy, so a
    local optimum. Required parents always stay, forbidden and collinear ones never enter.

    Parameters
    ----------
    S : array of shape (d, d)
        Covariance, or correlations; float32 is enough for correlations. Read only.
    n : float
        Number of rows behind S.
    order : array of shape (d,)
        An order that respects the constraints.
    workers : Mapper
        Threads, or a cluster; they do not change the result.
    penalty : float, optional
        Price of one parent; :func:`evidence_penalty` by default.
    sigma2 : float or array of shape (d,), optional
        Noise variance, common or of each node. Without it every node is judged by its own residual variance.
    constraints : BoundConstraints, optional
        Prior knowledge.
    max_parents : int, optional
        Most parents of a node apart from required ones; by default a quarter of n.
    nodes : array of int, optional
        Select for these nodes only; the others get no parents and a residual variance of NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from psidag.system.parallel import workers
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(1000, 3))
    >>> x[:, 2] += 2 * x[:, 0]
    >>> with workers(1) as threads:
    ...     found = select_within(np.cov(x.T, bias=True), 1000, np.array([0, 1, 2]), threads)
    >>> found.weights.nonzero()
    (array([0], dtype=int32), array([2], dtype=int32))
    """
    d = len(order)
    S = _readable(S)
    known = unconstrained(default_names(d)) if constraints is None else constraints
    price = evidence_penalty(n, d) if penalty is None else penalty
    noise = np.zeros(d) + (0.0 if sigma2 is None else sigma2)
    cap = most_parents(n) if max_parents is None else max_parents
    lists = knowledge_lists(known)
    sequence = order.astype(np.int32)

    def work(part: slice) -> tuple[NDArray[np.int64], NDArray[np.int32], Floats, Floats]:
        first, nodes = part.start, part.stop - part.start
        found: list[tuple[NDArray[np.int64], NDArray[np.int32], Floats, Floats]] = []
        room = 8 * nodes + 64
        entries, rules = _entries(S), Knowledge(*lists)
        while first < part.stop:
            ends, variances = np.zeros(nodes, np.int64), np.zeros(nodes)
            parents, weights = np.empty(room, np.int32), np.empty(room)
            done = select(
                entries, n, sequence, first, part.stop, price, noise, cap, rules, ends, parents, weights, variances
            )  # fmt: skip
            total = ends[done - 1] if done else 0
            counts = np.diff(ends[:done], prepend=0)
            found.append((counts, parents[:total], weights[:total], variances[:done]))
            first += done
            room *= 2
        return tuple(np.concatenate(column) for column in zip(*found, strict=True))  # type: ignore[return-value]

    places = np.arange(d) if nodes is None else positions(order)[nodes]
    cuts = tiles(d, _NODES) if nodes is None else [slice(t, t + 1) for t in places.tolist()]
    pieces = workers.map(work, cuts)
    counts, parents, weights, variances = (np.concatenate(column) for column in zip(*pieces, strict=True))
    W = sp.csr_array((weights, (parents, np.repeat(sequence[places], counts))), shape=(d, d))
    residual_variance = np.full(d, np.nan)
    residual_variance[order[places]] = variances
    return Selected(W, residual_variance)


def parent_lists(edges: sp.csr_array) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The parents of each node as ``(start, list)``: those of j are ``list[start[j]:start[j + 1]]``."""
    columns = sp.csc_array(edges)
    columns.sort_indices()
    return columns.indptr.astype(np.int32), columns.indices.astype(np.int32)


def knowledge_lists(constraints: BoundConstraints) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Tiers, required and forbidden parents as :class:`psidag.search._knowledge.Knowledge` takes them."""
    return (
        constraints.tier.astype(np.int32),
        *parent_lists(constraints.required_matrix),
        *parent_lists(constraints.forbidden_matrix),
    )


def _readable(S: NDArray[np.floating]) -> NDArray[np.floating]:
    """S in C order and in one of the precisions the kernels know."""
    return np.ascontiguousarray(S, dtype=np.float32 if S.dtype == np.float32 else np.float64)


def _entries(S: NDArray[np.floating]) -> Entries:
    """S as the kernels take it."""
    return Entries(single=S) if S.dtype == np.float32 else Entries(double=S.astype(np.float64, copy=False))


def _regular_cholesky(C: Floats) -> Floats:
    """The Cholesky factor of correlations, with the least ridge of 1e-10, 1e-9, … that makes them regular."""
    ridge = 0.0
    while True:
        try:
            A = C if ridge == 0.0 else C + ridge * np.eye(len(C))
            L: Floats = scipy.linalg.cholesky(A, lower=True, check_finite=False)
        except scipy.linalg.LinAlgError:
            ridge = max(10 * ridge, 1e-10)
            continue
        if np.diag(L).min(initial=1.0) > 1e-6:
            return L
        ridge = max(10 * ridge, 1e-10)
