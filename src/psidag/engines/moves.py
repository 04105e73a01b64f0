"""The moves of the sparse search: each takes a network to one of no higher score, or to an equivalent one."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psidag.data.correlations import Correlations
from psidag.engines.candidates import EVERYONE, Candidates, for_hubs
from psidag.engines.comparison import Compared
from psidag.graph.constraints import BoundConstraints
from psidag.graph.order import Order, edge_ends, positions
from psidag.scores.policy import SMALLEST_GAIN
from psidag.scores.score import SearchScore
from psidag.search._grow import grow
from psidag.search._knowledge import Knowledge
from psidag.search._network import Network, additions, additions_among, apply_additions, select_among, write
from psidag.stages.within_order import knowledge_lists, parent_lists, select_within
from psidag.system.errors import InputError
from psidag.system.parallel import Workers, tiles

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

#: Nodes that one thread takes at a time, and pairs of nodes for which a thread is worth waking. Fixed, so that the work
#: is cut alike on any number of threads.
_NODES, _PAIRS = 64, 1 << 17
#: The nodes are cut into about this many pieces at the most: each has scratch space for all nodes to be made.
_TILES = 256
# The next two were chosen on the tuning seeds that benchmarks/engines.md names at its head, and are judged by its
# tables "equal" and "hard".
#: In one round a node may gain one parent and a quarter as many as it has: most grow by single edges, the best
#: first, and hubs in a few rounds.
_SHARE = 4
#: Beside columns of very large numbers next to nothing is left of the others; errors of this size can be squared.
_LEAST_SHARE = 1e-100
#: The least variance of a node given any others is only estimated: candidates down to this share of it are tested.
_SLACK = 0.5


class Objective(NamedTuple):
    """What is minimised: the score of a node on n rows, and this penalty for each of its parents."""

    score: SearchScore
    n: float
    penalty: float
    max_parents: int

    def known_variance(self, data: Correlations, v: Floats) -> Floats:
        """The noise variance by which each node is judged, on the scale of the correlations; 0 for its own."""
        if self.score.own_variances:
            return np.zeros(data.d)
        varies = data.sd > 0
        noise = self.score.noise_variance(v * data.variance)
        # Beside a column of very small numbers the variance of all is as good as infinite.
        with np.errstate(over="ignore"):
            return np.asarray(np.divide(noise, data.variance, out=np.full(data.d, np.inf), where=varies))

    def standing_out(self, fits: Fits, known: Floats) -> Floats:
        """By how many standard errors nodes have more left than is usual after as many parents.

        That is  v_j / (σ_j² (1 − k/n))  beside its median, as k parents of no use take a share k/n of what is left too,
        and a few nodes that stand out by far would hide all others if they were in a mean.
        """
        usual = np.where(known > 0, known, 1.0) * np.maximum(1 - fits.parents / self.n, 1 / self.n)
        shares = fits.residual_variance / usual
        typical = max(float(np.median(shares)), _LEAST_SHARE)
        return np.asarray((shares / typical - 1) / math.sqrt(2 / self.n))

    def costs(self, fits: Fits, known: Floats) -> Floats:
        """What each node costs."""
        v = fits.residual_variance
        fit = np.log(v) if self.score.own_variances else v / known
        return np.asarray(self.n * fit + self.penalty * fits.parents)

    def least_gain(self, data: Correlations, fits: Fits) -> Floats:
        """The fall of the variance of each node below which one more parent is not worth its penalty."""
        price = self.penalty / self.n
        if self.score.own_variances:
            return np.asarray(-math.expm1(-price) * fits.residual_variance)
        return np.asarray(price * self.known_variance(data, fits.residual_variance))


class Fits(NamedTuple):
    """A DAG on the scale of the correlations: its order, weights, and the residual variance of each node."""

    order: Order
    weights: sp.csr_array
    residual_variance: Floats

    @property
    def parents(self) -> NDArray[np.intp]:
        """How many parents each node has."""
        return np.bincount(self.weights.indices, minlength=len(self.order))


def grown_order(
    data: Correlations,
    constraints: BoundConstraints,
    penalty: float,
    max_parents: int,
    near: Candidates = EVERYONE,
) -> Order:
    """Always next the node of lowest variance given those before it: right where noise variances are equal."""
    order = np.empty(data.d, np.int32)
    grow(
        data.entries, data.variance, data.count, penalty, max_parents, _knowledge(constraints), near.start, near.items,
        order,
    )  # fmt: skip
    return order.astype(np.intp)


def empty_network(data: Correlations, order: Order, constraints: BoundConstraints) -> Network:
    """The network without edges, not even the required ones."""
    return Network(data.d, order.astype(np.int32), np.ones(data.d), _knowledge(constraints))


def required_network(data: Correlations, order: Order, constraints: BoundConstraints) -> Network:
    """The network of the required edges alone."""
    net = empty_network(data, order, constraints)
    write(data.entries, net, order.astype(np.int32), *parent_lists(constraints.required_matrix[:, order]), lock=True)
    return net


def given_network(data: Correlations, graph: sp.csr_array, constraints: BoundConstraints) -> Network:
    """The network of a given DAG and the required edges; an error that names what stands against it.

    All nodes are queued.
    """
    edges = np.column_stack(edge_ends(graph)).astype(np.intp)
    both = replace(constraints, required=np.unique(np.concatenate([constraints.required, edges]), axis=0))
    try:
        both.check()
        order = both.nearest_order(data.own_order)
    except InputError as error:
        raise InputError(f"the search cannot begin at this graph: {error}") from error
    net = required_network(data, order, constraints)
    assign_parents(data, net, both.required_matrix, order)
    net.queue_all()
    return net


def select_parents(
    data: Correlations,
    net: Network,
    objective: Objective,
    constraints: BoundConstraints,
    workers: Workers,
    near: Candidates = EVERYONE,
) -> None:
    """Give all nodes parents that stand before them in the order, by evidence, each node judged by its own variance.

    A score is to be set afterwards.
    """
    if data.matrix is None or len(near.start):
        # Nothing is known yet of the least variance of a node, and no walk is to be cut short.
        unknown = np.zeros(data.d)
        most = objective.max_parents
        net.configure(objective.n, objective.penalty, unknown, unknown, most, 0.0, most, SMALLEST_GAIN, False)
        select_among(data.entries, net, near.start, near.items)
        return
    order = read(net, data.d).order
    chosen = select_within(
        data.matrix, data.count, order, workers, penalty=objective.penalty, constraints=constraints,
        max_parents=objective.max_parents,
    )  # fmt: skip
    assign_parents(data, net, chosen.weights, order)


def set_score(data: Correlations, net: Network, objective: Objective, leeway: float, max_additions: int) -> None:
    """Judge the network by this score from now on.

    A walk of a node along the order is given up when the score has risen by ``leeway`` penalties, or when one
    node would take more than ``max_additions`` new parents. The common noise variance is taken from the
    network, and so is a bound for the variance of each node given any others, the inverse of its precision in the
    model.
    """
    _, variances, precisions = outline(net, data.d)
    net.configure(
        objective.n, objective.penalty, objective.known_variance(data, variances), _SLACK / precisions,
        objective.max_parents, leeway * objective.penalty, max_additions,
        SMALLEST_GAIN, objective.score.policy.equivalent,
    )  # fmt: skip


def add_edges(
    data: Correlations,
    net: Network,
    workers: Workers,
    near: Candidates = EVERYONE,
    compared: Compared | None = None,
) -> int:
    """Give stale nodes the parents that pay, wherever in the order they stand; returns how many nodes gained.

    Candidates are all nodes that are no descendants, or those of them that are listed; hubs are compared with all
    columns where these are given as ``compared``. They are found for all nodes at once and then put in one after the
    other, the largest gain first, where they close no cycle; the order makes way.
    """
    d = data.d
    room = 1 + outline(net, d)[0] // _SHARE
    start = np.concatenate([[0], np.cumsum(room, dtype=np.int64)])
    found, counts, gains = np.empty(start[-1], np.int32), np.zeros(d, np.int32), np.zeros(start[-1])

    hubs = None if compared is None else _hub_candidates(net, compared, workers)

    def work(part: slice) -> None:
        if data.matrix is None:
            additions_among(
                data.entries, net, part.start, part.stop, near.start, near.items, start, found, counts, gains,
                *(() if hubs is None else (hubs.start, hubs.items)),
            )  # fmt: skip
        else:
            additions(data.entries, net, part.start, part.stop, start, found, counts, gains)

    workers.map(work, tiles(d, max(_NODES, _PAIRS // d, d // _TILES)))
    net.looked()
    nodes = _order(net, d)
    nodes = nodes[counts[nodes] > 0]
    best_first = nodes[np.argsort(-gains[start[nodes]], kind="stable")]
    gained: int = apply_additions(data.entries, net, best_first, start, found, counts)
    return gained


def _hub_candidates(net: Network, compared: Compared, workers: Workers) -> Candidates | None:
    """Lists for the hubs to which additions are to be looked for; None if there are none."""
    d = len(compared.columns)
    nodes, least = np.empty(d, np.int64), np.empty(d)
    count = net.stale_hubs(nodes, least)
    return for_hubs(compared, nodes[:count], least[:count], read(net, d).weights, workers) if count else None


def assign_parents(data: Correlations, net: Network, weights: sp.csr_array, nodes: NDArray[np.intp]) -> None:
    """Give these nodes the parents they have in ``weights``."""
    start, parents = parent_lists(sp.csr_array(weights)[:, nodes])
    # In the sequence of the order, not of the table: sums then round alike, however the columns stand.
    whose, place = np.repeat(np.arange(len(nodes)), np.diff(start)), positions(_order(net, data.d).astype(np.intp))
    parents = parents[np.lexsort((place[parents], whose))]
    write(data.entries, net, nodes.astype(np.int32), start, parents)


def read(net: Network, d: int) -> Fits:
    """The network as arrays."""
    edges = net.edge_count()
    bounds, parents, weights = np.zeros(d + 1, np.int64), np.empty(edges, np.int32), np.empty(edges)
    variance, order = np.empty(d), _order(net, d)
    net.read(bounds[1:], parents, weights, variance)
    by_target = sp.csc_array((weights, parents, bounds.astype(np.int32)), shape=(d, d))
    return Fits(order.astype(np.intp), sp.csr_array(by_target), variance)


def outline(net: Network, d: int) -> tuple[Ints, Floats, Floats]:
    """The number of parents of each node, its residual variance, and its precision in the model."""
    counts, variances, precisions = np.empty(d, np.int32), np.empty(d), np.empty(d)
    net.outline(counts, variances, precisions)
    return counts, variances, precisions


def _order(net: Network, d: int) -> Ints:
    order = np.empty(d, np.int32)
    net.read_order(order)
    return order


def _knowledge(constraints: BoundConstraints) -> Knowledge:
    return Knowledge(*knowledge_lists(constraints))
