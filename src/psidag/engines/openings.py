"""Restarts that cost what they touch: neighbourhoods are opened in turn, and what lowers the score is kept."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from psidag.data.correlations import Correlations
from psidag.engines.candidates import Candidates
from psidag.engines.moves import Fits, Floats, Objective, read, set_score
from psidag.scores.policy import Policy
from psidag.search._network import Network, open_neighbourhoods
from psidag.system.errors import listing

#: Openings in a row without a gain may take this share of the work of the search with a thousand columns, by this power
#: less with more columns and more with fewer, up to twice the work; less of it where no residual variance stands out.
#: The work of some hundredths of a second is never too much.
_SHARE, _POWER, _SHARE_IF_SOUND, _POWER_IF_SOUND, _TWICE, _LEAST_WORK = 0.4, 0.75, 0.125, 1.5, 2.0, 1e7
#: Once one was worth a penalty the search has been stuck, and may be so elsewhere: they may take so much more.
_STUCK = 4.0
#: An opening may take this share of that, and the work of the search for so many columns: what takes longer has set
#: half of the graph moving, and comes to nothing (benchmarks/stuck.md has how much).
_ONE, _COLUMNS_EACH = 0.125, 32
#: And there are never more of them in a row than this many, or than this many times the columns.
_MANY, _TIMES = 100, 2
#: As long as fewer than this many have come back to where they began, there may be so many times as many, and they may
#: take so much work over the number of pairs of columns: where hardly one comes back, as on tables that are nearly
#: collinear, there are many graphs of nearly the same score, and small tables can afford to look for the best of them.
_BACK, _LONGER, _SMALL = 10, 10, 4e11
#: All together they take no more than so many times the work of the search, or of that look at a small table: where
#: columns are nearly collinear gains can come for ever.
_AT_MOST = 20
#: Where residual variances are as equal as the score takes them to be, this share of the least work will do.
_SOUND = 0.3
#: A gain counts if it is this share of a penalty; those that come to a penalty together are worth all the work that may
#: be in vain. To go on for any gain is to fit noise for ever.
_GAIN = 0.05
#: Work of one slice, a fraction of a second, and openings in it; more of both for so many columns that the looks at all
#: of them before and after it count.
_SLICE, _MOST = 2e7, 16
_SLICE_PER_COLUMN, _MOST_PER_COLUMN = 256, 1 / 4096
#: Multiplications of correlations, and of growing an order, for each unit of work of the search.
_PER_PRODUCT, _PER_PAIR = 200, 10
#: Where a number of openings was asked for they may take whatever they take.
_NO_LIMIT = 2.0**62
#: A residual variance stands out by this many standard errors.
_STANDS_OUT = 2.0
#: Edges that are named.
_NAMED = 12


class Openings(NamedTuple):
    """What came of the openings so far.

    ``own`` is the work of the search before them; ``made`` are all openings and ``work`` theirs, ``idle`` those since
    gains last came to a penalty and ``used`` the work up to that; ``idle_work`` is what was in vain since then and
    ``few`` the penalties gained since then; ``back`` is how many came back to the same score since the last gain;
    ``fresh`` says that there was a gain since all nodes were last looked at, ``sound`` that no residual variance stands
    out. Trials that were not kept ended ``least`` to ``most`` above the score; ``contested`` are edges that trials
    within one penalty have otherwise.
    """

    own: float
    made: int = 0
    idle: int = 0
    back: int = 0
    idle_work: float = 0.0
    few: float = 0.0
    used: float = 0.0
    work: float = 0.0
    gained: float = 0.0
    fresh: bool = False
    sound: bool = False
    least: float = math.inf
    most: float = 0.0
    contested: tuple[tuple[int, int], ...] = ()

    def over(self, d: int, wanted: int | None) -> bool:
        """Whether there have been enough: as many as were asked for, or by the rule."""
        if wanted is not None:
            return self.made >= wanted
        most = max(_MANY, _TIMES * d) * (1 if self.back >= _BACK else _LONGER)
        return self.idle >= most or self.idle_work >= self.patience(d) or self.spent(d)

    def spent(self, d: int) -> bool:
        """Whether they have taken all the work that they may, whatever they gained."""
        return self.work >= _AT_MOST * max(self.own, _SMALL / max(d, 1) ** 2)

    def patience(self, d: int) -> float:
        """The work that openings may take in a row without a gain; what led to gains counts as work of the search."""
        share, power = (_SHARE_IF_SOUND, _POWER_IF_SOUND) if self.sound else (_SHARE, _POWER)
        share = min(_TWICE, share * math.pow(1000 / d, power) * (_STUCK if self.used else 1.0))
        least = _LEAST_WORK * min(1.0, share) * (_SOUND if self.sound else 1.0)
        rough = 0.0 if self.back >= _BACK else _SMALL / d**2
        return max(least, rough, (self.own + self.used) * share)

    def message(self, penalty: float, names: Sequence[str]) -> str:
        """How sure the answer is, in a sentence."""
        parts = ["no move improves the score"]
        if self.made:
            last = f"{self.idle} without a gain worth a penalty" if self.idle else "one with a gain"
            more = ": raise restarts" if self.spent(len(names)) or not self.idle else ""
            parts.append(f"{self.made} neighbourhoods were opened, the last {last}{more}")
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


def before_openings(data: Correlations, net: Network, other_starts: float = 0.0) -> Openings:
    """None yet, after a search: its work is that of all networks, of the correlations and of the first order."""
    return Openings(other_starts + net.counters[3] + data.d**2 * (data.count / _PER_PRODUCT + _PER_PAIR))


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
    standing_out = excess(data, objective, fits)
    before = before._replace(sound=sound(standing_out))
    most, most_work = max(_MOST, data.d * _MOST_PER_COLUMN), max(_SLICE, data.d * _SLICE_PER_COLUMN)
    patience = before.patience(data.d)
    each = max(before.work / before.made, 1.0) if before.made else most_work
    left = math.inf if wanted is not None else patience - before.idle_work
    few = int(min(most, max(1.0, min(most_work, left) / each), math.inf if wanted is None else wanted - before.made))
    centres = _centres(fits, standing_out, few, rng)
    changes, begun = np.zeros(few), net.counters[3]
    pairs = open_neighbourhoods(
        data.entries, net, centres.astype(np.int32), policy.neighbours, int(rng.integers(2**63)), objective.penalty,
        int(min(_ONE * patience, _COLUMNS_EACH * before.own / data.d)), int(min(left, _NO_LIMIT)),
        near.start, near.items, changes,
    )  # fmt: skip
    work, changes = float(net.counters[3] - begun), changes[~np.isnan(changes)]
    return _counted(before, changes, work, _joined(pairs, policy), objective.penalty)


def stored_openings(held: Any, d: int) -> Openings | None:
    """Openings out of a file; ValueError if they are none of these columns."""
    if held is None:
        return None
    found = Openings(*held)
    edges = tuple((int(i), int(j)) for i, j in found.contested)
    if any(not 0 <= v < d for edge in edges for v in edge):
        raise ValueError("contested edges between columns that there are not")
    own, made, idle, back, idle_work, few, used, work, gained, fresh, sound, least, most = found[:-1]
    return Openings(
        float(own), int(made), int(idle), int(back), float(idle_work), float(few), float(used), float(work),
        float(gained), bool(fresh), bool(sound), float(least), float(most), edges,
    )  # fmt: skip


def excess(data: Correlations, objective: Objective, fits: Fits) -> Floats | None:
    """By how many standard errors residual variances stand out, under a score with known noise variances."""
    if objective.score.own_variances:
        return None
    return objective.standing_out(fits, objective.known_variance(data, fits.residual_variance))


def sound(excess: Floats | None) -> bool:
    """Whether no residual variance stands out by more than chance."""
    return excess is not None and bool(excess.max() < 1 + math.sqrt(2 * math.log(len(excess) + 1)))


def _centres(fits: Fits, excess: Floats | None, few: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Where to open: nodes by their numbers of edges or where residual variances stand out, and nodes in triangles.

    Under a score with known noise variances a node with too large a residual lacks a parent, or has a wrong one. Wrong
    directions show in parents of parents: who stands after its effect takes over its parents.
    """
    degree = fits.parents + np.bincount(fits.weights.nonzero()[0], minlength=len(fits.order))
    odds = np.where(degree > 0, 1.0 + degree / max(1.0, degree.mean()), 1e-3)
    if excess is not None:
        odds *= 0.05 + np.square(np.maximum(excess - _STANDS_OUT, 0.0))
    odds = odds / odds.sum() + _suspicion(fits)
    return np.asarray(fits.order[rng.choice(len(odds), few, p=(odds / odds.sum())[fits.order])])


def _suspicion(fits: Fits) -> Floats:
    """Odds of nodes by how many of their parents are parents of their parents, too; they sum to one, or are zero."""
    has = fits.weights.copy()
    has.data = np.ones_like(has.data)
    triangles = np.asarray((has @ has).multiply(has).sum(axis=0), float).ravel()
    return np.asarray(triangles / max(triangles.sum(), 1.0))


def _counted(before: Openings, changes: Floats, work: float, pairs: set[tuple[int, int]], penalty: float) -> Openings:
    """What came of the openings with these."""
    idle, back, idle_work, few, used = before.idle, before.back, before.idle_work, before.few, before.used
    shares = changes / penalty
    for k, share in enumerate(shares.tolist()):
        idle, idle_work = idle + 1, idle_work + work / len(shares)
        few -= share if share < -_GAIN else 0.0
        if few >= 1:
            idle, idle_work, few, used = 0, 0.0, 0.0, before.work + work * (k + 1) / len(shares)
        back = 0 if share < -_GAIN else back + 1 if share <= _GAIN else back
    gains, higher = changes[shares < -_GAIN], changes[(shares > _GAIN) & np.isfinite(shares)]
    return before._replace(
        made=before.made + len(changes),
        idle=idle,
        back=back,
        idle_work=idle_work,
        few=few,
        used=used,
        work=before.work + work,
        gained=before.gained - float(gains.sum()),
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
