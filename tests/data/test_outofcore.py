"""Tables that stay in their files: the same answer as from memory, in any format, and errors that say where."""

import gzip
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from psidag import InputError, PsiDAG, Stochastic, fit_order, learn_dag
from psidag.cli.commands import app
from psidag.data import files
from psidag.data.files import read_table
from psidag.data.ingest import as_source
from psidag.data.scans import Batches, Scan
from psidag.data.sources import Summary, Table
from psidag.simulate import simulate
from psidag.tables.profile import profile_table

PROBLEM = simulate("ER2", d=8, n=3000, seed=2)
NAMES = list("abcdefgh")
FRAME = pd.DataFrame(PROBLEM.X, columns=NAMES)
REFERENCE = learn_dag(FRAME, random_state=0)


@pytest.fixture(autouse=True)
def nothing_is_held(monkeypatch):
    """Files of these few rows are treated as if they were larger than memory, and read in small batches."""
    monkeypatch.setattr("psidag.data.files.HOLD", 1)
    monkeypatch.setattr("psidag.data.scans._BATCH", 8 * 256)
    monkeypatch.setattr("psidag.data.delimited._CHARACTERS", 10_000)


def write_parquet(folder, frame=FRAME, parts=4, **options):
    folder.mkdir(exist_ok=True)
    for k, part in enumerate(np.array_split(np.arange(len(frame)), parts)):
        pq.write_table(
            pa.Table.from_pandas(frame.iloc[part], preserve_index=False), folder / f"part-{k}.parquet", **options
        )
    return folder


def write(tmp_path, kind):
    path = tmp_path / f"t.{kind}"
    if kind == "folder":
        write_parquet(path, row_group_size=300)
        (path / "_SUCCESS").write_text("")
        (path / ".hidden.parquet").write_text("not looked at")
    elif kind == "glob":
        return str(write_parquet(path) / "part-*.parquet")
    elif kind == "parquet":
        FRAME.to_parquet(path, row_group_size=1000)
    elif kind == "arrow":
        pyarrow.feather.write_feather(pa.Table.from_pandas(FRAME), path, chunksize=500)
    elif kind == "ipc":
        with pa.ipc.new_stream(path, pa.Table.from_pandas(FRAME).schema) as out:
            out.write_table(pa.Table.from_pandas(FRAME), max_chunksize=700)
    elif kind == "csv":
        FRAME.to_csv(path, index=False)
    elif kind == "tsv.gz":
        path.write_bytes(gzip.compress(FRAME.to_csv(index=False, sep="\t").encode(), mtime=0))
    else:
        np.save(path, PROBLEM.X)
    return path


KINDS = ["folder", "glob", "parquet", "arrow", "ipc", "csv", "tsv.gz", "npy"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_answer_as_from_memory(tmp_path, kind):
    path = write(tmp_path, kind)
    source = as_source(path)
    assert isinstance(source, Scan)
    model = PsiDAG(random_state=0).fit(path)
    # Correlations of small tables in memory are those of rounded rows.
    np.testing.assert_allclose(model.adjacency_.toarray(), REFERENCE.dag.to_dense(), rtol=0, atol=1e-9)
    for _ in range(2):
        np.testing.assert_array_equal(np.concatenate(list(source.batches())), PROBLEM.X)
    assert len(list(source.batches())) > 5
    within = fit_order(path, REFERENCE.order).dag.to_dense()
    np.testing.assert_allclose(within, fit_order(PROBLEM.X, REFERENCE.order).dag.to_dense(), atol=1e-12)


def test_threads_do_not_change_a_bit(tmp_path):
    path = write(tmp_path, "folder")
    one, two = (learn_dag(path, n_jobs=jobs, random_state=0) for jobs in (1, 2))
    assert (one.dag.weights != two.dag.weights).nnz == 0


def test_an_engine_that_samples_rows_reads_them_again(tmp_path):
    path = write(tmp_path, "folder")
    solution = learn_dag(path, Stochastic(max_rounds=5), random_state=0)
    held = learn_dag(PROBLEM.X, Stochastic(max_rounds=5), random_state=0)
    wrong, as_many = (PROBLEM.compare(found.dag.to_dense())["shd"] for found in (solution, held))
    assert wrong <= as_many + 3
    assert solution.n_samples == 3000
    again = learn_dag(path, Stochastic(max_rounds=5), random_state=0)
    assert (again.dag.weights != solution.dag.weights).nnz == 0


def test_a_small_or_wide_table_is_held(tmp_path):
    path = write(tmp_path, "parquet")
    assert isinstance(as_source(path, hold=8 * 3000), Table)
    assert isinstance(as_source(path, hold=None), Table)
    assert isinstance(as_source(path, hold=8 * 3000 - 1), Scan)
    pd.DataFrame(np.ones((50, 20))).to_parquet(tmp_path / "wide.parquet")
    assert isinstance(as_source(tmp_path / "wide.parquet"), Table)
    assert isinstance(read_table(path).X, np.ndarray)


def test_columns_and_rows_are_chosen_before_anything_is_decoded(tmp_path):
    path = write(tmp_path, "folder")
    table = read_table(path, columns=["a", "c*"], rows=slice(100, 2000), hold=1)
    assert table.names == ("a", "c")
    assert isinstance(table.X, Batches)
    np.testing.assert_array_equal(np.concatenate(list(table.X)), PROBLEM.X[100:2000][:, [0, 2]])
    last = read_table(write(tmp_path, "csv"), rows=slice(-5, None), hold=1)
    np.testing.assert_array_equal(last.X, PROBLEM.X[-5:])


GAPS = FRAME.mask(np.random.default_rng(0).random(FRAME.shape) < 0.02)


@pytest.mark.parametrize("missing", ["drop", "mean", "pairwise"])
def test_missing_values_are_treated_as_in_memory(tmp_path, missing):
    path = write_parquet(tmp_path / "gaps", GAPS)
    with pytest.warns(UserWarning, match="left out") if missing == "drop" else pytest.MonkeyPatch.context():
        found = learn_dag(path, missing=missing, random_state=0)
        expected = learn_dag(GAPS, missing=missing, random_state=0)
    np.testing.assert_allclose(found.dag.to_dense(), expected.dag.to_dense(), atol=1e-10)
    assert found.n_samples == pytest.approx(expected.n_samples)
    assert missing != "pairwise" or isinstance(as_source(path, missing=missing), Summary)


def with_cell(value):
    frame = FRAME.copy()
    frame.iloc[[1234, 2222], 3] = value
    return frame


@pytest.mark.parametrize(
    ("frame", "options", "message"),
    [
        (with_cell(np.nan), {}, r"'d' in 2 of 3000 rows \(first row 1234\).*missing=\"drop\""),
        (with_cell(np.inf), {}, r"infinity: 'd' in 2 of 3000 rows \(first row 1234\)"),
        (with_cell(np.inf), {"missing": "mean"}, "infinity: 'd'"),
        (FRAME.assign(d=np.nan), {"missing": "drop"}, "without a single value: 'd'"),
        (FRAME.assign(d=np.nan), {"missing": "pairwise"}, "without a single value: 'd'"),
        (FRAME.assign(city="Rome"), {}, r"'city' \(of type .*string.* in .*part-0.parquet.*--exclude 'city'"),
        (FRAME[["a"]], {}, "at least two columns"),
        (FRAME, {"sample_weight": np.ones(3000)}, "sample_weight goes with rows in memory"),
        (FRAME, {"names": ["u"]}, "1 names were given for 8 columns"),
    ],
)
def test_bad_content_is_named(tmp_path, frame, options, message):
    with pytest.raises(InputError, match=message):
        learn_dag(write_parquet(tmp_path / "bad", frame), **options)


def test_text_far_down_a_text_file_is_named_by_its_line(tmp_path):
    frame = FRAME.astype(object)
    frame.iloc[2500, 4] = "oops"
    frame.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(InputError, match=r"'e' \(line 2502: 'oops'\)"):
        learn_dag(tmp_path / "t.csv")
    FRAME.to_csv(tmp_path / "s.csv", index=False)
    with pytest.raises(InputError, match=r"'e' \(line 2502: 'oops' of .*t.csv"):
        learn_dag(str(tmp_path / "*.csv"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.drop(columns="c"), "part-2.parquet' has no column 'c', which .*part-0.parquet' has"),
        (lambda f: f.assign(extra=1.0), "part-0.parquet' has no column 'extra', which .*part-2.parquet' has"),
        (lambda f: f.assign(c="red"), "column 'c' is of type .*string in .*part-2.parquet.*numbers in .*part-0"),
    ],
)
def test_a_changed_schema_is_named_by_file_and_column(tmp_path, change, message):
    folder = write_parquet(tmp_path / "t")
    change(FRAME.iloc[:100]).to_parquet(folder / "part-2.parquet")
    with pytest.raises(InputError, match=message):
        learn_dag(folder)


def test_columns_in_another_order_and_precision_are_put_right(tmp_path):
    folder = write_parquet(tmp_path / "t", FRAME.iloc[:2000], parts=2)
    FRAME.iloc[2000:, ::-1].to_parquet(folder / "part-2.parquet")
    np.testing.assert_array_equal(np.concatenate(list(as_source(folder).batches())), PROBLEM.X)
    FRAME.iloc[2000:].astype(np.float32).to_parquet(folder / "part-2.parquet")
    np.testing.assert_allclose(np.concatenate(list(as_source(folder).batches())), PROBLEM.X, rtol=1e-6)


def test_a_corrupt_row_group_is_named(tmp_path):
    folder = write_parquet(tmp_path / "t", row_group_size=250)
    victim = folder / "part-1.parquet"
    group = pq.ParquetFile(victim).metadata.row_group(2)
    content = bytearray(victim.read_bytes())
    first = min(group.column(k).dictionary_page_offset or group.column(k).data_page_offset for k in range(8))
    content[first : first + 600] = b"\xff" * 600
    victim.write_bytes(content)
    with pytest.raises(InputError, match=r"row group 2 of '.*part-1.parquet' cannot be read: .*leave it out"):
        learn_dag(folder)


def test_nothing_to_read_is_said(tmp_path):
    with pytest.raises(InputError, match="no file fits the pattern"):
        learn_dag(str(tmp_path / "*.parquet"))
    with pytest.raises(InputError, match="holds no tables"):
        learn_dag(tmp_path)
    write_parquet(tmp_path / "t")
    FRAME.to_csv(tmp_path / "t" / "more.csv")
    with pytest.raises(InputError, match=r"several kinds \(\.csv \.parquet\): choose with a pattern"):
        learn_dag(tmp_path / "t")


def test_without_pyarrow_text_is_still_read_in_batches(tmp_path, monkeypatch):
    path = write(tmp_path, "csv")
    monkeypatch.setattr("psidag.data.delimited.find_spec", lambda name: None)
    np.testing.assert_array_equal(np.concatenate(list(as_source(path).batches())), PROBLEM.X)


def test_score_and_profile_work_from_files(tmp_path):
    path = write(tmp_path, "folder")
    model = PsiDAG(random_state=0).fit(path)
    assert model.score(path) == pytest.approx(model.score(FRAME), rel=1e-9)
    with pytest.raises(InputError, match="takes rows in memory"):
        model.partial_fit(path)
    copies = FRAME.assign(twin=FRAME["b"], still=1.0)
    write_parquet(tmp_path / "copies", copies)
    large, small = (profile_table(read_table(tmp_path / "copies", hold=hold)) for hold in (1, None))
    assert large.duplicate == [("b", "twin")]
    assert large.constant == ["still"]
    assert large.rows == large.complete_rows == 3000
    assert large.sd_range == pytest.approx(small.sd_range)


def test_the_command_line_takes_folders_and_patterns(tmp_path):
    folder = write(tmp_path, "folder")
    for given in (str(folder), f"{folder}/*.parquet"):
        out = tmp_path / "graph.csv"
        app(["fit", given, "--drop", "h", "--seed", "0", "-o", str(out)], standalone_mode=False)
        names = set(pd.read_csv(out)[["source", "target"]].to_numpy().ravel())
        assert names <= set(NAMES) - {"h"}
    app(["info", str(folder)], standalone_mode=False)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(tmp_path):
    """Twelve times as many rows take no more memory, but for some slack of the allocators.

    The noise is given: rows that come twelve times look like more evidence, which would have another score refined.
    """
    code = (
        "import sys; from psidag import learn_dag; learn_dag(sys.argv[1], noise='equal', random_state=0);"
        "print(next(int(l.split()[1]) for l in open('/proc/self/status') if l.startswith('VmHWM')))"
    )
    rng = np.random.default_rng(0)
    table = pa.table({f"v{k}": rng.normal(size=400_000).astype(np.float32) for k in range(40)})
    peaks = []
    for parts in (3, 36):
        folder = tmp_path / str(parts)
        folder.mkdir()
        pq.write_table(table, folder / "0.parquet", row_group_size=50_000)
        for k in range(1, parts):
            (folder / f"{k}.parquet").hardlink_to(folder / "0.parquet")
        done = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, check=True)
        peaks.append(int(done.stdout) / 1024)
    assert peaks[1] < peaks[0] + 150
    assert files.HOLD == 1
