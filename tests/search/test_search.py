"""The compiled search beside a plain one, move by move; and its invariants, kept and broken."""

import numpy as np
import pytest
import scipy.sparse as sp

from psidag.data.correlations import correlations
from psidag.data.sources import Table
from psidag.engines.moves import Objective, add_edges, assign_parents, read, required_network, set_score
from psidag.engines.network_state import dump_network, restore_network
from psidag.graph.constraints import Constraints, unconstrained
from psidag.scores.named import as_score
from psidag.scores.policy import SMALLEST_GAIN
from psidag.search._network import drain, resample
from psidag.stages.within_order import select_within
from psidag.system.parallel import workers
from support.exact import residual_variance
from support.reference_network import ReferenceNetwork

NOISES = ["equal", "unequal"]
PENALTY, LEEWAY, ADDITIONS = 6.0, 5.0, 3
#: Decisions closer than this are left to rounding.
CLOSE = 1e-6


def network(seed, noise, d=8, forbidden=0):
    """Correlations, prior knowledge, and a network of parents selected within a random order."""
    rng = np.random.default_rng(seed)
    W = np.triu(rng.uniform(0.3, 1, (d, d)) * rng.choice([-1, 1], (d, d)) * (rng.random((d, d)) < 0.4), 1)
    X = (rng.normal(size=(150, d)) @ np.linalg.inv(np.eye(d) - W))[:, rng.permutation(d)]
    names = [f"x{i}" for i in range(d)]
    pairs = [(names[a], names[b]) for a, b in rng.integers(d, size=(forbidden, 2)) if a != b]
    known = Constraints(forbidden_edges=pairs).bind(names) if forbidden else unconstrained(names)
    with workers(1) as threads:
        data = correlations(Table(X, names), threads)
        order = rng.permutation(d)
        chosen = select_within(data.matrix, data.count, order, threads, penalty=PENALTY, constraints=known)
    net = required_network(data, order, known)
    assign_parents(data, net, chosen.weights, np.arange(d))
    set_score(data, net, Objective(as_score(noise), data.count, PENALTY, 50), LEEWAY, ADDITIONS)
    return data, known, net


def parents(net, d):
    found = read(net, d)
    columns = found.weights.tocsc()
    return found.order.tolist(), [frozenset(columns[:, [j]].nonzero()[0].tolist()) for j in range(d)]


def configured(data, net, noise):
    """The network with every candidate looked at, however little of it may be left; and its noise variances."""
    sigma2 = Objective(as_score(noise), data.count, PENALTY, 50).known_variance(
        data, read(net, data.d).residual_variance
    )
    nothing = np.zeros(data.d)
    neutral = as_score(noise).policy.equivalent
    net.configure(data.count, PENALTY, sigma2, nothing, 50, LEEWAY * PENALTY, ADDITIONS, SMALLEST_GAIN, neutral)
    return sigma2, -SMALLEST_GAIN if neutral else SMALLEST_GAIN


@pytest.mark.parametrize("noise", NOISES)
def test_every_sweep_is_the_one_of_the_reference(noise):
    """Over a thousand sweeps of each score; where rounding decides, the score after it is compared instead."""
    sweeps, close = 0, 0
    for seed in range(120):
        data, known, net = network(seed, noise, forbidden=seed % 3 * 4)
        sigma2, tolerance = configured(data, net, noise)
        net.queue_all()
        forbidden = set(map(tuple, known.forbidden.tolist()))
        for _ in range(40):
            if not net.waiting:
                break
            order, before = parents(net, data.d)
            plain = ReferenceNetwork(
                data.matrix, order, before, n=data.count, penalty=PENALTY, sigma2=sigma2,
                leeway=LEEWAY * PENALTY, additions=ADDITIONS, tolerance=tolerance, forbidden=forbidden,
            )  # fmt: skip
            start = plain.total()
            change = plain.sweep(int(dump_network(net, data.d)["queue"][0]))
            drain(data.entries, net, 1)
            net.check(data.entries)
            sweeps += 1
            order, after = parents(net, data.d)
            if plain.margin > CLOSE:
                assert (order, after) == (plain.order, plain.parents)
                assert plain.total() - start == pytest.approx(change, abs=1e-6)
            else:
                close += 1
                plain.parents = after
                assert plain.total() <= start + 2 * SMALLEST_GAIN
    assert sweeps > 1500
    assert close < 0.3 * sweeps


@pytest.mark.parametrize("noise", NOISES)
def test_invariants_hold_after_every_kind_of_move(noise):
    for seed in range(10):
        data, _, net = network(seed, noise, d=12)
        net.check(data.entries)
        with workers(1) as threads:
            for round_ in range(3):
                drain(data.entries, net, 5)
                net.check(data.entries)
                add_edges(data, net, threads)
                net.check(data.entries)
                resample(data.entries, net, round_)
                net.check(data.entries)


def broken(held, how):
    """A dump with one invariant broken; indices stay within range."""
    held = {key: np.array(value) for key, value in held.items()}
    if how == "order":
        held["order"] = held["order"][::-1].copy()
    elif how == "children":
        held["children"] = np.roll(held["children"], 1)
    elif how == "locked":
        held["nodes"][:, 1] = held["nodes"][:, 0]
    elif how == "variance":
        held["levels"][:, 0] *= 1.01
    else:
        held[how] = held[how] * 1.1 + 0.1
    return held


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("order", "a parent does not stand before its child"),
        ("children", "parents and children do not mirror each other"),
        ("locked", "a locked parent is not required"),
        ("weights", "weights do not solve the normal equations"),
        ("inverses", "M is not the inverse"),
        ("variance", "the residual variance is not that of the weights"),
    ],
)
def test_a_broken_invariant_is_found(monkeypatch, how, message):
    data, known, net = network(1, "equal")
    held = dump_network(net, data.d)
    restore_network(data, known, held).check(data.entries)
    # What reads files would refuse some of these before the network is made.
    monkeypatch.setattr("psidag.engines.network_state._check_lists", lambda *_: None)
    with pytest.raises(AssertionError, match=message):
        restore_network(data, known, broken(held, how)).check(data.entries)


def nearly_collinear(d=12, n=400, seed=0):
    """Columns of which each repeats the one before it but for a millionth of its variance, and less."""
    rng = np.random.default_rng(seed)
    X = np.cumsum(rng.normal(size=(n, d)) * np.r_[1.0, 10.0 ** -rng.uniform(2, 4.5, d - 1)], axis=1)
    names = [f"x{i}" for i in range(d)]
    with workers(1) as threads:
        data = correlations(Table(X, names), threads)
    return data, unconstrained(names)


def test_delicate_regressions_stay_exact_however_parents_come_and_go():
    """Against wider numbers: an error of the correlations' last bit, however many changes there were."""
    data, known = nearly_collinear()
    d, S = data.d, data.matrix
    net = required_network(data, np.arange(d), known)
    rng = np.random.default_rng(1)
    delicate = 0
    for _ in range(300):
        chosen = rng.permutation(d - 1)[: rng.integers(2, d)]
        pattern = sp.csr_array((np.ones(len(chosen)), (chosen, np.full(len(chosen), d - 1))), shape=(d, d))
        assign_parents(data, net, pattern, np.array([d - 1]))
        net.check(data.entries)
        found = read(net, d)
        kept = found.weights.tocsc()[:, [d - 1]].nonzero()[0]
        left = residual_variance(S, d - 1, kept)
        unsure = 1e-14 * (1 + np.abs(found.weights.tocsc()[:, [d - 1]]).sum() ** 2)
        assert found.residual_variance[d - 1] == pytest.approx(left, abs=unsure)
        delicate += dump_network(net, d)["nodes"][d - 1, 4]
    assert delicate > 200


def test_a_delicate_network_is_restored_to_the_last_bit():
    data, known = nearly_collinear(seed=3)
    d = data.d
    net = required_network(data, np.arange(d), known)
    assign_parents(data, net, sp.csr_array(np.triu(np.ones((d, d)), 1)), np.arange(d))
    held = dump_network(net, d)
    assert held["nodes"][:, 4].any()
    again = restore_network(data, known, held)
    again.check(data.entries)
    for one, other in zip(held.values(), dump_network(again, d).values(), strict=True):
        np.testing.assert_array_equal(one, other)
    assign_parents(data, net, sp.csr_array(np.eye(d, k=1)), np.arange(d))
    assign_parents(data, again, sp.csr_array(np.eye(d, k=1)), np.arange(d))
    np.testing.assert_array_equal(read(net, d).residual_variance, read(again, d).residual_variance)
