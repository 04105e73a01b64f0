"""Scores of experiments: what a node costs over the rows in which nobody set it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from psidag.data.conditions import Conditions
from psidag.scores.nearly_equal import Prior
from psidag.scores.score import SearchScore
from psidag.scores.shape import negentropy

Floats = NDArray[np.float64]
Parents = tuple[int, ...]
#: The rows in which a node was not set, standardised or not, by columns.
FreeRows = Callable[[int, NDArray[np.intp]], Floats]

#: Share of its variance that a node keeps at least: less is rounding.
_FLOOR = 1e-12
#: A further parent is tried if it gains at least this share of its price in variance alone (as in ``residual_score``;
#: benchmarks/interventions.md judges both).
_WORTH_TRYING = 0.5
#: A parent takes at least this many rows in which the node was left alone: fits to fewer are no evidence.
ROWS_FOR_A_PARENT = 4


class TargetedScore:
    """Σ_j n_j log v_j + c |P_j|, or n_j v_j / σ_j², with n_j and v_j from the rows in which j was not set.

    With a prior on the variances and the shape of residuals it is what
    :class:`~psidag.scores.residual_score.ResidualScore` is for rows in which nothing was set. More parents than a node
    has rows for, one in four, gain nothing.

    Parameters
    ----------
    data : Conditions
        The rows.
    price : float
        c, the price of a parent.
    score : SearchScore
        Equal or unequal noise variances.
    residual_variance : array of shape (d,), optional
        Of the graph to begin with; what is shared among nodes, such as one noise variance, is what suits it best.
    prior : Prior, optional
        What is known of the noise variances.
    shaped : boolean array of shape (d,), optional
        Whose shape counts; nobody's by default.
    rows : callable, optional
        ``rows(node, columns)`` gives the rows in which a node was not set, which shape needs.

    Examples
    --------
    >>> from psidag.data.interventions import Interventions
    >>> from psidag.scores.gaussian import UNEQUAL
    >>> rng = np.random.default_rng(0)
    >>> cause = np.r_[rng.normal(size=300), rng.normal(5.0, size=100)]
    >>> effect = cause + rng.normal(size=400)
    >>> data = Conditions.from_rows(np.c_[cause, effect], Interventions([None] * 300 + ["c"] * 100).bind(("c", "e")))
    >>> score = TargetedScore(data, 8.0, UNEQUAL)
    >>> score.cost(0, ()) + score.cost(1, (0,)) < score.cost(1, ()) + score.cost(0, (1,))
    True
    """

    def __init__(
        self,
        data: Conditions,
        price: float,
        score: SearchScore,
        residual_variance: Floats | None = None,
        *,
        prior: Prior | None = None,
        shaped: NDArray[np.bool_] | None = None,
        rows: FreeRows | None = None,
    ) -> None:
        self.data, self.price, self.prior = data, price, prior
        self._counts = np.array([data.count(node) for node in range(data.d)])
        self._most = self._counts // ROWS_FOR_A_PARENT
        self._noise: Floats | None = None
        if not score.own_variances:
            scale = np.diag(data.scatter) / max(data.total, 1.0) if residual_variance is None else residual_variance
            self._noise = score.noise_variance(scale)
        self._shaped = np.zeros(data.d, bool) if shaped is None or rows is None else shaped
        self._rows = rows

    def cost(self, node: int, parents: Parents) -> float:
        """The cost of one node."""
        return float(self.costs([(node, parents)])[0])

    def costs(self, queries: Sequence[tuple[int, Parents]]) -> Floats:
        """The costs of many nodes, each with its parents."""
        nodes = np.array([node for node, _ in queries], dtype=np.intp)
        sizes = np.array([len(parents) for _, parents in queries])
        variance = self.residual_variance(queries)
        n, live = self._counts[nodes], variance > 0
        v = np.where(live, variance, 1.0)
        if self._noise is None:
            cost = n * np.log(v)
        else:
            cost = n * variance / self._noise[nodes]
        if self.prior is not None:
            cost = cost + np.where(live, self.prior.cost(np.log(v)), 0.0)
        for q in np.flatnonzero(self._shaped[nodes] & live & (sizes <= self._most[nodes])).tolist():
            cost[q] -= 2 * n[q] * self._negentropy(*queries[q])
        return np.asarray(cost + self.price * sizes)

    def promising(self, node: int, parents: Parents, candidates: Sequence[int]) -> list[int]:
        """Those candidates that, as a further parent, would gain a good part of their price in variance alone."""
        known = len(parents) + 1
        if known > self._most[node]:
            return []
        columns = np.array((*parents, node, *candidates), dtype=np.intp)
        C, _ = _correlations(self.data.covariance(node, columns))
        given = [*range(known - 1)]
        ask = [known - 1, *range(known, len(columns))]
        rest = C[np.ix_(ask, ask)]
        if given:
            across = C[np.ix_(given, ask)]
            rest = rest - across.T @ np.linalg.lstsq(C[np.ix_(given, given)], across, rcond=_FLOOR)[0]
        left = np.maximum(np.diag(rest), _FLOOR)
        share = np.minimum(rest[0, 1:] ** 2 / (left[0] * left[1:]), 1 - _FLOOR)
        gain = -self._counts[node] * np.log1p(-share)
        if self._noise is not None:
            gain = np.maximum(gain, self._counts[node] * share * left[0] * self._own_variance(node) / self._noise[node])
        return [i for i, worth in zip(candidates, gain > _WORTH_TRYING * self.price, strict=True) if worth]

    def _own_variance(self, node: int) -> float:
        return float(self.data.covariance(node, np.array([node]))[0, 0])

    def residual_variance(self, queries: Sequence[tuple[int, Parents]]) -> Floats:
        """Residual variances; the products of all columns that a node is asked about are made once."""
        found = np.empty(len(queries))
        ranked = sorted(range(len(queries)), key=lambda q: queries[q][0])
        by_size: dict[int, list[tuple[int, Floats]]] = {}
        for node, group in groupby(ranked, key=lambda q: queries[q][0]):
            asked = list(group)
            columns = sorted({i for q in asked for i in queries[q][1]})
            place = {column: k for k, column in enumerate((*columns, node))}
            S = self.data.covariance(node, np.array((*columns, node), dtype=np.intp))
            C, own = _correlations(S)
            for q in asked:
                found[q] = own
                if len(queries[q][1]) <= self._most[node]:
                    at = np.array([place[i] for i in (*queries[q][1], node)], dtype=np.intp)
                    by_size.setdefault(len(at), []).append((q, C[at[:, None], at]))
        for size, members in by_size.items():
            if size > 1:
                blocks = np.stack([block for _, block in members])
                found[[q for q, _ in members]] *= _left_over(blocks)
        return found

    def _negentropy(self, node: int, parents: Parents) -> float:
        columns = np.array((*parents, node), dtype=np.intp)
        S = self.data.covariance(node, columns)
        weights = np.linalg.lstsq(S[:-1, :-1], S[:-1, -1], rcond=_FLOOR)[0]
        assert self._rows is not None
        X = self._rows(node, columns)
        residual = X[:, -1] - X[:, :-1] @ weights
        residual = residual - residual.mean()
        spread = float(residual.std())
        if spread == 0:
            return 0.0
        u = residual / spread
        bell = 1.0 / (1.0 + 0.25 * u * u)
        return float(negentropy(np.array(bell.mean()), np.array((u * bell).mean())))


def _correlations(S: Floats) -> tuple[Floats, float]:
    """Correlations, and the variance of the last but those that follow it; constant columns have none."""
    variance = np.maximum(S.diagonal(), 0.0)
    sd = np.sqrt(variance)
    sd = np.where(sd > 0, sd, 1.0)
    return S / sd / sd[:, None], float(variance[-1])


def _left_over(blocks: Floats) -> Floats:
    """The share of the last variable's variance that the others leave, of each block of correlations."""
    try:
        share = np.linalg.cholesky(blocks)[:, -1, -1] ** 2
    except np.linalg.LinAlgError:
        share = np.array([_left_over_one(block) for block in blocks])
    return np.asarray(np.maximum(share, _FLOOR))


def _left_over_one(block: Floats) -> float:
    try:
        return float(np.linalg.cholesky(block)[-1, -1]) ** 2
    except np.linalg.LinAlgError:
        weights = np.linalg.lstsq(block[:-1, :-1], block[:-1, -1], rcond=_FLOOR)[0]
        return float(block[-1, -1] - weights @ block[:-1, -1])
