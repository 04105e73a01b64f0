"""The command line on messy tables: preparing, lags, baselines, seeds, and what machines are told."""

import json

import numpy as np
import pytest

from psidag import Solution


@pytest.fixture
def messy(tmp_path):
    rng = np.random.default_rng(0)
    n = 300
    age = rng.normal(size=n)
    smoker = np.where(rng.random(n) < 0.4, "yes", "no")
    lung = 2 * age + (smoker == "yes") + rng.normal(size=n)
    lines = ["patient;visit;age;smoker;lung;site"]
    for k in range(n):
        value = "-999" if k % 60 == 7 else f"{lung[k]:.6f}".replace(".", ",")
        lines.append(f"p{k};2020-01-{k % 28 + 1:02d};{age[k]:.6f};{smoker[k]};{value};{'abc'[k % 3]}".replace(".", ","))
    (tmp_path / "messy.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_prepare_on_the_command_line(call, messy):
    code, out, err = call("fit", "messy.csv", "--prepare", "--missing", "drop", "--json", "-o", "m.psidag")
    assert code == 0, err
    found = json.loads(out)
    assert {node["name"] for node in found["nodes"]} == {"visit", "age", "smoker", "lung", "site=b", "site=c"}
    assert "note: 'patient' left out: an id" in err
    assert any("-999 taken as missing" in step for step in found["about"]["steps"])
    assert ("age", "lung") in {(edge["source"], edge["target"]) for edge in found["edges"]}
    assert Solution.load(messy / "m.psidag").origin.steps == tuple(found["about"]["steps"])
    code, out, _ = call("fit", "messy.csv", "--prepare", "--missing", "drop", "--exclude", "v*,site", "--standardise")
    assert code == 0
    assert "among 3 variables" in out


def test_edges_that_come_from_the_coding_of_categories_are_named(call, messy):
    found = json.loads(call("fit", "messy.csv", "--prepare", "--missing", "drop", "--json")[1])
    pairs = [{edge["source"], edge["target"]} for edge in found["edges"]]
    said = [warning for warning in found["about"]["warnings"] if "coding" in warning]
    assert {"site=b", "site=c"} in pairs
    assert said == [
        "1 edge among the columns made of 'site': such edges come from the coding, since no row has two of these "
        "categories"
    ]
    without = json.loads(call("fit", "messy.csv", "--prepare", "--missing", "drop", "--exclude", "site", "--json")[1])
    assert not [warning for warning in without["about"]["warnings"] if "coding" in warning]


def test_machines_are_told_everything(call, messy):
    arguments = ["fit", "messy.csv", "--prepare", "--missing", "drop", "--json", "--noise", "unequal"]
    first, second = (json.loads(call(*arguments)[1])["about"] for _ in range(2))
    assert (first["engine"], first["noise"], first["seed"]) == ("sparse", "unequal", 0)
    assert isinstance(first["warnings"], list)
    assert first == second


def test_warnings_are_in_the_summary(call, tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "t.npy", np.c_[rng.normal(size=(50, 3)), np.ones(50)])
    code, out, err = call("fit", "t.npy", "-o", "m.psidag")
    assert code == 0
    assert "beware" in out
    assert "warning: constant" not in err
    assert "constant columns become isolated nodes: 'x3'" in call("info", "m.psidag")[1]
    assert "noise=" not in out


@pytest.mark.parametrize("solver", ["notears", "eqvar", "sort-regress", "golem", "dagma"])
def test_baselines_are_solvers(call, tmp_path, solver):
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    np.save(tmp_path / "t.npy", np.c_[x, 2 * x + rng.normal(size=200)])
    code, out, err = call("fit", "t.npy", "--solver", solver, "--json")
    assert code == 0, err
    assert json.loads(out)["about"]["engine"].lower().replace("-", "") == solver.replace("-", "") or solver in out


def test_a_price_of_edges(call, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    np.save(tmp_path / "t.npy", np.c_[x, 0.5 * x + rng.normal(size=200)])
    assert len(json.loads(call("fit", "t.npy", "--json", "--penalty", 3)[1])["edges"]) == 1
    assert len(json.loads(call("fit", "t.npy", "--json", "--penalty", 1000)[1])["edges"]) == 0
    code, _, err = call("fit", "t.npy", "--penalty", 3, "--solver", "exact")
    assert code == 2
    assert "--penalty" in err


def test_lags_on_the_command_line(call, tmp_path):
    rng = np.random.default_rng(0)
    x, y = np.zeros(400), np.zeros(400)
    for t in range(1, 400):
        x[t] = 0.5 * x[t - 1] + rng.normal()
        y[t] = 0.8 * x[t - 1] + rng.normal()
    rows = [f"{'ab'[t % 2]},{float(x[t])!r},{float(y[t])!r}" for t in range(400)]
    (tmp_path / "t.csv").write_text("who,x,y\n" + "\n".join(rows) + "\n")
    code, out, err = call("fit", "t.csv", "--lags", 1, "--exclude", "who", "--json")
    assert code == 0, err
    edges = {(edge["source"], edge["target"]) for edge in json.loads(out)["edges"]}
    assert {("x[t-1]", "y"), ("x[t-1]", "x")} <= edges
    assert all("[" not in target for _, target in edges)
    code, out, err = call("fit", "t.csv", "--lags", 1, "--group", "who", "--json")
    assert code == 0, err
    assert "in 2 series" in err
    assert json.loads(out)["about"]["n_samples"] == 398
    assert call("fit", "t.csv", "--group", "who")[0] == 2


def test_a_picture_of_nothing_is_refused(call, tmp_path):
    np.save(tmp_path / "t.npy", np.random.default_rng(0).normal(size=(50, 3)))
    assert call("fit", "t.npy", "-o", "m.psidag")[0] == 0
    code, _, err = call("plot", "m.psidag", "confidence", "-o", "c.png")
    assert code == 2
    assert "--bootstrap" in err
    assert not (tmp_path / "c.png").exists()
    assert "psidag[plot]" in call("plot", "--help")[1]


def test_methods_are_compared_without_a_truth(call, messy):
    arguments = [
        "compare",
        "messy.csv",
        "--prepare",
        "--exclude",
        "visit",
        "--missing",
        "drop",
        "--methods",
        "auto,eqvar",
    ]
    code, out, err = call(*arguments)
    assert code == 0, err
    assert "in common" in out
    assert "-999 taken as missing" in err
    found = json.loads(call(*arguments, "--json")[1])
    assert [row["method"] for row in found] == ["auto", "eqvar"]
    assert all(np.isfinite(row["log_likelihood"]) for row in found)
    code, _, err = call("compare", "messy.csv", "--test", "messy.csv", "--prepare")
    assert code == 2
    assert "--truth" in err
