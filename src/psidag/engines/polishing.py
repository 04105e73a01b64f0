"""Where nothing seems left to do: hubs, whose parents may be a bad set, and changes of two edges at once."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psidag.data.correlations import Correlations
from psidag.engines.likely_parents import above_rounding, can_estimate, new_parents
from psidag.engines.moves import Fits, Floats, Objective, assign_parents, outline, read
from psidag.graph.constraints import BoundConstraints
from psidag.graph.order import Order, positions
from psidag.scores.policy import SMALLEST_GAIN
from psidag.search._network import Network, change_pairs
from psidag.stages.within_order import select_within
from psidag.system.parallel import SERIAL, Workers

# Chosen on the tuning seeds that benchmarks/engines.md names at its head, and judged by its tables "equal" and "hard".
#: How many hubs are looked at in one slice, and how many in a run: so many, or one for this many columns.
_TRIALS = 4
_ALL_TRIALS, _COLUMNS_A_TRIAL = 256, 32
#: What a hub lacks has changed if its residual variance has by one part in about so many.
_PARTS = 20
#: Standard errors above, or below, which a residual variance is suspect.
_SUSPECT = 3.0
#: Nodes that stand out are looked at as long as there are so many of them at the most, or one in so many.
_FEW, _ONE_IN = 5, 20
#: Paths that are turned round have at most so many nodes, and there are at most so many of them.
_PATH, _PATHS = 6, 200
#: Parents of a hub are selected anew among no more than about this many nodes.
_AMONG = 2048
#: Two edges at once are looked at in tables of up to this many columns: it takes a time that grows with their square,
#: and where there are many more some node gains in every round, and rounds do not end.
_FOR_TWO, _FOR_TWO_AGAIN = 2000, 250

_TINY = float(np.finfo(np.float64).tiny)

#: One node, an edge between two, or a path.
Trial: TypeAlias = tuple[int, ...]
#: Trials with what their nodes had at the time: the number of parents, and the variance that these leave.
Tried: TypeAlias = frozenset[tuple[int, ...]]


class _Polished(NamedTuple):
    """The graph that hubs are looked at in, and what is known of its nodes."""

    fits: Fits
    columns: sp.csc_array
    known: Floats
    hub: NDArray[np.bool_]
    far: NDArray[np.bool_]
    marks: list[tuple[int, int]]

    @classmethod
    def of(cls, data: Correlations, net: Network, objective: Objective, least: int) -> _Polished:
        fits = read(net, data.d)
        known = objective.known_variance(data, fits.residual_variance)
        far = _stands_out_far(objective, fits, known) & can_estimate(data)
        left = np.log(np.maximum(fits.residual_variance, _TINY))
        marks = np.column_stack([fits.parents, np.rint((_PARTS if far.any() else 0) * left).astype(int)])
        return cls(fits, sp.csc_array(fits.weights), known, fits.parents > least, far, list(map(tuple, marks.tolist())))

    def parents(self, v: int) -> NDArray[np.integer]:
        return self.columns.indices[self.columns.indptr[v] : self.columns.indptr[v + 1]]

    def signature(self, trial: Trial) -> tuple[int, ...]:
        """A trial with what its nodes have: what was tried in vain may do after they have changed."""
        return (*trial, *(mark for v in trial for mark in self.marks[v]))


def polish_hubs(
    data: Correlations,
    net: Network,
    objective: Objective,
    constraints: BoundConstraints,
    workers: Workers,
    least: int,
    tried: Tried,
) -> tuple[Tried, int]:
    """Select parents of hubs afresh, and turn edges between hubs round, where that lowers the score.

    A hub is a node of more than ``least`` parents. Those that came in one by one can be a bad set, and two hubs
    share too many parents to change places step by step. A trial is a hub ``(j,)``, or an edge ``(i, j)`` from a
    suspect hub to another one, or to a node that stands out as much because i has the parents that it lacks: then j is
    put before i (if j is a cause of i, then i lacks it, and is suspect).
    Their parents are selected anew among those that they and the hubs next to them have; where that does not help,
    among all nodes by estimates of their weights. A node that stands out far is suspect without being a hub, beside
    anyone, and a path of such nodes is turned round as a whole. The most suspect trials come first, a few in one call;
    returns all that were tried so far and how many lowered the score.
    """
    graph = _Polished.of(data, net, objective, least)
    old, known = graph.fits, graph.known
    trials = [trial for trial in _suspect_trials(objective, graph) if graph.signature(trial) not in tried]
    trials = trials[: min(_TRIALS, max(0, max(_ALL_TRIALS, data.d // _COLUMNS_A_TRIAL) - len(tried)))]

    def attempt(trial: Trial) -> tuple[float, sp.csr_array]:
        if len(trial) <= 2:
            change, W = _select_anew(data, objective, constraints, graph, trial)
        else:
            change, W = 0.0, old.weights
        if change < -SMALLEST_GAIN or not graph.far[list(trial)].any():
            return change, W
        return new_parents(data, objective, known, constraints, old, trial[::-1])

    gained = 0
    changed: set[int] = set()
    for trial, (change, W) in zip(trials, workers.map(attempt, trials), strict=True):
        if changed & set(trial):
            continue
        tried = tried | {graph.signature(trial)}
        if change < -SMALLEST_GAIN:
            assign_parents(data, net, W, np.array(trial[::-1]))
            changed |= set(trial)
            gained += 1
    return tried, gained


def _select_anew(
    data: Correlations, objective: Objective, constraints: BoundConstraints, graph: _Polished, trial: Trial
) -> tuple[float, sp.csr_array]:
    """Parents of a hub, or of both ends of an edge turned round, among the few; by how much that changes the score."""
    old, known = graph.fits, graph.known
    order = old.order
    if len(trial) == 2:
        order = _turned(order, graph.parents, *trial)
        if not constraints.respects(order):
            return 0.0, old.weights
    # An edge turned round: its head comes first.
    nodes = trial[::-1]
    near = _hubs_before(graph, nodes[-1]) if len(trial) == 1 else []
    few = np.unique(np.concatenate([graph.parents(v) for v in (*nodes, *near)] + [np.array(trial)]))
    few = few[np.argsort(positions(order)[few])]
    inside = np.array([int(np.flatnonzero(few == v)[0]) for v in nodes])
    new = select_within(
        data.among(few), objective.n, np.arange(len(few)), SERIAL, penalty=objective.penalty,
        sigma2=known[few], constraints=constraints.among(few), max_parents=objective.max_parents, nodes=inside,
    )  # fmt: skip
    fresh = Fits(np.arange(len(few)), new.weights, new.residual_variance)
    change = objective.costs(fresh, known[few])[inside] - objective.costs(old, known)[list(nodes)]
    found = new.weights.tocoo()
    W = sp.csr_array((found.data, (few[found.row], few[found.col])), shape=old.weights.shape)
    return float(change.sum()), W


def _hubs_before(graph: _Polished, v: int) -> list[int]:
    """The hubs among the parents of v, the largest weights first, as long as they have not too many parents."""
    weights = graph.columns.data[graph.columns.indptr[v] : graph.columns.indptr[v + 1]]
    near = graph.parents(v)[np.argsort(-abs(weights), kind="stable")]
    near = near[graph.hub[near]]
    return list(near[np.cumsum(graph.fits.parents[near]) <= _AMONG])


def _suspect_trials(objective: Objective, graph: _Polished) -> list[Trial]:
    """The suspect hubs, then edges from them to hubs and suspects; those with the most variance left come first."""
    old, hub, far = graph.fits, graph.hub, graph.far
    own, suspicion = objective.score.own_variances, objective.standing_out(old, graph.known)
    stands_out = np.full(len(hub), own) | (suspicion > _SUSPECT)
    suspect = hub & stands_out | far
    i, j = old.weights.nonzero()
    between = suspect[i] & (hub[j] if own else hub[j] | stands_out[j] | far[i])
    # Hubs that may not have more parents stand out for the lack of them, beside anyone: they are tried with each other.
    full = old.parents >= objective.max_parents
    between &= full[i] == full[j]
    trials: list[Trial] = [(int(v),) for v in np.flatnonzero(suspect)]
    trials += [(int(tail), int(head)) for tail, head in zip(i[between], j[between], strict=True)]
    trials += _paths(old.weights, far, suspicion < -_SUSPECT)
    return sorted(trials, key=lambda trial: (len(trial), -float(suspicion[list(trial)].sum())))


def _paths(weights: sp.csr_array, far: NDArray[np.bool_], low: NDArray[np.bool_]) -> list[Trial]:
    """Paths of three nodes and more that stand out far, the last perhaps by having too little variance left."""
    found: list[Trial] = []
    begun: deque[Trial] = deque((int(v),) for v in np.flatnonzero(far))
    while begun and len(found) < _PATHS:
        path = begun.popleft()
        children = weights.indices[weights.indptr[path[-1]] : weights.indptr[path[-1] + 1]]
        longer = [(*path, child) for child in children[far[children] | low[children]].tolist()]
        found += [path for path in longer if len(path) > 2]
        begun.extend(path for path in longer if far[path[-1]] and len(path) < _PATH)
    return found


def _stands_out_far(objective: Objective, old: Fits, known: Floats) -> NDArray[np.bool_]:
    """Which nodes have more variance left than chance would leave any, where noise variances are known.

    None if they are many: then it is the noise that differs.
    """
    if objective.score.own_variances:
        return np.zeros(len(known), bool)
    most = 1 + math.sqrt(2 * math.log(len(known) + 1))
    far = (objective.standing_out(old, known) > most) & above_rounding(old.residual_variance)
    return np.asarray(far & (far.sum() <= max(_FEW, len(far) // _ONE_IN)))


def _turned(order: Order, parents: Callable[[int], NDArray[np.integer]], tail: int, head: int) -> Order:
    """The order with the head of an edge just before its tail, and before both all other causes that the head can keep.

    Those are its ancestors which do not descend from the tail.
    """
    place = positions(order)
    region = order[place[tail] : place[head] + 1]
    descends, leads = {tail}, {head}
    for v in region[1:].tolist():
        if not descends.isdisjoint(parents(v).tolist()):
            descends.add(v)
    for v in region[::-1].tolist():
        if v in leads:
            leads.update(p for p in parents(v).tolist() if place[p] > place[tail])
    first = [v for v in region.tolist() if v in leads and v not in descends]
    rest = [v for v in region[1:-1].tolist() if v not in leads or v in descends]
    return np.concatenate([order[: place[tail]], [*first, head, tail, *rest], order[place[head] + 1 :]]).astype(np.intp)


def change_two(data: Correlations, net: Network, quiet: int = 0) -> int:
    """Change two edges into a node at once, where that pays and one alone does not; returns how many nodes gained.

    The nodes of most parents come first, until that has taken as much work as the search. In small tables all nodes are
    looked at each time; in others those whose parents have changed, and none after quiet rounds, in which the graph has
    changed within its class alone.
    """
    again = data.d <= _FOR_TWO_AGAIN
    if data.matrix is None or data.d > _FOR_TWO or (quiet and not again):
        return 0
    parents, order = outline(net, data.d)[0], read(net, data.d).order.astype(np.int32)
    most_first = order[np.argsort(-parents[order], kind="stable")]
    gained: int = change_pairs(data.entries, net, most_first, int(net.counters[3]), again)
    return gained
