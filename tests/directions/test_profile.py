"""Profile differences: never above what one reversal costs, zero inside a class, and lowered by nothing better."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp

from psidag.directions.profile import Profile
from psidag.graph.dag import DAG
from psidag.graph.equivalence import cpdag
from psidag.system.parallel import SERIAL, workers


class Gaussian:
    """n log v + price · parents, from a covariance."""

    def __init__(self, S, n, price):
        self.S, self.n, self.price = S, n, price

    def costs(self, families):
        return np.array([self._cost(j, list(p)) for j, p in families])

    def _cost(self, j, p):
        S = self.S
        v = S[j, j] - (S[p, j] @ np.linalg.solve(S[np.ix_(p, p)], S[p, j]) if p else 0)
        return self.n * np.log(v) + self.price * len(p)


def problem(seed, d, n=400, density=0.5, price=6.0):
    rng = np.random.default_rng(seed)
    W = np.triu(rng.uniform(0.5, 1, (d, d)) * rng.choice([-1, 1], (d, d)) * (rng.random((d, d)) < density), 1)
    X = rng.normal(size=(n, d)) @ np.linalg.inv(np.eye(d) - W)
    return DAG.from_weights(W), Gaussian(np.cov(X.T, bias=True), n, price)


def parents_of(dag):
    columns = sp.csc_array(dag.weights)
    return [tuple(sorted(part.tolist())) for part in np.split(columns.indices, columns.indptr[1:-1])]


def total(score, parents):
    return score.costs(list(enumerate(parents))).sum()


def all_dags(d):
    pairs = [(i, j) for i in range(d) for j in range(i + 1, d)]
    for kinds in product((0, 1, 2), repeat=len(pairs)):
        parents = [[] for _ in range(d)]
        for (i, j), kind in zip(pairs, kinds, strict=True):
            if kind:
                parents[j if kind == 1 else i].append(i if kind == 1 else j)
        W = np.zeros((d, d))
        for j, p in enumerate(parents):
            W[p, j] = 1
        if not np.linalg.matrix_power(W, d).any():
            yield [tuple(sorted(p)) for p in parents]


ALL = [*all_dags(4)]


@pytest.mark.parametrize("seed", range(12))
def test_differences_are_those_of_the_best_graph_without_the_edge(seed):
    _, score = problem(seed, 4)
    costs = [total(score, parents) for parents in ALL]
    best = ALL[int(np.argmin(costs))]
    W = np.zeros((4, 4))
    for j, p in enumerate(best):
        W[list(p), j] = 1
    dag = DAG.from_weights(W)
    edges = [(i, j) for j, p in enumerate(best) for i in p]
    found = Profile(best, dag.order, mark=-np.inf).differences(score, edges, SERIAL)
    for (a, b), delta in zip(edges, found, strict=True):
        exact = min(cost for cost, parents in zip(costs, ALL, strict=True) if a not in parents[b]) - min(costs)
        assert delta >= exact - 1e-6
        assert delta <= exact + 25  # a local search, which may miss the best graph but not by far


@pytest.mark.parametrize("seed", range(6))
def test_inside_the_class_nothing_is_found_and_the_graph_is_left_alone(seed):
    dag, score = problem(seed, 7, density=0.3)
    either = cpdag(dag).toarray()
    parents = parents_of(dag)
    edges = [(i, j) for j, p in enumerate(parents) for i in p if either[j, i]]
    before = [tuple(p) for p in parents]
    found = Profile(parents, dag.order, mark=-np.inf).differences(score, edges, SERIAL)
    assert np.all(found <= 1e-6)
    assert parents == before


def test_threads_change_nothing_and_the_mark_only_saves_work():
    dag, score = problem(3, 12)
    edges = [(i, j) for j, p in enumerate(parents_of(dag)) for i in p]
    profile = Profile(parents_of(dag), dag.order, mark=-np.inf)
    exact = profile.differences(score, edges, SERIAL)
    with workers(2) as threads:
        np.testing.assert_array_equal(profile.differences(score, edges, threads), exact)
    marked = Profile(parents_of(dag), dag.order, mark=10.0).differences(score, edges, SERIAL)
    np.testing.assert_array_equal(marked >= 10, exact >= 10)


def test_knowledge_is_kept():
    dag, score = problem(4, 6)
    parents = parents_of(dag)
    edges = [(i, j) for j, p in enumerate(parents) for i in p]
    held = frozenset(edges)
    free = Profile(parents, dag.order, mark=-np.inf).differences(score, edges, SERIAL)
    for edge, delta in zip(edges, free, strict=True):
        bound = Profile(parents, dag.order, required=held - {edge}, mark=-np.inf)
        assert bound.differences(score, [edge], SERIAL)[0] >= delta - 1e-6
