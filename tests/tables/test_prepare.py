"""From messy tables to numbers, with a sentence about each step."""

import datetime

import numpy as np
import pytest

from psidag import InputError, Solution, learn_dag, prepare
from psidag.data.files import read_table
from psidag.tables.kinds import look, sentinel
from psidag.tables.raw import tidy

KINDS = [
    ("x", [1.5, 2.5, 3.5, 1.5], "number"),
    ("x", [1, 2, 3, 1, 2], "few values"),
    ("x", [0, 1, 1, None], "yes/no"),
    ("x", ["yes", "no", "no", ""], "yes/no"),
    ("x", [True, False, None], "yes/no"),
    ("x", [7, 7, 7, None], "constant"),
    ("x", ["a", "a"], "constant"),
    ("x", [None, "NA", ""], "empty"),
    ("x", list(range(1, 30)), "id"),
    ("patient_id", [907, 113, 555, 214], "id"),
    ("grid", [907.0, 113, 555, 214], "few values"),
    ("x", ["a1", "b2", "c3", "d4"], "id"),
    ("x", ["red", "blue", "red", "green"], "category"),
    ("x", ["2020-01-01", "2020-02-01", "2021-01-01"], "date"),
    ("x", [datetime.date(2020, 1, 1), None, datetime.date(2020, 1, 5)], "date"),
    ("x", ["31.12.2020", "01.02.2021", "02.02.2021"], "date"),
    ("x", ["03/04/2020", "05/06/2020", "03/04/2020"], "yes/no"),
    ("x", ["13/04/2020", "05/06/2020", "03/04/2020"], "date"),
    ("x", [f"word {k // 2}" for k in range(60)], "text"),
    ("cancer_no", [35, 121, 84, 12, 61, 44, 9, 17], "few values"),
    ("patient_no", [7 * k % 101 for k in range(60)], "id"),
]


@pytest.mark.parametrize(("name", "cells", "kind"), KINDS)
def test_kinds(name, cells, kind):
    assert look(name, tidy(cells)).kind == kind


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ([1.5, 2, -999, 3, -999], -999),
        ([1.5, 2, -999, 3, 4], None),
        ([-1000, -999, -999, -998, -997], None),
        ([0, 50, 99, 99, 100, 20], None),
        ([20, 30, 25, 9999, 9999, 41], 9999),
        ([1, 2, 3, 4, 5], None),
        ([np.nan] * 5, None),
    ],
)
def test_sentinels_stand_apart(values, found):
    assert sentinel(np.array(values, dtype=float)) == found


TABLE = {
    "id": [f"p{k}" for k in range(8)],
    "seen": ["2020-01-01", "2020-01-03"] * 4,
    "smoker": ["yes", "no", "no", None] * 2,
    "city": ["Rome", "Oslo", "Rome", "Bonn"] * 2,
    "age": [30.5, 41, -999, 28, 35, 52, -999, 60],
    "copy": [30.5, 41, -999, 28, 35, 52, -999, 60],
    "flat": [1] * 8,
    "dose": [1.0, 2, 4, 900, 1, 3, 2, 5],
}


def test_each_step_is_said():
    table = prepare(TABLE)
    assert table.names == ("seen", "smoker", "city=Bonn", "city=Oslo", "age", "dose")
    said = "\n".join(table.steps)
    for part in (
        "'id' left out",
        "days since",
        "yes = 1, no = 0",
        "all 0 is 'Rome'",
        "-999 taken as missing (2 times)",
    ):
        assert part in said
    assert "'copy' left out: a copy of 'age'" in said
    assert "'flat' left out" in said
    np.testing.assert_array_equal(table.X[:4, 1], [1, 0, 0, np.nan])
    np.testing.assert_array_equal(np.diff(table.X[:2, 0]), [2])
    assert np.isnan(table.X[[2, 6], 4]).all()


def test_on_request():
    table = prepare(TABLE, log=True, standardise=True, exclude=["c*"], rows=slice(0, 8))
    dose = table.X[:, table.names.index("dose")]
    assert any("logarithm" in step and "'dose'" in step for step in table.steps)
    assert dose.mean() == pytest.approx(0, abs=1e-12)
    assert dose.std() == pytest.approx(1)


def test_the_caller_keeps_what_is_his():
    before = {key: list(cells) for key, cells in TABLE.items()}
    prepare(TABLE, log=True, standardise=True)
    assert before == TABLE


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_of_any_library(library):
    frame = pytest.importorskip(library).DataFrame(TABLE)
    np.testing.assert_array_equal(prepare(frame).X, prepare(TABLE).X)


def test_a_solution_remembers(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    smoker = np.where(x + rng.normal(size=200) > 0, "yes", "no")
    solution = learn_dag(prepare({"x": x, "smoker": smoker, "y": x + rng.normal(size=200)}), random_state=0)
    assert solution.origin.steps == ("'smoker': yes = 1, no = 0",)
    solution.save(tmp_path / "m.psidag")
    assert Solution.load(tmp_path / "m.psidag").origin.steps == solution.origin.steps


def test_nothing_left_is_an_error():
    with pytest.raises(InputError, match="no column of numbers is left"):
        prepare({"who": ["a", "b", "c"], "flat": [1, 1, 1]})
    with pytest.raises(InputError, match="second column 'city=Oslo'"):
        prepare(TABLE | {"city=Oslo": [1.0, 2, 3, 4, 5, 6, 7, 9]})


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".xlsx", ".feather"])
def test_files_of_any_kind(tmp_path, ending):
    pd = pytest.importorskip("pandas")
    path = tmp_path / f"t{ending}"
    frame = pd.DataFrame(TABLE)
    write = {".csv": frame.to_csv, ".parquet": frame.to_parquet, ".feather": frame.to_feather}.get(
        ending, frame.to_excel
    )
    write(path, **({} if ending in (".parquet", ".feather") else {"index": False}))
    table = prepare(path)
    np.testing.assert_array_equal(table.X, prepare(TABLE).X)
    assert table.names == prepare(TABLE).names
    plain = read_table(path, columns=["age", "dose", "city"])
    assert plain.names == ("age", "dose")
    assert "city" in plain.text
    np.testing.assert_array_equal(plain.X, np.c_[TABLE["age"], TABLE["dose"]])


def test_a_broken_excel_file_is_named(tmp_path):
    (tmp_path / "t.xlsx").write_bytes(b"PK\x03\x04 not a book")
    with pytest.raises(InputError, match=r"t\.xlsx"):
        read_table(tmp_path / "t.xlsx")


def test_rare_categories_and_seldom_remarks_make_no_columns():
    word = ["common"] * 60 + ["known"] * 30 + ["rare"] * 3 + ["odd"] * 2 + [None] * 5
    table = prepare({"word": word, "remark": ["late", "early", "never"] * 5 + [None] * 85, "x": [*range(99), 7]})
    assert table.names == ("word=known", "x")
    assert any("'word': 'known' = 1, 'common' = 0, or one of 2 rare others" in step for step in table.steps)
    assert any("'remark' left out: only 15 of 100 rows have a value" in step for step in table.steps)
    mostly = prepare({"word": ["DE"] * 98 + ["NL", "BE"], "x": [*range(99), 7]})
    assert mostly.names == ("x",)
    assert "3 categories, and 98 of 100 rows have 'DE'" in mostly.steps[0]
    each = prepare({"word": list("ABCDEFGHIJJ"), "x": [*range(10), 7]})
    assert "10 categories, and too few rows for each" in each.steps[0]
    few = prepare({"word": ["a", "b", "c", "a"], "x": [1, 2, 3, 5.5]})
    assert few.names == ("word=b", "word=c", "x")
