"""Other starts of a search that may be stuck: the better end is kept, in any units, across checkpoints."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from psidag.data.sources import Table
from psidag.engines import starts
from psidag.engines.openings import Openings
from psidag.engines.sparse import Sparse
from psidag.graph.constraints import unconstrained
from psidag.run.loop import Task, run
from psidag.scores.gaussian import EQUAL, UNEQUAL, Proportional
from psidag.simulate import simulate
from psidag.stages.within_order import search_penalty, select_within
from psidag.system.parallel import workers

STRONG = ((-2.0, -0.05), (0.05, 2.0))


def rows(seed=0, d=40, n=1000):
    scale = np.random.default_rng(seed).uniform(0.5, 2, d)
    return simulate("ER8", n=n, d=d, seed=seed, ranges=STRONG, scale=scale).X


def task(X, pool, score=UNEQUAL):
    source = Table(X, [f"x{i}" for i in range(X.shape[1])])
    return Task(source, unconstrained(source.names), np.random.default_rng(0), pool, score)


def learned(X, engine=None):
    with workers(1) as pool:
        return run(engine or Sparse(restarts=1), task(X, pool)).candidate


@pytest.fixture
def always(monkeypatch):
    """However short the search was, but not for long."""
    monkeypatch.setattr(starts, "_WORTH_IF_SMALL", 0.0)
    monkeypatch.setattr(starts, "_IN_VAIN_IF_SMALL", 4)


def test_other_starts_never_end_higher(always, monkeypatch):
    # An opening after them may gain more after the one than after the other.
    monkeypatch.setattr(Openings, "over", lambda *_: True)
    lower = 0
    for seed in range(6):
        X = rows(seed, d=25)
        with_starts = learned(X).loss
        with monkeypatch.context() as none:
            none.setattr(starts, "_WORTH_IF_SMALL", math.inf)
            without = learned(X).loss
        assert with_starts <= without * (1 + 1e-9)
        lower += with_starts < without * (1 - 1e-6)
    assert lower > 0


def test_units_do_not_matter(always):
    X = rows(1, d=25)
    one, other = learned(X), learned(X * np.geomspace(1e-3, 1e3, X.shape[1]))
    assert np.array_equal(one.weights.toarray() != 0, other.weights.toarray() != 0)


def test_fewer_rows_than_columns_are_no_obstacle(always):
    assert learned(rows(2, d=40, n=35)).weights.nnz > 0


def stepped(X, engine, restored=False, score=UNEQUAL):
    """The states of a search, each out of a file if so asked."""
    with workers(1) as pool:
        job = task(X, pool, score)
        state, finished = engine.init(job), None
        while finished is None:
            state, progress = engine.step(job, state)
            finished = progress.finished
            if restored:
                state = engine.restore(job, engine.dump(state))
            yield state, engine.conclude(job, state)


@pytest.mark.parametrize("too_long", [0, math.inf])
def test_a_search_goes_on_from_a_checkpoint_in_any_start(always, monkeypatch, too_long):
    monkeypatch.setattr(starts, "_TOO_LONG", too_long)
    X, ends = rows(3, d=20), []
    for restored in (False, True):
        found = list(stepped(X, Sparse(restarts=1), restored))
        assert len({state.starts.made for state, _ in found}) > 2
        ends.append(found[-1][1])
    np.testing.assert_array_equal(ends[0].weights.toarray(), ends[1].weights.toarray())


def test_a_first_search_that_was_cut_short_goes_on_if_nothing_is_better(monkeypatch):
    went_on = 0
    for seed in range(8):
        X = rows(seed, d=20)
        *_, (state, _) = stepped(X, Sparse(restarts=0))
        monkeypatch.setattr(starts, "_TOO_LONG", 0.6 * state.net.counters[3] / 20)
        found = list(stepped(X, Sparse(restarts=1)))
        cut = [state.starts.cut for state, _ in found]
        assert any(cut)
        assert not cut[-1]
        last = max(k for k, each in enumerate(cut) if each)
        if found[last][0].starts.made == found[last + 1][0].starts.made and found[last + 1][0].starts.best is None:
            went_on += 1
            assert found[-1][1].loss < found[last][0].starts.loss
    assert went_on > 0


def test_a_search_without_restarts_has_one_start(always):
    *_, (state, _) = stepped(rows(4, d=20), Sparse(restarts=0))
    assert state.starts.made == 0


def test_under_the_equal_score_small_tables_are_begun_again():
    for seed in range(4):
        X, ends = simulate("ER6", n=1000, d=30, seed=seed, ranges=STRONG).X, []
        for restored in (False, True):
            found = list(stepped(X, Sparse(restarts=1), restored, EQUAL))
            assert max(state.starts.made for state, _ in found) > 0
            ends.append(found[-1][1])
        np.testing.assert_array_equal(ends[0].weights.toarray(), ends[1].weights.toarray())
        *_, (_, alone) = stepped(X, Sparse(restarts=0), score=EQUAL)
        assert ends[0].loss <= alone.loss * (1 + 1e-9)


@pytest.mark.parametrize("score", [EQUAL, UNEQUAL])
def test_a_start_that_takes_too_long_is_given_up_and_nothing_is_lost(always, monkeypatch, score):
    for seed in range(4):
        X = rows(seed, d=25)
        *_, (_, alone) = stepped(X, Sparse(restarts=0), score=score)
        monkeypatch.setattr(starts, "_TIMES", 1e-3)
        found = list(stepped(X, Sparse(restarts=1), score=score))
        assert max(state.starts.made for state, _ in found) > 0
        assert found[-1][1].loss <= alone.loss * (1 + 1e-9)


def test_other_starts_go_by_noise_in_proportion_first(always):
    X = np.column_stack([rows(5, d=25), np.zeros(1000)])
    found = [state.starts for state, _ in stepped(X, Sparse(restarts=1))]
    halves = [starts.proportions is not None for starts in found if starts.made == 1]
    assert halves[0]
    assert not halves[-1]
    assert sum(one != other for one, other in itertools.pairwise(halves)) == 1
    assert all(np.all(starts.proportions > 0) for starts in found if starts.proportions is not None)


def test_noise_in_proportion_is_the_equal_score_in_other_units():
    X = simulate("ER4", n=500, d=20, seed=0).X
    factors = 2.0 ** np.random.default_rng(0).integers(-3, 4, 20)
    ends = []
    for scaled, score in ((X, EQUAL), (X * factors, Proportional(factors**2))):
        *_, (_, candidate) = stepped(scaled, Sparse(restarts=0), score=score)
        ends.append(candidate.weights.toarray() != 0)
    assert ends[0].any()
    np.testing.assert_array_equal(*ends)


def test_a_chain_that_stands_the_wrong_way_round_is_turned():
    # Its first node has the causes of all others, and must pass on more of them than a walk usually takes along.
    links, causes = 8, 8
    d, n = links * (1 + causes), 5000
    W = np.zeros((d, d))
    W[np.arange(links, d), np.repeat(np.arange(links), causes)] = 0.3
    W[np.arange(links - 1), np.arange(1, links)] = 1.5
    X = np.random.default_rng(0).normal(size=(n, d)) @ np.linalg.inv(np.eye(d) - W)
    order = np.concatenate([np.arange(links, d), np.arange(links)[::-1]])
    penalty = search_penalty(n, d)
    with workers(1) as pool:
        turned = select_within(np.corrcoef(X, rowvar=False), n, order, pool, penalty=penalty).weights
        ends = [
            run(Sparse(restarts=0), replace(task(X, pool), start=sp.csr_array(start))).candidate.loss
            for start in (W, turned)
        ]
    assert np.count_nonzero(turned.toarray()[:, links - 1]) > 30
    assert n * d * math.log(ends[1] / ends[0]) < penalty
