"""Parents by estimates of all weights: better sets than one by one, on the terms that are given."""

import numpy as np
import pytest
import scipy.sparse as sp

from psidag.data.correlations import correlations
from psidag.data.sources import Table
from psidag.engines import polishing
from psidag.engines.likely_parents import Terms, likely_parents, new_parents
from psidag.engines.moves import Objective, given_network, read, set_score
from psidag.engines.polishing import polish_hubs
from psidag.graph.constraints import Constraints, unconstrained
from psidag.scores.named import as_score
from psidag.simulate import simulate
from psidag.stages.within_order import most_parents, search_penalty, select_within
from psidag.system.parallel import workers

NOBODY = np.empty(0, np.intp)


@pytest.fixture(autouse=True)
def one_thread():
    """Small products are slower on several."""
    with workers(1):
        yield


def posed(seed, graph="SF6", n=200, d=200, score="equal"):
    """A dense problem with strong weights: its correlations, true graph, objective and the fit of the truth."""
    problem = simulate(graph, n, d=d, seed=seed, ranges=((-1.5, -0.05), (0.05, 1.5)))
    source = Table(problem.X, [f"x{i}" for i in range(d)])
    with workers(1) as threads:
        data = correlations(source, threads)
    truth = sp.csr_array(problem.dag.weights)
    fits = read(given_network(data, truth, unconstrained(source.names)), d)
    objective = Objective(as_score(score), float(n), search_penalty(n, d), most_parents(n))
    return data, truth, objective, fits


def before_in(truth, j):
    """All nodes that do not descend from j."""
    reached, ahead = {j}, [j]
    while ahead:
        for child in truth[[ahead.pop()]].nonzero()[1].tolist():
            if child not in reached:
                reached.add(child)
                ahead.append(child)
    return np.setdiff1d(np.arange(truth.shape[0]), list(reached))


def parents_in(weights, j):
    columns = sp.csc_array(weights)
    return np.sort(columns.indices[columns.indptr[j] : columns.indptr[j + 1]]).astype(np.intp)


@pytest.mark.parametrize("score", ["equal", "unequal"])
def test_a_hub_gets_parents_that_one_by_one_are_not_found(score):
    one_by_one, together = [], []
    for seed in range(4):
        data, truth, objective, fits = posed(seed, score=score)
        j = int(np.argmax(fits.parents))
        known = objective.known_variance(data, fits.residual_variance)
        terms, before = Terms(objective, float(known[j]), NOBODY, NOBODY), before_in(truth, j)
        model = data.matrix, sp.csc_array(fits.weights), fits.residual_variance, before, j
        ideal = likely_parents(*model, parents_in(truth, j), terms).cost
        together.append((likely_parents(*model, NOBODY, terms).cost - ideal) / objective.penalty)
        order = np.concatenate([before, [j], np.setdiff1d(np.arange(data.d), [*before, j])]).astype(np.intp)
        with workers(1) as threads:
            greedy = select_within(
                data.matrix, objective.n, order, threads, penalty=objective.penalty,
                sigma2=known if known.any() else None, nodes=np.array([j]),
            )  # fmt: skip
        cost = terms.cost(float(greedy.residual_variance[j]), len(parents_in(greedy.weights, j)))
        one_by_one.append((cost - ideal) / objective.penalty)
    assert np.mean(together) < 3
    assert np.mean(one_by_one) > 10


def test_required_parents_stay_and_forbidden_ones_stay_out():
    data, truth, objective, fits = posed(0)
    names = [f"x{i}" for i in range(data.d)]
    j = int(np.argmax(fits.parents))
    mine, before = parents_in(truth, j), before_in(truth, j)
    useless = int(np.setdiff1d(before, mine)[0])
    known = Constraints(
        required_edges=[(names[useless], names[j])], forbidden_edges=[(names[i], names[j]) for i in mine[:5]]
    ).bind(names)
    noise = objective.known_variance(data, fits.residual_variance)
    kept = fits.weights.copy()
    _, weights = new_parents(data, objective, noise, known, fits, (j,))
    found = parents_in(weights, j)
    assert useless in found
    assert not np.isin(mine[:5], found).any()
    assert (fits.weights != kept).nnz == 0
    # An effect of j that has to be its cause: then nothing is changed.
    child = int(truth[[int(mine[0])]].nonzero()[1][0])
    known = Constraints(required_edges=[(names[child], names[int(mine[0])])]).bind(names)
    assert new_parents(data, objective, noise, known, fits, (int(mine[0]),))[0] == 0.0


@pytest.mark.parametrize("score", ["equal", "unequal"])
def test_the_change_of_the_score_is_what_is_said(score):
    data, truth, objective, fits = posed(1, score=score)
    noise = objective.known_variance(data, fits.residual_variance)
    i, j = next(zip(*truth.nonzero(), strict=True))
    change, weights = new_parents(data, objective, noise, unconstrained(["x"] * data.d), fits, (int(j), int(i)))
    after = read(given_network(data, weights, unconstrained([f"x{k}" for k in range(data.d)])), data.d)
    assert weights[i, j] == 0
    np.testing.assert_allclose(
        objective.costs(after, noise).sum() - objective.costs(fits, noise).sum(), change, rtol=1e-4, atol=1e-3
    )


def test_paths_are_of_nodes_that_stand_out():
    weights = sp.csr_array(([1.0] * 4, ([0, 1, 2, 2], [1, 2, 3, 4])), shape=(6, 6))
    far, low = np.array([1, 1, 1, 0, 0, 1], bool), np.array([0, 0, 0, 1, 0, 0], bool)
    assert polishing._paths(weights, far, low) == [(0, 1, 2), (1, 2, 3), (0, 1, 2, 3)]


def test_a_path_that_runs_backwards_is_turned_round_as_a_whole():
    rng = np.random.default_rng(3)
    n, length = 2000, 4
    X = rng.normal(size=(n, 3 * length))
    for k in range(length):
        causes = [*range(length + 2 * k, length + 2 * k + 2), *([k - 1] if k else [])]
        X[:, k] += 0.8 * X[:, causes].sum(axis=1)
    names = [f"x{i}" for i in range(X.shape[1])]
    known = unconstrained(names)
    with workers(1) as threads:
        data = correlations(Table(X, names), threads)
        order = np.array([*range(length, X.shape[1]), *range(length)[::-1]])
        backwards = select_within(data.matrix, n, order, threads).weights
    fits = read(given_network(data, backwards, known), data.d)
    objective = Objective(as_score("equal"), float(n), 12.0, 500)
    noise = objective.known_variance(data, fits.residual_variance)
    change, weights = new_parents(data, objective, noise, known, fits, tuple(range(length)))
    assert change < 0
    assert all(weights[k - 1, k] != 0 for k in range(1, length))
    assert all(set(parents_in(weights, k)) == {length + 2 * k, length + 2 * k + 1, k - 1} for k in range(1, length))


def test_noise_that_differs_is_no_reason_to_look():
    """Where many nodes stand out it is not for the lack of parents."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 40)) * np.repeat([1.0, 2.0], 20)
    names = [f"x{i}" for i in range(40)]
    known = unconstrained(names)
    with workers(1) as threads:
        data = correlations(Table(X, names), threads)
        net = given_network(data, sp.csr_array((40, 40)), known)
        objective = Objective(as_score("equal"), 500.0, 12.0, 100)
        set_score(data, net, objective, 5.0, 8)
        assert polish_hubs(data, net, objective, known, threads, 8, frozenset()) == (frozenset(), 0)
