"""Restarts that cost what they touch: neighbourhoods are opened in turn, and what lowers the score is kept."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from psidag.data.correlations import Correlations
from psidag.engines.candidates import Candidates
from psidag.engines.moves import Fits, Objective, read, set_score
from psidag.scores.policy import Policy
from psidag.search._network import Network, open_neighbourhoods
from psidag.system.errors import listing

#: Openings in a row without a gain may take twice the work of the search, up to half this many columns; less beyond, in
#: proportion. The work of some hundredths of a second is never too much.
_TWICE, _COLUMNS, _LEAST_WORK = 2.0, 250, 1e7
#: An opening may take this share of that.
_ONE = 0.125
#: And there are never more of them in a row than this many, or than this many times the columns.
_MANY, _TIMES = 100, 2
#: A gain counts if it is this share of a penalty, and is worth going on for if it is a whole one.
_GAIN, _WORTH = 0.05, 1.0
#: Work of one slice, a fraction of a second, and openings in it.
_SLICE, _MOST = 2e7, 16
#: Multiplications of correlations, and of growing an order, for each unit of work of the search.
_PER_PRODUCT, _PER_PAIR = 200, 10
#: A residual variance stands out by this many standard errors.
_STANDS_OUT = 2.0
#: Edges that are named.
_NAMED = 12


class Openings(NamedTuple):
    """What came of the openings so far.

    ``own`` is the work of the search before them; ``made`` are all openings, ``idle`` and ``idle_work`` those since
    the last one that was worth it; ``fresh`` says that there was a gain since all nodes were last looked at. Trials
    that were not kept ended ``least`` to ``most`` above the score; ``contested`` are edges that trials within one
    penalty have otherwise.
    """

    own: float
    made: int = 0
    idle: int = 0
    idle_work: float = 0.0
    work: float = 0.0
    gained: float = 0.0
    fresh: bool = False
    least: float = math.inf
    most: float = 0.0
    contested: tuple[tuple[int, int], ...] = ()

    def over(self, d: int, wanted: int | None) -> bool:
        """Whether there have been enough: as many as were asked for, or by the rule."""
        if wanted is not None:
            return self.made >= wanted
        return self.idle >= max(_MANY, _TIMES * d) or self.idle_work >= self.patience(d)

    def patience(self, d: int) -> float:
        """The work that openings may take in a row without a gain; what led to gains counts as work of the search."""
        return max(_LEAST_WORK, (self.own + self.work - self.idle_work) * min(_TWICE, _COLUMNS / d))

    def message(self, penalty: float, names: Sequence[str]) -> str:
        """How sure the answer is, in a sentence."""
        parts = ["no move improves the score"]
        if self.made:
            last = f"{self.idle} without a gain worth a penalty" if self.idle else "one with a gain: raise restarts"
            parts.append(f"{self.made} neighbourhoods were opened, the last {last}")
        if self.gained:
            parts.append(f"that lowered the score by {self.gained / penalty:.3g} penalties")
        if math.isfinite(self.least):
            parts.append(f"others ended {self.least / penalty:.2g} to {self.most / penalty:.2g} penalties higher")
        if self.contested:
            edges = [f"{names[i]} - {names[j]}" for i, j in self.contested]
            parts.append(f"within one penalty there are graphs that differ in {listing(edges, limit=_NAMED)}")
        return "; ".join(parts)

    def standing(self, penalty: float) -> str:
        """How far they had come when time was over."""
        if not self.made:
            return "no neighbourhood had been opened yet: the search may be stuck, give it more time"
        so_far = f"{self.made} neighbourhoods had been opened"
        if not self.gained:
            return f"{so_far}, all without a gain"
        still = "were still gaining: give it more time" if self.idle < self.made / 2 else "had gained"
        return f"{so_far} and {still} ({self.gained / penalty:.3g} penalties, the last {self.idle} none)"


def before_openings(data: Correlations, net: Network) -> Openings:
    """None yet, after a search: its work is that of the network, of the correlations and of the first order."""
    return Openings(net.counters[3] + data.d**2 * (data.count / _PER_PRODUCT + _PER_PAIR))


def open_some(
    data: Correlations,
    net: Network,
    objective: Objective,
    near: Candidates,
    before: Openings,
    rng: np.random.Generator,
    wanted: int | None,
) -> Openings:
    """Open a few neighbourhoods of the network, in place; nothing may be queued."""
    policy = objective.score.policy
    set_score(data, net, objective, *policy.opened)
    fits = read(net, data.d)
    patience = before.patience(data.d)
    each = max(before.work / before.made, 1.0) if before.made else _SLICE
    left = math.inf if wanted is not None else patience - before.idle_work
    few = int(min(_MOST, max(1.0, min(_SLICE, left) / each), math.inf if wanted is None else wanted - before.made))
    centres = _centres(data, objective, fits, few, rng)
    changes, begun = np.zeros(few), net.counters[3]
    pairs = open_neighbourhoods(
        data.entries, net, centres.astype(np.int32), policy.neighbours, int(rng.integers(2**63)), objective.penalty,
        int(_ONE * patience), near.start, near.items, changes,
    )  # fmt: skip
    work = float(net.counters[3] - begun)
    return _counted(before, changes, work, _joined(pairs, policy), objective.penalty)


def stored_openings(held: Any, d: int) -> Openings | None:
    """Openings out of a file; ValueError if they are none of these columns."""
    if held is None:
        return None
    found = Openings(*held)
    edges = tuple((int(i), int(j)) for i, j in found.contested)
    if any(not 0 <= v < d for edge in edges for v in edge):
        raise ValueError("contested edges between columns that there are not")
    own, made, idle, idle_work, work, gained, fresh, least, most = found[:-1]
    return Openings(
        float(own), int(made), int(idle), float(idle_work), float(work), float(gained), bool(fresh), float(least),
        float(most), edges,
    )  # fmt: skip


def _centres(
    data: Correlations, objective: Objective, fits: Fits, few: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Where to open: nodes whose residual variances stand out, else nodes by their numbers of edges.

    Under a score with known noise variances a node with too large a residual lacks a parent, or has a wrong one.
    """
    degree = fits.parents + np.bincount(fits.weights.nonzero()[0], minlength=data.d)
    odds = np.where(degree > 0, 1.0 + degree / max(1.0, degree.mean()), 1e-3)
    if not objective.score.own_variances:
        known = objective.known_variance(data, fits.residual_variance)
        excess = (fits.residual_variance / known - 1) / math.sqrt(2 / objective.n)
        odds *= 0.05 + np.square(np.maximum(excess - _STANDS_OUT, 0.0))
    return rng.choice(data.d, few, p=odds / odds.sum())


def _counted(
    before: Openings, changes: NDArray[np.float64], work: float, pairs: set[tuple[int, int]], penalty: float
) -> Openings:
    gains, worth = (np.flatnonzero(changes < -share * penalty) for share in (_GAIN, _WORTH))
    since = len(changes) - 1 - int(worth[-1]) if len(worth) else before.idle + len(changes)
    higher = changes[(changes > _GAIN * penalty) & np.isfinite(changes)]
    return before._replace(
        made=before.made + len(changes),
        idle=since,
        idle_work=work * since / len(changes) if len(worth) else before.idle_work + work,
        work=before.work + work,
        gained=before.gained - float(changes[gains].sum()),
        fresh=before.fresh or bool(len(gains)),
        least=min([before.least, *higher.tolist()]),
        most=max([before.most, *higher.tolist()]),
        contested=tuple(sorted(pairs if len(gains) else pairs.union(before.contested))),
    )


def _joined(pairs: list[int], policy: Policy) -> set[tuple[int, int]]:
    """The edges named by tails and heads in turn; where a class has one score, those that are there or not at all."""
    edges = list(zip(pairs[::2], pairs[1::2], strict=True))
    if not policy.equivalent:
        return set(edges)
    both = set(edges)
    return {(min(i, j), max(i, j)) for i, j in both if (j, i) not in both}
