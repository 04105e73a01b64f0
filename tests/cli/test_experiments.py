"""``psidag fit --interventions COLUMN``."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

CELLS = ["none at all"] * 300 + ["a"] * 100 + ["a;b"] * 50


def table(path, cells=CELLS):
    rng = np.random.default_rng(0)
    a = np.r_[rng.normal(size=300), rng.normal(4, 1, 100), rng.normal(-4, 1, 50)]
    b = a + rng.normal(size=450)
    b[400:] = rng.normal(2, 1, 50)
    pd.DataFrame({"a": a, "guide": cells, "b": b}).to_csv(path, index=False)
    return str(path)


def psidag(*arguments):
    return subprocess.run([sys.executable, "-m", "psidag", *arguments], capture_output=True, text=True, timeout=300)


def fit(*arguments):
    return psidag("fit", *arguments)


def test_a_column_of_labels(tmp_path):
    path = table(tmp_path / "t.csv")
    flags = ["--interventions", "guide", "--target-separator", ";", "--control-words", "none at all"]
    found = fit(path, *flags, "--json")
    assert found.returncode == 0, found.stderr
    edges = json.loads(found.stdout)["edges"]
    assert [(edge["source"], edge["target"], edge["because"]) for edge in edges] == [("a", "b", "intervention")]


def test_what_is_wrong_is_said(tmp_path):
    path = table(tmp_path / "t.csv")
    assert "did you mean 'guide'" in fit(path, "--interventions", "guid").stderr
    assert "none at all" in fit(path, "--interventions", "guide", "--target-separator", ";").stderr
    assert "--lags" in fit(path, "--interventions", "guide", "--lags", "1").stderr


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        (["control"] * 449 + ["c"], "'c' in row 449 is none of the columns"),
        (["a"] * 450, "'a' was set in every row"),
        (["a"] * 449 + ["control"], "'a' was set in every row but one"),
        (list(range(450)), "'0' in row 0 is none of the columns"),
        (["unknown"] * 300 + ["a"] * 150, "--control-words"),
    ],
)
def test_labels_that_cannot_be_used(tmp_path, cells, says):
    found = fit(table(tmp_path / "t.csv", cells), "--interventions", "guide")
    assert found.returncode == 2
    assert says in found.stderr
    assert len(found.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        ([""] * 10 + ["control"] * 290 + ["a"] * 150, "10 rows have no label of what was set and 290 say"),
        (["a"] * 447 + ["control"] * 3, "'a' was left alone in fewer than 4 rows"),
    ],
)
def test_what_is_done_about_labels_is_said(tmp_path, cells, says):
    found = fit(table(tmp_path / "t.csv", cells), "--interventions", "guide")
    assert found.returncode == 0
    assert says in " ".join(found.stdout.split())


def test_the_report_looks_at_rows_in_which_a_variable_was_left_alone(tmp_path):
    path, report = table(tmp_path / "t.csv"), tmp_path / "r.html"
    flags = ["--interventions", "guide", "--target-separator", ";", "--control-words", "none at all", "--report"]
    found = fit(path, *flags, str(report))
    assert found.returncode == 0, found.stderr
    assert "Noise that is not normal" not in report.read_text(encoding="utf-8")


def test_a_report_of_a_saved_model_looks_at_the_same_rows_as_that_of_the_fit(tmp_path):
    path, model, report = table(tmp_path / "t.csv"), str(tmp_path / "m.psidag"), tmp_path / "r.html"
    flags = ["--interventions", "guide", "--target-separator", ";", "--control-words", "none at all"]
    assert fit(path, *flags, "-o", model).returncode == 0
    found = psidag("report", model, "--data", path, *flags, "-o", str(report))
    assert found.returncode == 0, found.stderr
    assert "Noise that is not normal" not in report.read_text(encoding="utf-8")
    # Without labels the rows in which b was set are taken for ones that its equation has to explain.
    assert psidag("report", model, "--data", path, "-o", str(report)).returncode == 0
    assert "Noise that is not normal" in report.read_text(encoding="utf-8")
    for wrong in (["--data", path, "--prepare"], []):
        refused = psidag("report", model, *wrong, *flags, "-o", str(report))
        assert refused.returncode == 2
        assert "--interventions goes with the rows of --data" in refused.stderr
