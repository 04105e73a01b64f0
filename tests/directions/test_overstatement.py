"""Noises that depend on each other although they are uncorrelated: evidence counts for less."""

import numpy as np
import pytest
import scipy.sparse as sp

from psidag import learn_dag
from psidag.datasets import load_sachs
from psidag.directions.independence import overstatement
from psidag.simulate import simulate


def plain(X, weights):
    """The mean product of squared noises over all pairs around each edge, one after another, and their median."""
    W, centred = weights.toarray(), X - X.mean(axis=0)
    noise = centred - centred @ W
    squares = noise**2 / (noise**2).mean(axis=0)
    found = []
    for a, b in zip(*W.nonzero(), strict=True):
        around = sorted({a, b, *np.flatnonzero(W[:, a]), *np.flatnonzero(W[:, b])})
        pairs = [(i, j) for i in around for j in around if i < j]
        found.append(np.mean([(squares[:, i] * squares[:, j]).mean() for i, j in pairs]))
    return np.median(found)


def rows_of_many_scales(seed, n=500):
    problem = simulate("ER2", d=10, n=n, seed=seed)
    scale = np.exp(0.6 * np.random.default_rng([seed, 1]).normal(size=(n, 1)))
    return problem, problem.X * scale


def test_it_is_the_mean_over_all_pairs():
    problem, X = rows_of_many_scales(0)
    found = overstatement(X, problem.dag.weights)
    assert found == pytest.approx(plain(X, problem.dag.weights), rel=1e-4)
    assert found > 1.5


@pytest.mark.parametrize("noise", ["gaussian", "exponential"])
def test_independent_noises_overstate_nothing(noise):
    problem = simulate("ER2", d=10, n=1000, seed=1, noise=noise)
    assert overstatement(problem.X, problem.dag.weights) == 1.0


def test_without_edges_or_rows_nothing_is_overstated():
    problem, X = rows_of_many_scales(3)
    assert overstatement(X, sp.csr_array((10, 10))) == 1.0
    assert overstatement(X[:20], problem.dag.weights) == 1.0


def test_units_do_not_matter_and_nothing_is_changed():
    problem, X = rows_of_many_scales(2)
    units = 10.0 ** np.arange(-4, 6)
    before = X.copy()
    weights = sp.csr_array(problem.dag.weights.multiply(units[None, :] / units[:, None]))
    assert overstatement(X * units, weights) == pytest.approx(overstatement(X, problem.dag.weights), rel=1e-3)
    assert np.array_equal(X, before)


def test_cells_that_are_bright_in_every_channel_leave_the_collider_open():
    graph = learn_dag(load_sachs().X, names=load_sachs().names, random_state=0).graph
    assert graph.because("P38", "PKC") is None
    assert graph.because("Jnk", "PKC") is None


@pytest.mark.parametrize("d", [10, 20])
def test_evidence_is_that_of_fewer_rows(d, monkeypatch):
    """On graphs that are searched through and on those that are not: the same correlations of a quarter of the rows."""
    problem = simulate("ER1", d=d, n=800, seed=5)
    sure = learn_dag(problem.X, noise="unequal", random_state=0).graph
    monkeypatch.setattr("psidag.learning.evidence.overstatement", lambda X, weights: 4.0)
    unsure = learn_dag(problem.X, noise="unequal", random_state=0).graph
    known = sure.directed & (sure.delta < np.inf)
    assert known.any()
    at = unsure.find(sure.sources, sure.targets)
    assert np.median(unsure.delta[at][known]) < np.median(sure.delta[known])
    assert sum(unsure.directed) <= sum(sure.directed)
