"""Climbing by single edges: never up, never in a circle, never against knowledge; and back to the same graph."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from psidag.graph.constraints import Constraints, unconstrained
from psidag.graph.dag import default_names
from psidag.graph.order import topological_order
from psidag.stages._edges import Edges
from psidag.stages.profile import profile_difference, reversal
from psidag.stages.refinement import Climb, Costs, refine
from psidag.system.errors import InputError
from psidag.system.parallel import workers


class Gaussian:
    """n log v + price · parents, from a covariance."""

    def __init__(self, S, n, price):
        self.S, self.n, self.price = S, n, price

    def cost(self, node, parents):
        p = list(parents)
        v = self.S[node, node] - (self.S[p, node] @ np.linalg.solve(self.S[np.ix_(p, p)], self.S[p, node]) if p else 0)
        return self.n * math.log(v) + self.price * len(p)


def random_score(seed, d, price=4.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, d)) @ (np.eye(d) + np.triu(rng.normal(size=(d, d)) * (rng.random((d, d)) < 0.5), 1))
    return Gaussian(np.cov(X.T), 200, price)


def random_graph(seed, d, density=0.4):
    rng = np.random.default_rng([seed, 1])
    place = rng.permutation(d)
    return sp.csr_array((rng.random((d, d)) < density) & (place[:, None] < place[None, :]), dtype=float)


def all_dags(d):
    pairs = [(i, j) for i in range(d) for j in range(d) if i < j]
    for kinds in product((0, 1, 2), repeat=len(pairs)):
        W = np.zeros((d, d))
        for (i, j), kind in zip(pairs, kinds, strict=True):
            if kind:
                W[(i, j) if kind == 1 else (j, i)] = 1
        try:
            topological_order(W)
        except InputError:
            continue
        yield W


def total(score, W):
    return sum(score.cost(j, tuple(np.flatnonzero(W[:, j]).tolist())) for j in range(len(W)))


@given(st.integers(0, 10**6), st.integers(2, 7))
@settings(max_examples=40, deadline=None)
def test_a_climb_never_raises_the_score_and_stays_a_dag(seed, d):
    score, start = random_score(seed, d), random_graph(seed, d)
    climb = Climb(score, start, unconstrained(default_names(d)))
    before = climb.total()
    while climb.round():
        now = climb.total()
        assert now < before
        before = now
    W = climb.graph().toarray()
    topological_order(W)
    assert before == pytest.approx(total(score, W))
    place = np.argsort(climb.order())
    assert all(place[i] < place[j] for i, j in zip(*W.nonzero(), strict=True))


@given(st.integers(0, 10**6), st.integers(2, 7))
@settings(max_examples=25, deadline=None)
def test_at_its_end_no_single_edge_pays(seed, d):
    score = random_score(seed, d)
    W = refine(score, random_graph(seed, d), unconstrained(default_names(d))).toarray()
    here = total(score, W)
    for i, j in zip(*W.nonzero(), strict=True):
        for turned in (0.0, 1.0):
            other = W.copy()
            other[i, j], other[j, i] = 0.0, turned
            try:
                topological_order(other)
            except InputError:
                continue
            assert total(score, other) > here - 1e-5


def test_idle_edges_go_but_for_required_ones():
    class Idle:
        def cost(self, node, parents):
            return 0.0

        def idle(self, node, parents):
            return [i for i in parents if i < 2]

    known = Constraints(required_edges=[("x0", "x3")]).bind(default_names(4))
    climb = Climb(Idle(), sp.csr_array(np.triu(np.ones((4, 4)), 1)), known)
    assert climb.drop_idle() == 4
    assert sorted(zip(*climb.graph().nonzero(), strict=True)) == [(0, 3), (2, 3)]


@given(st.integers(0, 10**6))
@settings(max_examples=10, deadline=None)
def test_prior_knowledge_holds_throughout(seed):
    d = 6
    known = Constraints(
        required_edges=[("x0", "x3")], forbidden_edges=[("x1", "x2"), ("x2", "x1")], tiers=[["x0"], ["x4", "x3"]]
    ).bind(default_names(d))
    W = refine(random_score(seed, d, 1.0), known.required_matrix, known).toarray()
    assert (W[0, 3], W[1, 2], W[2, 1]) == (1, 0, 0)
    climb = Climb(random_score(seed, d), sp.csr_array(W), known)
    assert known.respects(climb.order())
    assert profile_difference(climb, 0, 3) == math.inf


def test_a_graph_against_prior_knowledge_is_refused():
    known = Constraints(forbidden_edges=[("x0", "x1")]).bind(default_names(2))
    with pytest.raises(InputError, match="forbidden edge 'x0' -> 'x1'"):
        Climb(random_score(0, 2), sp.csr_array([[0, 1], [0, 0]]), known)


@given(st.integers(0, 10**6), st.integers(3, 8))
@settings(max_examples=25, deadline=None)
def test_a_profile_difference_leaves_the_graph_as_it_was(seed, d):
    climb = Climb(random_score(seed, d), random_graph(seed, d, 0.6), unconstrained(default_names(d)))
    before = climb.graph().toarray()
    for i, j in zip(*map(np.ndarray.tolist, before.nonzero()), strict=True):
        alone, searched = reversal(climb, i, j), profile_difference(climb, i, j)
        assert searched <= alone + 1e-9
        assert np.array_equal(climb.graph().toarray(), before)
        if math.isfinite(alone):
            assert profile_difference(climb, i, j, enough=alone) == alone


def test_profile_differences_of_small_graphs_are_mostly_those_of_all_graphs():
    d, exact = 4, []
    dags = list(all_dags(d))
    for seed in range(8):
        score = random_score(seed, d)
        costs = [total(score, W) for W in dags]
        W = dags[int(np.argmin(costs))]
        climb = Climb(score, sp.csr_array(W), unconstrained(default_names(d)))
        for i, j in zip(*map(np.ndarray.tolist, W.nonzero()), strict=True):
            least = min(cost for cost, other in zip(costs, dags, strict=True) if not other[i, j]) - min(costs)
            found = profile_difference(climb, i, j)
            assert found > least - 1e-6
            exact.append(found < least + 1e-6)
    assert np.mean(exact) > 0.7


def test_threads_do_not_change_the_result():
    score, start = random_score(3, 40), random_graph(3, 40, 0.1)
    found = []
    for jobs in (1, 2):
        with workers(jobs) as threads:
            found.append(refine(score, start, unconstrained(default_names(40)), threads).toarray())
    assert np.array_equal(*found)


def test_costs_are_asked_for_once():
    asked = []

    class Counted(Gaussian):
        def cost(self, node, parents):
            asked.append((node, parents))
            return super().cost(node, parents)

    score = Counted(random_score(0, 5).S, 200, 4.0)
    costs = Costs(score)
    costs.fetch([(0, (1,)), (0, (1,)), (1, ())])
    assert costs(0, (1,)) == costs(0, (1,))
    assert len(asked) == len(set(asked)) == 2


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), st.booleans()), max_size=60))
@settings(max_examples=60, deadline=None)
def test_edges_that_come_and_go_never_close_a_cycle(steps):
    d = 8
    edges, W = (
        Edges(d, np.arange(d, dtype=np.int32), np.zeros(d + 1, np.int32), np.empty(0, np.int32)),
        np.zeros((d, d)),
    )
    for i, j, comes in steps:
        if comes:
            paths = np.linalg.matrix_power(np.eye(d) + W, d) > 0
            assert edges.leads(j, i) == (i != j and bool(paths[j, i]))
            added = edges.add(i, j)
            assert added == (i != j and not paths[j, i])
            W[i, j] = max(W[i, j], added)
        else:
            edges.remove(i, j)
            W[i, j] = 0
        assert all(edges.parents(v) == tuple(np.flatnonzero(W[:, v])) for v in range(d))
        assert all(edges.children(v) == tuple(np.flatnonzero(W[v])) for v in range(d))
        place = np.argsort(edges.order_of())
        assert all(place[a] < place[b] for a, b in zip(*W.nonzero(), strict=True))
