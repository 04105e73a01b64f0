"""The moves of the sparse search: each takes a network to one of no higher score, or to an equivalent one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psidag.data.correlations import Correlations
from psidag.engines._grow import grow
from psidag.engines._network import Network, additions, apply_additions, write
from psidag.framework import Noise
from psidag.graph.constraints import BoundConstraints
from psidag.graph.order import Order, positions
from psidag.parallel import Workers, tiles
from psidag.stages.within_order import parent_lists, select_within

Floats = NDArray[np.float64]

#: Nodes that one thread takes at a time. Fixed, so that the work is cut alike on any number of threads.
_NODES = 64
#: In one round a node may gain one parent and a quarter as many as it has: most grow by single edges, the best
#: first, and hubs in a few rounds.
_SHARE = 4
#: The least variance of a node given any others is only estimated: candidates down to this share of it are tested.
_SLACK = 0.5


class Score(NamedTuple):
    """What is minimised: Σ_j n v_j/σ² + penalty·|P_j| ("equal") or Σ_j n log v_j + penalty·|P_j| ("unequal")."""

    noise: Noise
    n: float
    penalty: float
    max_parents: int


class Fits(NamedTuple):
    """A DAG on the scale of the correlations: its order, weights, and the residual variance of each node."""

    order: Order
    weights: sp.csr_array
    residual_variance: Floats

    @property
    def parents(self) -> NDArray[np.intp]:
        """How many parents each node has."""
        return np.bincount(self.weights.indices, minlength=len(self.order))


def grown_order(data: Correlations, constraints: BoundConstraints, penalty: float, max_parents: int) -> Order:
    """Always next the node of lowest variance given those before it: right where noise variances are equal."""
    order = np.empty(data.d, np.int32)
    grow(data.matrix, data.variance, data.count, penalty, max_parents, *_knowledge(constraints), order)
    return order.astype(np.intp)


def required_network(data: Correlations, order: Order, constraints: BoundConstraints) -> Network:
    """The network of the required edges alone."""
    net = Network(data.d, order.astype(np.int32), np.ones(data.d), *_knowledge(constraints))
    everyone = np.arange(data.d, dtype=np.int32)
    write(data.matrix, net, everyone, *parent_lists(constraints.required_matrix), lock=True)
    return net


def set_score(data: Correlations, net: Network, score: Score, patience: float, max_additions: int) -> Fits:
    """Judge the network by this score from now on; returns it as it is.

    A walk of a node along the order is given up when the score has risen by ``patience`` penalties, or when one
    node would take more than ``max_additions`` new parents. The common noise variance is taken from the
    network, and so is a bound for the variance of each node given any others: 1 / (1/v_i + Σ_c w_ic²/v_c) over
    its children c, the inverse of the diagonal of the precision matrix that the model implies.
    """
    found = read(net, data.d)
    v, W = found.residual_variance, found.weights
    precision = 1 / v + np.bincount(W.nonzero()[0], W.data**2 / v[W.indices], minlength=data.d)
    net.configure(
        score.n, score.penalty, _noise(data, score, v), _SLACK / precision, score.max_parents,
        patience * score.penalty, max_additions, 1e-9 if score.noise == "equal" else -1e-9,
    )  # fmt: skip
    return found


def add_edges(data: Correlations, net: Network, workers: Workers) -> int:
    """Give stale nodes the parents that pay, wherever in the order they stand; returns how many nodes gained.

    Candidates are all nodes that are no descendants. They are found for all nodes at once and then put in one after
    the other, the largest gain first, where they close no cycle; the order makes way.
    """
    d = data.d
    room = 1 + read(net, d).parents // _SHARE
    start = np.concatenate([[0], np.cumsum(room)])
    found, counts, gains = np.empty(start[-1], np.int32), np.zeros(d, np.int32), np.zeros(d)

    def work(part: slice) -> None:
        additions(data.matrix, net, part.start, part.stop, start, found, counts, gains)

    workers.map(work, tiles(d, _NODES))
    net.set_stale(False)
    nodes = np.flatnonzero(counts)
    best_first = nodes[np.argsort(-gains[nodes], kind="stable")].astype(np.int32)
    gained: int = apply_additions(data.matrix, net, best_first, start, found, counts)
    return gained


def select_afresh(
    data: Correlations, net: Network, score: Score, constraints: BoundConstraints, workers: Workers
) -> int:
    """Choose the parents of every node anew within the order and keep the better choice; how many it was.

    Parents that came one by one on the way can be a bad set, above all those of hubs.
    """
    old = read(net, data.d)
    noise = _noise(data, score, old.residual_variance)
    new = select_within(
        data.matrix, score.n, old.order, workers, penalty=score.penalty, sigma2=noise, constraints=constraints,
        max_parents=score.max_parents,
    )  # fmt: skip
    fresh = Fits(old.order, new.weights, new.residual_variance)
    better = np.flatnonzero(_costs(fresh, score, noise) < _costs(old, score, noise) - 1e-6)
    give(data, net, fresh.weights, better)
    return len(better)


def exchange_hubs(
    data: Correlations, net: Network, score: Score, constraints: BoundConstraints, workers: Workers, least: int
) -> int:
    """Turn round edges between hubs that have too many parents for a step-by-step exchange; how many it was.

    Only under the equal score, which shows where to look: both ends have a residual variance above the common
    one by more than chance (four standard errors). For such an edge i → j, with more than ``least`` parents at
    both ends, j is put before i and both are selected afresh.
    """
    if score.noise == "unequal":
        return 0
    done = 0
    tried: set[tuple[int, int]] = set()
    while True:
        old = read(net, data.d)
        noise = _noise(data, score, old.residual_variance)
        excess = old.residual_variance / noise - 1
        suspect = (old.parents > least) & (excess > 4 * np.sqrt(2 / score.n))
        i, j = old.weights.nonzero()
        pairs = [e for e in zip(i[suspect[i] & suspect[j]], j[suspect[i] & suspect[j]], strict=True) if e not in tried]
        if not pairs:
            return done
        tail, head = max(pairs, key=lambda edge: excess[edge[0]] + excess[edge[1]])
        tried.add((tail, head))
        place = positions(old.order)
        moved = np.insert(np.delete(old.order, place[head]), place[tail], head)
        if not constraints.respects(moved):
            continue
        between = old.order[place[tail] : place[head] + 1]
        nodes = np.append(head, between[suspect[between] & (between != head)])
        new = select_within(
            data.matrix, score.n, moved, workers, penalty=score.penalty, sigma2=noise, constraints=constraints,
            max_parents=score.max_parents, nodes=nodes,
        )  # fmt: skip
        fresh = Fits(moved, new.weights, new.residual_variance)
        if np.sum((_costs(fresh, score, noise) - _costs(old, score, noise))[nodes]) < -1e-6:
            give(data, net, fresh.weights, nodes)
            done += 1


def give(data: Correlations, net: Network, weights: sp.csr_array, nodes: NDArray[np.intp]) -> None:
    """Give these nodes the parents they have in ``weights``."""
    columns = sp.csc_array(weights)[:, nodes]
    write(data.matrix, net, nodes.astype(np.int32), *parent_lists(columns))


def read(net: Network, d: int) -> Fits:
    """The network as arrays."""
    edges = net.edge_count()
    ends, parents, weights = np.empty(d, np.int64), np.empty(edges, np.int32), np.empty(edges)
    variance, order = np.empty(d), np.empty(d, np.int32)
    net.read(ends, parents, weights, variance)
    net.read_order(order)
    targets = np.repeat(np.arange(d, dtype=np.int32), np.diff(ends, prepend=0))
    return Fits(order.astype(np.intp), sp.csr_array((weights, (parents, targets)), shape=(d, d)), variance)


def _noise(data: Correlations, score: Score, v: Floats) -> Floats:
    """Noise variance of each node on the scale of the correlations; 0 where each node is to have its own."""
    if score.noise == "unequal":
        return np.zeros(data.d)
    varies = data.sd > 0
    common = float(np.mean(v[varies] * data.variance[varies])) if np.any(varies) else 1.0
    return np.divide(common, data.variance, out=np.full(data.d, np.inf), where=varies)


def _costs(fits: Fits, score: Score, noise: Floats) -> Floats:
    v = fits.residual_variance
    fit = score.n * (v / noise if score.noise == "equal" else np.log(v))
    return np.asarray(fit + score.penalty * fits.parents)


def _knowledge(constraints: BoundConstraints) -> tuple[NDArray[np.int32], ...]:
    """Tiers, required and forbidden parents as the kernels take them."""
    return (
        constraints.tier.astype(np.int32),
        *parent_lists(constraints.required_matrix),
        *parent_lists(constraints.forbidden_matrix),
    )
