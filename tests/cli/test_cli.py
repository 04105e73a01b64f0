"""The command line from end to end: as a process on real files, and in-process for the many bad ones."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from psidag import Solution
from psidag.datasets import load_sachs
from psidag.exchange import FORMATS, read_graph
from support.commands import run


def test_from_a_table_to_a_graph(sachs, call, tmp_path):
    done = run("fit", sachs, "-o", "graph.json", "-o", "model.psidag", "--seed", 0, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "edges among 11 variables, learned from 853 rows" in done.stdout
    assert "wrote graph.json" in done.stderr
    dag = read_graph(tmp_path / "graph.json")
    assert set(dag.names) == set(load_sachs().names)
    assert sorted(Solution.load(tmp_path / "model.psidag").dag.edges()) == sorted(dag.edges())
    _, out, err = call("fit", sachs, "--seed", 0, "--json")
    assert {(e["source"], e["target"]) for e in json.loads(out)["edges"]} == {edge[:2] for edge in dag.edges()}
    assert all(line.startswith("warning: ") for line in err.splitlines())


def test_pipe_from_simulate_to_fit_to_evaluate(call, tmp_path):
    made = run("simulate", "ER2", "--nodes", 10, "--rows", 2000, "-o", "-", "--truth", "truth.json", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    fitted = run("fit", "-", "--seed", 0, "-o", "learned.graphml", cwd=tmp_path, input=made.stdout)
    assert fitted.returncode == 0, fitted.stderr
    code, out, err = call("evaluate", "truth.json", "learned.graphml", "--json")
    assert code == 0, err
    assert json.loads(out)["tpr"] > 0.5


def test_demo(call):
    code, out, err = call("demo", "--nodes", 30, "--rows", 1000)
    assert code == 0, err
    assert "edges are found with their direction" in out
    assert "psidag fit table.csv" in out


def test_the_class_one_dag_or_both(sachs, call):
    for which, marks, dags in (("class", True, 0), ("dag", False, 0), ("both", True, 1)):
        code, out, err = call("fit", sachs, "--noise", "unequal", "--seed", 0, "--graph", which, "-o", "model.psidag")
        assert code == 0, err
        assert (" -- " in out) == marks
        assert out.count("one DAG that agrees with it") == dags
    # Arrows that are known keep their reason in the DAG.
    graph, dag = (part.split("edges:")[-1] for part in out.split("one DAG that agrees with it"))
    assert graph.count(" collider ") == dag.count(" collider ")
    code, out, _ = call("info", "model.psidag", "--json")
    assert code == 0
    assert not all(edge["directed"] for edge in json.loads(out)["edges"])


def test_bootstrap_gives_edges_their_support(sachs, call):
    code, out, err = call("fit", sachs, "--bootstrap", 10, "--seed", 0, "-o", "edges.csv", "--json")
    assert code == 0, err
    found = json.loads(out)
    assert found["about"]["replicates"] == 10
    assert all(0 <= edge["support"] <= 1 for edge in found["edges"])
    assert Path("edges.csv").read_text().splitlines()[0].endswith(",connection,support,reverse_support")
    code, out, err = call("fit", sachs, "--bootstrap", 50, "--max-time", 1e-6, "--resampling", "subsample")
    assert code == 0, err
    assert "0 of 50 replicates" in out
    code, _, err = call("fit", sachs, "--draws", "draws")
    assert code == 2
    assert "--bootstrap" in err


def test_errors_are_one_line_in_a_real_process(tmp_path):
    done = run("fit", "nowhere.csv", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.strip() == "psidag: there is no file 'nowhere.csv'"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit"], "Missing argument"),
        (["fit", "t.csv", "--colour", "red"], "No such option"),
        (["paint"], "No such command"),
        (["fit", "t.csv", "--seed", "x"], "--seed"),
        (["fit", "t.csv", "--noise", "loud"], "--noise"),
        (["fit", "t.csv", "--missing", "ignore"], "--missing"),
        (["fit", "t.csv", "--solver", "magic"], "solver must be one of"),
        (["fit", "t.csv", "--threshold", "-1"], "threshold"),
        (["fit", "t.csv", "--max-time", "0"], "max_time"),
        (["fit", "t.csv", "--max-memory", "lots"], "max_memory must be"),
        (["fit", "t.csv", "--max-memory", "1kB"], "engine needs about .* max_memory is"),
        (["fit", "t.csv", "--resume"], "resume=True needs the checkpoint"),
        (["fit", "t.csv", "--checkpoint", "no/such/folder/run"], "cannot write"),
        (["fit", "t.csv", "--checkpoint", "broken.psidag"], "there is a checkpoint 'broken.psidag' already"),
        (["fit", "t.csv", "--checkpoint", "broken.psidag", "--resume"], "not a whole psidag checkpoint"),
        (["fit", "t.csv", "--jobs", "0"], "n_jobs"),
        (["fit", "t.csv", "--rows", "one:two"], "--rows must look like"),
        (["fit", "t.csv", "--rows", "5:5"], "0 rows, and 2 are needed: dependence"),
        (["fit", "t.csv", "--columns", "a"], "at least two columns"),
        (["fit", "t.csv", "--columns", "aa,b"], "there is no column 'aa'"),
        (["fit", "t.csv", "-o", "graph.bmp"], "no ending"),
        (["fit", "t.csv", "-o", "no/such/folder/graph.json"], "cannot write"),
        (["fit", "t.csv", "-o", "-"], "--json"),
        (["fit", "t.csv", "--knowledge", "k.toml"], "there is no file"),
        (["fit", "t.csv", "--knowledge", "cycle.toml"], "a -> b -> a|b -> a -> b"),
        (["fit", "t.csv", "--knowledge", "stranger.toml"], "names 'z', which is not a column"),
        (["fit", "text.csv"], "'who' (line 2: 'Ann').*--exclude 'who'"),
        (["fit", "gaps.csv"], "'b' in 1 of 4 rows.*--missing"),
        (["simulate", "XY2", "--nodes", "5", "-o", "x.csv"], "no ending|not a kind"),
        (["simulate", "ER2", "-o", "x.csv"], "number of vertices"),
        (["simulate", "ER2", "--nodes", "5", "-o", "x.doc"], "cannot write rows"),
        (["simulate", "ER2", "--nodes", "5", "--noise", "pink", "-o", "x.csv"], "no noise named"),
        (["evaluate", "nowhere.json", "t.csv"], "there is no file"),
        (["evaluate", "cycle.csv", "cycle.csv"], "cycle: "),
        (["compare", "t.csv", "--truth", "dag.csv", "--methods", "magic"], "--methods must be of"),
        (["convert", "dag.csv", "dag.xyz"], "no ending"),
        (["convert", "dag.csv", "-", "--to", "xyz"], "no graph format"),
        (["info", "broken.psidag"], "not a whole psidag solution"),
        (["info", "nowhere.csv"], "there is no file"),
    ],
)
def test_every_mistake_is_one_line_and_exit_code_2(call, tmp_path, arguments, message):
    rng = np.random.default_rng(0)
    rows = "\n".join(",".join(map(repr, row)) for row in rng.normal(size=(20, 3)).tolist())
    files = {
        "t.csv": "a,b,c\n" + rows + "\n",
        "text.csv": "a,who,b\n1,Ann,2\n3,Bob,5\n",
        "gaps.csv": "a,b\n1,2\n2,\n3,1\n5,2\n",
        "dag.csv": "source,target\na,b\nb,c\n",
        "cycle.csv": "source,target\na,b\nb,a\n",
        "cycle.toml": 'required_edges = [["a", "b"], ["b", "a"]]',
        "stranger.toml": 'required_edges = [["a", "z"]]',
        "broken.psidag": "PK\x03\x04",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    code, out, err = call(*arguments)
    errors = [line for line in err.splitlines() if not line.startswith(("note:", "warning:"))]
    assert code == 2, err
    assert out == ""
    assert len(errors) == 1
    assert re.search(message.replace("(line 2: 'Ann')", r"\(line 2: 'Ann'\)"), errors[0]), errors[0]


@settings(
    max_examples=80,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    content=st.binary(max_size=80) | st.text(alphabet="ab1.,;\n\"' e-NA", max_size=120).map(str.encode),
    ending=st.sampled_from([".csv", ".npy", ".npz", ".parquet", ".json", ".psidag", ".toml"]),
)
def test_malformed_files_never_show_a_traceback(call, tmp_path, content, ending):
    path = tmp_path / f"fuzz{ending}"
    path.write_bytes(content)
    (tmp_path / "t.csv").write_text("a,b\n1,2\n2,1\n3,5\n")
    if ending == ".json":
        commands = [("convert", path, "-", "--to", "dot"), ("evaluate", path, path)]
    elif ending == ".toml":
        commands = [("fit", "t.csv", "--knowledge", path, "--max-time", 1)]
    else:
        commands = [("info", path), ("fit", path, "--max-time", 1, "--solver", "stochastic")]
    for command in commands:
        code, _, err = call(*command)
        assert code in (0, 2), err
        assert "Traceback" not in err
        assert "internal error" not in err


def test_choices_reach_the_engine(call, tmp_path):
    (tmp_path / "gaps.csv").write_text("a,b,who\n1,2,x\n2,,y\n3,1,z\n5,2,u\n2,2.5,v\n")
    code, out, err = call("fit", "gaps.csv", "--drop", "who", "--missing", "drop", "--json", "--seed", 0)
    assert code == 0, err
    assert json.loads(out)["about"]["n_samples"] == 4
    assert "rows with missing values were left out: 1 of 5" in err
    assert "note: whole-number columns are taken as numbers: 'a'" in err
    (tmp_path / "k.toml").write_text('forbidden_edges = [["a", "b"], ["b", "a"]]')
    code, out, _ = call("fit", "gaps.csv", "-c", "a,b", "--missing", "mean", "--knowledge", "k.toml", "--json")
    assert json.loads(out)["edges"] == []
    code, out, _ = call("fit", "gaps.csv", "-c", "a,b", "--rows", "2:", "--json", "--threshold", 0)
    assert json.loads(out)["about"]["n_samples"] == 3


@pytest.mark.parametrize("name", FORMATS)
def test_convert_knows_every_format(call, tmp_path, name):
    (tmp_path / "dag.csv").write_text('source,target,weight\na b,"c ""d""",0.5\nlonely,,\n')
    target = f"graph{FORMATS[name].endings[0]}"
    assert call("convert", "dag.csv", target)[0] == 0
    code, out, _ = call("convert", target, "-", "--to", "edges")
    assert code == 0
    assert sorted(out.splitlines()) == sorted((tmp_path / "dag.csv").read_text().splitlines())


def test_evaluate_matches_by_name(call, tmp_path):
    (tmp_path / "truth.csv").write_text("source,target,weight\na,b,2\nb,c,1.5\nd,,\n")
    (tmp_path / "learned.csv").write_text("source,target,weight\nc,b,1\na,b,2\n")
    code, out, err = call("evaluate", "truth.csv", "learned.csv", "--json")
    assert code == 0, err
    assert "counted as isolated: 'd'" in err
    found = json.loads(out)
    assert (found["shd"], found["reversed"], found["missing"]) == (1, 1, 0)
    (tmp_path / "test.csv").write_text("c,b,a,d\n1,2,3,4\n2,2,2,2\n0,1,0,1\n")
    code, out, err = call("evaluate", "truth.csv", "learned.csv", "--data", "test.csv")
    assert code == 0, err
    assert "gap" in out
    (tmp_path / "other.csv").write_text("source,target\nq,r\n")
    code, _, err = call("evaluate", "truth.csv", "other.csv")
    assert code == 2
    assert "'q', 'r'" in err


def test_info_finds_what_is_odd(call, tmp_path):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 50))
    columns = {"a": a, "b": 100 * b, "twin": a, "sum": a + 100 * b, "flat": np.ones(50), "n": np.arange(50)}
    lines = [
        ",".join([*columns, "city"]),
        *(",".join([*map(repr, map(float, row)), "Rome"]) for row in zip(*columns.values(), strict=True)),
    ]
    lines[4] = "," + lines[4].partition(",")[2]
    (tmp_path / "odd.csv").write_text("\n".join(lines))
    code, out, err = call("info", "odd.csv")
    assert code == 0, err
    for part in (
        "50 rows, 7 columns",
        "--exclude 'city'",
        "'a' 1",
        "49 of 50 rows are complete",
        "constant",
        "'flat'",
        "collinear",
        "about",
    ):
        assert part in out, part
    found = json.loads(call("info", "odd.csv", "--json")[1])
    assert found["constant"] == ["flat"]
    assert found["missing"] == {"a": 1}
    assert found["forecast"]["seconds"] > 0
    lines[4] = lines[5]
    (tmp_path / "odd.csv").write_text("\n".join(lines))
    assert json.loads(call("info", "odd.csv", "--json")[1])["duplicate"] == [["a", "twin"]]


def test_info_of_a_wide_table_needs_no_moments(call, tmp_path, monkeypatch):
    monkeypatch.setattr("psidag.tables.profile.Moments.from_rows", None)
    X = np.random.default_rng(0).normal(size=(5, 3001))
    X[:, 7] = 3.0
    np.save(tmp_path / "wide.npy", X)
    found = json.loads(call("info", "wide.npy", "--json")[1])
    assert found["constant"] == ["x7"]
    assert found["sd_range"] == pytest.approx([np.delete(X, 7, 1).std(axis=0).min(), X.std(axis=0).max()])
    assert found["forecast"]["memory"] > 0


def test_compare_prints_one_row_a_method(call, tmp_path):
    assert (
        call("simulate", "ER1", "--nodes", 6, "--rows", 500, "-o", "d.csv", "--truth", "t.json", "--test", "e.csv")[0]
        == 0
    )
    code, out, err = call("compare", "d.csv", "--truth", "t.json", "--test", "e.csv", "--methods", "eqvar", "--json")
    assert code == 0, err
    (row,) = json.loads(out)
    assert row["method"] == "eqvar"
    assert row["gap"] < 0.1


def test_help_version_and_completion(call):
    code, out, _ = call()
    assert code == 0
    for command in ("fit", "info", "simulate", "evaluate", "compare", "convert", "demo", "reproduce"):
        assert command in out
        assert call(command, "--help")[0] == 0
    assert call("--version")[1].startswith("psidag ")


def test_reproduce_lists_its_figures(call):
    code, out, _ = call("reproduce", "--list", "--preset", "paper")
    assert code == 0
    assert "fig-runtime" in out
    assert "table-sachs" in out
    code, _, err = call("reproduce", "fig-unheard-of")
    assert code == 2
    assert "fig-unheard-of" in err
    code, _, err = call("reproduce", "--preset", "huge")
    assert code == 2
    assert "laptop" in err


@pytest.mark.slow
def test_reproduce_a_table_and_go_on(call, tmp_path):
    code, out, err = call("reproduce", "table-sachs", "--preset", "smoke", "--output", "page")
    assert code == 0
    assert out.strip() == str(Path("page") / "index.html")
    assert "0 of them done before" in err
    assert "DAGMA" in (tmp_path / "page" / "index.html").read_text(encoding="utf-8")
    code, _, err = call("reproduce", "table-sachs", "--preset", "smoke", "--output", "page")
    assert code == 0
    assert "10 cells, 10 of them done before" in err


def test_simulate_from_a_graph_file(call, tmp_path):
    (tmp_path / "g.csv").write_text("source,target,weight\na,b,2\n")
    assert call("simulate", "g.csv", "--rows", 4000, "-o", "d.npz")[0] == 0
    held = np.load(tmp_path / "d.npz")
    assert held["names"].tolist() == ["a", "b"]
    assert np.polyfit(*held["X"].T, 1)[0] == pytest.approx(2, abs=0.1)


def test_the_commands_of_the_documents_run_as_they_stand(call, tmp_path):
    page = Path(__file__).parents[2] / "docs" / "guide" / "command-line.md"
    commands = [line[2:] for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("$ psidag")]
    assert len(commands) > 5
    for command in commands:
        code, _, err = call(*shlex.split(command)[1:])
        assert code == 0, f"{command}: {err}"
