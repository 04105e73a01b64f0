"""Round trips through the libraries people use next, on Sachs; each is skipped where it is not installed."""

import doctest
import importlib

import numpy as np
import pytest

from psidag import DAG, exchange, fit_dag
from psidag.datasets import load_sachs
from psidag.graph.orientation import markov_class
from psidag.graph.partial import PartialGraph
from psidag.graph.separation import adjustment_set, d_separated, markov_blanket
from psidag.simulate import LinearSEM

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


def random_graphs(count=8):
    rng = np.random.default_rng(0)
    for _ in range(count):
        weights = np.triu(rng.random((7, 7)) < 0.35, 1) * rng.uniform(0.5, 1.5, size=(7, 7))
        yield rng, DAG.from_weights(weights)


def test_separation_agrees_with_networkx():
    nx = pytest.importorskip("networkx")
    for rng, dag in random_graphs():
        graph = exchange.to_networkx(dag)
        for _ in range(40):
            a, b, *given = rng.permutation(dag.names)[: rng.integers(2, 6)].tolist()
            assert d_separated(dag, a, b, given) == nx.is_d_separator(graph, {a}, {b}, set(given))


def test_blankets_and_partial_graphs_agree_with_pgmpy():
    pytest.importorskip("pgmpy")
    import pgmpy.base

    for _, dag in random_graphs():
        theirs = pgmpy.base.DAG([(i, j) for i, j, _ in dag.edges()])
        for name in theirs.nodes():
            assert set(markov_blanket(dag, name)) == set(theirs.get_markov_blanket(name))
        graph = markov_class(dag)
        partial = exchange.to_pgmpy_pdag(graph)
        assert set(partial.directed_edges) == set(graph.directed_edges())
        assert {frozenset(pair) for pair in partial.undirected_edges} == {
            frozenset(pair) for pair in graph.undirected_edges()
        }


def test_undirected_edges_reach_causal_learn():
    pytest.importorskip("causallearn")
    graph = exchange.to_causal_learn(PartialGraph.from_edges([("a", "b")], [("b", "c")]))
    node = {n.get_name(): n for n in graph.get_nodes()}
    assert graph.is_directed_from_to(node["a"], node["b"])
    assert graph.is_undirected_from_to(node["b"], node["c"])


def test_adjustment_sets_are_valid_for_dowhy():
    """The estimate with our set is the one that DoWhy gets with its own."""
    dowhy = pytest.importorskip("dowhy")
    import pandas as pd

    rng = np.random.default_rng(1)
    age, x = rng.normal(size=(2, 4000))
    dose = age + rng.normal(size=4000)
    level = 2 * dose + x + rng.normal(size=4000)
    effect = level - age + rng.normal(size=4000)
    frame = pd.DataFrame({"age": age, "x": x, "dose": dose, "level": level, "effect": effect})
    dag = DAG.from_edges(
        [("age", "dose"), ("dose", "level"), ("x", "level"), ("level", "effect"), ("age", "effect")],
        names=tuple(frame.columns),
    )
    solution = fit_dag(frame, dag)
    model = dowhy.CausalModel(frame, treatment="dose", outcome="effect", graph=exchange.to_dowhy(dag))
    estimate = model.estimate_effect(model.identify_effect(), method_name="backdoor.linear_regression")
    columns = ["dose", *solution.adjustment_set("dose", "effect")]
    design = np.column_stack([np.ones(len(frame)), frame[columns]])
    ours = np.linalg.lstsq(design, frame["effect"].to_numpy())[0][1]
    assert ours == pytest.approx(estimate.value, rel=0.05)
    assert solution.effect("dose", "effect").value == pytest.approx(estimate.value, rel=0.05)


def test_separation_and_adjustment_agree_with_pgmpy_on_random_graphs():
    pytest.importorskip("pgmpy")
    import pgmpy.base
    from pgmpy.inference import CausalInference

    for rng, dag in random_graphs():
        theirs = pgmpy.base.DAG([(i, j) for i, j, _ in dag.edges()])
        theirs.add_nodes_from(dag.names)
        inference = CausalInference(theirs)
        for _ in range(10):
            a, b, *given = rng.permutation(dag.names)[: rng.integers(2, 6)].tolist()
            assert d_separated(dag, a, b, given) == (not theirs.is_dconnected(a, b, observed=given))
            if b in dag.descendants(a):
                assert inference.is_valid_backdoor_adjustment_set(a, b, adjustment_set(dag, a, b))


def test_effects_agree_with_dowhy_on_random_graphs():
    """The adjusted regression of DoWhy, on many rows, is the effect along all paths of the fitted model."""
    dowhy = pytest.importorskip("dowhy")
    import pandas as pd

    for seed, (_, dag) in enumerate(random_graphs(3)):
        X = LinearSEM(dag).sample(50_000, seed)
        frame = pd.DataFrame(X, columns=list(dag.names))
        solution = fit_dag(frame, dag)
        source = max(dag.names, key=lambda name: len(dag.descendants(name)))
        target = dag.descendants(source)[-1]
        model = dowhy.CausalModel(frame, treatment=source, outcome=target, graph=exchange.to_dowhy(dag))
        estimate = model.estimate_effect(model.identify_effect(), method_name="backdoor.linear_regression")
        found = solution.effect(source, target)
        assert found.value == pytest.approx(estimate.value, abs=8 * found.standard_error)


def test_the_examples_of_the_converters():
    for library in ("causallearn", "pgmpy"):
        pytest.importorskip(library)
    failures, _ = doctest.testmod(importlib.import_module("psidag.exchange.libraries"))
    assert not failures
