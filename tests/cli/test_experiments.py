"""``psidag fit --interventions COLUMN``."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd

CELLS = ["none at all"] * 300 + ["a"] * 100 + ["a;b"] * 50


def table(path):
    rng = np.random.default_rng(0)
    a = np.r_[rng.normal(size=300), rng.normal(4, 1, 100), rng.normal(-4, 1, 50)]
    b = a + rng.normal(size=450)
    b[400:] = rng.normal(2, 1, 50)
    pd.DataFrame({"a": a, "guide": CELLS, "b": b}).to_csv(path, index=False)
    return str(path)


def fit(*arguments):
    command = [sys.executable, "-m", "psidag", "fit", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


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
