"""What replicates add up to: consensus, stability selection and its bound, and files."""

import itertools
import json
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from psidag import DAG, Confidence, Constraints, InputError
from psidag.graph.acyclic import keep_acyclic
from psidag.graph.constraints import unconstrained
from psidag.graph.order import CycleError, topological_order
from psidag.run.status import Status
from psidag.solution.stability import expected_false, least_threshold


def confidence(replicates, d, method="subsample", constraints=None):
    names = tuple(f"x{k}" for k in range(d))
    known = (constraints or Constraints()).bind(names)
    found = Confidence(known, {"method": method}, (1,), Status("complete", "all"))
    for edges in replicates:
        W = sp.csr_array((np.ones(len(edges)), tuple(np.array(edges, dtype=int).reshape(-1, 2).T)), shape=(d, d))
        found = found.add(W)
    return found


def acyclic(edges, d):
    W = sp.coo_array((np.ones(len(edges)), tuple(np.array(edges, dtype=int).reshape(-1, 2).T)), shape=(d, d))
    try:
        topological_order(W)
    except CycleError:
        return False
    return True


edge_lists = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 6)).filter(lambda e: e[0] != e[1]), max_size=30, unique=True
)


@given(edge_lists)
def test_edges_are_kept_unless_they_close_a_cycle(edges):
    pairs = np.array(edges, dtype=np.int64).reshape(-1, 2)
    kept, order = keep_acyclic(pairs[:, 0], pairs[:, 1], unconstrained([f"x{k}" for k in range(7)]))
    expected = []
    for edge in edges:
        if acyclic([*expected, edge], 7):
            expected.append(edge)
    assert pairs[kept].tolist() == [list(edge) for edge in expected]
    place = {v: k for k, v in enumerate(order.tolist())}
    assert sorted(order) == list(range(7))
    assert all(place[i] < place[j] for i, j in expected)


@given(edge_lists)
def test_kept_edges_respect_constraints(edges):
    known = Constraints(required_edges=[(6, 0)], tiers=[[1, 2], [3, 4]]).bind([f"x{k}" for k in range(7)])
    pairs = np.array(edges, dtype=np.int64).reshape(-1, 2)
    kept, order = keep_acyclic(pairs[:, 0], pairs[:, 1], known)
    assert known.respects(order)
    assert acyclic([*map(tuple, pairs[kept].tolist()), (6, 0)], 7)


def test_consensus_of_a_cycle_keeps_the_better_supported_edges():
    """A majority for each of a → b → c → a: the weakest of them gives way."""
    votes = [[(0, 1), (1, 2)]] * 4 + [[(1, 2), (2, 0)]] * 3 + [[(2, 0), (0, 1)]] * 2
    found = confidence(votes, 3)
    assert found.edges()[0][:3] == ("x1", "x2", 7 / 9)
    assert [edge[:2] for edge in found.consensus(0.5).edges()] == [("x0", "x1"), ("x1", "x2")]
    assert {edge[:2] for edge in found.edges(0.5)} == {("x0", "x1"), ("x1", "x2"), ("x2", "x0")}


def test_consensus_joins_what_most_replicates_join_in_the_direction_that_most_have():
    found = confidence([[(0, 1)]] * 4 + [[(1, 0)]] * 3 + [[]] * 3, 2)
    assert list(found.consensus(0.6).edges()) == [("x0", "x1", 1.0)]
    assert found.consensus(0.8).n_edges == 0
    np.testing.assert_allclose(found.support, [0.4, 0.3])
    np.testing.assert_allclose(found.reverse_support, [0.3, 0.4])
    with pytest.raises(InputError, match="from 0 to 1"):
        found.consensus(2.0)


@given(st.lists(st.lists(st.floats(-1e6, 1e6).filter(bool), min_size=2, max_size=2), min_size=1, max_size=8))
def test_mean_and_spread_of_weights(values):
    known = Constraints().bind(["a", "b", "c"])
    found = Confidence(known, {"method": "bootstrap"}, (1,), Status("complete", "all"))
    for k, (x, y) in enumerate(values):
        found = found.add(sp.csr_array([[0, x, y if k % 2 else 0], [0, 0, 0], [0, 0, 0]]))
    first = np.array([x for x, _ in values])
    second = np.array([y for k, (_, y) in enumerate(values) if k % 2])
    assert found.times.tolist() == [len(first), *([len(second)] if len(second) else [])]
    assert found.weight_mean[0] == pytest.approx(first.mean(), rel=1e-9, abs=1e-6)
    if len(first) > 1:
        assert found.weight_sd[0] == pytest.approx(first.std(ddof=1), rel=1e-6, abs=1e-4)
    if len(second):
        assert found.weight_mean[1] == pytest.approx(second.mean(), rel=1e-9, abs=1e-6)


def worst_tail(theta, threshold, pairs, unimodal):
    """The largest P(support ≥ threshold) by linear programming over distributions of the simultaneous support.

    Support of at least τ over B complementary pairs needs both halves of a share 2τ − 1 of the pairs. That share
    has a mean of at most θ² and takes the values 0, 1/B, …, 1; unimodal ones are mixtures of uniform
    distributions around their mode.
    """
    from scipy.optimize import linprog

    grid = np.arange(pairs + 1) / pairs
    needed = (grid >= 2 * threshold - 1 - 1e-12).astype(float)
    if not unimodal:
        columns = np.eye(pairs + 1)
        solved = linprog(-needed @ columns, A_ub=[grid @ columns], b_ub=[theta**2], A_eq=[np.ones(pairs + 1)], b_eq=[1])
        return -solved.fun
    best = 0.0
    for mode in range(pairs + 1):
        blocks = [(min(mode, k), max(mode, k)) for k in range(pairs + 1)]
        columns = np.array([[(low <= g <= high) / (high - low + 1) for low, high in blocks] for g in range(pairs + 1)])
        solved = linprog(
            -needed @ columns, A_ub=[grid @ columns], b_ub=[theta**2], A_eq=[np.ones(len(blocks))], b_eq=[1]
        )
        best = max(best, -solved.fun if solved.success else 0.0)
    return best


@pytest.mark.parametrize(("unimodal", "assumption"), [(False, "none"), (True, "unimodal")])
def test_the_bound_holds_for_the_worst_distribution(unimodal, assumption):
    """θ p edges of low probability, each stable with at most the probability of the worst case: C θ q of them."""
    pairs, possible = 20, 1000
    for threshold, theta in itertools.product([0.55, 0.6, 0.7, 0.75, 0.8, 0.9, 1.0], [0.02, 0.05, 0.1]):
        bound = expected_false(threshold, theta * possible, possible, pairs, assumption)
        worst = possible * worst_tail(theta, threshold, pairs, unimodal)
        assert worst <= bound * (1 + 1e-6)
        if not unimodal:
            assert bound <= possible * theta**2 / (2 * threshold - 1) * (1 + 1e-9)


def test_bounds_fall_with_the_threshold_and_unimodality_helps():
    grid = np.arange(53, 101) / 100
    for assumption in ("unimodal", "none"):
        values = [expected_false(t, 200, 9900, 50, assumption) for t in grid]
        assert values == sorted(values, reverse=True)
    assert expected_false(0.9, 200, 9900, 50) < expected_false(0.9, 200, 9900, 50, "none") / 2
    assert expected_false(0.5, 200, 9900, 50) == np.inf
    chosen = least_threshold(1.0, 200, 9900, 50)
    assert expected_false(chosen, 200, 9900, 50) <= 1 < expected_false(chosen - 0.01, 200, 9900, 50)
    with pytest.raises(InputError, match="run more replicates"):
        least_threshold(1e-9, 200, 9900, 50)
    with pytest.raises(InputError, match="assumption"):
        expected_false(0.9, 200, 9900, 50, "hope")


def test_stability_selects_by_support_and_counts_what_is_possible():
    votes = [[(0, 1), (2, 3)]] * 9 + [[(0, 1), (3, 2)]] * 10 + [[(4, 5)]]
    found = confidence(votes, 30)
    stable = found.stability(threshold=0.9)
    assert [edge[:2] for edge in stable.edges] == [("x0", "x1")]
    assert stable.possible == 30 * 29
    assert stable.average == pytest.approx(39 / 20)
    assert stable.bound == expected_false(0.9, 39 / 20, 870, 10)
    either = found.stability(threshold=0.9, directed=False)
    assert {edge[:2] for edge in either.edges} == {("x0", "x1"), ("x3", "x2")}
    assert either.possible == 435
    known = Constraints(forbidden_edges=[(8, 9)], tiers=[[0], [1]])
    assert confidence(votes, 30, constraints=known).stability().possible == 868
    assert found.stability(0.5).bound <= 0.5
    assert "expected by chance" in str(stable)
    with pytest.raises(InputError, match="method='subsample'"):
        confidence(votes, 30, method="bootstrap").stability()
    with pytest.raises(InputError, match=r"above 0\.5"):
        found.stability(threshold=0.4)


def test_files_come_back_and_damage_is_refused(tmp_path):
    known = Constraints(required_edges=[(0, 1)], tiers=[[2], [3]])
    found = confidence([[(0, 1), (2, 3)], [(0, 1)]], 4, constraints=known)
    file = tmp_path / "draws.psidag"
    found.save(file)
    again = Confidence.load(file)
    assert again.head() == found.head()
    for key, array in found.arrays().items():
        np.testing.assert_array_equal(array, again.arrays()[key])
    assert list(again.consensus().edges()) == list(found.consensus().edges())
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    head = json.loads(members["confidence.json"])
    for key, value in [("names", ["a"]), ("version", 9), ("replicates", None), ("recipe", 3), ("entropy", None)]:
        with zipfile.ZipFile(file, "w") as archive:
            for name, content in members.items():
                new = json.dumps({**head, key: value}) if name == "confidence.json" else content
                archive.writestr(name, new)
        with pytest.raises(InputError, match=r"draws\.psidag"):
            Confidence.load(file)
    with pytest.raises(InputError, match="no file"):
        Confidence.load(tmp_path / "nothing")


def test_support_of_a_graph_and_of_strangers():
    found = confidence([[(0, 1)], [(1, 0)], [(0, 1)], []], 3)
    dag = DAG.from_weights([[0, 1, 1], [0, 0, 0], [0, 0, 0]])
    connection, support, reverse = found.of(dag).values()
    np.testing.assert_allclose(connection, [0.75, 0.0])
    np.testing.assert_allclose(support, [0.5, 0.0])
    np.testing.assert_allclose(reverse, [0.25, 0.0])
    with pytest.raises(InputError, match="same variables"):
        found.of(DAG.from_weights(np.zeros((2, 2))))
