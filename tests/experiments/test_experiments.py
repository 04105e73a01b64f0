"""The paper's experiments: what is run, what becomes of each cell, and the page."""

import dataclasses
import io
import json
import math
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp
from PIL import Image

from psidag.experiments import EXPERIMENTS, PRESETS, ResultTable, choose, like, merged, plan, run_cells, write_page
from psidag.experiments.catalogue import cells_of, preset_named
from psidag.experiments.cells import SACHS, Cell, ProblemSpec
from psidag.experiments.claims import CLAIMS
from psidag.experiments.figures import picture
from psidag.experiments.measure import Judge, measure
from psidag.experiments.methods import METHODS
from psidag.experiments.panels import measure_panel
from psidag.experiments.runner import run_cell
from psidag.experiments.table import thinned, write_csv
from psidag.graph.metrics import squared_loss
from psidag.system.errors import InputError
from support.made_up_rows import made_up, race

TINY = ProblemSpec("ER2", 8, n=300, n_test=300)


def cell(method, *, seed=0, seconds=30.0, memory=4000.0, to_goal=False, problem=TINY):
    return Cell(problem, method, seed, seconds, memory, to_goal)


# --- what is run


@pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)
def test_every_preset_has_cells_for_every_figure(preset):
    for experiment in EXPERIMENTS.values():
        cells = cells_of(experiment, preset)
        assert cells, experiment.name
        assert {c.method for c in cells} <= set(METHODS)
    cells = plan(choose(), preset)
    assert len({c.id for c in cells}) == len({c.key for c in cells}) == len(cells)


def test_the_paper_preset_is_the_papers_grid():
    cells = plan(choose(), PRESETS["paper"])
    problems = {(c.problem.graph, c.problem.d, c.problem.noise) for c in cells}
    for graph in ("ER2", "ER4", "SF2", "SF4"):
        for noise in ("gaussian", "exponential", "gumbel"):
            assert {(graph, d, noise) for d in (10, 50, 100, 500, 1000)} <= problems
        assert {(graph, d, "gaussian") for d in (3000, 5000, 10_000)} <= problems
    assert {(g, d, "gaussian") for g in ("ER6", "SF6") for d in (10, 50, 100, 500, 1000, 3000)} <= problems
    assert {c.problem.n for c in cells} == {5000, SACHS.n}
    assert {c.problem.n_test for c in cells} == {10_000, SACHS.n_test}
    for method in ("psidag-stream", "psidag-rows", "golem", "dagma", "exact", "sparse", "eqvar", "sort-regress"):
        assert {c.seed for c in cells if c.key[:2] == ("ER2-d1000-gaussian-n5000", method)} == {500, 501, 502}


def test_figures_go_by_name_or_by_its_beginning():
    assert [e.name for e in choose(["fig-er2", "table-sachs"])] == ["fig-er2-small", "fig-er2-medium", "table-sachs"]
    with pytest.raises(InputError, match="fig-runtime"):
        choose(["fig-nonsense"])
    with pytest.raises(InputError, match="smoke"):
        preset_named("enormous")


def test_cells_are_chosen_by_patterns_in_their_order():
    cells = plan(choose(), PRESETS["recorded"])
    found = like(cells, ["SF*/500/dagma", "*/10/psidag-*", "SF4/500/*"])
    first = [c for c in found if c.problem.d == 500][:3]
    assert {c.key[:2] for c in first} == {(f"SF{k}-d500-gaussian-n5000", "dagma") for k in (2, 4, 6)}
    assert len(found) == len({c.id for c in found})
    assert {c.method for c in found if c.problem.d == 10} == {"psidag-printed", "psidag-stream", "psidag-rows"}
    with pytest.raises(InputError, match="psidag-stream"):
        like(cells, ["ER2/123/golem"])


# --- one cell


def test_wide_weights_are_judged_row_by_row():
    problem = ProblemSpec("ER2", 30, n=50, n_test=30).make(0)
    W = np.triu(np.random.default_rng(0).normal(size=(30, 30)), 1)
    want = squared_loss(W, problem.X_test, mean=problem.X.mean(axis=0))
    assert Judge(problem).loss(W) == pytest.approx(want)
    assert Judge(problem).loss(sp.csr_array(W)) == pytest.approx(want)


def test_wide_dense_iterates_are_judged_by_the_first_rows(monkeypatch):
    problem = ProblemSpec("ER2", 30, n=50, n_test=60).make(0)
    W = np.triu(np.random.default_rng(0).normal(size=(30, 30)), 1)
    judge = Judge(problem)
    assert judge.look(W) == judge.value(W)
    monkeypatch.setattr("psidag.experiments.measure._WIDE", 20)
    monkeypatch.setattr("psidag.experiments.measure._SPARSE", 5)
    monkeypatch.setattr("psidag.experiments.measure._ROWS_OF_A_LOOK", 10)
    few, mean = problem.X_test[:10], problem.X.mean(axis=0)
    first = squared_loss(W, few, mean=mean) / squared_loss(problem.dag, few, mean=mean) - 1
    assert judge.look(W) == pytest.approx(first)
    assert judge.value(W) != pytest.approx(first, rel=1e-3)
    assert judge.look(problem.dag.weights) == pytest.approx(0)


def test_a_cell_is_judged_off_the_clock_along_the_way():
    reported = []
    found = measure((cell("psidag-rows"), 1), reported.append)
    assert found["status"] in ("converged", "max_rounds")
    assert [point[0] for point in reported] == sorted(point[0] for point in reported)
    assert found["curve"][-1][2] == pytest.approx(found["gap"], rel=1e-3)
    assert found["goal_seconds"] <= found["seconds"]
    assert found["shd"] == found["missing"] + found["extra"] + found["reversed"]
    first = next(point for point in reported if point[2] <= 0.1)
    assert (found["goal_seconds"], found["goal_gradients"]) == first[:2]


def test_full_gradients_count_as_n_and_batches_as_their_rows():
    golem = measure((cell("golem", seconds=0.2), 1), lambda _: None)
    assert golem["gradients"] == golem["steps"] * TINY.n
    rows = measure((cell("psidag-rows"), 1), lambda _: None)
    assert rows["steps"] < rows["gradients"] <= rows["steps"] * 64 * 1.1
    assert measure((cell("sparse"), 1), lambda _: None)["gradients"] == 0


def test_over_budget_is_a_row_with_the_gap_it_had():
    row = run_cell(cell("golem", seconds=0.3), 1, 1)
    assert row.status == "over_time"
    assert row.over_budget
    assert row.message.startswith("over budget at 0 s, gap ")
    assert row.gap == pytest.approx(row.curve[-1][2], rel=1e-3)
    assert 0.3 <= row.seconds < 5
    assert math.isfinite(row.shd)


def test_over_memory_is_a_row_too():
    row = run_cell(cell("golem", memory=40.0), 1, 1)
    assert row.status == "over_memory"
    assert "over budget at 40 MB" in row.message


def test_a_run_to_the_goal_stops_there():
    row = run_cell(cell("golem", to_goal=True, seconds=60), 1, 1)
    assert row.status == "criterion"
    assert row.goal_seconds == row.seconds
    assert "psidag 0.1.0" in row.machine
    assert row.clock == "processor"


def test_sachs_has_no_gap_but_the_papers_columns():
    found = measure((cell("dagma", problem=SACHS), 1), lambda _: None)
    assert found["status"] == "diverged"
    assert math.isnan(found["gap"])
    assert found["shd_03"] == 17


# --- the table


def test_rows_survive_the_disk_and_a_torn_line(tmp_path):
    table = ResultTable(tmp_path / "deep" / "results.jsonl")
    assert table.rows() == []
    rows = [made_up("golem", 1.5, seed=k, curve=((0.1, 5e3, 0.5), (1.5, 1e5, 0.05))) for k in range(3)]
    table.append(rows[0])
    with table.path.open("a") as file:
        file.write(json.dumps(rows[1].as_dict())[:-30])
    assert [row.seed for row in table.rows()] == [0]
    table.append(rows[2])
    found = table.rows()
    assert [row.seed for row in found] == [0, 2]
    assert found[0].curve == rows[0].curve
    assert math.isnan(found[0].shd)
    write_csv(found, tmp_path / "results.csv")
    assert len((tmp_path / "results.csv").read_text().splitlines()) == 3


def test_when_a_row_answers_a_cell():
    problem = ProblemSpec("ER2", 100)
    ended = made_up("golem", 5.0)
    assert ended.answers(cell("golem", problem=problem, seconds=60))
    assert not ended.answers(cell("golem", problem=problem, seconds=1))
    assert not ended.answers(cell("dagma", problem=problem))
    late = made_up("golem", 5.0, budget=9.9)  # it took 10 s
    assert late.answers(cell("golem", problem=problem, seconds=9.9))
    assert not late.answers(cell("golem", problem=problem, seconds=9.8))
    over = made_up("golem", None, status="over_time", budget=60.0)
    assert over.answers(cell("golem", problem=problem, seconds=30))
    assert not over.answers(cell("golem", problem=problem, seconds=600))
    short = made_up("golem", 5.0, status="criterion")
    assert short.answers(cell("golem", problem=problem, to_goal=True))
    assert not short.answers(cell("golem", problem=problem))


def test_recorded_rows_fill_gaps_only():
    own = [made_up("golem", None, status="over_time", budget=60.0), made_up("dagma", 3.0)]
    old = [
        dataclasses.replace(made_up("golem", 80.0), recorded=True),
        dataclasses.replace(made_up("dagma", 9.0), recorded=True),
    ]
    found = {row.method: row for row in merged(own, old)}
    assert found["golem"].recorded
    assert found["dagma"].goal_seconds == 3.0


def test_thinned_curves_keep_their_ends_and_the_criterion():
    curve = [(0.01 * 1.05**k, 100.0 * k, 2.0 * 0.97**k) for k in range(400)]
    few = thinned(curve)
    assert len(few) < 45
    assert few[0][0] == pytest.approx(curve[0][0], rel=1e-3)
    assert few[-1][2] == pytest.approx(curve[-1][2], rel=1e-3)
    met = next(point for point in curve if point[2] <= 0.1)
    assert any(point[0] == pytest.approx(met[0], rel=1e-3) for point in few)


# --- the runner

SCRIPT = """
import sys
from pathlib import Path
from psidag.experiments import ResultTable, run_cells
from psidag.experiments.cells import Cell, ProblemSpec
problem = ProblemSpec("ER2", 8, n=300, n_test=300)
cells = [Cell(problem, m, s, 1.5, 4000.0) for s in (0, 1) for m in ("eqvar", "sparse", "golem", "sort-regress")]
print("ran", run_cells(cells, ResultTable(Path(sys.argv[1])), at_once=2), flush=True)
"""


def descendants_of(pid):
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True)
    children = [int(line) for line in listed.stdout.split()]
    return children + [other for child in children for other in descendants_of(child)]


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.skipif(not os.path.isdir("/proc"), reason="looks at processes the Linux way")
def test_killed_half_way_it_repeats_no_finished_cell_and_leaves_nothing_behind(tmp_path):
    path = tmp_path / "results.jsonl"
    command = [sys.executable, "-c", SCRIPT, str(path)]
    first = subprocess.Popen(command, stdout=subprocess.PIPE)
    deadline = time.monotonic() + 120
    while len(ResultTable(path).rows()) < 3 or not descendants_of(first.pid):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    workers = descendants_of(first.pid)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    before = ResultTable(path).rows()
    assert 3 <= len(before) < 8
    second = subprocess.run(command, capture_output=True, text=True, check=True)
    assert second.stdout.split() == ["ran", str(8 - len(before))]
    after = ResultTable(path).rows()
    assert after[: len(before)] == before or [row.id for row in after[: len(before)]] == [row.id for row in before]
    assert len({row.id for row in after}) == len(after) == 8
    while any(map(is_running, workers)):
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="looks at processes the Linux way")
def test_a_cell_that_is_killed_from_outside_is_no_failure_and_is_run_again(tmp_path):
    table, said, ended = ResultTable(tmp_path / "results.jsonl"), [], threading.Event()

    def kill():
        # The process of a cell is a fork of the one that waits for work.
        while not ended.wait(0.01):
            for waiting in descendants_of(os.getpid()):
                for work in descendants_of(waiting):
                    os.kill(work, signal.SIGKILL)
                    return

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        run_cells([cell("dagma", seconds=60.0)], table, say=said.append)
    finally:
        ended.set()
        killer.join()
    assert table.rows() == []
    assert "killed from outside" in said[-1]
    assert run_cells([cell("eqvar")], table) == 1


def test_it_says_what_runs_and_what_is_left(tmp_path):
    said = []
    table = ResultTable(tmp_path / "results.jsonl")
    assert run_cells([cell("eqvar"), cell("sort-regress")], table, say=said.append) == 2
    assert said[0].startswith("2 cells, 0 of them done before; about ")
    assert "[1/2] ER2-d8-gaussian-n300 EqVar seed 0: converged" in said[1]
    assert "running ER2-d8-gaussian-n300 sort-and-regress seed 0" in said[1]
    assert run_cells([cell("eqvar")], table, say=said.append) == 0


# --- the page


def made_up_results(preset):
    """A row for every cell of a preset, some of them over budget, without running any."""
    rows = []
    for k, c in enumerate(plan(choose(), preset)):
        p = c.problem
        curve = tuple((0.01 * 2**j, 1000.0 * 2**j, 0.5 / 2**j + 0.01) for j in range(8))
        end = {"status": "over_time", "message": "over budget at 1 s, gap 0.01"} if k % 7 == 0 else {}
        where = {"graph": p.graph, "d": p.d, "noise": p.noise, "seed": c.seed}
        errors = {"shd": 3.0, "missing": 1.0, "extra": 1.0, "reversed": 1.0, "shd_03": 5.0}
        seconds = 0.1 * p.d if k % 7 else None
        rows.append(made_up(c.method, seconds, curve=curve, machine="a machine", **where, **errors, **end))
    return [dataclasses.replace(row, n=preset.n if row.graph != "Sachs" else SACHS.n) for row in rows]


@pytest.mark.slow
def test_the_page_has_everything_in_one_file(tmp_path):
    preset = PRESETS["smoke"]
    page = write_page(choose(), preset, made_up_results(preset), tmp_path)
    text = page.read_text(encoding="utf-8")
    assert "http" not in text.replace("http-equiv", "")
    for claim in CLAIMS:
        assert claim.says.split(" of ")[0] in text.replace("&#x27;", "'")
    pictures = {file.stem for file in (tmp_path / "figures").iterdir()}
    assert pictures == set(EXPERIMENTS)
    assert text.count("data:image/png;base64,") == len(pictures)
    assert "over budget at 1 s" in text
    assert "Every cell of the preset was run." in (tmp_path / "README.md").read_text(encoding="utf-8")
    assert (tmp_path / "results.csv").exists()


def test_a_figure_of_nothing_is_no_picture():
    assert picture(EXPERIMENTS["fig-runtime"], []) is None
    assert picture(EXPERIMENTS["table-sachs"], [made_up("golem", 1.0, graph="Sachs")]) is None
    seen = {"shd_03": 14.0, "tpr_03": 0.3, "learned_edges_03": 12.0}
    assert picture(EXPERIMENTS["table-sachs"], [made_up("golem", 1.0, graph="Sachs", **seen)]) is not None


def test_a_picture_keeps_the_colours_of_the_methods():
    rows = race(1.0, 5.0, 9.0) + race(2.0, 50.0, 99.0, d=500)
    with Image.open(io.BytesIO(picture(EXPERIMENTS["fig-runtime"], rows))) as image:
        assert image.format == "PNG"
        shades = np.array(image.convert("RGB")).reshape(-1, 3).astype(int)
    for row in rows:
        wanted = [int(METHODS[row.method].colour[k : k + 2], 16) for k in (1, 3, 5)]
        assert np.abs(shades - wanted).max(axis=1).min() <= 4


def test_sizes_where_runs_were_stopped_are_drawn_apart():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    known = {"true_edges": 10, "graph_gap": 0.01}
    rows = [
        made_up("golem", 1.0, shd=2.0, **known),
        made_up("golem", 1.0, shd=9.0, seed=1, to_goal=True, **known),
        made_up("golem", 5.0, shd=5.0, d=500, to_goal=True, **known),
        made_up("golem", 60.0, shd=8.0, d=1000, status="over_time", **known),
        made_up("golem", 60.0, shd=9.0, d=3000, status="over_time", **known | {"graph_gap": 0.2}),
    ]
    axes = figure.subplots()
    measure_panel(axes, rows, "", "shd")
    ended, stopped = axes.lines
    assert ended.get_xydata().tolist() == [[100, 0.2], [500, 0.5], [1000, 0.8]]
    assert ended.get_markevery() == [0]
    assert stopped.get_xydata().tolist() == [[500, 0.5], [1000, 0.8]]
    assert stopped.get_fillstyle() == "bottom"
