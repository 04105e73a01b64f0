"""Profile differences: never above what one reversal costs, zero inside a class, and lowered by nothing better."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from psidag.directions.profile import Memory, Profile
from psidag.graph.dag import DAG
from psidag.graph.equivalence import cpdag
from psidag.system.parallel import SERIAL, workers
from support.all_dags import ALL, problem, total


def parents_of(dag):
    columns = sp.csc_array(dag.weights)
    return [tuple(sorted(part.tolist())) for part in np.split(columns.indices, columns.indptr[1:-1])]


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


@pytest.mark.parametrize("seed", range(4))
def test_what_is_remembered_is_what_would_be_found(seed):
    """Edges become required, and are so no longer: differences that this does not touch are not looked for again."""
    dag, score = problem(seed, 14, density=0.25)
    parents, rng = parents_of(dag), np.random.default_rng(seed)
    edges = [(i, j) for j, p in enumerate(parents) for i in p]
    memory = Memory()
    for _ in range(6):
        required = frozenset(edge for edge in edges if rng.random() < 0.3)
        options = {"required": required, "mark": 5.0, "allowed": lambda u, v: (u + v) % 5 != 0}
        fresh = Profile(parents, dag.order, **options)
        remembering = Profile(parents, dag.order, **options, memory=memory)
        np.testing.assert_array_equal(
            remembering.differences(score, edges, SERIAL, settled=False),
            fresh.differences(score, edges, SERIAL, settled=False),
        )
    assert set(memory.recall(required)) == set(edges)
    assert set(memory.recall(required ^ frozenset(edges))) < set(edges)
