"""Replicates of rows that stay in their files: those of the table in memory, from as few passes as may be."""

import numpy as np
import pandas as pd
import pytest

from psidag import InputError, Stochastic, bootstrap
from psidag.data import resampling, row_counts
from psidag.data.experiment import as_experiment
from psidag.data.files import read_table
from psidag.data.labelled import conditions_of
from psidag.data.resampling import Resampler
from psidag.data.row_counts import RowCounts, StratifiedCounts
from psidag.data.scans import Batches, Scan
from psidag.data.sources import Summary, Table
from psidag.learning.bootstrap import BootstrapInterrupted
from psidag.simulate import simulate
from psidag.system.parallel import SERIAL, workers

PROBLEM = simulate("ER2", d=6, n=1000, seed=3)


class Counted:
    """Rows in pieces of uneven sizes, and how often they were gone through."""

    def __init__(self, X=PROBLEM.X, cuts=(0, 130, 131, 700, 1000)):
        self.passes = 0
        self.X, self.cuts = X, cuts

    def __call__(self):
        self.passes += 1
        for start, stop in zip(self.cuts, self.cuts[1:], strict=False):
            yield self.X[start:stop]


def scan(read=None):
    return Scan(Batches(read or Counted()), PROBLEM.names)


@pytest.fixture(params=[1 << 18, 300], ids=["one block", "blocks"])
def blocks(request, monkeypatch):
    monkeypatch.setattr(row_counts, "_ROWS", request.param)


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("method", ["bootstrap", "subsample"])
def test_files_give_the_replicates_of_the_table(method):
    table = Resampler(Table(PROBLEM.X, PROBLEM.names), method, 0.4, [7])
    files = Resampler(scan(), method, 0.4, [7])
    with workers(2) as threads:
        files.read(range(2, 6), threads)
    for number in (2, 3, 5, 9):  # the last was not read with the others
        np.testing.assert_array_equal(table.row_counts(number), files.row_counts(number))
        left, right = (each.draw(number, SERIAL).moments() for each in (table, files))
        assert left.count == right.count
        np.testing.assert_allclose(left.covariance, right.covariance, rtol=1e-10, atol=1e-12)
        again = np.concatenate(list(files.draw(number, SERIAL, needs_rows=True).batches()))
        np.testing.assert_array_equal(again, np.repeat(PROBLEM.X, files.row_counts(number), axis=0))


@pytest.mark.usefixtures("blocks")
def test_the_laws_of_the_draws_hold_in_blocks_too():
    drawn = RowCounts(1000, None, "bootstrap", 0.5, [1])
    counts = np.array([drawn.all(k) for k in range(300)])
    assert (counts.sum(axis=1) == 1000).all()
    assert counts.var() == pytest.approx(1 - 1 / 1000, rel=0.02)
    # Rows of different blocks are as little, and as negatively, correlated as those of one.
    between = counts[:, :300].sum(axis=1)
    assert between.var() == pytest.approx(300 * 0.7, rel=0.3)
    halves = RowCounts(1000, None, "subsample", 0.5, [1])
    for k in range(0, 20, 2):
        first, second = halves.all(k), halves.all(k + 1)
        assert (first + second == 1).all()
    inside = np.array([halves.all(2 * k)[:300].sum() for k in range(300)])
    assert inside.mean() == pytest.approx(150, abs=2)
    assert inside.var() == pytest.approx(300 * 0.25 * 0.7, rel=0.35)
    weight = np.repeat([0.0, 1.0, 2.0], [350, 350, 300])
    weighted = RowCounts(1000, weight, "bootstrap", 0.5, [1])
    counts = np.array([weighted.all(k) for k in range(200)])
    assert (counts.sum(axis=1) == 950).all()
    assert not counts[:, :350].any()
    assert counts[:, 700:].mean() == pytest.approx(2, rel=0.02)
    paired = RowCounts(1000, weight, "subsample", 0.5, [1])
    np.testing.assert_array_equal(paired.all(0) + paired.all(1), weight)


@pytest.mark.parametrize(("room", "passes"), [(1 << 26, 1), (36 * 4, 3), (1, 10)], ids=["all", "four", "one"])
def test_one_pass_sums_up_as_many_replicates_as_there_is_room_for(room, passes, monkeypatch):
    monkeypatch.setattr(resampling, "_HELD", room)
    read = Counted()
    source = scan(read)
    source.moments()
    read.passes = 0
    found = bootstrap(source, replicates=10, random_state=0)
    # And one to look at the noise, which is chosen once for all of them.
    assert read.passes == passes + 1
    held = bootstrap(PROBLEM.X, replicates=10, random_state=0)
    np.testing.assert_array_equal(found.support, held.support)
    np.testing.assert_allclose(found.weight_mean, held.weight_mean, atol=1e-6)


def test_an_engine_that_samples_rows_learns_from_draws_of_files():
    found = bootstrap(scan(), Stochastic(tau1=20, tau2=20, max_rounds=1), replicates=3, random_state=0)
    assert found.replicates == 3
    assert found.support.max() == 1


def test_replicates_go_on_over_an_interruption_and_from_a_folder(tmp_path, monkeypatch):
    for k in range(4):
        pd.DataFrame(PROBLEM.X[250 * k : 250 * (k + 1)], columns=PROBLEM.names).to_parquet(tmp_path / f"{k}.parquet")
    files = read_table(tmp_path, hold=1)
    whole = bootstrap(files, replicates=6, random_state=1)
    calls = []
    draw = Resampler.draw

    def stopped(self, *given, **options):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return draw(self, *given, **options)

    monkeypatch.setattr(Resampler, "draw", stopped)
    with pytest.raises(BootstrapInterrupted) as interrupted:
        bootstrap(files, replicates=6, random_state=1, n_jobs=1)
    monkeypatch.undo()
    part = interrupted.value.confidence
    assert part.replicates == 3
    resumed = bootstrap(files, replicates=6, resume=part)
    np.testing.assert_array_equal(resumed.support, whole.support)
    np.testing.assert_array_equal(resumed.weight_mean, whole.weight_mean)


def test_what_cannot_be_drawn_again_is_said_before_anything_is_learned(monkeypatch):
    monkeypatch.setattr("psidag.learning.plan.run", None)
    with pytest.raises(InputError, match="pass only once"):
        bootstrap(iter([PROBLEM.X]), replicates=2)
    with pytest.raises(InputError, match="no rows to choose from"):
        Resampler(Summary(Table(PROBLEM.X, PROBLEM.names).moments()), "subsample", 0.5, [1])


def test_files_that_change_meanwhile_are_noticed():
    read = Counted()
    source = scan(read)
    source.moments()
    read.cuts = (0, 500)
    with pytest.raises(InputError, match="500 rows were read where there were 1000"):
        bootstrap(source, replicates=2)


GROUPS = np.repeat(np.arange(5), [600, 200, 150, 49, 1])[np.random.default_rng(0).permutation(1000)]


def test_draws_within_groups_keep_their_sizes():
    sizes = np.bincount(GROUPS)
    drawn = StratifiedCounts(GROUPS, None, "bootstrap", 0.5, [1])
    for number in range(3):
        np.testing.assert_array_equal(np.bincount(GROUPS, drawn.all(number)), sizes)
    assert (drawn.all(0) != drawn.all(1)).any()
    np.testing.assert_array_equal(drawn.all(1), drawn.all(1))
    for fraction in (0.5, 0.3):
        halves = StratifiedCounts(GROUPS, None, "subsample", fraction, [1])
        pairs = [(halves.all(2 * k), halves.all(2 * k + 1)) for k in range(40)]
        for one, other in pairs:
            assert max((one + other).max(), 1) == 1
            for times in (one, other):
                assert (np.abs(np.bincount(GROUPS, times) - fraction * sizes) < 1).all()
        single = [times[GROUPS == 4].sum() for pair in pairs for times in pair]
        assert 0 < np.mean(single) < 2 * fraction


def test_groups_of_weighted_rows():
    weight = np.random.default_rng(1).integers(0, 4, 1000).astype(float)
    weight[GROUPS == 4] = 0.0
    sums = np.bincount(GROUPS, weight)
    drawn = StratifiedCounts(GROUPS, weight, "bootstrap", 0.5, [1]).all(0)
    np.testing.assert_array_equal(np.bincount(GROUPS, drawn, minlength=5), sums)
    assert not drawn[weight == 0].any()
    halves = StratifiedCounts(GROUPS, weight, "subsample", 0.5, [1])
    assert (halves.all(0) + halves.all(1) <= weight).all()


@pytest.mark.parametrize("method", ["bootstrap", "subsample"])
def test_experiments_are_drawn_within_conditions_wherever_their_rows_are(method, tmp_path, monkeypatch):
    table = pd.DataFrame(PROBLEM.X, columns=PROBLEM.names)
    table["set"] = np.array(["", "x1", "x2", "x1,x3", "x4"])[GROUPS]
    table.to_parquet(tmp_path / "t.parquet", row_group_size=130)
    held = Resampler(as_experiment(table, "set"), method, 0.4, [7])
    monkeypatch.setattr("psidag.data.files.HOLD", 1000)
    files = Resampler(as_experiment(tmp_path / "t.parquet", "set"), method, 0.4, [7])
    for number in (0, 3):
        np.testing.assert_array_equal(held.row_counts(number), files.row_counts(number))
        left, right = (conditions_of(each.draw(number, SERIAL)) for each in (held, files))
        assert left.settings == right.settings
        for node in range(6):
            assert left.count(node) == right.count(node)
            among = np.arange(6)
            np.testing.assert_allclose(left.covariance(node, among), right.covariance(node, among), rtol=1e-8)
    if method == "bootstrap":
        assert left.settings == [(1,), (1, 3), (2,), (4,)]
