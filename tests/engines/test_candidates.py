"""Wide tables without a matrix of correlations: entries, scans and lists by NumPy, and the search by itself."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from psidag import learn_dag
from psidag.data import correlations as correlations_module
from psidag.data._entries import Entries
from psidag.data.correlations import correlations, fits_whole
from psidag.data.sources import Summary, Table
from psidag.engines import beginning, candidates
from psidag.engines.candidates import (
    Candidates,
    Scan,
    advance,
    correlated,
    first_scan,
    for_hubs,
    listed,
    parent_marks,
)
from psidag.engines.comparison import Compared
from psidag.engines.moves import (
    Objective,
    assign_parents,
    grown_order,
    read,
    required_network,
    select_parents,
    set_score,
)
from psidag.engines.sparse import Sparse
from psidag.graph.constraints import Constraints, unconstrained
from psidag.graph.order import positions
from psidag.run.loop import Task, run
from psidag.scores.gaussian import UNEQUAL
from psidag.scores.named import as_score
from psidag.search._network import additions, additions_among
from psidag.simulate import simulate
from psidag.stages.within_order import select_within
from psidag.system.memory import machine_memory
from psidag.system.parallel import workers
from support.optima import assert_equal_standing

NOISES = ["equal", "unequal"]


def names(d):
    return [f"x{i}" for i in range(d)]


def both(X):
    """The correlations of a table, held and not held."""
    source = Table(X, names(X.shape[1]))
    with workers(1) as threads:
        return correlations(source, threads, single_from=0), correlations(source, threads, max_memory=0)


def everyone(d):
    """Lists that have everyone on them."""
    others = [np.delete(np.arange(d, dtype=np.int32), j) for j in range(d)]
    return Candidates(np.arange(d + 1) * (d - 1), np.concatenate(others), np.zeros(d, np.uint64))


def learn(X, noise="equal", *, jobs=1, known=None, max_time=None, **options):
    source = Table(X, names(X.shape[1]))
    known = unconstrained(source.names) if known is None else known
    with workers(jobs) as threads:
        task = Task(source, known, np.random.default_rng(0), threads, as_score(noise))
        return run(Sparse(**options), task, max_time=max_time)


def test_entries_are_correlations_however_they_are_had():
    X = np.random.default_rng(0).normal(size=(37, 20)) @ np.random.default_rng(1).normal(size=(20, 20))
    expected = np.corrcoef(X.T)
    held, computed = both(X)
    assert computed.matrix is None
    for entries in (held.entries, computed.entries, Entries(double=expected)):
        found = np.array([[entries[i, j] for j in range(20)] for i in range(20)])
        np.testing.assert_allclose(found, expected, atol=1e-6)
    # Whatever was asked before, and the other way round, too.
    there, back = both(X)[1].entries, both(X)[1].entries
    pairs = [(i, j) for i in range(20) for j in range(20)]
    assert [there[i, j] for i, j in pairs] == [back[j, i] for i, j in reversed(pairs)][::-1]
    np.testing.assert_allclose(computed.among(np.array([4, 9, 1])), expected[np.ix_([4, 9, 1], [4, 9, 1])], atol=1e-6)
    with pytest.raises(IndexError, match="20 columns"):
        computed.entries[0, 20]


def scanned(columns, level, weights=None, nodes=None):
    d = len(columns)
    nodes = np.arange(d) if nodes is None else nodes
    scan = Scan(nodes, level[nodes])
    with workers(2) as threads:
        while not scan.ended:
            scan = advance(Compared.of(columns, threads), scan, weights, threads)
    return scan


@pytest.mark.parametrize("blocks", [(512, 1024), (7, 5)])
def test_a_scan_lists_the_products_that_numpy_finds(monkeypatch, blocks):
    monkeypatch.setattr(candidates, "_NODES", blocks[0])
    monkeypatch.setattr(candidates, "_COLUMNS", blocks[1])
    X = simulate("ER4", n=60, d=40, seed=3).X
    columns = both(X)[1].columns
    C = columns.astype(np.float64) @ columns.T.astype(np.float64)
    first = listed(scanned(columns, np.full(40, 0.04)), 40)
    for j in range(40):
        expected = [i for i in range(40) if i != j and C[j, i] ** 2 > 0.04]
        assert first.items[first.start[j] : first.start[j + 1]].tolist() == expected
    assert not first.seen.any()

    # Now with what parents leave, for a few nodes; the lists of before stay.
    W = sp.csr_array(np.triu(np.random.default_rng(0).normal(size=(40, 40)) * 0.2, 1))
    nodes, level = np.array([5, 12, 39]), np.linspace(0.01, 0.05, 40)
    residual = columns - W.T.toarray() @ columns
    second = listed(scanned(columns, level, W, nodes), 40, first, parent_marks(W))
    for j in range(40):
        before = set(first.items[first.start[j] : first.start[j + 1]].tolist())
        new = {i for i in range(40) if i != j and (residual[j] @ columns[i]) ** 2 > level[j]} if j in nodes else set()
        assert second.items[second.start[j] : second.start[j + 1]].tolist() == sorted(before | new)
    assert np.flatnonzero(second.seen).tolist() == nodes.tolist()


def test_lists_stay_short_where_everything_is_correlated(monkeypatch):
    rng = np.random.default_rng(0)
    columns = both(rng.normal(size=(50, 200)) + 2 * rng.normal(size=(50, 1)))[1].columns
    monkeypatch.setattr(candidates, "_AVERAGE", 10)
    with workers(1) as threads:
        level = first_scan(columns, 1e-3, threads).level
        assert np.all(first_scan(columns, 0.99, threads).level == 0.99)
    near = listed(scanned(columns, level), 200)
    assert 5 * 200 < len(near.items) < 15 * 200
    monkeypatch.setattr(candidates, "_MOST", 4)
    W = sp.csr_array((200, 200))
    strongest = listed(scanned(columns, np.full(200, 1e-3), W), 200)._replace(seen=parent_marks(W))
    C = columns @ columns.T - 2 * np.eye(200)
    for j in (0, 77):
        four = np.sort(np.argsort(-(C[j] ** 2) * (np.arange(200) != j))[:4])
        assert set(four) <= set(strongest.items[strongest.start[j] : strongest.start[j + 1]])


@pytest.mark.parametrize("average", [5, 64])
def test_lists_from_held_correlations_are_those_of_a_scan(monkeypatch, average):
    monkeypatch.setattr(candidates, "_AVERAGE", average)
    held, computed = both(simulate("SF4", n=150, d=200, seed=3).X)
    with workers(2) as threads:
        level = first_scan(computed.columns, 0.03, threads).level
        ours = correlated(held.matrix, 0.03, threads)
    expected = listed(scanned(computed.columns, level), 200)
    assert level[0] == 0.03 if average == 64 else level[0] > 0.03
    assert [part.dtype for part in ours[:3]] == [part.dtype for part in expected[:3]]
    assert ours.level == pytest.approx(expected.level)
    for j in range(200):
        found, wanted = (set(near.items[near.start[j] : near.start[j + 1]].tolist()) for near in (ours, expected))
        # Two ways to round a product: they may disagree about one that is as large as the level.
        assert np.abs(held.matrix[j, list(found ^ wanted)] ** 2 / level[0] - 1).max(initial=0.0) < 1e-5
    assert abs(len(ours.items) - len(expected.items)) <= 4


@pytest.mark.parametrize("graph", ["ER2", "ER4", "SF4"])
def test_a_start_from_lists_leads_to_the_same_edges(monkeypatch, graph):
    problem = simulate(graph, n=1000, d=300, seed=2)
    X, (i, j), order = problem.X, problem.dag.weights.nonzero(), problem.dag.order.tolist()
    known = Constraints(
        required_edges=[(i[0], j[0])], forbidden_edges=[(j[1], i[1])], tiers=[order[:20], order[-20:]]
    ).bind(names(300))  # fmt: skip
    whole = learn(X, known=known).candidate
    monkeypatch.setattr(beginning, "_LISTED_FROM", 0)
    monkeypatch.setattr(candidates, "_AVERAGE", 30)
    from_lists = learn(X, known=known).candidate
    assert known.respects(from_lists.order)
    assert from_lists.weights[i[0], j[0]] != 0
    assert from_lists.weights[j[1], i[1]] == 0
    assert_equal_standing(whole, from_lists, 1000, 300, "equal")


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10_000))
def test_marks_tell_sets_of_parents_apart(seed):
    rng = np.random.default_rng(seed)
    A, B = (np.triu(rng.random((12, 12)) < 0.3, 1) for _ in range(2))
    same = parent_marks(sp.csr_array(A.astype(float))) == parent_marks(sp.csr_array(B.astype(float)))
    assert same.tolist() == np.all(A == B, axis=0).tolist()
    assert np.array_equal(parent_marks(sp.csr_array(A.astype(float))) == 0, ~A.any(axis=0))


@pytest.mark.parametrize("noise", NOISES)
def test_with_everyone_listed_the_moves_are_those_of_the_matrix(noise):
    X = simulate("ER4", n=150, d=80, seed=1).X
    d, known = 80, unconstrained(names(80))
    held, computed = both(X)
    near = everyone(d)
    order = grown_order(held, known, 12.0, 30)
    assert grown_order(computed, known, 12.0, 30, near).tolist() == order.tolist()
    score = Objective(as_score(noise), 150.0, 8.0, 30)
    found = []
    with workers(1) as threads:
        for data in (held, computed):
            net = required_network(data, order, known)
            start = select_within(held.matrix, 150, order, threads, penalty=40.0)
            assign_parents(data, net, start.weights, np.arange(d))
            set_score(data, net, score, 5.0, 8)
            net.set_stale()
            room = np.arange(d + 1, dtype=np.int64) * 2
            new, counts, gains = np.zeros(2 * d, np.int32), np.zeros(d, np.int32), np.zeros(2 * d)
            if data is held:
                additions(data.entries, net, 0, d, room, new, counts, gains)
            else:
                additions_among(data.entries, net, 0, d, near.start, near.items, room, new, counts, gains)
            found.append((new, counts, gains))
    assert found[0][1].sum() > 20
    assert np.array_equal(found[0][0], found[1][0])
    assert np.array_equal(found[0][1], found[1][1])
    np.testing.assert_allclose(found[0][2], found[1][2], rtol=1e-3, atol=1e-3)


def hub_table(rng, n, d, causes, related):
    """A hub, the last column, with many causes, the first ones, beside columns that are related to these and others."""
    X = rng.normal(size=(n, d))
    X[:, causes : causes + related] += X[:, :related] * rng.uniform(0.3, 1.5, related)
    X[:, -1] += X[:, :causes] @ (rng.uniform(0.3, 0.9, causes) * rng.choice([-1, 1], causes))
    return X


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("seed", range(4))
def test_hubs_find_the_same_parents_by_their_own_lists(noise, seed):
    n, d, hub, known = 600, 301, 300, unconstrained(names(301))
    held, computed = both(hub_table(np.random.default_rng(seed), n, d, 60, 40))
    score = Objective(as_score(noise), float(n), 12.0, 200)
    parents = sp.csr_array((np.ones(40), (np.arange(40), np.full(40, hub))), shape=(d, d))
    room = np.append(np.zeros(d, np.int64), 30)
    found = []
    with workers(1) as threads:
        scan = first_scan(computed.columns, 0.01, threads)
        near = listed(advance(Compared(computed.columns), scan, None, threads), d)
        for data in (held, computed):
            net = required_network(data, np.arange(d), known)
            assign_parents(data, net, parents, np.array([hub]))
            set_score(data, net, score, 5.0, 8)
            net.looked()
            net.mark_stale(np.array([hub]))
            new, counts, gains = np.zeros(30, np.int32), np.zeros(d, np.int32), np.zeros(30)
            if data is held:
                additions(data.entries, net, hub, d, room, new, counts, gains)
            else:
                nodes, least = np.empty(d, np.int64), np.empty(d)
                assert net.stale_hubs(nodes, least) == 1
                own = for_hubs(Compared(data.columns), nodes[:1], least[:1], read(net, d).weights, threads)
                additions_among(
                    data.entries, net, hub, d, near.start, near.items, room, new, counts, gains, own.start, own.items
                )  # fmt: skip
            found.append((new[: counts[hub]].tolist(), gains))
    assert len(found[0][0]) > 10
    assert found[0][0] == found[1][0]
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-3, atol=1e-3)


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 10_000))
def test_lists_for_hubs_are_those_of_numpy(seed):
    rng = np.random.default_rng(seed)
    d, hubs = 60, np.sort(rng.choice(60, 5, replace=False)).astype(np.int64)
    _, data = both(rng.normal(size=(100, d)))
    W = rng.normal(size=(d, d)) * 0.2 * (rng.random((d, d)) < 0.4)
    np.fill_diagonal(W, 0)
    least = rng.uniform(0.002, 0.02, 5)
    with workers(1) as threads:
        found = for_hubs(Compared(data.columns), hubs, least, sp.csr_array(W), threads)
    columns = data.columns.astype(float)
    squares = np.square((columns - W.T @ columns) @ columns.T)
    for j in range(d):
        ours = found.items[found.start[j] : found.start[j + 1]].tolist()
        level = least[hubs == j] / 4
        assert sorted(ours) == [i for i in range(d) if len(level) and i != j and squares[j, i] > level[0]]


def test_parents_are_selected_among_those_listed_that_stand_before():
    X = simulate("ER2", n=150, d=80, seed=4).X
    held, computed = both(X)
    known = Constraints(required_edges=[(3, 7)], forbidden_edges=[(1, 2)]).bind(names(80))
    order = known.nearest_order(np.random.default_rng(0).permutation(80))
    with workers(1) as threads:
        net = required_network(computed, order, known)
        score = Objective(UNEQUAL, 150.0, 10.0, 30)
        select_parents(computed, net, score, known, threads, everyone(80))
        best = select_within(held.matrix, 150, order, threads, penalty=10.0, constraints=known)
    ours = read(net, 80)
    assert ours.order.tolist() == order.tolist()
    assert np.array_equal(ours.weights.toarray() != 0, best.weights.toarray() != 0)
    np.testing.assert_allclose(ours.residual_variance, best.residual_variance, rtol=1e-4)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(("graph", "weakest"), [("ER2", 0.05), ("ER2", 0.5), ("SF2", 0.5)])
def test_products_in_blocks_lead_to_the_same_edges(graph, weakest, noise):
    problem = simulate(
        graph, n=600, d=300, seed=2, ranges=((-1, -weakest), (weakest, 1)),
        standardise="data" if noise == "unequal" else None,
    )  # fmt: skip
    held = learn(problem.X, noise, restarts=0).candidate
    outcome = learn(problem.X, noise, restarts=0, max_memory=0)
    blocks = outcome.candidate
    assert outcome.state.data.matrix is None
    assert_equal_standing(held, blocks, 600, 300, noise)


@pytest.mark.parametrize("noise", NOISES)
def test_threads_do_not_change_the_bits(noise, monkeypatch):
    monkeypatch.setattr(candidates, "_NODES", 16)
    X = simulate("ER4", n=200, d=120, seed=1, dtype=np.float32).X
    before = X.tobytes()
    one, two = (learn(X, noise, jobs=jobs, max_memory=0, restarts=1).candidate for jobs in (1, 2))
    assert one.order.tobytes() == two.order.tobytes()
    assert one.weights.toarray().tobytes() == two.weights.toarray().tobytes()
    assert X.tobytes() == before


@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 10_000), noise=st.sampled_from(NOISES))
def test_prior_knowledge_holds(seed, noise):
    rng = np.random.default_rng(seed)
    X = simulate("ER2", n=60, d=40, seed=seed).X
    rank = rng.permutation(40)
    required = [(int(rank[3]), int(rank[20])), (int(rank[5]), int(rank[6]))]
    forbidden = [(int(a), int(b)) for a, b in rng.integers(40, size=(30, 2)) if a != b and (a, b) not in required]
    known = Constraints(required, forbidden, [[int(rank[0]), int(rank[1])], [int(rank[39])]]).bind(names(40))
    order, W, *_ = learn(X, noise, known=known, max_memory=0).candidate
    place = positions(order)
    assert known.respects(order)
    assert np.all(place[W.nonzero()[0]] < place[W.nonzero()[1]])
    assert all(W[i, j] != 0 for i, j in required)
    assert all(W[i, j] == 0 for i, j in forbidden)


@pytest.mark.parametrize("steps", [1, 12, 40])
def test_a_time_budget_leaves_a_dag(steps, monkeypatch):
    """By a clock that moves a second with every step, the budget ends in the first scan or in the search."""
    seconds = itertools.count()
    monkeypatch.setattr("psidag.system.clock._now", lambda: float(next(seconds)))
    monkeypatch.setattr(candidates, "_NODES", 8)
    outcome = learn(simulate("ER2", n=200, d=300, seed=0).X, max_time=steps, max_memory=0)
    assert outcome.status.code == "time_limit"
    place = positions(outcome.candidate.order)
    i, j = outcome.candidate.weights.nonzero()
    assert np.all(place[i] < place[j])


def test_awkward_tables_give_finite_graphs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 20))
    X[:, 7], X[:, 8], X[:, 9] = X[:, 0] + X[:, 1], X[:, 2], 1.0
    for table in (X, X * 10.0 ** rng.integers(-12, 12, 20), X[:2]):
        for noise in NOISES:
            candidate = learn(table, noise, max_memory=0).candidate
            assert np.isfinite(candidate.weights.data).all()
            assert np.all(candidate.fitted.residual_variance >= 0)


def test_auto_says_when_correlations_do_not_fit(tmp_path, monkeypatch):
    problem = simulate("ER2", n=120, d=100, seed=5, dtype=np.float32)
    np.save(tmp_path / "rows.npy", problem.X)
    monkeypatch.setattr(correlations_module, "machine_memory", lambda: 1e4)
    mapped = learn_dag(str(tmp_path / "rows.npy"), random_state=0)
    assert "do not fit in memory" in mapped.engine
    in_memory = learn_dag(problem.X, Sparse(max_memory=0), random_state=0)
    assert (mapped.dag.weights != in_memory.dag.weights).nnz == 0


def test_what_is_held_depends_on_the_table_and_the_memory():
    wide, tall = np.zeros((10, 100)), np.zeros((300, 100))
    assert fits_whole(Table(wide, names(100)))
    assert not fits_whole(Table(wide, names(100)), max_memory=39_999)
    assert fits_whole(Table(tall, names(100)), max_memory=0)
    moments = Table(wide, names(100)).moments()
    assert fits_whole(Summary(moments), max_memory=0)
    assert 1e8 < machine_memory() < 1e15


def test_a_negative_memory_is_refused():
    with pytest.raises(ValueError, match="max_memory"):
        Sparse(max_memory=-1)
