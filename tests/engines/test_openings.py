"""Openings: what is kept lowers the score by what was said; what is not leaves the network as it was, to the bit."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.test_moves import NOISES, common, prepared, total
from engines.test_sparse import learn
from psidag.engines.candidates import EVERYONE
from psidag.engines.moves import Objective, read, set_score
from psidag.engines.network_state import dump_network
from psidag.engines.openings import Openings, _counted, before_openings, open_some, stored_openings
from psidag.scores.named import as_score
from psidag.search._network import drain, open_neighbourhoods
from psidag.simulate import simulate
from psidag.stages.within_order import search_penalty
from support.awkward import knowledge
from support.optima import score_gap


def settled(seed, noise, known=None, penalty=9.0):
    data, net = prepared(seed, noise, known=known, penalty=penalty)
    while net.waiting:
        drain(data.entries, net, 100)
    net.looked()
    set_score(data, net, Objective(as_score(noise), data.count, penalty, 50), 5.0, 8)
    return data, net


def open_one(data, net, centre, seed, neighbours=8, most=10**9):
    changes = np.zeros(1)
    pairs = open_neighbourhoods(
        data.entries, net, np.array([centre], np.int32), neighbours, seed, 9.0, most, 10**9,
        EVERYONE.start, EVERYONE.items, changes,
    )  # fmt: skip
    return float(changes[0]), pairs


def test_openings_of_one_slice_end_when_they_have_taken_all_the_work_that_is_left():
    data, net = settled(0, "unequal")
    changes, centres = np.zeros(5), np.arange(5, dtype=np.int32)
    open_neighbourhoods(
        data.entries, net, centres, 2, 1, 9.0, 10**9, 0, EVERYONE.start, EVERYONE.items, changes
    )  # fmt: skip
    assert np.isfinite(changes[0])
    assert np.isnan(changes[1:]).all()


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 10_000), noise=st.sampled_from(NOISES), centre=st.integers(0, 8), near=st.integers(0, 8),
    most=st.sampled_from([0, 300, 10**9]), prior=knowledge(9),
)  # fmt: skip
def test_what_is_kept_changes_the_score_as_said_and_all_else_is_as_it_was(seed, noise, centre, near, most, prior):
    known = prior.bind([f"x{i}" for i in range(9)])
    data, net = settled(seed, noise, known)
    before, held = read(net, 9), dump_network(net, 9)
    change, _ = open_one(data, net, centre, seed, near, most)
    net.check(data.entries)
    assert not net.waiting
    after, now = read(net, 9), dump_network(net, 9)
    sigma2 = common(data, before)
    difference = total(data, after.weights, noise, 9.0, sigma2) - total(data, before.weights, noise, 9.0, sigma2)
    if change < -1e-6:
        assert difference == pytest.approx(change, abs=1e-5)
    elif noise == "equal" or change > 1e-6:
        # The counters go on: sweeps, visits, moves and work.
        held["counts"], now["counts"] = held["counts"][:2], now["counts"][:2]
        assert all(held[name].tobytes() == now[name].tobytes() for name in held)
    assert known.respects(after.order)


def test_a_network_without_edges_can_be_opened():
    data, net = settled(0, "equal", penalty=1e9)
    change, pairs = open_one(data, net, 3, 1)
    assert change == 0
    assert pairs == []


@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 10_000))
def test_openings_of_the_same_seed_give_the_same_bits(seed):
    ends = []
    for _ in range(2):
        data, net = settled(seed, "unequal")
        found = before_openings(data, net)
        for _ in range(3):
            objective = Objective(as_score("unequal"), data.count, 9.0, 50)
            found = open_some(data, net, objective, EVERYONE, found, np.random.default_rng(seed), None)
        ends.append((found, {name: part.tobytes() for name, part in dump_network(net, 9).items()}))
    assert ends[0] == ends[1]


def test_openings_end_by_their_number_or_by_the_rule():
    assert Openings(1e9, made=3).over(100, 3)
    assert not Openings(1e9, made=2).over(100, 3)
    assert not Openings(1e9, made=90, idle=30, idle_work=1.9e9, work=1.9e9).over(100, None)
    assert Openings(1e9, made=90, idle=30, idle_work=2.1e9, work=2.1e9).over(100, None)
    assert not Openings(1e9, made=90, idle=30, idle_work=3.9e8, work=3.9e8).over(1000, None)
    assert Openings(1e9, made=90, idle=30, idle_work=4.1e8, work=4.1e8).over(1000, None)
    assert Openings(1e9, made=90, idle=30, idle_work=1e8, work=1e8).over(10_000, None)
    assert Openings(1e9, made=90, idle=100, back=10).over(3, None)


def test_openings_go_on_longer_where_they_have_gained_and_for_some_work_however_short_the_search_was():
    assert not Openings(1e9, made=90, idle=30, idle_work=2.1e9, used=0.9e9, work=3e9).over(100, None)
    assert not Openings(1.0, made=9, idle=9, idle_work=1e6, work=1e6).over(100, None)
    assert Openings(1.0, made=9, idle=9, idle_work=1e8, work=1e8).over(100, None)


def test_openings_go_on_on_small_tables_where_hardly_one_comes_back():
    idle = Openings(1.0, made=500, idle=300, idle_work=1e8, work=2e8)
    assert not idle.over(30, None)
    assert idle.over(200, None)
    assert idle._replace(back=10).over(30, None)


def test_openings_do_not_go_on_for_ever_however_much_they_gain():
    gaining = Openings(1e9, made=500, work=1.9e10, used=1.9e10, gained=1e4)
    assert not gaining.over(200, None)
    spent = gaining._replace(work=2e10, used=2e10)
    assert spent.over(200, None)
    assert not spent.over(200, 501)
    assert "raise restarts" in spent._replace(idle=3).message(9.0, ["x"] * 200)


def test_openings_end_sooner_on_wide_tables_where_no_residual_variance_stands_out():
    some = Openings(1e9, made=90, idle=30, back=10, idle_work=3e8, work=3e8)
    assert not some.over(1000, None)
    assert some._replace(sound=True).over(1000, None)


def test_gains_that_come_to_a_penalty_together_are_worth_all_the_work_before_them():
    before = Openings(1.0, made=10, idle=10, back=4, idle_work=10.0, work=10.0)

    def after(*changes):
        return _counted(before, np.array(changes), 2.0, set(), 10.0)

    assert after(-20.0)[:7] == (1.0, 11, 0, 0, 0.0, 0.0, 12.0)
    assert after(-5.0)[:7] == (1.0, 11, 11, 0, 12.0, 0.5, 0.0)
    assert after(-5.0, -5.0)[:7] == (1.0, 12, 0, 0, 0.0, 0.0, 12.0)
    assert after(-0.4)[:7] == (1.0, 11, 11, 5, 12.0, 0.0, 0.0)
    assert after(0.0)[:7] == (1.0, 11, 11, 5, 12.0, 0.0, 0.0)
    assert after(5.0)[:7] == (1.0, 11, 11, 4, 12.0, 0.0, 0.0)
    assert after(5.0).least == after(5.0).most == 5.0
    assert after(-5.0).gained == 5.0
    assert after(-5.0).fresh
    assert not after(0.0).fresh


def test_what_is_said_of_openings():
    text = Openings(1.0, 40, 24, gained=90.0, least=18.0, most=900.0, contested=((0, 2),)).message(9.0, ["a", "b", "c"])
    assert "40 neighbourhoods were opened, the last 24 without a gain" in text
    assert "lowered the score by 10 penalties" in text
    assert "2 to 1e+02 penalties higher" in text
    assert "a - c" in text
    assert "raise restarts" in Openings(1.0, 5, 0, gained=1.0).message(9.0, [])


def test_what_is_said_where_openings_were_cut_short():
    penalty = 9.0
    assert "no neighbourhood had been opened yet" in Openings(1.0).standing(penalty)
    assert Openings(1.0, 40, 40).standing(penalty) == "40 neighbourhoods had been opened, all without a gain"
    gaining = Openings(1.0, 40, 3, gained=90.0).standing(penalty)
    assert "still gaining" in gaining
    assert "10 penalties, the last 3 none" in gaining
    assert "still gaining" not in Openings(1.0, 40, 30, gained=90.0).standing(penalty)


def test_a_search_that_time_ends_says_how_openings_stood():
    X = simulate("ER2", n=200, d=10, seed=0).X
    cut = learn(X, restarts=10**9, max_time=0.5)
    assert cut.status.code == "time_limit"
    assert "neighbourhoods had been opened" in cut.status.message
    assert "neighbourhoods were opened" in learn(X).status.message


def test_forged_openings_are_refused():
    held = tuple(Openings(1.0, contested=((0, 9),)))
    with pytest.raises(ValueError, match="contested"):
        stored_openings(held, 9)
    assert stored_openings(held, 10) == Openings(1.0, contested=((0, 9),))
    assert stored_openings(None, 9) is None


@pytest.mark.parametrize("seed", [0, 4])
def test_openings_free_an_equal_search_that_is_stuck(seed):
    d = 60 if seed else 100
    problem = simulate("ER6", n=2000, d=d, seed=seed, ranges=((-2.0, -0.05), (0.05, 2.0)))
    stuck, free = learn(problem.X, restarts=0).candidate, learn(problem.X).candidate
    ideal = learn(problem.X, start=problem.dag.weights, restarts=0).candidate
    assert free.loss <= stuck.loss
    assert free.loss <= ideal.loss or score_gap(free, ideal, 2000, d) < search_penalty(2000, d)
    assert math.isfinite(free.loss)
