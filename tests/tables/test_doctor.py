"""``psidag info`` on nasty tables: what it says is true, and what it says to type next works."""

import json
import re
import shlex

import numpy as np
import pytest

from psidag import prepare

pd = pytest.importorskip("pandas")

RNG = np.random.default_rng(0)
N = 200
A, B, C = RNG.normal(size=(3, N))
WALK = np.cumsum(RNG.normal(size=(N, 4)), axis=0)
HOLES = np.where(RNG.random(N) < 0.9, np.nan, A)
LETTERS = np.array(["x", "y", "z"])

NASTY = {
    "plain": {"a": A, "b": B, "c": A + B + C},
    "seldom there": {
        "sex": RNG.integers(0, 2, N),
        "a": HOLES,
        "b": np.where(A > 0, np.nan, B),
        "c": C,
    },
    "codes": {"a": np.where(np.arange(N) % 20 == 3, -999.0, A), "b": B, "c": C},
    "ids and text": {"id": np.arange(N) + 17, "who": [f"p{k}" for k in range(N)], "a": A, "b": B},
    "yes and no": {"smoker": np.where(A > 0, "yes", "no"), "b": B, "c": C},
    "dates": {"day": pd.date_range("2020-01-01", periods=N).astype(str), "b": B, "c": C},
    "categories": {"city": LETTERS[RNG.integers(0, 3, N)], "b": B, "c": C},
    "sums": {"part": A, "rest": B, "total": A + B, "c": C},
    "copies": {"a": A, "again": A, "b": B},
    "flat and empty": {"flat": np.ones(N), "none": np.full(N, np.nan), "a": A, "b": B},
    "units": {"km": A, "mm": 1e6 * (A + B), "c": C},
    "outliers": {"a": np.where(np.arange(N) == 5, 1e4, A), "b": B, "c": C},
    "time": dict(zip("abcd", WALK.T, strict=True)),
    "infinite": {"a": np.where(np.arange(N) == 5, np.inf, A), "b": B, "c": C},
    "two rows": {"a": [1.0, 2.0], "b": [3.0, 1.0]},
    "all text": {"a": ["p", "q", "r"], "b": ["s", "t", "u"]},
    "wide": {f"g{k}": RNG.normal(size=6) for k in range(40)},
    "nothing and nothing": {"none": np.full(N, np.nan), "void": np.full(N, np.nan), "a": A, "b": B},
    "years": {"year": np.arange(1800, 1800 + N), "a": A, "b": B},
    "an id in large units": {"id": 1000 * np.arange(N) + 7, "a": A, "b": A + B},
    "a code in large units": {"a": np.where(np.arange(N) % 20 == 3, -99999.0, A), "b": B, "c": A + B},
    "nearly a sum": {"part": A, "rest": B, "total": A + B + 1e-3 * C, "d": RNG.normal(size=N)},
    "sum and nearly a sum": {"a": A, "b": B, "total": A + B, "c": C, "near": A + C + 1e-3 * RNG.normal(size=N)},
    "copies in other units": {"a": A, "mm": 1000 * A, "minus": -A, "b": B},
    "money": {"price": [f"${1000 + 100 * a:,.2f}" for a in A], "share": [f"{50 + b:.1f} %" for b in B], "c": C},
    "thousands": {"people": [f"{1e6 + 1e5 * a:,.0f}" for a in A], "b": B, "c": C},
    "may be thousands": {"people": [f"{5 + a:.3f}".replace(".", ",") for a in A], "b": B, "c": C},
    "true and false": {"flag": A > 0, "b": B, "c": C},
    "both tails": {"a": 60 + np.where(np.arange(N) % 50 == 5, [30.0, -30.0] * (N // 2), A), "b": B, "c": C},
    "positive outliers": {"a": np.exp(np.where(np.arange(N) == 5, 12.0, A)), "b": B, "c": C},
    "sorted": {"a": np.sort(A), "b": np.sort(B), "c": C},
    "one column": {"a": A},
    "one row": {"a": [1.0], "b": [2.0]},
    "huge and tiny": {"a": 1e90 * A, "b": 1e-90 * (A + B), "c": 1e12 + C},
    "gaps everywhere": {
        name: np.where(np.arange(N) % 3 == k, np.nan, column)
        for k, (name, column) in enumerate(zip("abc", (A, B, C), strict=True))
    },
    "text with gaps": {"city": np.where(A > 1, None, LETTERS[RNG.integers(0, 3, N)]), "b": B, "c": C},
    "remarks": {
        "remark": np.where(np.arange(N) % 5 == 0, LETTERS[RNG.integers(0, 3, N)], None),
        "smoker": np.where(np.arange(N) % 10 == 0, None, np.where(A > 0, "yes", "no")),
        "b": B,
        "c": C,
    },
    "mostly one country": {"country": np.where(np.arange(N) < 2, ["NL", "BE"] * (N // 2), "DE"), "b": B, "c": C},
    "the rest of a day": {"asleep": 8 + A, "awake": 16 - A, "b": B},
    "one of numbers": {"price": np.exp(A), "sold": np.where(B > 0, "yes", "no")},
    "years with many rows": {"year": 1990 + np.arange(N) // 40, **dict(zip("abcd", WALK.T, strict=True))},
    "a panel": {
        "region": np.repeat(["north", "south", "east", "west"], N // 4),
        "year": np.tile(np.arange(1990, 1990 + N // 4), 4),
        **dict(zip("abcd", WALK.T, strict=True)),
    },
    "days with a sum": {
        "day": pd.date_range("2020-01-01", periods=N).astype(str),
        **dict(zip("abcd", WALK.T, strict=True)),
        "total": WALK[:, 0] + WALK[:, 1],
    },
    "few years": {"year": np.arange(2000, 2020), "a": np.cumsum(A[:20]), "b": np.cumsum(B[:20])},
    "codes of districts": {"distcod": RNG.permutation(np.arange(60000, 60000 + 7 * N, 7)), "a": A, "b": A + B},
    "years that pass": {"year": np.arange(1800, 1800 + N), **dict(zip("abcd", WALK.T, strict=True))},
    "few of each": {"name": list("ABCDEFGHIJJ"), "a": A[:11], "b": B[:11]},
    "many columns of words": {f"w{k}": LETTERS[RNG.integers(0, 3, N)] for k in range(7)},
    "missing in most rows": {"seldom": np.where(np.arange(N) % 5, np.nan, A), "a": A + B, "b": B, "c": C},
    "odd names": {"a,b": A, "c d": B, "*": C, "[x]": A - C},
}


@pytest.mark.parametrize("title", NASTY)
def test_what_is_said_is_true_and_what_to_type_works(call, tmp_path, title):
    frame = pd.DataFrame(NASTY[title])
    frame.to_csv(tmp_path / "t.csv", index=False)
    code, out, err = call("info", "t.csv")
    assert code == 0, err
    found = json.loads(call("info", "t.csv", "--json")[1])
    numbers = frame.select_dtypes(["number", "bool"])
    assert found["rows"] == len(frame)
    assert found["missing"] == {name: int(k) for name, k in numbers.isna().sum().items() if k}
    if len(frame) > 1:
        assert set(found["constant"]) == {name for name in numbers if numbers[name].nunique() == 1}
    assert found["complete_rows"] == int(np.isfinite(numbers.to_numpy(float)).all(axis=1).sum())
    for name, kind in found["kinds"].items():
        values = frame[name].dropna()
        if kind == "id":
            assert values.nunique() == len(values)
        if kind == "yes/no":
            assert values.nunique() == 2
        if kind == "constant":
            assert values.nunique() == 1
        if kind == "empty":
            assert len(values) == 0
    for first, second in found["duplicate"]:
        assert frame[first].equals(frame[second])
    for name, code_ in found["sentinels"].items():
        assert (frame[name] == code_).sum() > 1
    plain = frame.replace({name: {code_: np.nan} for name, code_ in found["sentinels"].items()})
    for text in found["combinations"]:
        name, terms = re.split(" [=≈] ", text)
        rest = plain[name]
        columns = "|".join(map(re.escape, frame))
        for sign, size, column in re.findall(rf"(?:^| )([-+]?) ?((?:[\d.e-]+ )?)({columns})(?=$| [-+])", terms):
            rest = rest - (-1 if sign == "-" else 1) * float(size or 1) * plain[column]
        assert np.ptp(rest.dropna()) < 1e-2 * np.ptp(plain[name])
    if found["complete"] is not None:
        used = frame[[*numbers, *found["kept"]]].replace([np.inf, -np.inf], np.nan).dropna(axis=1, how="all")
        assert found["complete"] == len(used.dropna())
    if found["next"] is None:
        assert title in ("all text", "one column", "one row")
    else:
        assert found["next"] in out
        code, _, err = call(*shlex.split(found["next"])[1:])
        assert code == 0, (found["next"], err)


@pytest.mark.parametrize(
    ("title", "parts"),
    [
        ("seldom there", ["1 yes/no", "missing"]),
        ("codes", ["-999 in 'a'", "--prepare"]),
        ("ids and text", ["'id'", "'who' is an id", "--prepare"]),
        ("dates", ["makes days of it"]),
        ("categories", ["makes columns of 1 and 0 of it"]),
        ("sums", ["total", "part", "rest", "= "]),
        ("units", ["--noise auto", "a factor of"]),
        ("outliers", ["outliers", "'a' (1)"]),
        ("positive outliers", ["--prepare --log"]),
        ("sums", ["total = part + rest"]),
        ("nearly a sum", ["total ≈ part + rest"]),
        ("sum and nearly a sum", ["total = a + b", "near ≈ a + c"]),
        ("money", ["'price' holds numbers", "makes plain numbers of it", "--prepare -o"]),
        ("thousands", ["'people' holds numbers"]),
        ("may be thousands", ["'people' is text"]),
        ("one column", ["a graph needs two columns", "200 rows, 1 column\n"]),
        ("one row", ["too few to tell an edge from chance"]),
        ("two rows", ["too few to tell an edge from chance"]),
        ("sorted", ["just sorted"]),
        ("gaps everywhere", ["0 of 200 rows are complete", "--missing pairwise"]),
        ("text with gaps", ["--prepare --missing"]),
        ("seldom there", ["rows that have all numbers:"]),
        ("time", ["consecutive rows are alike in", "--lags 1"]),
        ("wide", ["too few to tell an edge from chance; if rows are the variables, transpose"]),
        ("remarks", ["'smoker' 20", "180 of 200 rows are complete", "leave it out", "4 columns, 3 once prepared"]),
        ("mostly one country", ["'country' is a category (line 2: 'NL'): leave it out"]),
        ("the rest of a day", ["asleep = 24 - awake"]),
        ("many columns of words", ["2 more columns are not numbers", "7 columns, 14 once prepared"]),
        ("years that pass", ["follow each other in 'year'", "a time series, it seems"]),
        ("years that pass", ["--exclude year --lags 1 -o"]),
        ("years with many rows", ["sorted by 'year', which has several rows to a value"]),
        ("a panel", ["within each value of 'region'", "several time series", "--exclude year --lags 1 --group region"]),
        ("days with a sum", ["follow each other in 'day'", "fit t.csv --exclude day,total --lags 1"]),
        ("few years", ["rows follow each other in 'year': if they are a time series"]),
        ("codes of districts", ["'distcod': different in every row", "--prepare -o"]),
        ("sums", ["--exclude total -o"]),
        ("few of each", ["'name' is a category (line 2: 'A'): leave it out"]),
        ("missing in most rows", ["without 'seldom', missing in most rows, 200 would be", "--exclude seldom -o"]),
        ("categories", ["1 category, 2 numbers"]),
        ("plain", ["missing    none", "auto takes sparse", "notears", "enough for all but weak edges"]),
    ],
)
def test_what_matters_is_said(call, tmp_path, title, parts):
    pd.DataFrame(NASTY[title]).to_csv(tmp_path / "t.csv", index=False)
    out = call("info", "t.csv")[1]
    for part in parts:
        assert part in out, out


@pytest.mark.parametrize(
    ("title", "parts"),
    [
        ("nothing and nothing", ["duplicate"]),
        ("years", ["ids"]),
        ("an id in large units", ["different units"]),
        ("a code in large units", ["different units"]),
        ("outliers", ["--log"]),
        ("categories", ["--missing drop", "--missing pairwise"]),
        ("two rows", ["strong edges", "yes/no"]),
        ("one column", ["enough", "standardised"]),
        ("seldom there", ["'sex': isolated"]),
        ("thousands", ["'people' is an id"]),
        ("copies in other units", ["duplicate"]),
        ("one of numbers", ["standard deviations", "standardised"]),
        ("remarks", ["200 of 200"]),
        ("time", ["follow each other in '"]),
        ("years", ["time series", "--lags"]),
        ("years with many rows", ["time series", "--lags"]),
        ("plain", ["--exclude"]),
        ("both tails", ["--log"]),
        ("units", ["e+0"]),
    ],
)
def test_what_is_not_so_is_not_said(call, tmp_path, title, parts):
    pd.DataFrame(NASTY[title]).to_csv(tmp_path / "t.csv", index=False)
    out = call("info", "t.csv")[1]
    for part in parts:
        assert part not in out, out


def test_a_table_of_a_header_alone(call, tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n")
    code, out, _ = call("info", "t.csv")
    assert code == 0
    assert "none: there is nothing to learn from" in out
    assert "duplicate" not in out
    assert "Next" not in out


def test_repeated_names_are_one_sentence(call, tmp_path):
    (tmp_path / "t.csv").write_text("a,b,a\n1,2,3\n2,1,4\n")
    for command in (["info", "t.csv"], ["fit", "t.csv"], ["fit", "t.csv", "--prepare"]):
        code, out, err = call(*command)
        assert (code, out) == (2, "")
        assert "repeated in 't.csv': 'a'" in err


def test_numbers_as_spreadsheets_show_them():
    table = prepare({"price": ["$1,234.50", "($12)", None, "$7.00"], "share": ["12%", "13 %", "-4%", "5%"]})
    np.testing.assert_array_equal(table.X, [[1234.5, 12], [-12, 13], [np.nan, -4], [7, 5]])
    assert any("'price': signs of money" in step for step in table.steps)


def test_a_transposed_table_is_named(call, tmp_path):
    frame = pd.DataFrame(RNG.normal(size=(4, 60)), columns=[f"sample{k}" for k in range(60)])
    frame.insert(0, "gene", ["TP53", "BRCA1", "EGFR", "MYC"])
    frame.to_csv(tmp_path / "t.csv", index=False)
    out = call("info", "t.csv")[1]
    assert "transpose the table" in out
    assert "psidag fit" not in out


def test_a_shuffled_table_has_no_time(call, tmp_path):
    rows = np.random.default_rng(1).permutation(WALK)
    pd.DataFrame(rows, columns=list("abcd")).to_csv(tmp_path / "t.csv", index=False)
    assert "--lags" not in call("info", "t.csv")[1]
