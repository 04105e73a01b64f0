"""All DAGs of few nodes at once: exact differences between directions, and their odds over all graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from psidag.directions.profile import Costs
from psidag.graph.constraints import BoundConstraints

Floats = NDArray[np.float64]
#: The least of costs, or its soft form −log Σ exp(−cost), which counts all of them.
Least: TypeAlias = Callable[[Floats, Floats], Floats]

#: Up to this many nodes; their families double with each more, 25,000 at 12 nodes.
MOST = 12
#: The least price of an edge at which odds are taken, in units of twice the log-likelihood.
_LEAST_PRICE = 2.0


def _soft(a: Floats, b: Floats) -> Floats:
    return np.asarray(-np.logaddexp(-a, -b))


class AllGraphs:
    """Every DAG over few nodes under a local score, by dynamic programming over sets of nodes.

    Let F(S) be the least cost of the nodes of S with parents in S, and B(S) that of all others, placed behind S. The
    node b has its parents among the set S that it follows, so that

        least cost with P_b in a family = min over S of  F(S) + min over such P ⊆ S of cost(b, P) + B(S ∪ {b}).

    One pass up and one pass down therefore answer for all edges. With sums of exp(−cost / 2) in the place of minima the
    same passes add up all graphs, each as often as it has orders.

    Parameters
    ----------
    score : Costs
        The score.
    known : BoundConstraints
        Prior knowledge, which every graph satisfies.

    References
    ----------
    Koivisto & Sood (2004), "Exact Bayesian structure discovery in Bayesian networks".

    Examples
    --------
    >>> import numpy as np
    >>> from psidag.graph.constraints import unconstrained
    >>> class Pair:
    ...     def costs(self, families):
    ...         return np.array([-3.0 if family == (1, (0,)) else 0.0 for family in families])
    >>> AllGraphs(Pair(), unconstrained(("a", "b"))).differences([(0, 1)])
    array([3.])
    """

    def __init__(self, score: Costs, known: BoundConstraints) -> None:
        self.d = known.d
        self._sets = np.arange(1 << self.d)
        self._has = (self._sets[None, :] >> np.arange(self.d)[:, None] & 1).astype(bool)
        self.sizes = self._has.sum(axis=0)
        tier = known.tier
        # A node of a later tier stands behind all nodes of earlier ones.
        before = (tier[None, :] >= 0) & (tier[None, :] < tier[:, None])
        self._may_follow = np.array([~self._has[j] & self._has[before[j]].all(axis=0) for j in range(self.d)])
        self._costs = self._family_costs(score, known)

    def _family_costs(self, score: Costs, known: BoundConstraints) -> Floats:
        """The cost of each node with each set of parents; infinite where knowledge rules the set out."""
        allowed = ~self._has
        for i, j in known.forbidden.tolist():
            allowed[j] &= ~self._has[i]
        for i, j in known.required.tolist():
            allowed[j] &= self._has[i]
        found = np.full(allowed.shape, np.inf)
        members = [tuple(np.flatnonzero(column).tolist()) for column in self._has.T]
        for j in range(self.d):
            sets = np.flatnonzero(allowed[j])
            found[j, sets] = score.costs([(j, members[s]) for s in sets.tolist()])
        return found

    def differences(self, edges: Sequence[tuple[int, int]]) -> Floats:
        """How much more the best graph without a → b costs than the best one with it."""
        best, around = self._passes(self._costs, np.minimum)
        found = []
        for a, b in edges:
            without = np.min(around[b] + best[b][self._sets & ~(1 << a)])
            having = self._below(np.where(self._has[a], self._costs[b], np.inf), np.minimum)
            found.append(without - np.min(around[b] + having))
        return np.array(found)

    def log_odds(self, edges: Sequence[tuple[int, int]], cheaper: float = 0.0) -> Floats:
        """Log-odds of a → b over all graphs, of weight exp(−cost / 2) each, with edges cheaper by this much."""
        best, around = self._passes((self._costs - cheaper * self.sizes) / 2, _soft)
        found = []
        for a, b in edges:
            total = np.logaddexp.reduce(-around[b] - best[b])
            without = np.logaddexp.reduce(-around[b] - best[b][self._sets & ~(1 << a)])
            share = -np.expm1(min(without - total, 0.0))
            found.append(np.log(max(share, 1e-300)) - (without - total))
        return np.array(found)

    def _passes(self, costs: Floats, least: Least) -> tuple[Floats, Floats]:
        """The least cost of each node with parents in each set, and that of all other nodes if it follows this set."""
        best = np.array([self._below(row, least) for row in costs])
        follows = np.where(self._may_follow, best, np.inf)
        front, back = np.full(len(self._sets), np.inf), np.full(len(self._sets), np.inf)
        front[0] = back[-1] = 0.0
        layers = [np.flatnonzero(self.sizes == size) for size in range(self.d + 1)]
        for layer in layers[1:]:
            for j in range(self.d):
                after = layer[self._has[j, layer]]
                before = after ^ (1 << j)
                front[after] = least(front[after], front[before] + follows[j, before])
        for layer in reversed(layers[:-1]):
            for j in range(self.d):
                before = layer[~self._has[j, layer]]
                back[before] = least(back[before], follows[j, before] + back[before | (1 << j)])
        around = np.array(
            [np.where(self._may_follow[j], front + back[self._sets | (1 << j)], np.inf) for j in range(self.d)]
        )
        return best, around

    def _below(self, costs: Floats, least: Least) -> Floats:
        """The least cost over all subsets of each set."""
        found = costs.copy()
        for i in range(self.d):
            having = np.flatnonzero(self._has[i])
            found[having] = least(found[having], found[having ^ (1 << i)])
        return found


def likely_price(price: float, count: float, d: int, n_edges: int) -> float:
    """The price of an edge if pairs are joined as often as those of a learned graph; at most that of the search.

    The search takes edges to be rare. In small tables they are not: there its price makes too much of an absent edge,
    and with it of the colliders that rest on one.
    """
    pairs = d * (d - 1) / 2
    share = (n_edges + 1) / (pairs + 2)
    return min(price, max(_LEAST_PRICE, float(np.log(count) + 2 * np.log(1 / share - 1))))
