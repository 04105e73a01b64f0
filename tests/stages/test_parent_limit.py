"""A node that may not have all the parents that pay is named, and no other is."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from psidag import Constraints, DataWarning, Exact, Sparse, learn_dag
from psidag.data.correlations import Correlations, correlations
from psidag.data.sources import Table
from psidag.stages import parent_limit as module
from psidag.stages.parent_limit import leftover
from psidag.system.parallel import SERIAL

NAMES = [*(f"cause{i}" for i in range(6)), "hub", "other"]


def table(causes=6, n=400):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, len(NAMES)))
    X[:, 6] += X[:, :causes].sum(axis=1)
    X[:, 7] += X[:, 0]
    return X


def limit_warnings(X, solver, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataWarning)
        solution = learn_dag(X, solver, names=NAMES, random_state=0, **options)
    said = [str(warning.message) for warning in caught if "as many parents" in str(warning.message)]
    assert said == [text for text in solution.warnings if "as many parents" in text]
    return solution, said


@pytest.mark.parametrize("noise", ["equal", "unequal", "auto"])
def test_a_full_node_is_named_with_the_limit_and_a_remedy(noise):
    known = Constraints(tiers=[NAMES[:6], NAMES[6:]])
    solution, said = limit_warnings(table(), Sparse(max_parents=3), noise=noise, constraints=known)
    assert len(solution.dag.parents("hub")) == 3
    assert len(said) == 1
    assert "1 variable has as many parents as a variable may have, 3 (max_parents)" in said[0]
    assert "'hub'" in said[0]
    assert said[0] in str(solution)


def test_a_node_that_has_all_its_parents_is_not_named():
    solution, said = limit_warnings(table(causes=3), Sparse(max_parents=3), noise="equal")
    assert len(solution.dag.parents("hub")) == 3
    assert not said
    assert not limit_warnings(table(), Sparse(), noise="equal")[1]


def test_parents_that_are_ruled_out_do_not_count():
    known = Constraints(forbidden_edges=[(f"cause{i}", "hub") for i in range(3, 6)], tiers=[NAMES[:6], NAMES[6:]])
    solution, said = limit_warnings(table(), Sparse(max_parents=3), noise="equal", constraints=known)
    assert len(solution.dag.parents("hub")) == 3
    assert not said


def test_edges_by_evidence_within_an_order_have_the_limit_of_the_rows():
    # A quarter of 20 rows.
    X = table(n=20)
    X[:, 6] = X[:, :6].sum(axis=1) + 1e-3 * X[:, 6]
    solution, said = limit_warnings(X, Exact(ordering="variance"), noise="equal")
    assert len(solution.dag.parents("hub")) == 5
    assert len(said) == 1
    assert "5 (a quarter of the rows)" in said[0]


def test_a_hub_has_up_to_half_as_many_parents_as_rows_where_its_noise_is_that_of_all():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 61))
    X[:, 40] += X[:, :40].sum(axis=1)
    found = {noise: learn_dag(X, noise=noise, random_state=0).dag for noise in ("equal", "unequal")}
    parents = {noise: list(dag.parents("x40")) for noise, dag in found.items()}
    assert len(parents["unequal"]) <= 25
    assert set(parents["equal"]) == {f"x{i}" for i in range(40)}


@pytest.mark.parametrize("max_memory", [None, 0])
def test_what_parents_leave_is_that_of_the_rows(max_memory):
    X = np.random.default_rng(1).normal(size=(30, 40))
    data = correlations(Table(X, [f"x{i}" for i in range(40)]), SERIAL, single_from=0, max_memory=max_memory)
    assert (data.matrix is None) == (max_memory == 0)
    Z = (X - X.mean(axis=0)) / X.std(axis=0) / np.sqrt(30)
    b = np.array([0.5, -0.25])
    found = leftover(data, 3, np.array([7, 9]), b)
    np.testing.assert_allclose(found, Z.T @ (Z[:, 3] - Z[:, [7, 9]] @ b), atol=1e-5)


def test_of_many_full_nodes_some_are_looked_at(monkeypatch):
    monkeypatch.setattr(module, "_LOOKED_AT", 2)
    looked = []

    def half(_, j, *__):
        looked.append(j)
        return np.full(10, 0.5)

    monkeypatch.setattr(module, "leftover", half)
    data = Correlations(100.0, np.zeros(10), np.ones(10), np.eye(10))
    known = Constraints().bind([f"x{i}" for i in range(10)])
    said = module.limit_remarks(
        data, sp.csr_array(np.eye(10, k=1)), np.arange(10), known, 5.0, module.ParentLimit(1, "")
    )
    assert len(looked) == 2
    assert "9 variables have" in said[0]
