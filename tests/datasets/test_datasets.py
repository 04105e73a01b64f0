"""The data sets that come with the package."""

import itertools

import numpy as np
import pytest

from psidag.datasets import (
    NETWORKS,
    TOPOLOGIES,
    load_network,
    load_sachs,
    load_topology,
    network_model,
    sachs_conditions,
)
from psidag.graph.metrics import edge_errors
from psidag.simulate import Problem, simulate
from psidag.system.errors import InputError


def test_sachs_has_the_split_of_the_paper():
    sachs = load_sachs()
    assert isinstance(sachs, Problem)
    assert sachs.names == ("Raf", "Mek", "Plcg", "PIP2", "PIP3", "Erk", "Akt", "PKA", "PKC", "P38", "Jnk")
    assert sachs.X.shape == (853, 11)
    assert sachs.X_test.shape == (902, 11)
    assert sachs.X[0].tolist() == [26.4, 13.2, 8.82, 18.3, 58.8, 6.61, 17.0, 414.0, 17.0, 44.9, 40.0]
    assert sachs.dag.n_edges == 17
    assert sachs.dag.parents("Mek") == ["Raf", "PKA", "PKC"]


def test_sachs_graph_of_twenty_edges():
    consensus, literature = load_sachs().dag, load_sachs(edges=20).dag
    assert literature.n_edges == 20
    errors = edge_errors(literature, consensus)
    assert (errors.correct, errors.missing, errors.extra, errors.reversed) == (16, 3, 0, 1)


def test_sachs_conditions_cover_all_rows():
    conditions = list(sachs_conditions().values())
    assert len(conditions) == 9
    assert conditions[0].start == 0
    assert all(a.stop == b.start for a, b in itertools.pairwise(conditions))
    assert conditions[-1].stop == 7466


def test_sachs_of_other_conditions():
    other = load_sachs(train="pma", test=None)
    assert other.X.shape == (913, 11)
    assert other.X_test is None
    for wrong in ({"train": "nothing"}, {"test": "nothing"}, {"edges": 18}):
        with pytest.raises(InputError):
            load_sachs(**wrong)


def test_sachs_judges_topology_and_loss_only():
    sachs = load_sachs()
    found = sachs.compare(sachs.dag)
    assert found["shd"] == 0
    assert "loss" in found
    assert "gap" not in found


@pytest.mark.parametrize(("name", "d", "edges"), [("ecoli70", 46, 70), ("magic_niab", 44, 66)])
def test_networks_simulate_with_their_own_means_and_noise(name, d, edges):
    problem = load_network(name, n=20_000, seed=0, n_test=5)
    assert (problem.d, problem.dag.n_edges, len(problem.X_test)) == (d, edges, 5)
    model = problem.model
    residual = problem.X - problem.X @ model.weights.toarray()
    assert np.allclose(residual.mean(axis=0), model.intercept, atol=5 * np.max(model.scale) / np.sqrt(20_000))
    assert np.allclose(residual.std(axis=0), model.scale, rtol=0.04)


def test_network_coefficients_stand_where_the_file_says():
    model = network_model("ecoli70")
    index = {name: k for k, name in enumerate(model.names)}
    assert model.weights[index["asnA"], index["icdA"]] == 0.522839342
    assert model.scale[index["aceB"]] == 0.2921168368
    assert model.intercept[index["aceB"]] == 0.1324256926


@pytest.mark.parametrize(("name", "d", "edges"), [("alarm", 37, 46), ("munin", 1041, 1397), ("ecoli_grn", 1564, 3614)])
def test_topologies_carry_simulated_data(name, d, edges):
    topology = load_topology(name)
    assert (topology.d, topology.n_edges) == (d, edges)
    problem = simulate(topology, n=20, seed=0)
    assert problem.names == topology.names
    assert problem.X.shape == (20, d)


def test_unknown_names_are_errors_that_list_the_known():
    with pytest.raises(InputError, match=NETWORKS[0]):
        network_model("alarm")
    with pytest.raises(InputError, match=TOPOLOGIES[0]):
        load_topology("ecoli70")
