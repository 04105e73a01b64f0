"""Where a search begins again: parents in the order of variances given all nodes before."""

import numpy as np
import pytest
import scipy.sparse as sp

from psidag import Constraints, learn_dag
from psidag.data.correlations import correlations
from psidag.data.sources import Table
from psidag.engines.beginning import has_rows_to_order, ordered_graph
from psidag.engines.moves import Fits, grown_order
from psidag.engines.sparse import Sparse
from psidag.graph.constraints import unconstrained
from psidag.graph.metrics import shd
from psidag.graph.order import positions
from psidag.run.loop import Task, run
from psidag.scores.named import as_score
from psidag.simulate import simulate
from psidag.stages.within_order import search_penalty, select_within
from psidag.system.parallel import workers

STRONG = ((-2.0, -0.05), (0.05, 2.0))


def table(X):
    return Table(X, [f"x{i}" for i in range(X.shape[1])])


def test_dense_graphs_with_strong_effects_are_ordered_better_than_they_grow():
    problem = simulate("ER6", n=5000, d=120, seed=5, ranges=STRONG)
    source, penalty = table(problem.X), search_penalty(5000, 120)
    with workers(1) as pool:
        data, known = correlations(source, pool), unconstrained(source.names)
        found = ordered_graph(data, data.sd, penalty, 1000, known, pool)
        grown = grown_order(data, known, 2 * penalty, 1000)
        beside = select_within(data.matrix, 5000, grown, pool, penalty=penalty).weights
    truth = problem.dag.weights
    assert shd(truth, found) < shd(truth, beside)


def test_the_true_model_leads_to_the_true_order_however_few_the_rows():
    problem = simulate("ER4", n=60, d=80, seed=3)
    source = table(problem.X)
    with workers(1) as pool:
        data, known = correlations(source, pool), unconstrained(source.names)
        weights, left = problem.dag.weights, 1 / data.variance
        scaled = sp.csr_array(weights.multiply(data.sd[:, None] / data.sd[None, :]))
        model = Fits(np.asarray(problem.dag.order), scaled, left)
        found = ordered_graph(data, data.sd, 8.0, 20, known, pool, model)
        blurred = ordered_graph(data, data.sd, 8.0, 20, known, pool)
    backward = [sp.csr_array(graph.T).multiply(weights != 0).nnz for graph in (found, blurred)]
    assert backward[0] == 0
    assert backward[1] > 0


def test_prior_knowledge_holds():
    problem = simulate("ER4", n=1000, d=40, seed=1, ranges=STRONG)
    i, j = (ends[0] for ends in problem.dag.weights.nonzero())
    last = problem.dag.order[-1]
    known = Constraints(
        required_edges=[(int(i), int(j))], tiers=[[int(last)], [v for v in range(40) if v != last]]
    ).bind(source_names := [f"x{v}" for v in range(40)])  # fmt: skip
    with workers(1) as pool:
        data = correlations(Table(problem.X, source_names), pool)
        found = ordered_graph(data, data.sd, 15.0, 100, known, pool)
    place = positions(known.nearest_order(np.arange(40)))
    assert place[last] == 0
    assert found[:, [last]].nnz == 0
    assert found[int(i), int(j)] != 0


@pytest.mark.parametrize(("rows", "enough"), [(45, True), (44, False)])
def test_rows_must_be_enough_for_all_nodes_as_parents(rows, enough):
    with workers(1) as pool:
        assert has_rows_to_order(correlations(table(simulate("ER2", n=rows, d=30, seed=0).X), pool)) is enough


def test_unequal_noise_is_not_called_a_stuck_search():
    X = simulate("ER2", n=2000, d=20, seed=2, scale=np.geomspace(0.3, 3, 20)).X
    noise = learn_dag(X, random_state=0).noise
    assert noise.chosen == "unequal"
    assert "stuck" not in noise.reason


@pytest.mark.parametrize("noise", ["equal", "unequal"])
def test_edges_of_a_given_graph_that_do_not_pay_are_left_out(noise):
    source = table(np.random.default_rng(0).normal(size=(500, 6)))
    chain = sp.csr_array(np.eye(6, k=1))
    with workers(1) as pool:
        task = Task(source, unconstrained(source.names), np.random.default_rng(0), pool, as_score(noise), chain)
        assert run(Sparse(restarts=0), task).candidate.weights.nnz == 0
