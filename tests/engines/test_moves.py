"""The moves of the sparse search: each against plain NumPy, and none that raises the score or breaks the DAG."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from psidag.data.correlations import correlations
from psidag.data.sources import Table
from psidag.engines.moves import (
    Fits,
    Objective,
    add_edges,
    assign_parents,
    grown_order,
    outline,
    read,
    required_network,
    set_score,
)
from psidag.engines.polishing import polish_hubs
from psidag.graph.constraints import unconstrained
from psidag.graph.equivalence import cpdag
from psidag.graph.order import positions
from psidag.scores.gaussian import UNEQUAL
from psidag.scores.named import as_score
from psidag.search._network import drain, resample
from psidag.stages.within_order import select_within
from psidag.system.parallel import workers
from support.awkward import knowledge
from support.exact import residual_variance

NOISES = ["equal", "unequal"]


def table(seed, n=300, d=9, density=0.35):
    rng = np.random.default_rng(seed)
    W = np.triu(rng.uniform(0.3, 1, (d, d)) * rng.choice([-1, 1], (d, d)) * (rng.random((d, d)) < density), 1)
    X = rng.normal(size=(n, d)) @ np.linalg.inv(np.eye(d) - W)
    X = X[:, rng.permutation(d)]
    return Table(X, [f"x{i}" for i in range(d)])


def prepared(seed, noise="equal", penalty=9.0, order=None, known=None, d=9):
    """Correlations, and a network of parents selected within an order."""
    source = table(seed, d=d)
    known = unconstrained(source.names) if known is None else known
    with workers(1) as threads:
        data = correlations(source, threads)
        order = known.nearest_order(np.random.default_rng(seed).permutation(d)) if order is None else order
        net = required_network(data, order, known)
        start = select_within(data.matrix, data.count, order, threads, penalty=penalty, constraints=known)
    assign_parents(data, net, start.weights, np.arange(d))
    set_score(data, net, Objective(as_score(noise), data.count, penalty, 50), 5.0, 8)
    return data, net


def variance(C, j, parents):
    parents = list(parents)
    if not parents:
        return C[j, j]
    return C[j, j] - C[j, parents] @ np.linalg.solve(C[np.ix_(parents, parents)], C[parents, j])


def total(data, W, noise, penalty, sigma2):
    """The score in NumPy."""
    value = penalty * W.nnz
    for j in range(data.d):
        v = variance(data.matrix, j, W[:, [j]].nonzero()[0])
        value += data.count * (v * data.variance[j] / sigma2 if noise == "equal" else math.log(v))
    return value


def common(data, fits):
    return float(np.mean(fits.residual_variance * data.variance))


def assert_sound(data, net):
    """Edges point forward and regressions are what NumPy says they are."""
    fits = read(net, data.d)
    place = positions(fits.order)
    i, j = fits.weights.nonzero()
    assert np.all(place[i] < place[j])
    for node in range(data.d):
        parents = fits.weights[:, [node]].nonzero()[0]
        assert fits.residual_variance[node] == pytest.approx(variance(data.matrix, node, parents), rel=1e-6)
    return fits


def test_the_outline_has_the_precisions_that_the_model_implies():
    data, net = prepared(3)
    fits = read(net, data.d)
    counts, variances, precisions = outline(net, data.d)
    W, v = fits.weights.toarray(), fits.residual_variance
    np.testing.assert_array_equal(counts, (W != 0).sum(axis=0))
    np.testing.assert_array_equal(variances, v)
    away = np.eye(data.d) - W
    np.testing.assert_allclose(precisions, np.diag(away @ np.diag(1 / v) @ away.T), rtol=1e-12)


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10_000), noise=st.sampled_from(NOISES))
def test_sweeps_lower_the_score_and_keep_a_dag(seed, noise):
    data, net = prepared(seed, noise)
    before = assert_sound(data, net)
    sigma2 = common(data, before)
    while net.waiting:
        drain(data.entries, net, 1)
        after = assert_sound(data, net)
        assert total(data, after.weights, noise, 9.0, sigma2) <= total(data, before.weights, noise, 9.0, sigma2) + 1e-6
        before = after


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10_000), noise=st.sampled_from(NOISES))
def test_after_additions_no_single_edge_pays(seed, noise):
    data, net = prepared(seed, noise)
    net.set_stale()
    with workers(1) as threads:
        while True:
            before = read(net, data.d)
            sigma2 = common(data, before)
            set_score(data, net, Objective(as_score(noise), data.count, 9.0, 50), 5.0, 8)
            gained = add_edges(data, net, threads)
            after = assert_sound(data, net)
            scores = [total(data, W, noise, 9.0, sigma2) for W in (before.weights, after.weights)]
            assert (scores[1] < scores[0] - 1e-7) if gained else (scores[1] == pytest.approx(scores[0]))
            if not gained:
                break
            net.set_stale()
    # In NumPy: no node gains by one more parent that is not its descendant.
    W = after.weights
    reach = np.linalg.inv(np.eye(data.d) - 0.5 * (W.toarray() != 0)) != 0
    for j in range(data.d):
        parents = W[:, [j]].nonzero()[0].tolist()
        v = variance(data.matrix, j, parents)
        for i in range(data.d):
            if i in parents or reach[j, i]:
                continue
            fall = v - variance(data.matrix, j, [*parents, i])
            gain = data.count * (fall * data.variance[j] / sigma2 if noise == "equal" else -math.log1p(-fall / v))
            assert gain <= 9.0 + 1e-6


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10_000), draw=st.integers(0, 2**63 - 1))
def test_resampling_stays_in_the_equivalence_class(seed, draw):
    data, net = prepared(seed, "unequal")
    before = read(net, data.d)
    resample(data.entries, net, draw)
    after = assert_sound(data, net)
    assert (cpdag(before.weights) != cpdag(after.weights)).nnz == 0
    assert net.waiting == data.d


def test_resampling_reaches_every_member_of_a_class():
    X = np.random.default_rng(0).normal(size=(500, 3)) @ np.array([[1, 0.8, 0], [0, 1, 0.8], [0, 0, 1.0]])
    with workers(1) as threads:
        data = correlations(Table(X, "abc"), threads)
    net = required_network(data, np.arange(3), unconstrained("abc"))
    assign_parents(data, net, sp.csr_array(np.array([[0, 1.0, 0], [0, 0, 1.0], [0, 0, 0]])), np.arange(3))
    set_score(data, net, Objective(UNEQUAL, 500.0, 6.0, 10), 5.0, 8)
    seen = set()
    for draw in range(60):
        resample(data.entries, net, draw)
        seen.add(tuple(map(tuple, np.argwhere(read(net, 3).weights.toarray()).tolist())))
    assert len(seen) == 3


def grow_in_numpy(data, penalty):
    """The specification of the grown order, with regressions solved anew at each step."""
    d, n = data.d, data.count
    order, parents = [], {j: [] for j in range(d)}
    while len(order) < d:
        left = [j for j in range(d) if j not in order]

        def spread(j):
            return variance(data.matrix, j, parents[j]) * data.variance[j] / (1 - len(parents[j]) / n)

        i = min(left, key=spread)
        own = variance(data.matrix, i, parents[i])
        order.append(i)
        for j in left:
            if j == i:
                continue
            v, C = variance(data.matrix, j, parents[j]), data.matrix
            least = v * -math.expm1(-penalty / n)
            fall = v - variance(C, j, [*parents[j], i])
            delta = variance(C, i, parents[j])
            if fall * delta <= least * own or fall <= least:
                continue
            parents[j].append(i)
            while parents[j]:
                v = variance(C, j, parents[j])
                loss = {p: variance(C, j, [q for q in parents[j] if q != p]) - v for p in parents[j]}
                worst = min(loss, key=loss.get)
                if loss[worst] > v * math.expm1(penalty / n):
                    break
                parents[j].remove(worst)
    return order


@pytest.mark.parametrize("seed", range(8))
def test_grown_order_is_its_numpy_specification(seed):
    with workers(1) as threads:
        data = correlations(table(seed, d=12), threads)
    found = grown_order(data, unconstrained([f"x{i}" for i in range(12)]), 10.0, 50)
    assert found.tolist() == grow_in_numpy(data, 10.0)


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10_000), noise=st.sampled_from(NOISES), prior=knowledge(8))
def test_every_move_keeps_the_prior_knowledge(seed, noise, prior):
    d = 8
    known = prior.bind([f"x{i}" for i in range(d)])
    required, forbidden = (set(map(tuple, pairs.tolist())) for pairs in (known.required, known.forbidden))
    correlated, net = prepared(seed, noise, 6.0, known=known, d=d)
    score = Objective(as_score(noise), correlated.count, 6.0, 50)

    def check():
        fits = assert_sound(correlated, net)
        assert known.respects(fits.order)
        edges = set(zip(*map(np.ndarray.tolist, fits.weights.nonzero()), strict=True))
        assert required <= edges
        assert not edges & forbidden

    with workers(1) as threads:
        check()
        assert known.respects(grown_order(correlated, known, 6.0, 50))
        for draw in range(3):
            while net.waiting:
                drain(correlated.entries, net, 5)
                check()
            net.set_stale()
            add_edges(correlated, net, threads)
            check()
            polish_hubs(correlated, net, score, known, threads, 1, frozenset())
            check()
            if noise == "unequal":
                resample(correlated.entries, net, draw)
                check()


@pytest.mark.parametrize("noise", NOISES)
def test_hubs_are_turned_round_and_selected_afresh(noise):
    rng = np.random.default_rng(5)
    n, causes = 3000, 24
    X = rng.normal(size=(n, causes + 2))
    X[:, -2] += X[:, :causes] @ rng.uniform(0.3, 0.9, causes)
    X[:, -1] += X[:, -2] * 0.7 + X[:, 4:causes] @ rng.uniform(0.3, 0.9, causes - 4)
    names = [f"x{i}" for i in range(causes + 2)]
    known = unconstrained(names)
    with workers(1) as threads:
        data = correlations(Table(X, names), threads)
        # The wrong order of the two hubs.
        order = np.append(np.arange(causes), [causes + 1, causes])
        net = required_network(data, order, known)
        chosen = select_within(data.matrix, n, order, threads)
        assign_parents(data, net, chosen.weights, np.arange(causes + 2))
        score = Objective(as_score(noise), float(n), 12.0, 500)
        set_score(data, net, score, 5.0, 8)
        before = read(net, causes + 2)
        tried, turned, more = frozenset(), 0, True
        while more:
            known_trials = tried
            tried, gained = polish_hubs(data, net, score, known, threads, 3, tried)
            turned, more = turned + gained, tried != known_trials
    after = assert_sound(data, net)
    sigma2 = common(data, before)
    assert turned >= 1
    assert after.weights[causes, causes + 1] != 0
    assert total(data, after.weights, noise, 12.0, sigma2) < total(data, before.weights, noise, 12.0, sigma2)


def test_a_node_gets_its_parents_back_from_a_hub_that_stands_in_for_it():
    """The effect of a hub has taken its causes and become its cause."""
    rng = np.random.default_rng(5)
    n, causes = 3000, 24
    X = rng.normal(size=(n, causes + 2))
    X[:, -2] += X[:, :causes] @ rng.uniform(0.3, 0.9, causes)
    X[:, -1] += X[:, -2] * 0.5
    names = [f"x{i}" for i in range(causes + 2)]
    known = unconstrained(names)
    with workers(1) as threads:
        data = correlations(Table(X, names), threads)
        order = np.append(np.arange(causes), [causes + 1, causes])
        net = required_network(data, order, known)
        W = np.zeros((causes + 2, causes + 2))
        W[:causes, -1] = W[-1, -2] = 1
        assign_parents(data, net, sp.csr_array(W), np.arange(causes + 2))
        score = Objective(as_score("equal"), float(n), 12.0, 500)
        set_score(data, net, score, 5.0, 8)
        tried, more = frozenset(), True
        while more:
            known_trials = tried
            tried, _ = polish_hubs(data, net, score, known, threads, 8, tried)
            more = tried != known_trials
    after = assert_sound(data, net)
    assert after.weights[causes, causes + 1] != 0
    assert after.parents[causes] == causes
    assert after.parents[causes + 1] <= 3


@pytest.mark.parametrize("seed", range(4))
def test_regressions_on_nearly_collinear_parents_stay_exact(seed):
    """Weights up to 3 leave 1e-9 of a variance and less; thousands of updates must not drift away from that."""
    n, d, penalty = 500, 20, 12.0
    rng = np.random.default_rng(seed)
    W = np.triu(rng.uniform(1, 3, (d, d)) * rng.choice([-1, 1], (d, d)) * (rng.random((d, d)) < 0.4), 1)
    W[np.arange(d - 1), np.arange(1, d)] = 2.0
    source = Table(rng.normal(size=(n, d)) @ np.linalg.inv(np.eye(d) - W), [f"x{i}" for i in range(d)])
    known = unconstrained(source.names)
    order = rng.permutation(d)
    with workers(1) as threads:
        data = correlations(source, threads)
        net = required_network(data, order, known)
        chosen = select_within(data.matrix, n, order, threads, penalty=penalty)
        assign_parents(data, net, chosen.weights, np.arange(d))
        score = Objective(UNEQUAL, n, penalty, 50)
        set_score(data, net, score, 100.0, 30)
        for _ in range(5):
            drain(data.entries, net, 10_000)
            resample(data.entries, net, seed)
    fits = read(net, d)
    assert fits.residual_variance.min() < 1e-8
    for j in range(d):
        weights = fits.weights[:, [j]]
        left = residual_variance(data.matrix, j, weights.nonzero()[0])
        # The last bits of the correlations, times the weights; and no less is left than rounding is.
        unsure = 1e-14 * (1 + np.abs(weights).sum() ** 2)
        assert fits.residual_variance[j] == pytest.approx(max(left, 1e-12), rel=1e-6, abs=unsure)


def test_a_hub_that_lacks_parents_stands_out_beside_nodes_with_as_many():
    """After 50 parents 9/10 of the noise of 500 rows is usual: what leaves all of it stands out by 1.8 errors."""
    n, d = 500.0, 200
    objective = Objective(as_score("equal"), n, 10.0, 125)
    weights = np.zeros((d, d))
    weights[:50, -2:] = 1.0
    left = np.ones(d)
    left[-1] = 0.9
    errors = objective.standing_out(Fits(np.arange(d), sp.csr_array(weights), left), np.ones(d))
    assert errors[:-2] == pytest.approx(0.0)
    assert errors[-2:] == pytest.approx([(1 / 0.9 - 1) * math.sqrt(n / 2), 0.0], abs=1e-9)


def test_standing_out_stays_finite_beside_very_large_numbers():
    objective = Objective(as_score("equal"), 100.0, 10.0, 25)
    fits = Fits(np.arange(3), sp.csr_array((3, 3)), np.ones(3))
    errors = objective.standing_out(fits, np.array([0.5, 1e290, np.inf]))
    assert np.isfinite(np.square(errors)).all()
