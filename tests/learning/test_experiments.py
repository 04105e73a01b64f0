"""Learning from experiments through every front door: the same answer, and none of it without targets."""

import numpy as np
import pandas as pd
import pytest

from psidag import InputError, Interventions, PsiDAG, bootstrap, learn_dag
from psidag.graph.interventional import interventional_shd
from psidag.graph.metrics import edge_errors
from psidag.simulate import simulate
from psidag.simulate.experiment import experiment

pytestmark = pytest.mark.filterwarnings("ignore::psidag.DataWarning")


def made(seed=0, d=12, rows=30, controls=400, **options):
    rng = np.random.default_rng([seed, 1])
    scale = rng.uniform(0.5, 2.0, d)
    model = simulate("ER1", d=d, n=2, seed=seed, ranges=((-1, -0.4), (0.4, 1)), scale=scale).model
    return model, experiment(model, rows=rows, control_rows=controls, seed=seed, **options)


def frame(drawn):
    table = pd.DataFrame(drawn.X, columns=drawn.names)
    table["set"] = ["control" if label is None else "|".join(label) for label in drawn.labels]
    return table


def learn(data, **options):
    return learn_dag(data, random_state=0, n_jobs=1, **options)


def same(one, other):
    np.testing.assert_allclose(one.dag.to_dense(), other.dag.to_dense(), rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(one.graph.to_matrix().toarray(), other.graph.to_matrix().toarray())


@pytest.fixture(scope="module")
def drawn():
    return made()


@pytest.fixture(scope="module")
def solution(drawn):
    return learn(drawn[1].X, names=drawn[1].names, interventions=drawn[1].labels)


def test_experiments_direct_what_rows_alone_do_not(drawn, solution):
    model, made_rows = drawn
    without = learn(made_rows.X, names=made_rows.names, noise="unequal")
    assert edge_errors(model.dag, solution.dag).shd <= 1
    assert solution.graph.n_directed > without.graph.n_directed
    reasons = {solution.graph.because(*pair) for pair in solution.graph.directed_edges()}
    assert "intervention" in reasons
    settings = [(), *((name,) for name in model.names)]
    assert interventional_shd(model.dag, solution.dag, settings) <= 1


def test_weights_come_from_the_rows_in_which_a_variable_was_left_alone(drawn, solution):
    _model, rows = drawn
    for j, name in enumerate(solution.names):
        free = rows.X[[label is None or name not in label for label in rows.labels]]
        parents = np.flatnonzero(solution.dag.to_dense()[:, j])
        design = np.column_stack([np.ones(len(free)), free[:, parents]])
        expected = np.linalg.lstsq(design, free[:, j], rcond=None)[0]
        np.testing.assert_allclose(solution.intercept[j], expected[0], atol=1e-6)
        np.testing.assert_allclose(solution.dag.to_dense()[parents, j], expected[1:], atol=1e-6)


@pytest.mark.parametrize("door", ["column", "estimator", "stream", "partial_fit", "csv", "parquet", "dask"])
def test_every_front_door_gives_the_same(door, drawn, solution, tmp_path, monkeypatch):
    table = frame(drawn[1])
    given = Interventions("set", separator="|")
    if door == "column":
        found = learn(table, interventions=given)
    elif door == "estimator":
        model = PsiDAG(random_state=0, n_jobs=1).fit(table, interventions=given)
        assert model.n_features_in_ == 12
        found = model.solution_
    elif door == "stream":
        found = learn((table.iloc[k : k + 100] for k in range(0, len(table), 100)), interventions=given)
    elif door == "partial_fit":
        model = PsiDAG(random_state=0, n_jobs=1)
        for k in range(0, len(table), 100):
            model.partial_fit(table.iloc[k : k + 100], interventions=given)
        found = model.solution_
    elif door == "dask":
        dd = pytest.importorskip("dask.dataframe")
        found = learn(dd.from_pandas(table, npartitions=3), interventions=given)
    else:
        path = tmp_path / f"t.{door}"
        table.to_csv(path, index=False) if door == "csv" else table.to_parquet(path)
        monkeypatch.setattr("psidag.data.files.HOLD", 1000)
        found = learn(path, interventions=given)
    same(found, solution)


@pytest.mark.parametrize("noise", ["auto", "equal", "unequal"])
def test_without_targets_nothing_changes_by_a_bit(noise):
    _, rows = made(1)
    plain = learn(rows.X, names=rows.names, noise=noise)
    labelled = learn(rows.X, names=rows.names, noise=noise, interventions=[None] * len(rows.X))
    assert (plain.dag.weights != labelled.dag.weights).nnz == 0
    np.testing.assert_array_equal(plain.intercept, labelled.intercept)
    np.testing.assert_array_equal(plain.graph.delta, labelled.graph.delta)


def test_permuting_rows_and_renaming_columns_changes_nothing_else(drawn, solution):
    rows = drawn[1]
    shuffled = np.random.default_rng(0).permutation(len(rows.X))
    same(learn(rows.X[shuffled], names=rows.names, interventions=[rows.labels[k] for k in shuffled]), solution)
    other = tuple(f"gene {name}" for name in rows.names)
    labels = [None if label is None else tuple(f"gene {name}" for name in label) for label in rows.labels]
    same(learn(rows.X, names=other, interventions=labels), solution)


@pytest.mark.parametrize("noise", ["equal", "unequal", "nongaussian"])
def test_every_noise_works_with_targets(noise):
    model, rows = made(2)
    found = learn(rows.X, names=rows.names, interventions=rows.labels, noise=noise)
    assert found.noise.asked == noise
    assert edge_errors(model.dag, found.dag).skeleton_errors <= 6


def test_the_same_seed_gives_the_same_bits_on_any_number_of_threads(drawn):
    rows = drawn[1]
    one, two = (
        learn_dag(rows.X, names=rows.names, interventions=rows.labels, random_state=0, n_jobs=jobs) for jobs in (1, 2)
    )
    assert (one.dag.weights != two.dag.weights).nnz == 0


def test_shifts_keep_the_causes_at_work():
    model, rows = made(3, manner="shift")
    given = Interventions(rows.labels, kind="shift")
    found = learn(rows.X, names=rows.names, interventions=given)
    assert edge_errors(model.dag, found.dag).shd <= 2


def test_targets_always_set_together_leave_their_edge_open():
    rng = np.random.default_rng(0)
    a = rng.normal(size=600)
    b = a + rng.normal(size=600)
    a[400:], b[400:] = rng.normal(4, 1, 200), rng.normal(-3, 1, 200)
    table = np.c_[a, b]
    together = learn(table, names=["a", "b"], interventions=[None] * 400 + [("a", "b")] * 200)
    assert together.graph.undirected_edges()
    apart = learn(table, names=["a", "b"], interventions=[None] * 400 + ["b"] * 200)
    assert apart.graph.directed_edges() == [("a", "b")]
    assert apart.graph.because("a", "b") == "intervention"
    assert apart.graph.evidence("a", "b").delta > 50


def test_a_direction_that_was_put_to_the_test_stands_where_what_would_follow_is_open():
    """x was set, and c moved with it. Whether c → y, or y → c, which x would then meet in a collider, is open."""
    rng = np.random.default_rng(0)
    x = np.r_[rng.normal(size=200), rng.normal(3, 1, 40)]
    c = x + rng.normal(size=240)
    y = 0.3 * c + rng.normal(size=240)
    found = learn(pd.DataFrame({"x": x, "c": c, "y": y}), interventions=[None] * 200 + ["x"] * 40)
    graph = found.graph
    assert graph.directed_edges() == [("x", "c")]
    assert graph.because("x", "c") == "intervention"
    assert graph.evidence("x", "c").delta > 20
    assert {frozenset(pair) for pair in graph.undirected_edges()} == {frozenset("cy")}
    # Both ways are members, the collider, too.
    for ends in (("c", "y"), ("y", "c")):
        assert [value == 0 for value in found.effect(*ends).members] == [True, False]


def test_batches_that_differ_do_not_direct_edges():
    model, rows = made(4)
    batch = np.arange(len(rows.X)) % 3
    shifted = rows.X + 3.0 * np.random.default_rng(0).normal(size=(3, 12))[batch]
    ignored = learn(shifted, names=rows.names, interventions=rows.labels)
    told = learn(shifted, names=rows.names, interventions=Interventions(rows.labels, batch=batch))
    assert edge_errors(model.dag, told.dag).shd < edge_errors(model.dag, ignored.dag).shd
    assert edge_errors(model.dag, told.dag).shd <= 2


def test_bootstrap_draws_rows_with_their_labels(drawn):
    rows = drawn[1]
    options = {"replicates": 5, "random_state": 0, "n_jobs": 1, "noise": "unequal", "names": rows.names}
    with_targets = bootstrap(rows.X, interventions=rows.labels, **options)
    without = bootstrap(rows.X, **options)
    assert with_targets.replicates == 5
    assert with_targets.consensus().n_edges > 0
    assert with_targets.recipe["rows"] != without.recipe["rows"]


def test_rows_of_targets_never_seen_are_a_score(drawn):
    model, rows = drawn
    unseen = model.names[0]
    kept = [k for k, label in enumerate(rows.labels) if label is None or unseen not in label]
    left = [k for k in range(len(rows.X)) if k not in set(kept)]
    labels = [rows.labels[k] for k in kept]
    found = learn(rows.X[kept], names=[f"gene {name}" for name in rows.names], interventions=[
        None if label is None else [f"gene {name}" for name in label] for label in labels
    ])  # fmt: skip
    judged = rows.X[left]
    # An array has the columns of the model.
    free = found.score(judged, interventions=[f"gene {unseen}"] * len(left))
    assert free > found.score(judged)
    empty = PsiDAG(random_state=0, threshold=100.0).fit(rows.X[kept], interventions=labels)
    assert empty.solution_.dag.n_edges == 0
    assert free > empty.score(judged, interventions=[unseen] * len(left))


def test_effects_come_from_the_rows_in_which_variables_were_left_alone():
    rng = np.random.default_rng(0)
    a = rng.normal(size=900)
    b = 2 * a + rng.normal(size=900)
    b[600:] = rng.normal(-3, 1, 300)
    labels = [None] * 600 + ["b"] * 300
    found = learn(np.c_[a, b], names=["a", "b"], interventions=labels)
    effect = found.effect("a", "b", np.c_[a, b], interventions=labels, replicates=200)
    assert effect.low < 2 < effect.high
    assert effect.high - effect.low < 0.3
    assert found.effect("a", "b", np.c_[a, b], replicates=200).high < 1.9


def test_the_error_of_an_effect_counts_the_rows_in_which_variables_were_left_alone():
    """Of 900 rows 100 tell how a moves b: the error is that of 100 rows, and the one that many tables show."""
    rng = np.random.default_rng(0)
    labels = [None] * 100 + ["b"] * 800

    def draw():
        a = rng.normal(size=900)
        b = 2 * a + rng.normal(size=900)
        b[100:] = rng.normal(0, 1, 800)
        c = a + b + rng.normal(size=900)
        return pd.DataFrame({"a": a, "b": b, "c": c})

    known = {"required_edges": [("a", "b"), ("b", "c"), ("a", "c")]}
    found = [learn(draw(), interventions=labels, noise="unequal", constraints=known, evidence=False) for _ in range(60)]
    for ends in (("a", "b"), ("a", "c")):
        spread = np.std([each.total_effect(*ends) for each in found])
        assert np.mean([each.effect(*ends).standard_error for each in found]) == pytest.approx(spread, rel=0.3)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["perfect", "shift"])
def test_a_saved_stream_goes_on_as_if_nothing_had_happened(drawn, tmp_path, kind, weighted):
    """Targets with few rows are kept as rows, the one with most as moments; both, and batches, survive the file."""
    table = frame(drawn[1])
    table["plate"] = [f"plate {k % 3}" for k in range(len(table))]
    table = pd.concat([table, table[table["set"] == table["set"].iloc[-1]]])
    given = Interventions("set", separator="|", batch="plate", kind=kind)

    def feed(model, first, last):
        for k in range(first, last, 130):
            batch = table.iloc[k : min(k + 130, last)]
            weight = 1.0 + np.arange(len(batch)) % 2 if weighted else None
            model.partial_fit(batch, sample_weight=weight, interventions=given)
        return model

    def new():
        return PsiDAG(random_state=0, n_jobs=1)

    whole = feed(feed(new(), 0, 520), 520, len(table))
    feed(new(), 0, 520).save_stream(tmp_path / "s")
    resumed = feed(new().load_stream(tmp_path / "s"), 520, len(table))
    assert (whole.adjacency_ != resumed.adjacency_).nnz == 0
    np.testing.assert_array_equal(whole.solution_.residual_variance, resumed.solution_.residual_variance)
    with pytest.raises(InputError, match="with every batch"):
        resumed.partial_fit(table.drop(columns=["set", "plate"]))


def test_what_does_not_go_together(drawn):
    rows = drawn[1]
    with pytest.raises(InputError, match="interventions need the sparse engine"):
        learn(rows.X, names=rows.names, interventions=rows.labels, solver="exact")
    model = PsiDAG(random_state=0).partial_fit(rows.X, interventions=[None] * len(rows.X))
    with pytest.raises(InputError, match="with every batch"):
        model.partial_fit(rows.X)


def test_targets_of_one_row_and_thresholds(drawn):
    rows = drawn[1]
    labels = [None] * (len(rows.X) - 2) + ["x1", "x2"]
    found = learn(rows.X, names=rows.names, interventions=labels, threshold=0.5)
    assert np.abs(found.dag.weights.data).min(initial=1.0) >= 0.5


def test_a_run_can_be_gone_on_with(drawn, solution, tmp_path):
    rows, file = drawn[1], tmp_path / "run"
    options = {"names": rows.names, "interventions": rows.labels, "checkpoint": file, "checkpoint_interval": 0.0}
    learn(rows.X, **options)
    again = learn(rows.X, **options, resume=True)
    assert (again.dag.weights != solution.dag.weights).nnz == 0
