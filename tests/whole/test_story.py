"""From a messy table to an answer, each command as a user would type it."""

import json
import shlex

import numpy as np
import pytest

from psidag import Solution

EFFECT = 1.5


@pytest.fixture
def clinic(tmp_path):
    """Patients with an id, a date, text, gaps, mixed units and a code for "not known"; exercise lowers pressure."""
    rng = np.random.default_rng(7)
    n = 800
    age = rng.normal(size=n)
    sex = rng.random(n) < 0.5
    exercise = -0.8 * age + rng.normal(size=n)
    pressure = age - EFFECT * exercise + 0.8 * sex + rng.normal(size=n)
    heart = pressure + rng.normal(size=n)
    lines = ["patient;visit;sex;age;exercise;pressure;heart;remark"]
    for k in range(n):
        cells = [
            f"P{k:04d}",
            f"2021-{k % 12 + 1:02d}-{k % 28 + 1:02d}",
            "female" if sex[k] else "male",
            f"{50 + 10 * age[k]:.3f}",
            f"{exercise[k]:.4f}" if k % 37 else "",
            "-999" if k % 50 == 3 else f"{pressure[k]:.4f}",
            f"{1000 * heart[k]:.2f}",
            f"note {rng.integers(1, 200)}",
        ]
        lines.append(";".join(cells).replace(".", ","))
    (tmp_path / "clinic.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_the_whole_way(call, clinic):
    def run(command):
        code, out, err = call(*shlex.split(command)[1:])
        assert code == 0, f"{command}: {err}"
        return out, err

    out, _ = run("psidag info clinic.csv")
    for part in (
        "'patient' is an id",
        "'sex' has two values",
        "'visit' is a date",
        "-999 in 'pressure'",
        "'exercise' 22",
        "Next:",
    ):
        assert part in out, out
    suggested = out.split("Next:")[1].strip()
    assert "--prepare" in suggested
    run(suggested)
    assert (clinic / "graph.html").exists()

    (clinic / "known.toml").write_text('tiers = [["age", "sex"], "*"]\nexogenous = ["age", "sex"]\nsinks = ["heart"]\n')
    fit = "psidag fit clinic.csv --prepare --standardise --exclude visit --missing drop --knowledge known.toml"
    out, err = run(f"{fit} --noise unequal --bootstrap 10 --json -o model.psidag -o edges.csv --report report.html")
    assert "'patient' left out" in err
    about = json.loads(out)["about"]
    assert about["replicates"] == 10
    assert about["seed"] == 0
    assert any("-999 taken as missing (16 times)" in step for step in about["steps"])
    assert "support" in (clinic / "edges.csv").read_text().splitlines()[0]
    assert (clinic / "report.html").stat().st_size > 10_000

    solution = Solution.load(clinic / "model.psidag")
    assert set(solution.names) == {"sex", "age", "exercise", "pressure", "heart"}
    assert solution.dag.parents("age") == solution.dag.parents("sex") == []
    assert solution.dag.children("heart") == []
    assert {"exercise", "pressure"} <= set(solution.dag.descendants("age"))
    # One standard deviation of age acts on pressure directly and through exercise.
    steps = "\n".join(solution.origin.steps)
    scale = float(steps.split("'pressure': minus")[1].split("divided by ")[1].split("\n")[0])
    assert solution.total_effect("age", "pressure") * scale == pytest.approx(1 + 0.8 * EFFECT, abs=0.3)
    run("psidag report model.psidag --data clinic.csv --prepare -o again.html")
    assert "Residuals not looked at" not in (clinic / "again.html").read_text()
    out, _ = run("psidag info model.psidag")
    assert "prepared in" in out
