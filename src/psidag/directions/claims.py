"""The partially directed graph of a learned DAG: which of its arrows are claimed, why, and how surely."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import chdtri

from psidag.data.checks import NEARLY_DETERMINED
from psidag.data.correlations import Correlations
from psidag.directions import exact
from psidag.directions.again import search_again
from psidag.directions.calibration import CURVES, MARK, ODDS, discoveries
from psidag.directions.experiment import Experiment
from psidag.directions.independence import PairTests, has_shape, noises, pair_tests, thinned
from psidag.directions.profile import Costs, Memory, Profile
from psidag.graph.constraints import BoundConstraints
from psidag.graph.dag import DAG
from psidag.graph.orientation import close, known_directions, markov_class, open_colliders
from psidag.graph.partial import CONFLICT, NOTHING, REASONS, PartialGraph, Reason
from psidag.scores.nearly_equal import Prior, estimate_prior
from psidag.scores.residual_score import ResidualScore, Sample
from psidag.stages.refinement import without
from psidag.system.parallel import Workers

Floats = NDArray[np.float64]

#: Up to this many columns a graph can be rearranged as a whole around one edge: then all of it is searched again.
_WHOLE = 40
#: Up to this many edges that other sources direct are looked at for a contradiction by shape.
_MOST_DOUBTED = 500
#: A difference this far above the mark is only bounded.
_FAR_ABOVE = 100.0
#: How many values of a sample's variance a value of its median deviation is worth.
_MEDIAN_DEVIATION = 0.37
#: The spread of the logarithms of variances is not taken to be less than this.
_LEAST_SPREAD = 0.01


@dataclass(frozen=True, eq=False)
class Grounds:
    """What directions may rest on.

    Attributes
    ----------
    data : Correlations
        The statistic of the table.
    price : float
        Of one edge under the scores.
    equal : bool
        Whether noise variances were found to be equal; then they can direct edges.
    rows : array of shape (n, d), optional
        The table, without missing values. Without it the shape of the noise is not looked at.
    weight : array of shape (n,), optional
        Weights of the rows.
    shaped : boolean array of shape (d,), optional
        The columns whose noise is not Gaussian; by default none are, and shape directs nothing.
    apart : mapping of int to tuple of int
        Neighbours without shape of columns with it, as :class:`~psidag.scores.residual_score.ResidualScore` takes them.
    in_order : boolean array of shape (d,), optional
        The columns whose noise follows the order of the rows: between two of them only knowledge and interventions
        direct. By default there are none.
    settled : bool
        Whether the DAG is the best around under the unequal score of these data.
    experiment : Experiment, optional
        The rows by what was set in them, where something was: then every score is that of the rows in which a node was
        left alone, and ``rows`` are those in which nothing was set.
    """

    data: Correlations
    price: float
    equal: bool = False
    rows: NDArray[Any] | None = None
    weight: Floats | None = None
    shaped: NDArray[np.bool_] | None = None
    apart: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    in_order: NDArray[np.bool_] | None = None
    settled: bool = True
    experiment: Experiment | None = None

    @property
    def of_shape(self) -> NDArray[np.bool_]:
        """The columns whose noise can direct edges by its shape."""
        return np.zeros(self.data.d, dtype=bool) if self.rows is None or self.shaped is None else self.shaped

    @property
    def by_shape(self) -> bool:
        """Whether there are any."""
        return bool(self.of_shape.any())


def claim_directions(dag: DAG, grounds: Grounds, constraints: BoundConstraints, workers: Workers) -> PartialGraph:
    """Which edges of a DAG are directed, because of what, and with what evidence.

    Each source of direction is asked in turn: prior knowledge; colliders, by the unequal score, for the edges that the
    equivalence class of the DAG directs; interventions, for the edges that they tell; equal variances, by a score with
    a prior on their spread; the shape of the noise, by its score and by tests of independence. An edge is directed by
    the first of them whose evidence passes the mark of 95 %; sources above the mark in opposite directions leave it
    undirected, because of a conflict. What then follows by the rules of orientation is directed too. Where the noise of
    both ends follows the order of the rows, what the rows have in common may be behind it: neither colliders nor
    variances nor shape are then a reason.

    Parameters
    ----------
    dag : DAG
        The learned graph.
    grounds : Grounds
        The data, and what was found out about the noise.
    constraints : BoundConstraints
        Prior knowledge, which the DAG satisfies.
    workers : Workers
        Threads; they do not change the result.
    """
    return _Claims(dag, grounds, constraints, workers).graph()


@dataclass(eq=False)
class _Claims:
    dag: DAG
    grounds: Grounds
    known: BoundConstraints
    workers: Workers

    def __post_init__(self) -> None:
        edges = self.dag.weights.tocoo()
        self.sources, self.targets = edges.row.astype(np.intp), edges.col.astype(np.intp)
        count = len(self.sources)
        self.reason = np.full(count, NOTHING, dtype=np.int8)
        self.delta, self.probability = np.zeros(count), np.full(count, 0.5)
        self.against = np.zeros(count, dtype=bool)
        """Edges that a source has surely the other way."""
        in_order = self.grounds.in_order
        self.in_order = np.zeros(count, bool) if in_order is None else in_order[self.sources] & in_order[self.targets]
        """Edges whose ends both follow the order of the rows."""
        self._memory = Memory()

    def graph(self) -> PartialGraph:
        """Ask all sources, and draw the conclusions."""
        self._by_knowledge()
        self._by_colliders()
        if self.grounds.experiment is not None:
            self._by_interventions(self.grounds.experiment)
        if self.grounds.equal:
            self._by_equal_variances()
        if self.grounds.rows is not None and self.grounds.by_shape:
            self._by_shape(thinned(self.grounds.rows), self.grounds.of_shape)
        self.settle()
        return self._closed()

    def settle(self) -> None:
        """What one source claims and another is surely against is a conflict."""
        self.reason[self.against & (self.reason != NOTHING)] = CONFLICT

    def _by_knowledge(self) -> None:
        bare = PartialGraph.from_arrays(self.dag.names, self.sources, self.targets, False)
        if self.known.empty:
            return
        pairs = known_directions(bare, self.known)
        rows = self._rows(pairs[:, 0], pairs[:, 1])
        rows = rows[rows >= 0]
        self.reason[rows] = REASONS.index("knowledge")
        self.delta[rows], self.probability[rows] = np.inf, 1.0

    def _by_colliders(self) -> None:
        classes = markov_class(self.dag)
        compelled = classes.directed[classes.rows_of(self.dag)]
        rows = np.flatnonzero(compelled & (self.reason == NOTHING))
        self._claim("collider", rows, *self._collider_evidence(rows, self.known))

    def _by_interventions(self, experiment: Experiment) -> None:
        settings = experiment.settings
        told = np.array([settings.tells(*pair) for pair in self._pairs(np.arange(len(self.sources)))], dtype=bool)
        rows = np.flatnonzero(told & (self.reason == NOTHING))
        self._claim("intervention", rows, *self._collider_evidence(rows, self.known))

    def _score(self, prior: Prior | None = None, shaped: NDArray[np.bool_] | None = None) -> Costs:
        """The score of unequal variances, with what else is known of the noise."""
        if self.grounds.experiment is not None:
            return self.grounds.experiment.score(prior, shaped)
        return ResidualScore(self._sample, self.grounds.price, prior=prior, shaped=shaped, apart=self.grounds.apart)

    def _collider_evidence(self, rows: NDArray[np.intp], known: BoundConstraints) -> tuple[Floats, Floats]:
        """Δ of the unequal score, which alone can tell colliders from chains, and what is made of it."""
        score = self._score()
        if self.dag.d <= exact.MOST:
            return self._over_all_graphs(score, rows, known)
        settled = self.grounds.settled and not (self.grounds.equal or self.grounds.by_shape)
        profile = replace(self._profile, required=_pairs(known.required), memory=self._memory)
        delta = self._differences("collider", score, rows, settled=settled, profile=profile)
        if self.dag.d <= _WHOLE:
            mark = CURVES["collider"].mark
            pairs = self._pairs(rows)
            delta = search_again(self.dag, self.grounds.data, score, pairs, delta, mark, known, self.workers)
        return delta, CURVES["collider"](delta)

    def _over_all_graphs(self, score: Costs, rows: NDArray[np.intp], known: BoundConstraints) -> tuple[Floats, Floats]:
        """Δ to the best of all graphs, and the probability from the odds over all of them."""
        graphs = exact.AllGraphs(score, known)
        price, pairs = self.grounds.price, self._pairs(rows)
        likely = exact.likely_price(price, self.grounds.data.count, self.dag.d, self.dag.n_edges)
        return graphs.differences(pairs), ODDS(graphs.log_odds(pairs, price - likely))

    def _by_equal_variances(self) -> None:
        rows = np.flatnonzero(self.reason == NOTHING)
        score = self._score(self._prior)
        delta = self._differences("equal variances", score, rows, settled=False)
        self._claim("equal variances", rows, delta, CURVES["equal variances"](delta))

    @cached_property
    def _prior(self) -> Prior | None:
        """The prior on variances where they are equal, with the largest spread that is not contradicted at 10 %."""
        if not self.grounds.equal:
            return None
        families = list(enumerate(self._profile.parents))
        if self.grounds.experiment is not None:
            variance = self.grounds.experiment.score().residual_variance(families)
        else:
            nodes, shares, _ = ResidualScore(self._sample, self.grounds.price).residuals(families)
            variance = np.exp(shares) * self._sample.variance[nodes]
        found = estimate_prior(variance, self.grounds.data.count)
        # A median deviation tells about as much as the variance of 0.37 times as many values.
        free = _MEDIAN_DEVIATION * max(len(families) - 1, 1)
        most = (found.spread2 + found.error2) * free / float(chdtri(free, 0.9)) - found.error2
        return found._replace(spread2=max(most, _LEAST_SPREAD**2))

    def _by_shape(self, few: Floats, noise: NDArray[np.bool_]) -> None:
        shaped = noise & np.array([has_shape(few[:, j]) for j in range(self.dag.d)])
        touched = shaped[self.sources] & shaped[self.targets]
        rows = np.flatnonzero(touched & (self.reason == NOTHING))
        directed = np.flatnonzero(touched & (self.reason > REASONS.index("knowledge")))
        if len(directed) <= _MOST_DOUBTED:
            rows = np.sort(np.concatenate([rows, directed]))
        tests, tested = self._tests(few, rows)
        rows, claims = rows[tested], tests.claims
        self.against[rows[claims < 0]] = True
        inside = self.reason[rows] == NOTHING
        # False claims are bounded over all edges that nothing else directs, whether they can be tested or not.
        p_values = np.ones(int(np.sum(self.reason == NOTHING)))
        p_values[: int(inside.sum())] = tests.smooth_p[inside, 1]
        rejected = discoveries(p_values)[: int(inside.sum())]
        chosen = rows[inside][rejected & (claims[inside] > 0)]
        score = self._score(self._prior, noise)
        delta = self._differences("shape", score, chosen, settled=not self.grounds.equal)
        self._claim("shape", chosen, delta, CURVES["shape"](delta))

    def _tests(self, few: Floats, rows: NDArray[np.intp]) -> tuple[PairTests, NDArray[np.bool_]]:
        given = []
        for a, b in self._pairs(rows):
            parents = self._profile.parents
            shared = {*parents[a], *parents[b]} - {a} - self._profile.between(a, b)
            given.append(tuple(sorted(shared)))
        x, y, left = noises(few, self.sources[rows], self.targets[rows], given)
        return pair_tests(x[left], y[left], self.workers), left

    def _differences(
        self, reason: Reason, score: Costs, rows: NDArray[np.intp], *, settled: bool, profile: Profile | None = None
    ) -> Floats:
        mark = CURVES[reason].mark
        profile = replace(profile or self._profile, mark=mark, enough=mark + _FAR_ABOVE)
        return profile.differences(score, self._pairs(rows), self.workers, settled=settled)

    @cached_property
    def _interchangeable(self) -> NDArray[np.bool_]:
        """Edges of columns that the others of a group determine but for next to nothing, such as parts and their sum.

        Any of a group could be written as the effect of the others, and its neighbours would be neighbours of these:
        neither colliders nor shape tell which one is.
        """
        score, parents = ResidualScore(self._sample, self.grounds.price), self._profile.parents
        determined = np.log(NEARLY_DETERMINED)
        nodes, shares, _ = score.residuals(list(enumerate(parents)))
        members = np.zeros(self.dag.d, dtype=bool)
        for node in nodes[shares < determined].tolist():
            fewer = [(node, without(parents[node], parent)) for parent in parents[node]]
            needed = score.residuals(fewer)[1] >= determined
            members[[node, *np.array(parents[node])[needed].tolist()]] = True
        return np.asarray(members[self.sources] | members[self.targets])

    def _claim(self, reason: Reason, rows: NDArray[np.intp], delta: Floats, probability: Floats) -> None:
        """Keep the evidence, the claims that it supports, and what it is surely against, whoever claims that."""
        if reason != "intervention":
            left = ~self.in_order[rows]
            if reason != "equal variances":
                left &= ~self._interchangeable[rows]
            rows, delta, probability = rows[left], delta[left], probability[left]
        claimed = probability >= MARK
        kept = claimed | (np.abs(delta) > np.abs(self.delta[rows]))
        self.delta[rows[kept]], self.probability[rows[kept]] = delta[kept], probability[kept]
        self.reason[rows[claimed]] = REASONS.index(reason)
        self.against[rows[probability <= 1 - MARK]] = True

    def _closed(self) -> PartialGraph:
        """The graph with what follows from its directions, as far as the data bear that out.

        From x → c follows c → y, for y joined to c and not to x, only if the data rule out the collider x → c ← y.
        Where they do not, x → c is not claimed either: it would decide what the data leave open. If x → c is known, it
        stays, and c → y is as sure as the data make it; c – y is open where they speak for the collider. In experiments
        all that is claimed stays, since each direction was put to the test, and c – y is open.
        """
        left_open: set[tuple[int, int, int]] = set()
        stays = (self.reason == REASONS.index("knowledge")) | (self.grounds.experiment is not None)
        while True:
            graph = self._concluded(left_open)
            rows = self._rows(graph.sources[graph.derived], graph.targets[graph.derived])
            given = _pairs(np.stack([graph.sources, graph.targets], axis=1)[graph.directed & ~graph.derived])
            at = graph.find(self.sources, self.targets)
            directed, derived = graph.directed[at].tolist(), graph.derived[at].tolist()
            premises = [self._premises(row, directed, derived) for row in rows.tolist()]
            held = replace(self.known, required=np.array(sorted(given), dtype=np.intp).reshape(-1, 2))
            follows = np.array([bool(each) for each in premises], dtype=bool)
            if not follows.any():
                return graph
            delta, probability = self._collider_evidence(rows[follows], held)
            rows, premises = rows[follows], [each for each in premises if each]
            demoted = {x: k for k in np.flatnonzero(probability < MARK).tolist() for x in premises[k] if not stays[x]}
            for x, k in demoted.items():
                self.reason[x], self.delta[x], self.probability[x] = NOTHING, delta[k], probability[k]
            if demoted:
                continue
            weak = probability < np.where(graph.reason[at[rows]] == REASONS.index("knowledge"), 0.5, MARK)
            avoided = {
                (min(x, y), c, max(x, y))
                for c, y in self._pairs(rows[weak])
                for x in self._profile.parents[c]
                if x not in self._joined[y]
            }
            if avoided <= left_open:
                return _no_surer(graph, at[rows], delta, probability)
            left_open |= avoided
            self.delta[rows[weak]], self.probability[rows[weak]] = delta[weak], probability[weak]

    def _concluded(self, left_open: set[tuple[int, int, int]]) -> PartialGraph:
        directed = (self.reason >= 0) & (self.reason < CONFLICT)
        graph = PartialGraph.from_arrays(
            self.dag.names, self.sources, self.targets, directed, self.reason, self.delta, self.probability
        )
        return close(graph, self.known, open_colliders(graph, self.dag) | left_open)

    def _premises(self, row: int, directed: list[bool], derived: list[bool]) -> list[int]:
        """The claimed edges x → c from which c → y can follow; through derived ones, what they follow from."""
        found: list[int] = []
        waiting, seen = [row], {row}
        while waiting:
            edge = waiting.pop()
            c, y = int(self.sources[edge]), int(self.targets[edge])
            for x in self._profile.parents[c]:
                premise = self._index[x, c]
                if x in self._joined[y] or premise in seen or not directed[premise]:
                    continue
                seen.add(premise)
                (waiting if derived[premise] else found).append(premise)
        return found

    @cached_property
    def _joined(self) -> list[set[int]]:
        joined: list[set[int]] = [set(parents) for parents in self._profile.parents]
        for i, j in self._pairs(np.arange(len(self.sources))):
            joined[i].add(j)
        return joined

    @cached_property
    def _index(self) -> dict[tuple[int, int], int]:
        return {pair: k for k, pair in enumerate(self._pairs(np.arange(len(self.sources))))}

    @cached_property
    def _sample(self) -> Sample:
        rows = self.grounds.rows if self.grounds.by_shape else None
        return Sample.of(self.grounds.data, rows, self.grounds.weight)

    @cached_property
    def _profile(self) -> Profile:
        columns = sp.csc_array(self.dag.weights)
        parents = [tuple(sorted(part.tolist())) for part in np.split(columns.indices, columns.indptr[1:-1])]
        return Profile(parents, self.dag.order, self.known.permits, _pairs(self.known.required))

    def _pairs(self, rows: NDArray[np.intp]) -> list[tuple[int, int]]:
        return list(zip(self.sources[rows].tolist(), self.targets[rows].tolist(), strict=True))

    def _rows(self, sources: NDArray[np.intp], targets: NDArray[np.intp]) -> NDArray[np.intp]:
        pairs = zip(sources.tolist(), targets.tolist(), strict=True)
        return np.array([self._index.get(pair, -1) for pair in pairs], dtype=np.intp)


def _pairs(edges: NDArray[np.intp]) -> frozenset[tuple[int, int]]:
    return frozenset((int(i), int(j)) for i, j in edges)


def _no_surer(graph: PartialGraph, rows: NDArray[np.intp], delta: Floats, probability: Floats) -> PartialGraph:
    """The graph with what follows from its directions no surer than the data are that it does follow."""
    least, surely = graph.delta.copy(), graph.probability.copy()
    known = (graph.reason[rows] == REASONS.index("knowledge")) & (probability >= 0.5)
    least[rows[known]], surely[rows[known]] = delta[known], probability[known]
    return replace(graph, delta=least, probability=surely)
