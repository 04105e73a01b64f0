"""Other starts for a search that took long: orders by variance, in units in which variances say something.

Under the unequal score graphs are found along the prices of an edge, from the empty one on. Where the truth is dense
and effects are strong that takes long, and leads astray. Such graphs show in the variances: they grow along the order,
by far more than noise differs from column to column. So the order of lowest variance given all nodes before is a good
start if only columns are in units that do not depend on how they were measured: of what all others leave of each, or of
what the graph that was found leaves, which is about its noise.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from psidag.data.correlations import Correlations
from psidag.engines.beginning import can_order, left_by_all, ordered_graph
from psidag.engines.moves import Objective, read
from psidag.engines.network_state import dump_network, restore_network
from psidag.graph.constraints import BoundConstraints
from psidag.search._network import Network
from psidag.system.parallel import Workers

#: Starts beside the first, at the most (benchmarks/stuck.md has what each brings).
_MOST = 4
#: Work of the search for each column from which on an order, and a first round from it, are a small addition.
_WORTH = 6e5


class Starts(NamedTuple):
    """The starts before the one under way.

    ``best`` is the network that the best of them has led to, with its ``loss``; ``made`` how many others than the first
    have been begun; ``sweeps`` and ``work`` are those of all networks but the one under way.
    """

    made: int = 0
    best: Network | None = None
    loss: float = math.inf
    sweeps: int = 0
    work: float = 0.0

    def after(self, net: Network, loss: float) -> Starts:
        """What is known when this network has come to its end and another start follows."""
        best, least = (net, loss) if loss < self.loss else (self.best, self.loss)
        return Starts(self.made + 1, best, least, self.sweeps + net.counters[0], self.work + net.counters[3])

    def best_of(self, net: Network, loss: float) -> tuple[Starts, Network, float]:
        """There are no more starts: the best network, this one or one before, and its loss."""
        if self.best is None or loss < self.loss:
            return self._replace(best=None), net, loss
        sweeps, work = (net.counters[k] - self.best.counters[k] for k in (0, 3))
        return Starts(_MOST, None, self.loss, self.sweeps + sweeps, self.work + work), self.best, self.loss


def worth_another(data: Correlations, net: Network, loss: float, starts: Starts) -> bool:
    """Whether the search took so long that one from an order costs little more, and starts still gain.

    The first of the other starts may be in vain: the next one has other units.
    """
    gained = loss < starts.loss or starts.made == 1
    long = starts.work + net.counters[3] > _WORTH * data.d
    return gained and long and can_order(data) and starts.made < _MOST


def start_again(
    data: Correlations, starts: Starts, objective: Objective, constraints: BoundConstraints, workers: Workers
) -> sp.csr_array:
    """Parents selected in the order of variances given all nodes before, in units of what is left of each column.

    At first of what all others leave, then of what the best graph so far does.
    """
    assert starts.best is not None
    left = left_by_all(data) if starts.made == 1 else read(starts.best, data.d).residual_variance
    unit = 1 / np.sqrt(np.where(left > 0, left, 1.0))
    return ordered_graph(data, unit, objective.penalty, objective.max_parents, constraints, workers)


def dump_starts(starts: Starts, d: int) -> dict[str, Any]:
    """What :func:`stored_starts` needs."""
    return starts._asdict() | {"best": None if starts.best is None else dump_network(starts.best, d)}


def stored_starts(held: dict[str, Any], data: Correlations, constraints: BoundConstraints) -> Starts:
    """Starts out of a file."""
    best = None if held["best"] is None else restore_network(data, constraints, held["best"])
    return Starts(int(held["made"]), best, float(held["loss"]), int(held["sweeps"]), float(held["work"]))
