"""Tables from files: what is read, what is noted, and what is refused with a reason."""

import gzip

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from psidag import InputError, learn_dag
from psidag.data.files import read_table
from psidag.data.writing import write_table

X = np.array([[1.5, 2.0, -3.0], [4.0, 5.25, 6.0]])

FLOATS = st.floats(allow_nan=False, allow_infinity=False)


def write(tmp_path, text, name="t.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.csv", "a,b,c\n1.5,2,-3\n4,5.25,6\n"),
        ("t.csv", '"a","b","c"\r\n"1.5","2","-3"\r\n4,5.25,6'),
        ("t.csv", "\ufeffa;b;c\n1.5;2;-3\n4;5.25;6\n"),
        ("t.tsv", "a\tb\tc\n1.5\t2\t-3\n4\t5.25\t6\n"),
        ("t.txt", "a b c\n1.5 2 -3\n4 5.25 6\n"),
        ("t.txt", "a|b|c\n1.5|2|-3\n4|5.25|6\n"),
        ("t.csv", "a,b,c\n1.5, 2 ,-3\n\n4,5.25,6\n\n"),
        ("t.csv", ",a,b,c\n0,1.5,2,-3\n1,4,5.25,6\n"),
        ("t.csv", '"a","b","c"\n"first",1.5,2,-3\n"second",4,5.25,6\n'),
        ("t.csv.gz", gzip.compress(b"a,b,c\n1.5,2,-3\n4,5.25,6\n", mtime=0)),
    ],
)
def test_text_in_its_many_forms(tmp_path, name, text):
    table = read_table(write(tmp_path, text, name))
    assert table.names == ("a", "b", "c")
    np.testing.assert_array_equal(table.X, X)


def test_columns_without_names(tmp_path):
    table = read_table(write(tmp_path, "1.5,2,-3\n4,5.25,6\n"))
    assert table.names == ("x0", "x1", "x2")
    assert "x0" in table.notes[0]
    np.testing.assert_array_equal(table.X, X)
    table = read_table(write(tmp_path, "0,1,2\n1.5,2,-3\n4,5.25,6\n"))
    assert table.names == ("0", "1", "2")
    np.testing.assert_array_equal(table.X, X)


def test_missing_booleans_whole_numbers_and_text(tmp_path):
    table = read_table(write(tmp_path, "a,flag,count,city,gap\n1.5,True,3,Rome,NA\n,false,,Oslo,\n?,,7,1_2,n/a\n"))
    assert list(table.kinds.values()) == ["number", "boolean", "integer", "text", "number"]
    assert table.text == {"city": "line 2: 'Rome'"}
    np.testing.assert_array_equal(table.X[:, 0], [1.5, np.nan, np.nan])
    np.testing.assert_array_equal(table.X[:, 1], [1, 0, np.nan])
    with pytest.raises(InputError, match=r"'city' \(line 2: 'Rome'\).*--exclude 'city'"):
        table.numbers_only()


def test_underscores_are_not_digits(tmp_path):
    table = read_table(write(tmp_path, "id,v\n1_2,1\n3_4,2\n"))
    assert table.text == {"id": "line 2: '1_2'"}


@pytest.mark.parametrize("kind", ["parquet", "arrow", "npz", "npy"])
def test_binary_formats(tmp_path, kind):
    path = tmp_path / f"t.{kind}"
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    if kind == "parquet":
        pytest.importorskip("pyarrow")
        frame.assign(flag=[True, None], when=pd.to_datetime(["2020-01-01", "2020-01-02"]), n=[1, 2]).to_parquet(path)
    elif kind == "arrow":
        pytest.importorskip("pyarrow")
        frame.to_feather(path)
    else:
        write_table(X, ["a", "b", "c"], str(path))
    table = read_table(path)
    np.testing.assert_array_equal(table.X[:, :3], X)
    if kind == "parquet":
        assert dict(table.kinds)["flag"] == "boolean"
        assert dict(table.kinds)["n"] == "integer"
        assert list(table.text) == ["when"]
        assert read_table(path, columns=["c", "a"]).names == ("a", "c")
    elif kind == "npy":
        assert table.names == ("x0", "x1", "x2")
        assert isinstance(table.X, np.memmap)
    else:
        assert table.names == ("a", "b", "c")


@pytest.mark.parametrize("ending", ["csv", "tsv", "npy", "npz", "parquet"])
def test_written_tables_are_read_back_to_the_last_bit(tmp_path, ending):
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    rows = np.random.default_rng(0).normal(size=(50, 3)) * [1e-300, 1.0, 1e300]
    write_table(rows, ["a b", 'q"', "µ"], str(tmp_path / f"t.{ending}"))
    table = read_table(tmp_path / f"t.{ending}")
    np.testing.assert_array_equal(table.X, rows)
    assert ending == "npy" or table.names == ("a b", 'q"', "µ")


def test_choice_of_columns_and_rows(tmp_path):
    path = write(tmp_path, "gene_a,gene_b,age,name\n1,2,3,u\n4,5,6,v\n7,8,9,w\n")
    assert read_table(path, columns=["gene_*", "age"]).names == ("gene_a", "gene_b", "age")
    assert read_table(path, drop=["name", "gene_b"]).names == ("gene_a", "age")
    np.testing.assert_array_equal(read_table(path, columns=["age"], rows=slice(1, None)).X, [[6], [9]])
    for call, message in [
        ({"columns": ["gene_c"]}, r"no column 'gene_c'.*did you mean 'gene_b', 'gene_a'|did you mean"),
        ({"drop": ["zzz"]}, "its columns are 'gene_a'"),
        ({"drop": ["*"]}, "no column .* is left"),
    ]:
        with pytest.raises(InputError, match=message):
            read_table(path, **call)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", "", "empty"),
        ("t.csv", "\n\n", "first line"),
        ("t.csv", "a,b\n1,2,3\n1,2\n", "line 3 .* has 2 cells"),
        ("t.csv", "a,b\n1,2\n1\n", "line 3 .* has 1 cells, the first line has 2"),
        ("t.csv", "a,a\n1,2\n", "unique; repeated .*'a'"),
        ("t.csv", "a,,c\n1,2,3\n", "column 2 .* has no name"),
        ("t.csv", b"a,b\n\xff\xfe,2\n", "not UTF-8"),
        ("t.csv", b"a,b\n1,\x002\n", "not numbers|cannot be read"),
        ("t.csv", 'a,b\n"1,2\n', "has 1 cells|not numbers"),
        ("t.csv", "a,b\n1;5,2\n", "not numbers: 'a'"),
        ("t.sav", "$FL2", "ending must be one of"),
        ("t.xlsx", "PK", "not a readable Excel file"),
        ("t.npy", b"\x93NUMPY garbage", "not a readable .npy"),
        ("t.npy", b"", "not a readable .npy"),
        ("t.npz", b"PK\x03\x04garbage", "not a readable .npz"),
        ("t.parquet", b"PAR1garbage", "not a readable .parquet|needs pyarrow"),
        ("t.arrow", b"ARROW1garbage", "not a readable .arrow|needs pyarrow"),
        ("t.csv.gz", b"not gzip", "cannot read"),
        ("t.csv.gz", gzip.compress(b"a,b\n1,2\n" * 1000, mtime=0)[:50], "cannot read"),
    ],
)
def test_bad_files_are_named(tmp_path, name, content, message):
    with pytest.raises(InputError, match=message):
        learn_dag(write(tmp_path, content, name))


def test_pickles_are_never_loaded(tmp_path):
    np.save(tmp_path / "t.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="not a readable"):
        read_table(tmp_path / "t.npy")
    with pytest.raises(InputError, match="no file"):
        read_table(tmp_path / "other.csv")


def test_long_file_in_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr("psidag.data.delimited._CELLS", 10)
    rows = np.random.default_rng(0).normal(size=(101, 3))
    text = "a,b,c\n" + "".join(",".join(map(repr, row)) + "\n" for row in rows.tolist())
    table = read_table(write(tmp_path, text + "NA,1,2\n"))
    np.testing.assert_array_equal(table.X[:101], rows)
    assert np.isnan(table.X[101, 0])
    table = read_table(write(tmp_path, text + "oops,1,2\n"))
    assert table.text == {"a": "line 103: 'oops'"}


@settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.binary(max_size=60) | st.text(alphabet="ab1.,;\t\n\"' e-NAx_", max_size=80).map(str.encode))
def test_any_bytes_are_a_table_or_a_clean_error(tmp_path, content):
    path = write(tmp_path, content, "fuzz.csv")
    try:
        table = read_table(path)
    except InputError:
        return
    assert table.X.shape[1] == len(table.names)
    assert set(table.names) | set(table.text) == set(table.kinds)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(FLOATS, FLOATS), min_size=1, max_size=6))
def test_fast_and_careful_reading_agree(tmp_path, rows):
    from psidag.data import delimited

    text = "a,b\n" + "".join(",".join(map(repr, row)) + "\n" for row in rows)
    path = write(tmp_path, text)
    head = delimited.read_head(lambda: path.open(newline=""), "t")
    for reader in (delimited._by_arrow, delimited._by_numpy):
        block = reader(path.read_text().splitlines(keepends=True)[1:], head, [0, 1])
        (careful,) = delimited._cell_by_cell(path.read_text().splitlines(keepends=True)[1:], "t", head, [0, 1], 1)
        np.testing.assert_array_equal(block.values, careful.values)
        np.testing.assert_array_equal(read_table(path).X, careful.values)
