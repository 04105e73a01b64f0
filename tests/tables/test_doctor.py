"""``psidag info`` on nasty tables: what it says is true, and what it says to type next works."""

import json
import shlex

import numpy as np
import pytest

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
    "odd names": {"a,b": A, "c d": B, "*": C, "[x]": A - C},
}


@pytest.mark.parametrize("title", NASTY)
def test_what_is_said_is_true_and_what_to_type_works(call, tmp_path, title):
    frame = pd.DataFrame(NASTY[title])
    frame.to_csv(tmp_path / "t.csv", index=False)
    code, out, err = call("info", "t.csv")
    assert code == 0, err
    found = json.loads(call("info", "t.csv", "--json")[1])
    numbers = frame.select_dtypes("number")
    assert found["rows"] == len(frame)
    assert found["missing"] == {name: int(k) for name, k in numbers.isna().sum().items() if k}
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
    for text in found["combinations"]:
        name, _, terms = text.partition(" = ")
        total = sum(float(t.split(" ", 1)[0]) * frame[t.split(" ", 1)[1]] for t in terms.split(" + "))
        assert np.ptp(frame[name] - total) < 1e-2 * np.ptp(frame[name])
    if found["next"] is None:
        assert title in ("all text",)
    else:
        assert found["next"] in out
        code, _, err = call(*shlex.split(found["next"])[1:])
        assert code == 0, (found["next"], err)


@pytest.mark.parametrize(
    ("title", "parts"),
    [
        ("seldom there", ["1 yes/no", "missing"]),
        ("codes", ["-999 in a", "--prepare"]),
        ("ids and text", ["'id'", "'who' is id", "--prepare"]),
        ("dates", ["makes days of it"]),
        ("categories", ["makes columns of 1 and 0 of it"]),
        ("sums", ["total", "part", "rest", "= "]),
        ("units", ["--noise unequal", "a factor of"]),
        ("outliers", ["outliers", "'a (1)'"]),
        ("time", ["consecutive rows are alike in", "--lags 1"]),
        ("wide", ["only the strongest edges"]),
        ("plain", ["missing    none", "auto takes sparse", "notears", "enough for all but weak edges"]),
    ],
)
def test_what_matters_is_said(call, tmp_path, title, parts):
    pd.DataFrame(NASTY[title]).to_csv(tmp_path / "t.csv", index=False)
    out = call("info", "t.csv")[1]
    for part in parts:
        assert part in out, out


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
