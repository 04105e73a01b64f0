"""The noise model is chosen by the data, and nothing depends on units where variances are not equal."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.datasets import load_wine

from psidag import Moments, Solution, learn_dag
from psidag.data.files import read_table
from psidag.engines.noise_choice import clearly_equal
from psidag.engines.sparse import Sparse
from psidag.exchange import write_graph
from psidag.graph.metrics import shd
from psidag.run.status import Fitted
from psidag.simulate import simulate
from psidag.system.errors import InputError

pytestmark = pytest.mark.filterwarnings("ignore::psidag.DataWarning")


@pytest.mark.parametrize("noise", ["gaussian", "exponential", "student_t"])
def test_equal_variances_are_recognised_whatever_the_tails(noise):
    chosen = learn_dag(simulate("ER2", d=30, n=1000, seed=0, noise=noise).X, random_state=0).noise
    assert (chosen.asked, chosen.chosen) == ("auto", "equal")
    assert bool(chosen.shape) == (noise != "gaussian")


def test_independent_columns_of_mixed_units_are_not_connected():
    X = np.random.default_rng(0).normal(size=(500, 20))
    X[:, 7] *= 1000
    assert learn_dag(X, random_state=0).dag.n_edges == 0


def test_a_chain_beside_an_id_keeps_its_connections():
    rng = np.random.default_rng(0)
    a, e = rng.normal(size=500), rng.normal(size=(2, 500))
    b = a + e[0]
    X = np.column_stack([np.arange(500.0), a, b, b + e[1]])
    found = learn_dag(X, names=["id", "a", "b", "c"], random_state=0)
    assert {frozenset(edge[:2]) for edge in found.dag.edges()} == {frozenset("ab"), frozenset("bc")}


@pytest.mark.parametrize("noise", ["auto", "unequal"])
def test_a_real_table_has_the_same_graph_in_any_units(noise):
    X, names = load_wine(return_X_y=True)[0], load_wine().feature_names
    factors = 10.0 ** np.random.default_rng(0).uniform(-6, 6, X.shape[1])
    one, other = (learn_dag(rows, names=names, noise=noise, random_state=0) for rows in (X, X * factors))
    assert one.noise.chosen == "unequal"
    assert one.graph.directed_edges() == other.graph.directed_edges()
    assert one.graph.undirected_edges() == other.graph.undirected_edges()
    assert min(abs(edge.weight) / edge.standard_error for edge in one.edges()) > 1.9


@pytest.mark.parametrize("seed", range(6))
def test_what_the_equal_score_draws_does_not_decide_what_follows(seed):
    rng = np.random.default_rng(seed)
    X = simulate("ER6", d=20, n=60, seed=seed, scale=rng.uniform(0.5, 2, 20)).X
    options = {"random_state": 0, "evidence": False}
    one, other = (learn_dag(rows, **options) for rows in (X, X * 10.0 ** rng.uniform(-6, 6, 20)))
    joined = [{frozenset(edge[:2]) for edge in found.dag.edges()} for found in (one, other)]
    assert joined[0] == joined[1]


def test_without_rows_the_loss_is_said():
    X = simulate("ER2", d=10, n=1000, seed=0, noise="exponential").X
    moments = Moments.from_covariance(np.cov(X.T), count=1000)
    assert "shape" in learn_dag(moments, random_state=0).noise.lost
    with pytest.raises(InputError, match="nongaussian"):
        learn_dag(moments, noise="nongaussian")


@pytest.mark.parametrize("n", [5, 12, 25])
def test_few_rows_ties_and_codes_have_no_shape(n):
    rng = np.random.default_rng(n)
    assert learn_dag(rng.exponential(size=(n, 3)), random_state=0).noise.shape == ()
    X = rng.integers(4, size=(300, 3)).astype(float)
    assert learn_dag(X, random_state=0).noise.shape == ()
    coded = rng.normal(size=(300, 3))
    coded[:6, 0] = -999
    assert learn_dag(coded, random_state=0).noise.shape == ()


def test_the_choice_is_kept_in_files(tmp_path):
    solution = learn_dag(simulate("ER2", d=8, n=500, seed=1, noise="gumbel").X, random_state=0)
    solution.save(tmp_path / "model.psidag")
    assert Solution.load(tmp_path / "model.psidag").noise == solution.noise
    assert f"noise   {solution.noise.chosen}" in str(solution)


def test_the_choice_is_told_in_json(tmp_path):
    solution = learn_dag(simulate("ER2", d=8, n=500, seed=1, noise="gumbel").X, random_state=0)
    write_graph(solution, tmp_path / "graph.json")
    told = json.loads((tmp_path / "graph.json").read_text())["about"]
    noise = solution.noise
    assert (told["noise"], told["noise_reason"], told["noise_shape"]) == (noise.chosen, noise.reason, list(noise.shape))
    assert told["noise_p_value"] == pytest.approx(noise.p_value)
    assert told["noise_lost"] == ""


def test_variances_that_are_nearly_equal_help_without_being_taken_for_equal():
    scale = np.exp(np.random.default_rng(0).uniform(-0.2, 0.2, 30))
    problem = simulate("ER2", d=30, n=5000, seed=0, scale=scale)
    found, equal = (learn_dag(problem.X, noise=noise, random_state=0) for noise in ("auto", "equal"))
    assert found.noise.chosen == "nearly equal"
    assert "prior" in found.noise.reason
    assert equal.noise.contradicted
    assert shd(problem.dag, found.dag) < shd(problem.dag, equal.dag)
    reasons = {found.graph.because(a, b) for a, b in found.graph.directed_edges()}
    assert "equal variances" in reasons


@pytest.mark.parametrize("where", ["file", "dask"])
def test_rows_that_stay_where_they_are_show_their_shape(where, tmp_path):
    X = simulate("ER2", d=6, n=900, seed=1, noise="exponential", scale=np.geomspace(0.3, 3, 6)).X
    held = learn_dag(X, random_state=0)
    if where == "file":
        np.save(tmp_path / "rows.npy", X)
        source = read_table(tmp_path / "rows.npy", hold=1)
    else:
        source = pytest.importorskip("dask.array").from_array(X, chunks=(250, 6))
    found = learn_dag(source, names=held.dag.names, random_state=0)
    assert found.noise.shape == held.noise.shape != ()
    assert found.noise.lost == ""
    assert set(found.graph.directed_edges()) == set(held.graph.directed_edges())


def test_what_is_answered_is_the_graph_of_the_choice():
    # The residual variances of this table are rejected by chance, and found equal after all.
    problem = simulate("ER2", d=8, n=3000, seed=2)
    found, equal = (learn_dag(problem.X, noise=noise, random_state=0) for noise in ("auto", "equal"))
    assert found.noise.chosen == "equal"
    assert "too little" in found.noise.reason
    assert (found.dag.to_dense() != 0).tolist() == (equal.dag.to_dense() != 0).tolist()


def test_a_few_of_very_many_variances_are_no_reason_to_doubt_the_others():
    rng = np.random.default_rng(0)
    v = rng.chisquare(500, 4000) / 500
    v[:3] = 50.0
    for variances, equal in ((v, True), (v * rng.choice([1.0, 2.0], 4000), False)):
        fitted = Fitted(500.0, np.zeros(4000), variances, variances, np.empty(0), "")
        assert clearly_equal(fitted, 3.0) == equal


@pytest.mark.parametrize(("d", "max_memory"), [(200, 0), (300, None)])
def test_one_node_of_many_that_stands_out_is_taken_as_equal(d, max_memory):
    problem = simulate("ER2", d=d, n=500, seed=3)
    X = problem.X.copy()
    # A column that causes nothing, and is noisier than the others.
    last = int(problem.dag.order[-1])
    X[:, last] += np.random.default_rng(0).normal(size=500)
    found, asked = (
        learn_dag(X, Sparse(max_memory=max_memory), noise=noise, random_state=0).noise for noise in ("auto", "equal")
    )
    assert (found.chosen, found.contradicted) == ("equal", False)
    assert "too little" in found.reason
    assert (asked.chosen, asked.contradicted) == ("equal", True)
