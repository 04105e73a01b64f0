"""Two edges at once: what single ones cannot reach, and that nothing of the kind is left when a search has ended."""

import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp

from psidag.data.correlations import correlations
from psidag.data.sources import Table
from psidag.engines.moves import Objective, assign_parents, read, required_network, set_score
from psidag.engines.sparse import Sparse
from psidag.graph.constraints import Constraints, unconstrained
from psidag.run.loop import Task, run
from psidag.scores.named import as_score
from psidag.search._network import change_pairs
from psidag.simulate import simulate
from psidag.system.parallel import workers

NOISES = ["equal", "unequal"]
PENALTY = 8.0


def network(X, noise, edges=(), known=None):
    """Correlations and a network of these edges, the columns in their order."""
    names = [f"x{i}" for i in range(X.shape[1])]
    known = known or unconstrained(names)
    with workers(1) as pool:
        data = correlations(Table(X, names), pool)
    net = required_network(data, np.arange(data.d), known)
    W = sp.lil_array((data.d, data.d))
    for i, j in edges:
        W[i, j] = 1.0
    assign_parents(data, net, W.tocsr(), np.arange(data.d))
    set_score(data, net, Objective(as_score(noise), data.count, PENALTY, 50), 5.0, 8)
    return data, net


def changed(data, net, j):
    """Whether two edges into a node were changed, however much work that takes."""
    return change_pairs(data.entries, net, np.array([j], np.int32), 1 << 40, True)


def parents_of(net, d, j):
    return set(read(net, d).weights.tocsc()[:, [j]].nonzero()[0].tolist())


def opposed(n=400):
    """A cause, an effect of it, and one of both whose two parents cancel but for what is new in the second."""
    rng = np.random.default_rng(0)
    one = rng.normal(size=n)
    two = one + 0.1 * rng.normal(size=n)
    rest = rng.normal(size=(n, 3))
    return np.column_stack([one, two, rest, 8 * (two - one) + rng.normal(size=n)])


@pytest.mark.parametrize("noise", NOISES)
def test_two_parents_come_in_of_which_neither_pays_alone(noise):
    X = opposed()
    data, net = network(X, noise, [(0, 1)])
    none = score(data, noise, (), 1.0, 5)
    assert all(score(data, noise, {i}, 1.0, 5) > none for i in range(5))
    assert changed(data, net, 5) == 1
    net.check(data.entries)
    assert parents_of(net, 6, 5) == {0, 1}


@pytest.mark.parametrize("noise", NOISES)
def test_a_parent_takes_the_place_of_another(noise):
    rng = np.random.default_rng(1)
    cause = rng.normal(size=1000)
    stand_in = cause + 0.1 * rng.normal(size=1000)
    effect = 0.5 * cause + rng.normal(size=1000)
    X = np.column_stack([cause, stand_in, effect, rng.normal(size=(1000, 2))])
    data, net = network(X, noise, [(0, 1), (1, 2)])
    assert parents_of(net, 5, 2) == {1}
    assert changed(data, net, 2) == 1
    net.check(data.entries)
    assert parents_of(net, 5, 2) == {0}


@pytest.mark.parametrize("noise", NOISES)
def test_two_parents_take_the_place_of_one(noise):
    rng = np.random.default_rng(2)
    x, y, u, e, *others = np.linalg.qr(rng.normal(size=(400, 14)))[0].T * 20
    # Beside the stand-in each of these ten says more than a cause alone, and none of them enough.
    others = [0.1 * e + math.sqrt(0.99) * other for other in others]
    X = np.column_stack([x, y, x + y + 0.25 * u, x + y + e, *others])
    data, net = network(X - X.mean(axis=0), noise, [(0, 2), (1, 2), (2, 3)])
    assert parents_of(net, data.d, 3) == {2}
    assert changed(data, net, 3) == 1
    net.check(data.entries)
    assert parents_of(net, data.d, 3) == {0, 1}


def test_who_was_looked_at_is_passed_over_until_its_parents_change():
    X = opposed()[:, [5, 0, 1, 2, 3, 4]]
    data, net = network(X, "unequal", [(0, 1), (1, 2)])
    node = np.array([0], np.int32)
    assert change_pairs(data.entries, net, node, 1 << 40, False) == 0  # both causes stand below their effect
    W = sp.csr_array(([1.0], ([1], [2])), shape=(6, 6))
    assign_parents(data, net, W, np.arange(6))
    assert change_pairs(data.entries, net, node, 1 << 40, False) == 0
    assert change_pairs(data.entries, net, node, 1 << 40, True) == 1
    assert parents_of(net, 6, 0) == {1, 2}


def test_what_is_known_stands():
    X = opposed()
    names = [f"x{i}" for i in range(6)]
    known = Constraints(forbidden_edges=[("x0", "x5")]).bind(names)
    data, net = network(X, "unequal", [(0, 1)], known)
    changed(data, net, 5)
    assert 0 not in parents_of(net, 6, 5)


def score(data, noise, parents, sigma2, j):
    """What a node costs, from scratch."""
    P = sorted(parents)
    v = data.matrix[j, j]
    if P:
        v -= data.matrix[j, P] @ np.linalg.solve(data.matrix[np.ix_(P, P)], data.matrix[P, j])
    fit = math.log(v) if noise == "unequal" else v * data.variance[j] / sigma2
    return data.count * fit + PENALTY * len(P)


@pytest.mark.parametrize("noise", NOISES)
def test_nothing_of_the_kind_is_left_at_the_end_of_a_search(noise):
    for seed in range(8):
        X = simulate("ER3", n=200, d=8, seed=seed, ranges=((-2.0, -0.1), (0.1, 2.0))).X
        source = Table(X, [f"x{i}" for i in range(8)])
        with workers(1) as pool:
            rng = np.random.default_rng(seed)
            task = Task(source, unconstrained(source.names), rng, pool, as_score(noise))
            found = run(Sparse(restarts=0, penalty=PENALTY), task).candidate.weights.toarray() != 0
            data = correlations(source, pool)
        reach = found.copy()
        for _ in range(3):
            reach |= (reach.astype(int) @ reach.astype(int)) > 0
        sets = [set(np.flatnonzero(found[:, j]).tolist()) for j in range(8)]
        v = [np.exp((score(data, "unequal", sets[j], 1, j) - PENALTY * len(sets[j])) / data.count) for j in range(8)]
        sigma2 = float(np.mean(np.array(v) * data.variance))
        for j in range(8):
            now = score(data, noise, sets[j], sigma2, j)
            free = [i for i in range(8) if i != j and not reach[j, i] and i not in sets[j]]
            pairs = [sets[j] | set(two) for two in itertools.combinations(free, 2)]
            others = [sets[j] - {out} | {i} for out in sets[j] for i in free]
            assert all(score(data, noise, each, sigma2, j) > now - 1e-5 for each in pairs + others)
