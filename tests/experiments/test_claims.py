"""What is concluded from the rows of the paper's experiments."""

import dataclasses
import math

import numpy as np
import pytest

from psidag.experiments import EXPERIMENTS
from psidag.experiments.claims import CLAIMS
from psidag.experiments.forecast import forecast
from psidag.experiments.page_tables import forecast_table
from psidag.experiments.summaries import fall, growth, median, timing
from psidag.experiments.verdicts import Share
from support.made_up_rows import made_up, race


def answer(says, rows):
    (claim,) = [claim for claim in CLAIMS if says in claim.says]
    return claim.judge(rows)


def test_a_run_that_never_met_the_criterion_is_not_dropped():
    found = timing([made_up("golem", 1.0), made_up("golem", None, seed=1, status="over_time")])
    assert (found.reached, found.runs, found.over_budget, found.failed) == (1, 2, 1, 0)
    assert math.isinf(found.high)
    worse = timing([made_up("golem", 1.0), made_up("golem", None, seed=1), made_up("golem", None, seed=2)])
    assert math.isinf(worse.median)
    assert (worse.bound, worse.failed) == (60.0, 2)


def test_growth_is_fitted_where_the_criterion_was_met():
    rows = [made_up("dagma", 1e-4 * d**2.5, d=d) for d in (50, 100, 500)]
    rows += [made_up("dagma", 5.0, d=10), made_up("dagma", None, d=1000, status="over_time")]
    fit = growth(rows)
    assert fit.slope == pytest.approx(2.5)
    assert (fit.first, fit.last, fit.beyond) == (50, 500, {1000: 60.0})
    assert fit.at(1000) == pytest.approx(1e-4 * 1000**2.5)
    assert growth(rows[:1]) is None


def test_medians_may_be_infinite():
    assert median([1.0, math.inf, 2.0]) == 2.0
    assert median([1.0, math.inf, math.inf]) == math.inf
    assert math.isnan(median([math.nan]))


def test_who_is_faster():
    many = [r for k in range(20) for r in race(1.0, 5.0, 9.0, d=100 + k)]
    assert answer("ψDAG is faster", many).answer == "confirmed"
    assert answer("ψDAG is faster", many[:3]).answer == "undecided"
    slower = [r for k in range(20) for r in race(6.0, 5.0, 9.0, d=100 + k)]
    found = answer("ψDAG is faster", slower)
    assert found.answer == "not confirmed"
    assert "slower on ER2 d=100 (6 s against 5 s)" in found.numbers
    small = [r for k in range(12) for r in race(3.0, 1.0, 1.0, d=10, seed=k)]
    assert answer("DAGMA is marginally faster", small).answer == "confirmed"
    assert answer("DAGMA is marginally faster", race(1.0, 5.0, 2.0, d=50)).answer == "undecided"
    assert answer("ψDAG is faster", []).answer == "not testable here"
    # A budget that ended the other one before ψDAG was through says nothing.
    unfinished = [made_up("psidag-stream", 100.0), made_up("golem", None, status="over_time")]
    assert answer("ψDAG is faster", unfinished).answer == "not testable here"


def test_gradients_are_counted_both_ways():
    def counted(golem_steps, dagma_steps):
        counts = {"psidag-stream": (1e4, 1e4 / 64), "golem": (5e3 * golem_steps, golem_steps)}
        counts["dagma"] = (5e3 * dagma_steps, dagma_steps)
        return [
            made_up(m, 1.0, gradients=g, steps=int(s), d=100 + k) for k in range(20) for m, (g, s) in counts.items()
        ]

    both = answer(
        "DAGMA needs more gradients", [dataclasses.replace(r, gradients=r.goal_gradients) for r in counted(200, 600)]
    )
    assert both.answer == "confirmed"
    assert "counting a gradient each, most on 20 of 20" in both.numbers
    one = [dataclasses.replace(r, gradients=r.goal_gradients) for r in counted(20, 60)]
    assert answer("DAGMA needs more gradients", one).answer == "not confirmed"


def test_spreads_need_seeds():
    rng = np.random.default_rng(0)
    spread = {"psidag-stream": 0.02, "golem": 0.2, "dagma": 2.0}
    rows = [made_up(m, float(np.exp(sd * rng.normal())), d=50, seed=k) for m, sd in spread.items() for k in range(30)]
    assert answer("steadier", rows).answer == "confirmed"
    assert answer("steadier", [r for r in rows if r.seed < 3]).answer == "undecided"
    turned = {"psidag-stream": "dagma", "golem": "golem", "dagma": "psidag-stream"}
    assert answer("steadier", [dataclasses.replace(r, method=turned[r.method]) for r in rows]).answer == "not confirmed"


def test_failures_are_held_against_the_papers_count():
    def runs(failed, total):
        return [made_up("golem", None if k < failed else 4.0, graph="ER6", seed=k) for k in range(total)]

    assert answer("100 nodes GOLEM fails in two", runs(18, 30)).answer == "confirmed"
    assert answer("100 nodes GOLEM fails in two", runs(0, 30)).answer == "not confirmed"
    assert answer("100 nodes GOLEM fails in two", runs(1, 3)).answer == "undecided"
    over = [made_up("dagma", None, graph="ER6", d=1000, status="over_time")]
    assert "1 over budget" in answer("1,000 nodes DAGMA", over).numbers
    assert answer("occasionally fail", runs(1, 30)).answer == "confirmed"
    assert answer("occasionally fail", runs(0, 100)).answer == "not confirmed"


def test_growth_hours_and_what_was_not_run():
    rows = [r for d in (100, 500, 1000) for r in race(1e-4 * d, 1e-6 * d**2.5, 1e-6 * d**3, d=d)]
    assert answer("grows more slowly", rows).answer == "confirmed"
    assert "100 to 1,000 nodes: ψDAG 1.00, GOLEM 2.50" in answer("grows more slowly", rows).numbers
    assert answer("grows more slowly", rows[:6]).answer == "undecided"
    assert answer("grows more slowly", rows[:3]).answer == "not testable here"
    golem = answer("GOLEM takes over 36", rows)
    assert golem.answer == "not confirmed"
    assert "8 min at 3,000" in golem.numbers
    late = [made_up("golem", 3.0 * d**1.5, d=d) for d in (100, 500, 1000)]
    assert answer("GOLEM takes over 36", late).answer == "confirmed"
    assert answer("few hours at 10,000", [made_up("psidag-stream", 7200.0, d=10_000)]).answer == "confirmed"
    assert "extrapolated from d = 1,000" in answer("few hours at 10,000", rows).numbers
    assert answer("few hours at 10,000", rows).answer == "confirmed"
    longer = dataclasses.replace(made_up("psidag-stream", None, d=10_000, status="over_time"), seconds=1000.0)
    assert answer("few hours at 10,000", [*rows, longer]).answer == "undecided"


def test_what_runs_beyond_would_take_is_steps_times_pace():
    def run(d, steps, seconds, met=True):
        goal = {"gradients": 5000.0 * steps, "steps": steps, "seconds": seconds}
        row = made_up("dagma", seconds if met else None, d=d, status="criterion" if met else "over_time")
        return dataclasses.replace(row, **goal, goal_gradients=5000.0 * steps if met else math.nan)

    rows = [run(d, 100 * d, 1e-9 * d**3 * 100 * d) for d in (50, 100, 500)] + [run(3000, 10, 270.0, met=False)]
    made = forecast(rows, 3000)
    assert (made.timed_at, made.counted_at) == (3000, (50, 100, 500))
    assert made.step_seconds == pytest.approx(27.0)
    assert made.steps == pytest.approx(300_000)
    assert forecast(rows, 6000).step_seconds == pytest.approx(8 * 27.0)
    assert "27 s a step, and about 300,000 steps" in answer("DAGMA takes over 100", rows).numbers
    assert answer("DAGMA takes over 100", rows).answer == "confirmed"
    assert forecast(rows[:1], 3000) is None
    in_vain = run(3000, 400_000, 1e7, met=False)
    assert forecast([*rows, in_vain], 3000) is None
    assert forecast([*rows, in_vain], 6000) is None
    assert forecast([*rows, in_vain], 2000) is not None
    kept = [dataclasses.replace(run(1000, 39_117, 1e3), gradients=1.9558e8)]
    assert forecast([*rows[:3], *kept], 6000).timed_at == 1000
    table = forecast_table(rows)
    assert len(table) == 2
    assert table[1][0] == "ER2, gaussian, DAGMA"


def test_memory_is_held_against_time():
    def grown(power, megabytes):
        held = {d: megabytes * d * d / 1e6 for d in (500, 1000, 3000)}
        return [made_up("psidag-stream", 1e-6 * d**power, d=d, memory=held[d]) for d in held]

    assert answer("memory for W", grown(2, 100)).answer == "confirmed"
    assert answer("memory for W", grown(4, 5)).answer == "not confirmed"
    assert answer("memory for W", []).answer == "not testable here"


def test_a_criterion_without_an_intercept_is_not_raced_where_noise_has_a_mean():
    def pairs(noise):
        where = [{"d": 100 + k, "noise": noise} for k in range(20)]
        return [made_up(m, s, **at) for at in where for m, s in (("psidag-printed", 1.0), ("dagma", 5.0))]

    assert answer("ψDAG is faster", pairs("gaussian")).answer == "confirmed"
    assert answer("ψDAG is faster", pairs("gumbel")).answer == "not testable here"


def test_orders_weighting_rate_and_samples():
    def curve(power, start=3.0):
        return tuple((0.1 * k, 1000.0 * k, start * k**power) for k in range(1, 20))

    rng = np.random.default_rng(1)
    true = [
        made_up("order-true", 1.0, graph="ER4", seed=k, gap=1e-3, curve=curve(-1.0 + 0.01 * rng.normal()))
        for k in range(3)
    ]
    random = [made_up("order-random", None, graph="ER4", seed=k, curve=curve(-0.1)) for k in range(30)]
    assert answer("a random order never", true + random).answer == "confirmed"
    assert answer("a random order never", random).answer == "not testable here"
    met = made_up("order-random", 2.0, graph="ER4", curve=curve(-0.1))
    assert answer("a random order never", [*true, met]).answer == "not confirmed"
    assert fall(true[0]) == pytest.approx(-1.0, abs=0.1)
    assert answer("at least as 1/√T", true).answer == "confirmed"
    slow = [made_up("order-true", 1.0, seed=k, curve=curve(-0.3 - 0.001 * k)) for k in range(3)]
    assert answer("at least as 1/√T", slow).answer == "not confirmed"
    # No difference at all confirms nothing.
    same = [made_up(m, 1.0, seed=k) for k in range(30) for m in ("psi-stream", "psidag-target")]
    assert answer("weighted projection", same).answer == "not confirmed"
    mixed = [made_up("psi-stream", 1.0, seed=k) for k in range(30)]
    mixed += [made_up("psidag-target", 0.8 if k % 2 else 1.2, seed=k) for k in range(30)]
    assert answer("weighted projection", mixed).answer == "confirmed"
    fresh = [made_up("psidag-stream", 1.0, seed=k, curve=curve(-2.0)) for k in range(30)]
    table = [made_up("psidag-rows", 1.0, seed=k, curve=curve(-1.0)) for k in range(30)]
    assert answer("fresh samples", fresh + table).answer == "confirmed"


def test_sachs_is_held_against_the_printed_table():
    printed = {"printed-rows": (14, 0.41, 0.18, 14), "golem": (26, 0.29, 0.47, 23), "notears": (15, 0.29, 0.26, 15)}
    rows = [
        made_up(m, None, graph="Sachs", d=11, noise="real", seed=k, shd_03=s, tpr_03=t, fpr_03=f, learned_edges_03=e)
        for m, (s, t, f, e) in printed.items()
        for k in range(10)
    ]
    assert answer("on Sachs ψDAG beats", rows).answer == "confirmed"
    assert answer("figures of the Sachs table", rows).answer == "confirmed"
    assert answer("DAGMA diverges", rows).answer == "not testable here"
    ended = made_up("dagma", None, graph="Sachs", d=11, noise="real", status="converged")
    assert answer("DAGMA diverges", [ended]).answer == "not confirmed"


def test_an_interval_holds_the_share():
    assert Share(30, 30).low > 0.85
    assert Share(0, 3).high > 0.5
    assert str(Share(1, 2)) == "1 of 2 (9–91 %)"


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.says)
def test_every_claim_has_an_answer_without_rows_and_a_figure(claim):
    assert claim.judge([]).answer == "not testable here"
    assert claim.where in EXPERIMENTS
