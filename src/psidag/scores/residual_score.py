"""A score of residuals: their variance, a prior on it, and their shape, for any node and parents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from psidag.data._entries import Entries
from psidag.data.correlations import Correlations
from psidag.scores._residuals import explained, measure
from psidag.scores.nearly_equal import Prior
from psidag.scores.shape import negentropy

Floats = NDArray[np.float64]
Parents = tuple[int, ...]

#: A further parent is tried if it gains at least this share of its price in variance alone (benchmarks/directions.md,
#: "small", judges it).
_WORTH_TRYING = 0.5
#: A parent that gains less in variance alone has a coefficient of less than about two standard errors.
_TWO_ERRORS = 4.5


@dataclass(frozen=True, eq=False)
class Sample:
    """What the score looks at: correlations, and the standardised rows behind them where there are any.

    Attributes
    ----------
    entries : Entries
        The correlations.
    count : float
        Number of rows.
    variance : array of shape (d,)
        Variances of the columns.
    columns : array of shape (d, n)
        The table by columns, of mean 0, and of variance 1 once multiplied with ``scale``; no columns without rows.
    weight : array of shape (n,)
        Weights of the rows.
    """

    entries: Entries
    count: float
    variance: Floats
    columns: NDArray[np.float32]
    scale: float
    weight: NDArray[np.float32]

    @property
    def d(self) -> int:
        """Number of columns."""
        return len(self.variance)

    @property
    def has_rows(self) -> bool:
        """Whether there are rows."""
        return len(self.columns) > 0

    @cached_property
    def rows(self) -> float:
        """How many rows are looked at, or their weight: fewer than there are, where all of them do not fit."""
        return float(self.weight.sum(dtype=np.float64)) if self.has_rows else 1.0

    @classmethod
    def of(cls, data: Correlations, X: NDArray[np.floating] | None = None, weight: Floats | None = None) -> Sample:
        """The correlations with the rows they come from."""
        if X is None:
            nothing = np.empty((0, 0), np.float32)
            return cls(data.entries, data.count, data.variance, nothing, 1.0, np.empty(0, np.float32))
        if data.rows is not None and weight is None:
            ones = np.ones(data.rows.shape[1], np.float32)
            return cls(data.entries, data.count, data.variance, data.rows, float(np.sqrt(data.count)), ones)
        sd = np.where(data.sd > 0, data.sd, np.inf)
        columns = np.empty((X.shape[1], X.shape[0]), np.float32)
        for start in range(0, X.shape[0], 256):
            # Blocks of rows that stay in the cache while they are turned.
            columns[:, start : start + 256] = ((X[start : start + 256] - data.mean) / sd).T
        given = np.ones(len(X)) if weight is None else weight
        return cls(data.entries, data.count, data.variance, columns, 1.0, given.astype(np.float32))


class ResidualScore:
    """Σ_j n log v_j + c |P_j|, with a prior on the v_j and less 2 n times the negentropy of residuals where asked for.

    Of rows that were thinned out, the negentropy counts for those that are looked at.

    With shape it is twice the negative log-likelihood 2 n (log sd + H(u)) of independent noises of any shape, up to a
    constant; without shape that of Gaussian ones; with a prior the noise variances are alike.

    Parameters
    ----------
    sample : Sample
        The data.
    price : float
        c, the price of a parent.
    prior : Prior, optional
        What is known of the noise variances; nothing by default.
    shaped : boolean array of shape (d,), optional
        Whose shape counts; nobody's by default.
    apart : mapping of int to tuple of int, optional
        For nodes whose shape counts: neighbours that have none, such as yes-or-no columns. The shape of the node is
        always taken given all of them, so that it does not speak for a direction between them.
    max_parents : int, optional
        Nodes with more parents cost infinitely much.
    """

    def __init__(
        self,
        sample: Sample,
        price: float,
        *,
        prior: Prior | None = None,
        shaped: NDArray[np.bool_] | None = None,
        apart: Mapping[int, Parents] | None = None,
        max_parents: int | None = None,
    ) -> None:
        self.sample, self.price, self.prior = sample, price, prior
        self.shaped = np.zeros(sample.d, bool) if shaped is None or not sample.has_rows else shaped
        self._apart = apart or {}
        self._cap = max_parents

    @cached_property
    def _logs(self) -> Floats:
        return np.log(np.where(self.sample.variance > 0, self.sample.variance, 1.0))

    def cost(self, node: int, parents: Parents) -> float:
        """The cost of one node."""
        return float(self.costs([(node, parents)])[0])

    def costs(self, queries: Sequence[tuple[int, Parents]]) -> Floats:
        """The costs of many nodes, each with its parents."""
        nodes, log_variance, negentropies = self.residuals(queries)
        sizes = np.array([len(parents) for _, parents in queries])
        seen = min(self.sample.count, self.sample.rows)
        cost = self.sample.count * log_variance + self.price * sizes - 2 * seen * negentropies
        if self.prior is not None:
            cost += self.prior.cost(log_variance + self._logs[nodes])
        if self._cap is not None:
            cost[sizes > self._cap] = np.inf
        # A constant column has no residual to speak of.
        return np.where(self.sample.variance[nodes] > 0, cost, self.price * sizes)

    def residuals(self, queries: Sequence[tuple[int, Parents]]) -> tuple[NDArray[np.int32], Floats, Floats]:
        """Nodes, log variances of their residuals as shares of their own, and the negentropies of those (or 0)."""
        # The kernel shares work among queries of one node.
        ranked = sorted(range(len(queries)), key=lambda q: queries[q][0])
        nodes, variance, negentropies = self._measured([queries[q] for q in ranked], self.shaped)
        also = [
            (place, (node, tuple(sorted({*parents, *self._apart[node]}))))
            for place, (node, parents) in enumerate(queries[q] for q in ranked)
            if node in self._apart and not set(self._apart[node]) <= set(parents)
        ]
        if also:
            _, _, given_more = self._measured([query for _, query in also], self.shaped)
            negentropies[[place for place, _ in also]] = given_more
        back = np.empty(len(ranked), np.intp)
        back[ranked] = np.arange(len(ranked))
        return nodes[back], np.log(variance)[back], negentropies[back]

    def promising(self, node: int, parents: Parents, candidates: Sequence[int]) -> list[int]:
        """The candidates that explain enough of what the parents leave over of the node."""
        gain = self._gained(node, parents, candidates)
        return [i for i, worth in zip(candidates, gain > _WORTH_TRYING * self.price, strict=True) if worth]

    def idle(self, node: int, parents: Parents) -> list[int]:
        """The parents that explain next to nothing of what the others leave over of the node, the least first.

        They are there for what they do to the shape of the residual, which a linear relation does not account for.
        """
        gain = [self._gained(node, tuple(p for p in parents if p != i), [i])[0] for i in parents]
        return [i for worth, i in sorted(zip(gain, parents, strict=True)) if worth < _TWO_ERRORS]

    def _gained(self, node: int, parents: Parents, candidates: Sequence[int]) -> Floats:
        """What each candidate, as a further parent, takes off the part of the score that is variance."""
        share = np.zeros(len(candidates))
        explained(self.sample.entries, node, _ints(parents), _ints(candidates), share)
        return np.asarray(-self.sample.count * np.log1p(-np.minimum(share, 1 - 1e-12)))

    def _measured(
        self, queries: Sequence[tuple[int, Parents]], shaped: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int32], Floats, Floats]:
        sample, count = self.sample, len(queries)
        nodes = np.array([node for node, _ in queries], dtype=np.int32)
        start = np.zeros(count + 1, np.int64)
        np.cumsum([len(parents) for _, parents in queries], out=start[1:])
        # One more than there are, for queries without any parents.
        listed = np.array([*(i for _, parents in queries for i in parents), 0], dtype=np.int32)
        variance, even, odd = np.ones(count), np.zeros(count), np.zeros(count)
        marks = shaped.astype(np.uint8)
        measure(
            sample.entries, sample.columns, sample.scale, sample.weight, nodes, start, listed, marks,
            variance, even, odd,
        )  # fmt: skip
        found = np.zeros(count)
        of_shape = shaped[nodes]
        found[of_shape] = negentropy(even[of_shape] / sample.rows, odd[of_shape] / sample.rows)
        return nodes, variance, found


def _ints(numbers: Sequence[int]) -> NDArray[np.int32]:
    return np.array(numbers, dtype=np.int32)
