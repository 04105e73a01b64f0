"""All graphs at once: the differences and odds that a list of all DAGs gives."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

from psidag import Constraints
from psidag.directions.exact import AllGraphs, likely_price
from psidag.graph.constraints import unconstrained
from psidag.graph.order import topological_order
from support.all_dags import ALL, problem, total

NAMES = ("a", "b", "c", "d")
PAIRS = [(i, j) for i in range(4) for j in range(4) if i != j]


def orders(parents):
    """How many orders a DAG has."""

    def count(left):
        ready = [v for v in left if not left & set(parents[v])]
        return sum(count(left - {v}) for v in ready) if left else 1

    return count(frozenset(range(len(parents))))


@pytest.mark.parametrize("seed", range(4))
def test_differences_and_odds_are_those_of_all_graphs(seed):
    _, score = problem(seed, 4)
    graphs = AllGraphs(score, unconstrained(NAMES))
    costs = np.array([total(score, parents) for parents in ALL])
    weights = np.log([orders(parents) for parents in ALL]) - costs / 2
    for (a, b), delta, odds in zip(PAIRS, graphs.differences(PAIRS), graphs.log_odds(PAIRS), strict=True):
        there = np.array([a in parents[b] for parents in ALL])
        assert delta == pytest.approx(costs[~there].min() - costs[there].min())
        assert odds == pytest.approx(logsumexp(weights[there]) - logsumexp(weights[~there]), abs=1e-6)


def test_cheaper_edges_lower_the_price_in_the_score():
    _, dear = problem(1, 4, price=9.0)
    _, cheap = problem(1, 4, price=5.0)
    known = unconstrained(NAMES)
    lowered = AllGraphs(dear, known).log_odds(PAIRS, cheaper=4.0)
    np.testing.assert_allclose(lowered, AllGraphs(cheap, known).log_odds(PAIRS), atol=1e-8)


def _satisfies(parents, known):
    if any(i not in parents[j] for i, j in known.required) or any(i in parents[j] for i, j in known.forbidden):
        return False
    after = np.zeros((4, 4))
    for j, p in enumerate(parents):
        after[list(p), j] = 1
    later = (known.tier[:, None] >= 0) & (known.tier[:, None] < known.tier[None, :])
    try:
        topological_order(after + later)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(
    "given",
    [
        Constraints(required_edges=[("a", "c")]),
        Constraints(forbidden_edges=[("a", "b"), ("d", "c")]),
        Constraints(tiers=[["c"], ["a"]]),
        Constraints(required_edges=[("d", "b")], tiers=[["c", "d"], ["a", "b"]]),
    ],
)
def test_knowledge_rules_graphs_out(given):
    known = given.bind(NAMES)
    _, score = problem(2, 4)
    kept = [parents for parents in ALL if _satisfies(parents, known)]
    costs = np.array([total(score, parents) for parents in kept])
    open_pairs = [(a, b) for a, b in PAIRS if 0 < sum(a in parents[b] for parents in kept) < len(kept)]
    for (a, b), delta in zip(open_pairs, AllGraphs(score, known).differences(open_pairs), strict=True):
        there = np.array([a in parents[b] for parents in kept])
        assert delta == pytest.approx(costs[~there].min() - costs[there].min())


def test_the_price_follows_the_density_and_never_exceeds_that_of_the_search():
    prices = [likely_price(8.0, 100, 10, edges) for edges in range(46)]
    assert prices[0] == 8.0
    assert np.all(np.diff(prices) <= 0)
    assert prices[-1] >= 2.0
