"""What goes into the report, without a browser: the text, the numbers, the words, and that names stay names."""

import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from psidag import Constraints, DataWarning, Solution, learn_dag, prepare
from psidag.datasets import load_sachs
from psidag.graph.partial import PartialGraph
from psidag.run.status import Status
from psidag.view import columns, report_html, words, write_report
from psidag.view.payload import numbers
from support import solutions

VIEW = Path(__file__).parents[2] / "src" / "psidag" / "view"


def held(page):
    """The data that a page carries."""
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])


def test_the_page_carries_the_solution():
    solution, rows = solutions.sachs()
    data = held(report_html(solution, data=rows))
    names, edges = data["nodes"]["name"], data["edges"]
    found = {(names[i], names[j]): w for i, j, w in zip(edges["source"], edges["target"], edges["weight"], strict=True)}
    assert found == {(i, j): pytest.approx(w, rel=1e-3) for i, j, w in solution.dag.edges()}
    sizes = np.abs(edges["standardised"])
    assert (np.diff(sizes) <= 0).all()
    assert data["nodes"]["nonlinearity_p"][names.index("Akt")] < 1e-6
    assert data["trace"]["round"] == [row.round for row in solution.trace]
    assert "skewness" not in held(report_html(solution))["nodes"]


def test_it_says_how_to_repeat_it(tmp_path):
    with pytest.warns(DataWarning, match="30 rows for 40 columns"):
        solution = learn_dag(np.random.default_rng(0).normal(size=(30, 40)), noise="unequal", random_state=7)
    solution.save(tmp_path / "model.psidag")
    again = Solution.load(tmp_path / "model.psidag")
    assert again.origin == solution.origin
    data = held(report_html(again))
    facts = dict(data["facts"])
    assert facts["Python"] == "learn_dag(data, noise='unequal', random_state=7)"
    assert facts["Seed"] == "7"
    assert f"NumPy {np.__version__}" in facts["Versions"]
    assert any("30 rows for 40 columns" in warning for warning in data["warnings"])


HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<!--",
    "]]>",
    "{{data}}",
    "\u2028'\"\\&amp;",
    "\ud800",
    "$x$",
]


def test_hostile_names_are_only_text():
    solution = solutions.given([(name, HOSTILE[0], 1.0) for name in HOSTILE[1:]])
    page = report_html(solution, title="</title><script>alert(2)</script>")
    page.encode("utf-8")
    assert page.count("<script") == 2
    assert page.count("</script>") == 2
    assert "<img" not in page
    assert "<!--" not in page
    assert set(held(page)["nodes"]["name"]) == {name.replace("\ud800", "?") for name in HOSTILE}


def test_only_the_bundled_code_may_run():
    page = report_html(solutions.sachs()[0])
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "connect-src" not in policy
    assert not re.search(r"(src|href)=[\"']?https?:", page)


def test_the_bundle_is_built_from_its_sources():
    sources = [p for p in (VIEW / "web").iterdir() if p.suffix in (".js", ".mjs", ".css")]
    sources.append(VIEW / "web" / "package.json")
    digest = hashlib.sha256()
    for path in sorted(sources, key=lambda p: p.name):
        digest.update(f"{path.name}\0".encode() + path.read_bytes())
    script = (VIEW / "bundle" / "report.js").read_text(encoding="utf-8")
    assert digest.hexdigest() in script.splitlines()[0], "run `make bundle`"
    assert "</script" not in script
    assert "</style" not in (VIEW / "bundle" / "report.css").read_text()
    assert "sigma 3" in (VIEW / "bundle" / "LICENSES.txt").read_text()


def test_numbers_are_short():
    assert numbers([0.123456, 5.0, np.inf, -1e-7 / 3, 0.0]) == [0.1235, 5, None, -3.333e-08, 0]


def remarks(solution, checks=None):
    return {remark.title: remark for remark in words.remarks(solution, checks)}


def test_words_about_directions_read_off_variances():
    """All of Sachs' proteins directed by equal variances, which they do not have."""
    problem = load_sachs()
    with pytest.warns(DataWarning):
        learned = learn_dag(problem.X, names=problem.names, noise="equal", evidence=False, random_state=0)
    solution, rows = replace(learned, graph=PartialGraph.from_dag(learned.dag)), problem.X
    said = remarks(solution, solution.check_residuals(rows))
    assert said["Noise of unequal strength"].level == "distrust"
    assert said["Directions lean on units"].level == "beware"
    assert "Akt" in said["Bent relations"].names
    assert said["Enough rows"].level == "fine"
    assert said["The search ended by itself"].level == "fine"
    first, strongest, sure = words.lead(solution)
    assert first == "7 edges among 11 variables, learned from 853 rows; 1 variable has no edge."
    assert "Akt → PKA" in strongest
    assert "No resampling" in sure


def test_how_a_search_ended_is_told_in_a_sentence():
    solution = solutions.given([("a", "b", 1.0)])
    message = "no move improves the score; 9 neighbourhoods were opened; within one penalty graphs differ"
    said = remarks(replace(solution, status=Status("converged", message)))["The search ended by itself"].text
    assert said.startswith("No move improves the score. Graphs that fit about as well differ in a few edges")
    assert "neighbourhoods" not in said
    alone = remarks(replace(solution, status=Status("converged", "no move improves the score; 9 more")))
    assert alone["The search ended by itself"].text == "No move improves the score."


def test_words_about_a_poor_run():
    solution = solutions.given([("a", "b", 1.0)])
    poor = replace(solution, status=Status("time_limit", "max_time=1 s was over"), n_samples=1.0)
    said = remarks(poor)
    assert said["The search did not end by itself (time_limit)"].level == "distrust"
    assert said["Fewer rows than columns"].level == "distrust"
    assert next(remark.level for remark in words.remarks(poor, None)) == "distrust"
    assert "Residuals not looked at" in said


def test_support_is_told_and_carried(monkeypatch):
    solution = solutions.given([("a", "b", 2.0), ("a", "c", 1.0)])
    monkeypatch.setattr(
        columns, "support", lambda _: columns.Support(*np.array([[0.95, 1.0], [0.95, 0.4], [0.0, 0.6]]))
    )
    data = held(report_html(solution))
    assert data["edges"]["support"] == [0.95, 0.4]
    assert data["edges"]["reverse"] == [0, 0.6]
    assert data["lead"][-1] == (
        "2 of 2 edges came up in at least 90% of the resampled tables, 1 of them in the direction shown; "
        "1 came up more often the other way round."
    )


@pytest.mark.parametrize("edges", [[], [("a", "b", 1.0)]])
def test_tiny_graphs_have_a_report(edges, tmp_path):
    write_report(solutions.given(edges, names=["a", "b", "c"]), tmp_path / "page.html")
    assert len(held((tmp_path / "page.html").read_text())["edges"]["source"]) == len(edges)


@pytest.mark.slow
def test_ten_thousand_variables_fit_in_a_small_file():
    solution, rows = solutions.simulated(10_000)
    assert len(report_html(solution, data=rows[:200]).encode()) < 15e6


def test_the_commands(call, tmp_path):
    solution, rows = solutions.sachs()
    table = [",".join(solution.names), *(",".join(map(repr, row)) for row in rows.tolist())]
    (tmp_path / "table.csv").write_text("\n".join(table) + "\n")
    code, _, err = call("fit", "table.csv", "--report", "one.html", "-o", "model.psidag", "--seed", 0)
    assert code == 0
    assert "note: wrote one.html" in err
    data = held((tmp_path / "one.html").read_text())
    assert dict(data["facts"])["Command"] == "psidag fit table.csv --report one.html -o model.psidag --seed 0"
    assert "nonlinearity_p" in data["nodes"]
    assert call("report", "model.psidag", "-o", "two.html", "--data", "table.csv", "--title", "Cells & signals")[0] == 0
    again = held((tmp_path / "two.html").read_text())
    assert again.pop("title") == "Cells & signals"
    assert again == {key: value for key, value in data.items() if key != "title"}


def test_the_commands_say_what_is_wrong(call, tmp_path):
    solutions.sachs()[0].save(tmp_path / "model.psidag")
    (tmp_path / "table.csv").write_text("Akt,Erk\n1,2\n3,4\n")
    for arguments, text in [
        (("fit", "table.csv", "--report", "page.pdf"), ".html"),
        (("report", "graph.json", "-o", "page.html"), "model.psidag"),
        (("report", "model.psidag", "-o", "page.html", "--data", "table.csv"), "lacks the columns"),
        (("report", "nothing.psidag", "-o", "page.html"), "no file"),
    ]:
        code, out, err = call(*arguments)
        assert (code, out) == (2, "")
        assert text in err


def test_rows_that_are_not_complete_are_left_out_of_the_residuals(call, tmp_path):
    rows = np.random.default_rng(0).normal(size=(200, 3))
    lines = ["a,b,c", *(",".join(map(repr, row)) for row in rows.tolist()), "1,,2"]
    (tmp_path / "table.csv").write_text("\n".join(lines) + "\n")
    assert call("fit", "table.csv", "--missing", "pairwise", "--report", "page.html", "--seed", 1)[0] == 0
    skewness = held((tmp_path / "page.html").read_text())["nodes"]["skewness"]
    assert all(abs(value) < 1 for value in skewness)


def test_knowledge_and_steps_are_told_with_how_often_they_decided():
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    table = prepare({"id": [f"p{k}" for k in range(300)], "cause": x, "effect": x + rng.normal(size=300)})
    known = Constraints(tiers=[["cause"], "*"])
    solution = learn_dag(table, constraints=known, random_state=0)
    said = remarks(solution)["Knowledge used"]
    assert said.text == "You gave 2 tiers. That directs 1 of 1 edge."
    facts = held(report_html(solution))["facts"]
    assert ["Known beforehand", "2 tiers"] in facts
    assert any(label == "Prepared" and "'id' left out" in text for label, text in facts)
    assert "Knowledge used" not in remarks(learn_dag(table, random_state=0))


def test_what_to_do_next_repeats_no_option_that_was_given():
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    solution = learn_dag(np.c_[x, x + rng.normal(size=300)], noise="unequal", random_state=0)
    first = [command for _, command in words.next_steps(solution)]
    assert "psidag fit TABLE --knowledge known.toml" in first
    command = "psidag fit t.csv --knowledge 'what I know.toml' -o 'my model.psidag'"
    given = replace(solution, origin=replace(solution.origin, command=command))
    after = words.next_steps(given)
    assert all(told.count("--knowledge") <= 1 and told.count(".psidag") <= 1 for _, told in after)
    assert any("what I know.toml" in text for text, _ in after)
    assert after[-1][1] == "psidag info 'my model.psidag'"
