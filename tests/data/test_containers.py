"""What holds rows in memory: masks are missing values, odd containers are understood or named."""

import gzip

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psidag import DataWarning, InputError, Moments, learn_dag
from psidag.data.containers import as_rows
from psidag.data.ingest import as_source
from psidag.simulate import simulate

X = simulate("ER2", d=4, n=200, seed=3).X


def masked(dtype=float):
    rows = (10 * X).astype(dtype)
    hidden = np.zeros(rows.shape, dtype=bool)
    hidden[5, 1] = hidden[17] = True
    rows[hidden] = -9999
    return np.ma.masked_array(rows, hidden)


@pytest.mark.parametrize("dtype", [np.float32, float, int, object])
def test_masks_are_missing_values(dtype):
    rows, _ = as_rows(masked(dtype))
    assert rows.dtype == (np.float32 if dtype is np.float32 else np.float64)
    np.testing.assert_array_equal(np.isnan(rows), np.ma.getmaskarray(masked()))
    with pytest.raises(InputError, match="'x1' in 2 of 200 rows"):
        learn_dag(masked(dtype))
    with pytest.warns(DataWarning, match="2 of 200"):
        assert as_source(masked(dtype), missing="drop").X.min() > -9999


def test_masks_do_not_slip_through_elsewhere():
    bare = np.ma.masked_array(X, np.zeros(X.shape, bool))
    np.testing.assert_array_equal(as_rows(bare)[0], X)
    with pytest.raises(InputError, match="masked"):
        Moments.from_rows(masked())
    with pytest.raises(InputError, match="masked"):
        learn_dag(X, sample_weight=np.ma.masked_array(np.ones(200), np.arange(200) == 3))
    with pytest.warns(DataWarning, match="2 of 200"):
        assert learn_dag(iter([masked()]), "sparse", missing="drop").n_samples == 198


def test_sparse_columns_of_pandas_are_numbers():
    dense = pd.DataFrame(X, columns=list("abcd")).round(0)
    sparse = dense.astype({"b": pd.SparseDtype("float64", 0.0), "d": pd.SparseDtype("float64", np.nan)})
    np.testing.assert_array_equal(as_source(sparse).X, dense.to_numpy())
    assert isinstance(sparse.dtypes["b"], pd.SparseDtype)


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame(X, columns=["a", "b", "a", "c"]),
        pd.DataFrame(X, columns=["1", 1, "b", "c"]),
        pa.table([X[:, 0], X[:, 1], X[:, 2]], names=["a", "b", "a"]),
    ],
    ids=["pandas", "alike as text", "arrow"],
)
def test_names_that_are_there_twice_are_named(table):
    with pytest.raises(InputError, match=r"column names must be unique; repeated: '(a|1)'"):
        learn_dag(table)


def test_files_without_rows_or_damaged_are_named(tmp_path):
    np.save(tmp_path / "none.npy", np.zeros((0, 3)))
    with pytest.raises(InputError, match=r"Found array with 0 sample\(s\)"):
        learn_dag(tmp_path / "none.npy")
    packed = bytearray(gzip.compress(b"a,b\n" + b"1.5,2.5\n" * 5000))
    packed[40:60] = bytes(20)
    (tmp_path / "damaged.csv.gz").write_bytes(packed)
    with pytest.raises(InputError, match=r"damaged\.csv\.gz"):
        learn_dag(tmp_path / "damaged.csv.gz")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_time": "5"}, "max_time must be a positive number of seconds or None; got '5'"),
        ({"max_time": True}, "max_time"),
        ({"threshold": "0.3"}, "threshold must be None"),
    ],
    ids=repr,
)
def test_text_is_no_number(options, message):
    with pytest.raises(InputError, match=message):
        learn_dag(X, **options)


@pytest.mark.parametrize("offset", [0.0, 1e9, -1e15])
def test_noise_on_a_large_offset_is_no_constant(offset):
    rng = np.random.default_rng(0)
    cause = np.round(rng.normal(size=5000) * 8) + offset
    effect = cause - offset + rng.normal(size=5000)
    for rows in (np.c_[cause, effect], np.c_[cause, effect].astype(np.longdouble).astype(float)):
        assert (Moments.from_rows(rows).sd > 0).all()
        solution = learn_dag(rows, noise="unequal")
        assert solution.dag.n_edges == 1
        assert not any("constant" in sentence for sentence in solution.warnings)


@given(
    st.floats(1e-300, 1e80),
    st.sampled_from([-1.0, 1.0]),
    st.integers(2, 400),
    st.integers(1, 7),
    st.booleans(),
)
def test_constants_stay_constant_however_they_are_cut(value, sign, n, cuts, weighted):
    rng = np.random.default_rng(n)
    rows = np.full((n, 2), sign * value)
    weight = rng.exponential(size=n) if weighted else None
    moments = Moments(2)
    for part in np.array_split(np.arange(n), cuts):
        moments.update(rows[part], None if weight is None else weight[part])
    assert (moments.sd == 0).all()


@pytest.mark.parametrize("wide", [False, True])
def test_units_in_which_squares_vanish_are_named(wide, monkeypatch):
    if wide:
        monkeypatch.setattr("psidag.data.correlations.SINGLE_FROM", 1)
        monkeypatch.setattr("psidag.data.correlations.correlations.__defaults__", (1, None))
    table = X[:6].copy()
    table[:, 2] *= 1e-165
    with pytest.raises(InputError, match=r"vary too little .* 'x2': give them in smaller units"):
        learn_dag(table)
    table[:, 2] = 1e-165
    with pytest.warns(DataWarning, match="constant columns become isolated nodes: 'x2'"):
        learn_dag(table)
