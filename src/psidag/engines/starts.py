"""Other starts for a search that may be stuck: orders by variance, in units in which variances say something.

Under the equal score the first order grows with few parents for each node. Where graphs are dense and effects strong
that goes wrong, and the order of lowest variance given *all* nodes before does not: of variances that follow from the
graph that was found, which is what the published method lacks to have a consistent order, or of those of the data.

Under the unequal score graphs are found along the prices of an edge, from the empty one on. Where the truth is dense
and effects are strong that takes long, and leads astray. Such graphs show in the variances: they grow along the order,
by far more than noise differs from column to column. So the same order is a good start if only columns are in units
that do not depend on how they were measured: of what all others leave of each, or of what the graph that was found
leaves, which is about its noise. In such units noise variances are about equal, and the equal score, which is rarely
stuck, is nearly the right one: the search goes by it first, and by the unequal score from where that ends. Every other
start in vain leaves the first half out, and so do tables of many columns, in which it takes longer than it brings.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from psidag.data.correlations import Correlations
from psidag.engines.beginning import can_order, has_rows_to_order, left_by_all, ordered_graph
from psidag.engines.moves import Floats, Objective, read
from psidag.engines.network_state import dump_network, restore_network
from psidag.engines.openings import excess, sound
from psidag.graph.constraints import BoundConstraints
from psidag.search._network import Network
from psidag.system.parallel import Workers
from psidag.system.tree import stored_array

#: Starts beside the first, at the most (benchmarks/stuck.md has what each brings).
_MOST = 60
#: Work of the search for each column from which on an order, and a first round from it, are a small addition, and from
#: which on the first search is cut short; small tables have time for another sooner.
_WORTH, _WORTH_IF_SMALL, _TOO_LONG = 4e5, 2e5, 1.2e6
#: Another start is given up when it has taken so many times the work up to the last gain; sooner in large tables where
#: nothing says that the search is stuck.
_TIMES, _TIMES_IF_LARGE = 4.0, 1.5
#: So many in a row may be without a gain of a penalty, and take this share of the work up to the last one with it; more
#: of both in small tables whose search was long.
_IN_VAIN, _SHARE, _IN_VAIN_IF_SMALL, _SHARE_IF_SMALL = 6, 0.5, 16, 1.0
#: About so many columns get other units at random, by factors with a logarithm of this standard deviation.
_FEW, _SPREAD, _SPREAD_IF_EQUAL = 10, 1.0, 0.3
#: Up to this many columns an order, and a search from it, are a matter of hundredths of a second.
_SMALL = 250


class Starts(NamedTuple):
    """The starts before the one under way.

    ``best`` is the network that the best of them has led to, with its ``loss``, and ``cut`` whether it was cut short;
    ``made`` is how many others than the first have been begun, and ``idle`` how many of them since a gain; ``sweeps``
    and ``work`` are those of all networks but the one under way, ``used`` is the work up to the last gain. As long as
    ``proportions`` are there, the one under way takes noise variances to be in these.
    """

    made: int = 0
    idle: int = 0
    best: Network | None = None
    loss: float = math.inf
    sweeps: int = 0
    work: float = 0.0
    used: float = 0.0
    cut: bool = False
    proportions: Floats | None = None

    def after(self, net: Network, loss: float, least_share: float, cut: bool = False) -> Starts:
        """What is known where a search ends or is cut short; a gain is more than this share of the loss."""
        gained, work = loss * (1 + least_share) < self.loss, self.work + net.counters[3]
        best, least, cut = (net, loss, cut) if loss < self.loss else (self.best, self.loss, self.cut)
        idle, used = (0, work) if gained else (self.idle + 1, self.used)
        return Starts(self.made, idle, best, least, self.sweeps + net.counters[0], work, used, cut)

    def ended(self) -> tuple[Starts, Network]:
        """There are no more starts for now: the work and sweeps of all networks but the best, and that one."""
        assert self.best is not None
        sweeps, work = self.sweeps - self.best.counters[0], self.work - self.best.counters[3]
        loss = math.inf if self.cut else self.loss
        return self._replace(best=None, loss=loss, sweeps=sweeps, work=work, cut=False), self.best


def takes_too_long(data: Correlations, net: Network, starts: Starts, objective: Objective) -> bool:
    """Whether the first search is to be left for one from an order, or one of the others for the next.

    One that was cut short before and turned out to be the best goes on to its end.
    """
    if starts.made:
        times = _TIMES_IF_LARGE if objective.score.own_variances and data.d > _SMALL else _TIMES
        return starts.best is not None and net.counters[3] > times * starts.used
    return objective.score.own_variances and net.counters[3] > _TOO_LONG * data.d and can_order(data)


def worth_another(data: Correlations, starts: Starts, objective: Objective) -> bool:
    """Whether the first search may well be stuck, or starts still gain."""
    unequal = objective.score.own_variances
    if starts.made == 0:
        assert starts.best is not None
        if unequal:
            return starts.work > (_WORTH_IF_SMALL if data.d <= _SMALL else _WORTH) * data.d and can_order(data)
        return can_order(data) and _doubtful(data, starts.best, objective)
    if starts.made == 1 and unequal:
        return True
    hard = data.d <= _SMALL and starts.used > _WORTH * data.d
    most, share = (_IN_VAIN_IF_SMALL, _SHARE_IF_SMALL) if hard else (_IN_VAIN, _SHARE)
    return starts.made < _MOST and starts.idle < most and starts.work - starts.used < share * starts.used


def _doubtful(data: Correlations, net: Network, objective: Objective) -> bool:
    """Whether residual variances say that a search under the equal score is stuck, or another one takes no time."""
    return data.d <= _SMALL or not sound(excess(data, objective, read(net, data.d)))


def start_again(
    data: Correlations,
    starts: Starts,
    objective: Objective,
    constraints: BoundConstraints,
    workers: Workers,
    rng: np.random.Generator,
) -> tuple[sp.csr_array, Floats | None]:
    """Parents selected in the order of variances given all nodes before; and proportions of noise variances, or None.

    Under the equal score in the units of the data: of variances that follow from the best graph so far or, where that
    has led nowhere and there are rows enough, those of the data. Under the unequal one in units of what is left of each
    column, at first by all others, then by the best graph so far. Where that has led nowhere, in units that differ from
    these at random, so that other nodes change places.
    """
    assert starts.best is not None
    best, model = read(starts.best, data.d), None
    if objective.score.own_variances:
        left = left_by_all(data) if starts.made == 0 else best.residual_variance
        unit, spread = 1 / np.sqrt(np.where(left > 0, left, 1.0)), _SPREAD if starts.idle and starts.made > 1 else 0.0
    else:
        unit, spread = data.sd.copy(), _SPREAD_IF_EQUAL if starts.idle > 1 else 0.0
        model = best if starts.idle == 0 or not has_rows_to_order(data) else None
    if spread:
        chosen = rng.random(data.d) < _FEW / data.d
        # In the columns' own sequence: how they stand in the table does not matter.
        unit[data.own_order] *= np.exp(chosen * rng.normal(0.0, spread, data.d))
    graph = ordered_graph(data, unit, objective.penalty, objective.max_parents, constraints, workers, model)
    if not objective.score.own_variances or starts.idle % 2 or data.d > _SMALL:
        return graph, None
    return graph, np.where(data.variance > 0, data.variance / unit**2, 1.0)


def dump_starts(starts: Starts, d: int) -> dict[str, Any]:
    """What :func:`stored_starts` needs."""
    return starts._asdict() | {"best": None if starts.best is None else dump_network(starts.best, d)}


def stored_starts(held: dict[str, Any], data: Correlations, constraints: BoundConstraints) -> Starts:
    """Starts out of a file."""
    best = None if held["best"] is None else restore_network(data, constraints, held["best"])
    proportions = None if held["proportions"] is None else stored_array(held["proportions"], (data.d,))
    return Starts(
        int(held["made"]), int(held["idle"]), best, float(held["loss"]), int(held["sweeps"]), float(held["work"]),
        float(held["used"]), bool(held["cut"]), proportions,
    )  # fmt: skip
