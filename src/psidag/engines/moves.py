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
    found, counts, gains = np.empty(start[-1], np.int32), np.zeros(d, np.int32), np.zeros(start[-1])

    def work(part: slice) -> None:
        additions(data.matrix, net, part.start, part.stop, start, found, counts, gains)

    workers.map(work, tiles(d, _NODES))
    net.set_stale(False)
    nodes = np.flatnonzero(counts)
    best_first = nodes[np.argsort(-gains[start[nodes]], kind="stable")].astype(np.int32)
    gained: int = apply_additions(data.matrix, net, best_first, start, found, counts)
    return gained


def select_hubs_afresh(
    data: Correlations, net: Network, score: Score, constraints: BoundConstraints, workers: Workers, least: int
) -> int:
    """Choose the parents of hubs anew within the order and keep the better choice; returns how often it was.

    A hub is a node of more than ``least`` parents: those that came in one by one can be a bad set.
    """
    old = read(net, data.d)
    noise = _noise(data, score, old.residual_variance)
    hubs = _suspects(old, score, noise, least)
    if not len(hubs):
        return 0
    new = select_within(
        data.matrix, score.n, old.order, workers, penalty=score.penalty, sigma2=noise, constraints=constraints,
        max_parents=score.max_parents, nodes=hubs,
    )  # fmt: skip
    fresh = Fits(old.order, new.weights, new.residual_variance)
    better = hubs[(_costs(fresh, score, noise) - _costs(old, score, noise))[hubs] < -1e-6]
    give(data, net, fresh.weights, better)
    return len(better)


def exchange_hubs(
    data: Correlations, net: Network, score: Score, constraints: BoundConstraints, workers: Workers, least: int
) -> int:
    """Turn round edges between hubs, which share too many parents to be turned step by step; how many it was.

    For an edge i → j between two hubs, j is put before i and the parents of both are selected afresh
    among those that the two have now. If j is a cause of i, then i has lost it, and is suspect.
    """
    done = 0
    tried: set[tuple[int, int]] = set()
    while True:
        old = read(net, data.d)
        noise = _noise(data, score, old.residual_variance)
        tails = _suspects(old, score, noise, least)
        heads = np.flatnonzero(old.parents > least)
        pairs = [edge for edge in _edges_between(old.weights, tails, heads) if edge not in tried]
        if not pairs:
            return done
        suspicion = old.residual_variance / np.where(noise > 0, noise, np.inf)
        tail, head = max(pairs, key=lambda edge: suspicion[edge[0]] + suspicion[edge[1]])
        tried.add((tail, head))
        place = positions(old.order)
        moved = np.insert(np.delete(old.order, place[head]), place[tail], head)
        if not constraints.respects(moved):
            continue
        columns = sp.csc_array(old.weights)[:, [tail, head]]
        few = np.union1d(columns.indices, [tail, head])
        few = few[np.argsort(positions(moved)[few])]
        pair = np.array([int(np.flatnonzero(few == node)[0]) for node in (head, tail)])
        new = select_within(
            data.matrix[np.ix_(few, few)], score.n, np.arange(len(few)), workers, penalty=score.penalty,
            sigma2=noise[few], constraints=constraints.among(few), max_parents=score.max_parents, nodes=pair,
        )  # fmt: skip
        fresh = Fits(np.arange(len(few)), new.weights, new.residual_variance)
        change = _costs(fresh, score, noise[few])[pair] - _costs(old, score, noise)[[head, tail]]
        if change.sum() < -1e-6:
            whole = new.weights.tocoo()
            W = sp.csr_array((whole.data, (few[whole.row], few[whole.col])), shape=old.weights.shape)
            give(data, net, W, np.array([head, tail]))
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


def _suspects(fits: Fits, score: Score, noise: Floats, least: int) -> NDArray[np.intp]:
    """Nodes of more than ``least`` parents that may lack a cause.

    Under the equal score those whose residual variance is above the common one by more than chance (three
    standard errors); under the unequal score nothing tells them apart.
    """
    hub = fits.parents > least
    if score.noise == "equal":
        hub &= fits.residual_variance > noise * (1 + 3 * np.sqrt(2 / score.n))
    return np.flatnonzero(hub)


def _edges_between(weights: sp.csr_array, tails: NDArray[np.intp], heads: NDArray[np.intp]) -> list[tuple[int, int]]:
    inside = weights[tails][:, heads].tocoo()
    return [(int(tails[i]), int(heads[j])) for i, j in zip(inside.row, inside.col, strict=True)]


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
