"""The same experiment from wherever its rows are: one statistic."""

from contextlib import nullcontext

import numpy as np
import pandas as pd
import polars as pl
import pytest

from psidag import DataWarning, InputError
from psidag.data.experiment import as_experiment
from psidag.data.files import read_table
from psidag.data.interventions import Interventions
from psidag.data.labelled import LabelledScan, conditions_of
from psidag.data.moments import Moments
from psidag.data.sources import Table

NAMES = ["a", "b", "c"]
LABELS = ["control", "a", "a;c", "c", "control"] * 40


def frame(seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(200, 3)) @ rng.normal(size=(3, 3)), columns=NAMES)
    table.insert(1, "set", LABELS)
    return table


def given():
    return Interventions("set", separator=";")


def same(found, expected):
    assert found is not None
    assert found.settings == expected.settings
    for node in range(3):
        assert found.count(node) == expected.count(node)
        np.testing.assert_allclose(
            found.covariance(node, np.arange(3)), expected.covariance(node, np.arange(3)), rtol=1e-9
        )


@pytest.fixture
def expected():
    table = frame()
    labels = Interventions(LABELS, separator=";")
    found = conditions_of(as_experiment(table[NAMES].to_numpy(), labels, names=NAMES))
    assert found is not None
    return found


@pytest.mark.parametrize("kind", ["pandas", "polars", "csv", "parquet", "xlsx", "arrow", "apart"])
def test_a_column_of_labels_is_no_variable(kind, tmp_path, expected):
    table = frame()
    data, labels = table, given()
    if kind == "polars":
        data = pl.from_pandas(table)
    elif kind == "csv":
        table.to_csv(data := tmp_path / "t.csv", index=False)
    elif kind == "parquet":
        table.to_parquet(data := tmp_path / "t.parquet")
    elif kind == "xlsx":
        pytest.importorskip("openpyxl")
        table.to_excel(data := tmp_path / "t.xlsx", index=False)
    elif kind == "arrow":
        table.to_feather(data := tmp_path / "t.feather")
    elif kind == "apart":
        data, labels = table[NAMES], Interventions(LABELS, separator=";")
    source = as_experiment(data, labels)
    assert source.names == tuple(NAMES)
    same(conditions_of(source), expected)


def test_files_too_large_to_be_held(tmp_path, expected, monkeypatch):
    for k, part in enumerate(np.array_split(np.arange(200), 3)):
        frame().iloc[part].to_parquet(tmp_path / f"{k}.parquet")
    monkeypatch.setattr("psidag.data.files.HOLD", 30)
    source = as_experiment(tmp_path, given())
    assert isinstance(source, LabelledScan)
    assert not source.has_moments
    same(conditions_of(source), expected)
    assert source.has_moments
    assert sum(map(len, source.batches())) == 200
    with pytest.raises(InputError, match="199 labels of interventions"):
        conditions_of(
            as_experiment(read_table(tmp_path, drop=["set"], hold=30), Interventions(LABELS[:-1], separator=";"))
        )


def test_dask(expected):
    dd = pytest.importorskip("dask.dataframe")
    source = as_experiment(dd.from_pandas(frame(), npartitions=3), given())
    same(conditions_of(source), expected)
    with pytest.raises(InputError, match="stand in a column"):
        as_experiment(dd.from_pandas(frame(), npartitions=3), LABELS)


def test_streams(expected):
    table = frame()
    batches = (table.iloc[start : start + 30] for start in range(0, 200, 30))
    same(conditions_of(as_experiment(batches, given())), expected)
    with pytest.raises(InputError, match="stand in a column"):
        as_experiment(iter([table[NAMES]]), LABELS)
    with pytest.raises(InputError, match="no batch"):
        as_experiment(iter([]), given())


def test_rows_with_gaps_take_their_labels_with_them():
    table = frame()
    table.loc[[1, 7, 50], "b"] = np.nan
    with pytest.raises(InputError, match="NaN"):
        as_experiment(table, given())
    with pytest.warns(DataWarning, match="left out: 3 of 200"):
        found = conditions_of(as_experiment(table, given(), missing="drop"))
    same(found, conditions_of(as_experiment(table.dropna(), given())))
    with pytest.raises(InputError, match="pairwise"):
        as_experiment(table, given(), missing="pairwise")


@pytest.mark.parametrize("place", ["files", "dask"])
@pytest.mark.parametrize("missing", ["drop", "mean"])
def test_gaps_in_rows_that_stay_where_they_are(place, missing, tmp_path, monkeypatch):
    table = frame()
    table.loc[[1, 7, 50], "b"] = np.nan
    with pytest.warns(DataWarning, match="left out: 3 of 200") if missing == "drop" else nullcontext():
        expected = conditions_of(as_experiment(table, given(), missing=missing))
    data = tmp_path / "t.parquet"
    if place == "files":
        table.to_parquet(data, row_group_size=60)
        monkeypatch.setattr("psidag.data.files.HOLD", 30)
    else:
        data = pytest.importorskip("dask.dataframe").from_pandas(table, npartitions=3)
    source = as_experiment(data, given(), missing=missing)
    assert isinstance(source, LabelledScan)
    with pytest.warns(DataWarning, match="left out: 3 of 200") if missing == "drop" else nullcontext():
        same(conditions_of(source), expected)
    assert bool(source.remarks) == (missing == "drop")
    with pytest.raises(InputError, match="missing or infinite values in 'b'"):
        conditions_of(as_experiment(data, given()))


def test_without_targets_it_is_the_table():
    table = frame()
    source = as_experiment(table[NAMES], [None] * 200)
    assert type(source) is Table
    assert conditions_of(source) is None
    assert type(as_experiment(table[NAMES], None)) is Table


def test_what_does_not_go_together():
    table = frame()
    with pytest.raises(InputError, match=r"there is no column 'sett'.*did you mean 'set'"):
        as_experiment(table, "sett")
    with pytest.raises(InputError, match="moments have none"):
        as_experiment(Moments.from_rows(table[NAMES].to_numpy()), LABELS)
    with pytest.raises(InputError, match="3 labels of interventions for 200 rows"):
        as_experiment(table[NAMES], [None, "a", None])
    with pytest.raises(InputError, match="an array has no such column"):
        as_experiment(table[NAMES].to_numpy(), "set")
    with pytest.raises(InputError, match="'a' was set in every row"):
        as_experiment(table[NAMES], ["a"] * 200)


def test_as_many_targets_as_rows():
    rng = np.random.default_rng(0)
    found = conditions_of(as_experiment(rng.normal(size=(4, 4)), ["x0", "x1", "x2", "x3"]))
    assert found is not None
    assert [found.count(node) for node in range(4)] == [3.0] * 4
