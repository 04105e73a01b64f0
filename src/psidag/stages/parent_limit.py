"""Nodes that could not be given all the parents that pay, because a node may have no more than so many."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psidag.data.correlations import Correlations
from psidag.graph.constraints import BoundConstraints
from psidag.graph.order import Order, positions
from psidag.stages.within_order import most_parents
from psidag.system.errors import listing

Floats = NDArray[np.float64]

#: Nodes at the limit that are looked at: where a small one was asked for nearly all nodes may be there.
_LOOKED_AT = 64


class ParentLimit(NamedTuple):
    """How many parents a node may have, and why."""

    parents: int
    why: str

    @classmethod
    def of(cls, n: float, max_parents: int | None = None, *, common_noise: bool = False) -> ParentLimit:
        """What was asked for, or else that of the rows."""
        if max_parents is not None:
            return cls(max_parents, "max_parents")
        return cls(most_parents(n, common_noise), f"{'half' if common_noise else 'a quarter'} of the rows")


def limit_remarks(
    data: Correlations,
    weights: sp.csr_array,
    order: Order,
    constraints: BoundConstraints,
    penalty: float,
    limit: ParentLimit,
) -> tuple[str, ...]:
    """A sentence about the nodes that the limit has kept from parents that pay, if there are any.

    Node j with residual variance v profits from a node i before it in the order, whose covariance with the residual is
    r, if  n log(v / (v − r² / δ)) > penalty  with δ ≤ 1 the variance of i given the parents of j. Here δ is taken to be
    1 and v is the node's own, so that some that would pay are not seen, but none is seen that would not.

    Parameters
    ----------
    data : Correlations
        The correlations.
    weights : csr_array of shape (d, d)
        The weights of the DAG, in the units of the columns.
    order, constraints
        An order of the DAG, and prior knowledge: forbidden parents do not count.
    penalty, limit
        Price of a parent, and how many there may be.
    """
    n = data.count
    columns, place = sp.csc_array(weights), positions(order)
    full = np.flatnonzero(np.diff(columns.indptr) >= limit.parents)
    forbidden = sp.csc_array(constraints.forbidden_matrix)
    short = []
    for j in full[:: -(-len(full) // _LOOKED_AT) or 1].tolist():
        part = slice(columns.indptr[j], columns.indptr[j + 1])
        parents = columns.indices[part]
        r = leftover(data, j, parents, columns.data[part] * data.sd[parents] / (data.sd[j] or 1.0))
        # The residual is orthogonal to the parents, so that its product with the node is its own square.
        least = -math.expm1(-penalty / n) * r[j]
        closed = np.concatenate([parents, forbidden.indices[forbidden.indptr[j] : forbidden.indptr[j + 1]]])
        r[closed], r[place >= place[j]] = 0.0, 0.0
        if least > 0 and np.square(r).max() > least:
            short.append(constraints.names[j])
    return (_sentence(len(full), short, limit),) if short else ()


def leftover(data: Correlations, j: int, parents: NDArray[np.integer], b: Floats) -> Floats:
    """The covariance of every standardised column with what parents of these weights leave of column j."""
    if data.matrix is None:
        rows = data.columns
        return np.asarray(rows @ (rows[j] - b.astype(rows.dtype) @ rows[parents]), dtype=np.float64)
    return np.asarray(data.matrix[j] - b @ data.matrix[parents], dtype=np.float64)


def _sentence(full: int, short: list[str], limit: ParentLimit) -> str:
    have = "1 variable has" if full == 1 else f"{full:,} variables have"
    return (
        f"{have} as many parents as a variable may have, {limit.parents:,} ({limit.why}), and more would "
        f"explain them better: {listing(short)}. Their equations lack parents, and other edges near them may be there "
        "in place of those: allow more with solver=Sparse(max_parents=...), or give more rows"
    )
