"""Round trips through the libraries people use next, on Sachs; each is skipped where it is not installed."""

import numpy as np
import pytest

from psidag import exchange, fit_dag
from psidag.datasets import load_sachs

SACHS = load_sachs()


@pytest.fixture(scope="module")
def solution():
    return fit_dag(SACHS.X, SACHS.dag, names=SACHS.names)


def edges(dag):
    return sorted(dag.edges())


def topology(dag):
    return sorted(edge[:2] for edge in dag.edges())


def test_networkx(solution):
    nx = pytest.importorskip("networkx")
    graph = exchange.to_networkx(solution)
    assert nx.is_directed_acyclic_graph(graph)
    assert edges(exchange.from_networkx(graph)) == edges(solution.dag)
    assert set(nx.ancestors(graph, "Akt")) == set(solution.dag.ancestors("Akt"))


def test_causal_learn(solution):
    pytest.importorskip("causallearn")
    graph = exchange.to_causal_learn(solution)
    assert topology(exchange.from_causal_learn(graph)) == topology(solution.dag)
    node = {n.get_name(): n for n in graph.get_nodes()}
    assert graph.is_parent_of(node["PKA"], node["Akt"])
    assert not graph.is_parent_of(node["Akt"], node["PKA"])


def test_lingam():
    lingam = pytest.importorskip("lingam")
    rng = np.random.default_rng(0)
    x = rng.uniform(size=2000)
    model = lingam.DirectLiNGAM().fit(np.c_[x, 2 * x + rng.uniform(size=2000)])
    dag = exchange.from_lingam(model.adjacency_matrix_, ["cause", "effect"])
    assert topology(dag) == [("cause", "effect")]


def test_pgmpy(solution):
    pytest.importorskip("pgmpy")
    network = exchange.to_pgmpy(solution)
    assert network.check_model()
    back = exchange.from_pgmpy(network)
    assert topology(back) == topology(solution.dag)
    for source, target, weight in back.edges():
        assert weight == pytest.approx(solution.dag.weights[solution.dag.index(source), solution.dag.index(target)])
    nx = pytest.importorskip("networkx")
    mean, _ = network.to_joint_gaussian()
    expected = [solution.mean[solution.dag.index(name)] for name in nx.topological_sort(network)]
    np.testing.assert_allclose(np.ravel(mean), expected, rtol=1e-3)


def test_dowhy_estimates_an_effect_from_our_graph(solution):
    dowhy = pytest.importorskip("dowhy")
    import pandas as pd

    frame = pd.DataFrame(SACHS.X, columns=list(SACHS.names))
    for graph in (exchange.to_dowhy(solution), exchange.to_networkx(solution.dag)):
        for treatment, outcome in (("PKC", "Jnk"), ("PKA", "Akt")):
            model = dowhy.CausalModel(frame, treatment=treatment, outcome=outcome, graph=graph)
            estimand = model.identify_effect(proceed_when_unidentifiable=True)
            estimate = model.estimate_effect(estimand, method_name="backdoor.linear_regression")
            assert estimate.value == pytest.approx(solution.total_effect(treatment, outcome), rel=0.01)
