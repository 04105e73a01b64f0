"""Dask: the same answer as on one machine, from data of any cut, and with a worker killed in the middle."""

import gc
import os
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from psidag import InputError, Moments, PsiDAG, Stochastic, bootstrap, cluster, fit_order, learn_dag
from psidag.data.ingest import as_source
from psidag.data.scans import Scan
from psidag.engines.comparison import Compared
from psidag.engines.sparse import Sparse
from psidag.experiments import ResultTable, run_cells
from psidag.experiments.cells import Cell, ProblemSpec
from psidag.simulate import simulate
from psidag.system.parallel import SERIAL, Mapper, workers

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

PROBLEM = simulate("ER2", d=20, n=4000, seed=3)
FRAME = pd.DataFrame(PROBLEM.X, columns=[f"v{k}" for k in range(20)])


@pytest.fixture(scope="module")
def machines():
    with cluster(2) as found:
        yield found


def same(found, expected):
    """Every edge is there, and every weight within 1e-10."""
    a, b = found.dag.to_dense(), expected.dag.to_dense()
    np.testing.assert_array_equal(a != 0, b != 0)
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-10)
    assert found.n_samples == expected.n_samples


def same_replicates(found, expected):
    """To the last bit, the status included."""
    for key in ("sources", "targets", "times", "weight_mean", "weight_scatter"):
        np.testing.assert_array_equal(getattr(found, key), getattr(expected, key))
    assert (found.replicates, found.status) == (expected.replicates, expected.status)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"solver": "exact"}, {"threshold": 0.3}])
@pytest.mark.parametrize("chunks", [(4000, 20), (333, 7)])
def test_an_array_on_a_cluster_gives_the_same_graph(machines, options, chunks):
    found = learn_dag(da.from_array(PROBLEM.X, chunks=chunks), random_state=0, n_jobs=machines, **options)
    same(found, learn_dag(PROBLEM.X, random_state=0, **options))


@pytest.mark.slow
def test_under_unequal_noise_the_class_of_equivalent_graphs_is_the_same(machines):
    # Its members have the same score up to rounding, which depends on how rows are cut. Evidence is searched for from
    # the member that is found: what is just at the mark may be claimed from one and not from another.
    options = {"noise": "unequal", "evidence": False, "random_state": 0}
    found = learn_dag(da.from_array(PROBLEM.X, chunks=(333, 7)), n_jobs=machines, **options)
    expected = learn_dag(PROBLEM.X, **options)
    assert (found.graph.to_matrix() != expected.graph.to_matrix()).nnz == 0


@pytest.mark.slow
def test_a_frame_on_a_cluster_gives_the_same_graph(machines):
    model = PsiDAG(random_state=0, n_jobs=machines).fit(dd.from_pandas(FRAME, npartitions=7))
    same(model.solution_, learn_dag(FRAME, random_state=0))
    assert list(model.feature_names_in_) == list(FRAME.columns)


@pytest.mark.slow
def test_the_selection_of_parents_is_spread_over_the_workers(machines):
    expected = fit_order(PROBLEM.X, PROBLEM.dag.order)
    same(fit_order(PROBLEM.X, PROBLEM.dag.order, n_jobs=machines), expected)
    assert isinstance(machines, Mapper)
    with workers(machines) as threads:
        processes = set(threads.remote.map(lambda _: (time.sleep(0.05), os.getpid())[1], range(20)))
    assert len(processes) == 2
    assert os.getpid() not in processes


@pytest.mark.slow
@pytest.mark.parametrize("method", ["bootstrap", "subsample"])
@pytest.mark.parametrize("rows", [slice(None), slice(None, 30)], ids=["long", "short"])
def test_replicates_on_a_cluster_are_those_of_threads(machines, method, rows):
    # Every second column of an array that is stored by columns: what travels is laid out otherwise.
    X = np.asfortranarray(PROBLEM.X)[rows, ::2]
    options = {"replicates": 11, "method": method, "random_state": 5}
    same_replicates(bootstrap(X, n_jobs=machines, **options), bootstrap(X, n_jobs=2, **options))


@pytest.mark.slow
def test_the_bootstrap_of_an_estimator_is_spread_and_goes_on(machines, tmp_path):
    solver, file = Stochastic(tau1=20, tau2=20, max_rounds=2), tmp_path / "draws"
    expected = PsiDAG(solver=solver, random_state=1).bootstrap(FRAME, replicates=9)
    model = PsiDAG(solver=solver, random_state=1, n_jobs=machines)
    assert model.bootstrap(FRAME, replicates=4, resume=file).replicates == 4
    same_replicates(model.bootstrap(FRAME, replicates=9, resume=file), expected)
    late = bootstrap(FRAME, solver, replicates=9, random_state=1, n_jobs=machines, max_time=1e-3)
    assert late.status.code == "time_limit"
    same_replicates(bootstrap(FRAME, solver, replicates=9, n_jobs=machines, resume=late), expected)


@pytest.mark.slow
def test_the_same_work_travels_once(machines):
    rows = np.arange(1e5)

    def work(k):
        return rows[k]

    assert machines.jobs == 2
    assert machines.map(work, [3, 4]) == [3.0, 4.0]
    assert machines.map(work, range(5, 9)) == [5.0, 6.0, 7.0, 8.0]
    parcel = machines._parcel.key
    story = machines.client.run_on_scheduler(lambda dask_scheduler: [row[2] for row in dask_scheduler.story(parcel)])
    assert story.count("memory") == 1
    assert machines.map(abs, [-1]) == [1]
    assert machines._parcel.key != parcel


@pytest.mark.slow
def test_a_scheduler_by_its_address(machines):
    address = machines.client.scheduler.address
    with cluster(address) as found:
        assert found.map(abs, [-1, 2]) == [1, 2]
    with pytest.raises(InputError, match=r"psidag\.cluster"):
        learn_dag(PROBLEM.X, n_jobs="tcp://somewhere:1")
    with pytest.raises(InputError, match="an address, a Dask client or a number"), cluster(1.5):
        pass


def test_columns_go_to_other_processes_by_a_folder_or_by_themselves(tmp_path):
    cloudpickle = pytest.importorskip("cloudpickle")
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(70, 300)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    compared, level = Compared.of(rows, SERIAL), np.full(70, 0.01)
    expected = compared.matches(rows, level, 0, above=True)
    shared = compared.shared(tmp_path)
    for each, sent in ((compared, rows.nbytes), (shared, 0)):
        packed = cloudpickle.dumps(each)
        assert sent <= len(packed) < sent + 30_000 + (sent > 0) * 40_000
        for one, other in zip(cloudpickle.loads(packed).matches(rows, level, 0, above=True), expected, strict=True):
            np.testing.assert_array_equal(one, other)
    assert len(list(tmp_path.iterdir())) == 1
    del shared, each
    gc.collect()
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_columns_compared_on_a_cluster_give_the_same_bits(machines, monkeypatch):
    monkeypatch.setattr("psidag.engines.candidates._NODES", 16)
    X = simulate("ER2", d=150, n=250, seed=1).X
    options = {"noise": "equal", "random_state": 0}
    found = learn_dag(X, Sparse(max_memory=0), n_jobs=machines, **options)
    expected = learn_dag(X, Sparse(max_memory=0), n_jobs=1, **options)
    assert (found.dag.weights != expected.dag.weights).nnz == 0


KILL = """
import os, signal, threading, time
import dask.array as da
import numpy as np
from psidag import cluster, learn_dag
from psidag.simulate import simulate
from psidag.engines import candidates
from psidag.engines.candidates import Scan, advance
from psidag.engines.comparison import Compared
from psidag.system.parallel import workers

def slowly(block):
    time.sleep(0.3)
    return block

if __name__ == "__main__":
    with cluster(2) as machines:
        pids = machines.client.run(os.getpid)
        X = simulate("ER2", d=20, n=4000, seed=3).X
        rows = da.from_array(X, chunks=(200, 20)).map_blocks(slowly, dtype=float)
        victim = sorted(pids.values())[0]
        threading.Timer(1.2, os.kill, (victim, signal.SIGKILL)).start()
        start = time.perf_counter()
        found = learn_dag(rows, random_state=0, n_jobs=machines)
        assert time.perf_counter() - start > 1.3, "it was over before the worker was killed"
        assert victim not in machines.client.run(os.getpid).values(), "the worker is still there"
        a, b = found.dag.to_dense(), learn_dag(X, random_state=0).dag.to_dense()
        assert ((a != 0) == (b != 0)).all() and np.abs(a - b).max() <= 1e-10
        machines.client.wait_for_workers(2)
        victim = sorted(machines.client.run(os.getpid).values())[0]
        threading.Timer(0.5, os.kill, (victim, signal.SIGKILL)).start()
        done = machines.map(lambda k: (time.sleep(0.2), k * k)[1], range(12))
        assert done == [k * k for k in range(12)]
        machines.client.wait_for_workers(2)
        candidates._NODES, candidates._PAIRS = 64, 1
        columns = np.random.default_rng(0).normal(size=(12000, 256)).astype(np.float32)
        columns /= np.linalg.norm(columns, axis=1, keepdims=True)
        scans = []
        for jobs in (machines, 1):
            with workers(jobs) as threads:
                compared = Compared.of(columns, threads)
                scan = advance(compared, Scan(np.arange(12000), np.full(12000, 0.06)), None, threads)
                if jobs is machines:
                    assert not scan.ended, "it was over before the worker was killed"
                    os.kill(sorted(machines.client.run(os.getpid).values())[0], signal.SIGKILL)
                while not scan.ended:
                    scan = advance(compared, scan, None, threads)
            scans.append(scan.found)
        assert len(scans[0]) == len(scans[1]) and all((a == b).all() for a, b in zip(*scans))
        print("as if nothing had happened")
"""


@pytest.mark.slow
def test_a_worker_killed_in_the_middle_costs_no_result(tmp_path):
    script = tmp_path / "kill.py"
    script.write_text(KILL)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip().endswith("as if nothing had happened"), done.stderr[-3000:]


def test_rows_stay_in_their_partitions_and_are_merged_in_order():
    source = as_source(da.from_array(PROBLEM.X, chunks=(500, 20)))
    assert isinstance(source, Scan)
    expected = Moments.from_rows(PROBLEM.X)
    first, second = (as_source(da.from_array(PROBLEM.X, chunks=(500, 20))).moments() for _ in range(2))
    np.testing.assert_allclose(first.covariance, expected.covariance, atol=1e-12)
    assert (first.scatter == second.scatter).all()
    np.testing.assert_array_equal(np.concatenate(list(source.batches())), PROBLEM.X)


def test_without_a_cluster_dask_data_work_too():
    found = learn_dag(dd.from_pandas(FRAME, npartitions=3), random_state=0)
    same(found, learn_dag(FRAME, random_state=0))
    sampled = learn_dag(da.from_array(PROBLEM.X, chunks=(900, 20)), Stochastic(max_rounds=3), random_state=0)
    assert sampled.n_samples == 4000


def test_missing_values_text_and_shapes_are_named():
    gaps = FRAME.copy()
    gaps.iloc[[1500, 3000], 4] = np.nan
    with pytest.raises(InputError, match=r"'v4' in 2 of 4000 rows \(first row 1500\)"):
        learn_dag(dd.from_pandas(gaps, npartitions=5))
    with pytest.warns(UserWarning, match="left out: 2 of 4000"):
        dropped = learn_dag(dd.from_pandas(gaps, npartitions=5), missing="drop", random_state=0)
    assert dropped.n_samples == 3998
    with pytest.raises(InputError, match="not numbers: 'city'"):
        learn_dag(dd.from_pandas(FRAME.assign(city="Rome"), npartitions=2))
    with pytest.raises(InputError, match="rows and columns"):
        learn_dag(da.ones(10))
    with pytest.raises(InputError, match="sample_weight"):
        learn_dag(da.from_array(PROBLEM.X), sample_weight=np.ones(4000))


@pytest.mark.slow
def test_the_grid_of_experiments_runs_on_the_workers(machines, tmp_path):
    problem = ProblemSpec("ER2", 10, n=500, n_test=500)
    cells = [Cell(problem, method, seed, 20.0, 4000.0) for method in ("eqvar", "sparse") for seed in (0, 1)]
    near, far = ResultTable(tmp_path / "near.jsonl"), ResultTable(tmp_path / "far.jsonl")
    assert run_cells(cells, near) == run_cells(cells, far, at_once=2, machines=machines) == 4
    assert run_cells(cells, far, machines=machines) == 0
    found, expected = ({row.id: (row.status, row.gap, row.shd) for row in table.rows()} for table in (far, near))
    assert found == expected
