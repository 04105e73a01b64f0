"""Batches that pass once: columns are matched by name, gaps and empty batches are borne."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from psidag import InputError, PsiDAG, Stochastic, learn_dag
from psidag.data.ingest import as_source
from psidag.simulate import simulate

FRAME = pd.DataFrame(simulate("ER2", d=5, n=1200, seed=2).X, columns=list("abcde"))
PARTS = [FRAME[k : k + 100] for k in range(0, 1200, 100)]


def rows_of(stream):
    return np.concatenate(list(stream._batches))


@pytest.mark.parametrize("frame", [pd.DataFrame, lambda part: pl.DataFrame(dict(part))], ids=["pandas", "polars"])
def test_reordered_columns_are_put_in_order(frame):
    rng = np.random.default_rng(0)
    shuffled = [frame(part[rng.permutation(list("abcde")).tolist()]) for part in PARTS[1:]]
    stream = as_source(iter([frame(PARTS[0]), *shuffled]))
    assert stream.names == tuple("abcde")
    np.testing.assert_array_equal(rows_of(stream), FRAME.to_numpy())


def test_a_shuffled_stream_is_learned_like_an_ordered_one():
    shuffled = [part[list("ecadb")] if k % 2 else part for k, part in enumerate(PARTS)]
    for solver in ("sparse", Stochastic(tau1=20, tau2=20)):
        ordered = learn_dag(iter(PARTS), solver, random_state=0)
        again = learn_dag(iter(shuffled), solver, random_state=0)
        np.testing.assert_allclose(again.dag.to_dense(), ordered.dag.to_dense(), atol=1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda part: part.rename(columns={"c": "z"}), r"batch 1 of the stream \(from row 100 on\) lacks columns: 'c'"),
        (lambda part: part.drop(columns=["a", "e"]), "lacks columns: 'a', 'e'"),
        (lambda part: part.assign(extra=1.0), "has new columns: 'extra'"),
        (lambda part: part.to_numpy()[:, :4], "has 4 columns, the first batch had 5"),
    ],
)
def test_other_columns_are_named(change, message):
    with pytest.raises(InputError, match=message):
        learn_dag(iter([PARTS[0], change(PARTS[1])]), "sparse")


def test_arrays_go_by_position_and_given_names_stand_for_those_of_the_batches():
    stream = as_source(iter([PARTS[0], PARTS[1].to_numpy()]), names=list("vwxyz"))
    assert stream.names == tuple("vwxyz")
    np.testing.assert_array_equal(rows_of(stream), FRAME.to_numpy()[:200])
    stream = as_source(iter([PARTS[0], PARTS[1][list("edcba")]]), names=list("vwxyz"))
    np.testing.assert_array_equal(rows_of(stream), FRAME.to_numpy()[:200])
    with pytest.raises(InputError, match="lacks columns: 'x0'"):
        rows_of(as_source(iter([PARTS[0].to_numpy(), PARTS[1]])))


@pytest.mark.filterwarnings("ignore:rows with missing values")
@pytest.mark.parametrize("solver", ["sparse", Stochastic(tau1=20, tau2=20)], ids=["sparse", "stochastic"])
def test_a_column_that_is_dead_for_a_while_does_not_end_a_stream(solver):
    dead = PARTS[3].assign(b=np.nan)
    found = learn_dag(iter([*PARTS[:3], dead, *PARTS[3:]]), solver, missing="drop", random_state=0)
    assert found.n_samples == 1200
    model = PsiDAG("sparse", missing="drop")
    for part in (PARTS[0], dead, PARTS[1]):
        model.partial_fit(part)
    assert model.solution_.n_samples == 200
    with pytest.raises(InputError, match="'b' in 100 of 100 rows"):
        learn_dag(iter([PARTS[0], dead]), solver)


@pytest.mark.filterwarnings("ignore:rows with missing values")
@pytest.mark.parametrize("solver", ["auto", "sparse", "exact"])
@pytest.mark.parametrize(
    "batches",
    [[np.zeros((0, 3))] * 4, [np.ones((1, 3)), np.zeros((0, 3))], [np.full((5, 3), np.nan)] * 2],
    ids=["empty", "one row", "gaps"],
)
def test_a_stream_without_rows_says_so(solver, batches):
    with pytest.raises(InputError, match=r"the stream gave [01] rows"):
        learn_dag(iter(batches), solver, missing="drop")


def test_empty_batches_between_others_do_no_harm():
    empty = FRAME[:0]
    plain = learn_dag(iter(PARTS), "sparse", random_state=0)
    found = learn_dag(iter([empty, PARTS[0], empty, *PARTS[1:]]), "sparse", random_state=0)
    np.testing.assert_array_equal(found.dag.to_dense(), plain.dag.to_dense())
