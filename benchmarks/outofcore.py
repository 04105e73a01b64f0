"""Learning from files larger than memory: time against pyarrow alone, and peak memory.

    python benchmarks/outofcore.py             # 10^6 rows x 200 columns, in a temporary folder (0.8 GB)
    python benchmarks/outofcore.py --full      # 10^7 rows (8 GB)

Every line is a process of its own: seconds by the clock and of its threads together, and the most resident memory it
ever held, libraries included.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

COLUMNS = 200
ROWS_IN_FILE = 500_000
ROWS_IN_GROUP = 100_000


def write_files(folder: Path, files: int) -> None:
    """Float32 in row groups of 100,000, otherwise with pyarrow's defaults. All files hold the same rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from psidag.simulate import simulate

    problem = simulate("ER2", d=COLUMNS, n=ROWS_IN_FILE, seed=0)
    table = pa.table({name: problem.X[:, k].astype(np.float32) for k, name in enumerate(problem.names)})
    first = folder / "part-00.parquet"
    pq.write_table(table, first, row_group_size=ROWS_IN_GROUP)
    for k in range(1, files):
        shutil.copyfile(first, folder / f"part-{k:02}.parquet")


def read_with_pyarrow(folder: str) -> str:
    """What any reader has to pay: decode all columns, batch by batch."""
    import pyarrow.parquet as pq

    rows = 0
    for path in sorted(Path(folder).glob("*.parquet")):
        with path.open("rb") as file:
            rows += sum(batch.num_rows for batch in pq.ParquetFile(file).iter_batches(65_536))
    return f"{rows} rows"


def moments(folder: str) -> str:
    from psidag.data.ingest import as_source
    from psidag.system.parallel import workers

    with workers() as threads:
        return str(as_source(folder).moments(threads))


def fit(folder: str) -> str:
    from psidag import PsiDAG

    return f"{PsiDAG(random_state=0).fit(folder).adjacency_.nnz} edges"


def fit_stochastic(folder: str) -> str:
    from psidag import PsiDAG

    return f"{PsiDAG('stochastic', random_state=0).fit(folder).adjacency_.nnz} edges"


TASKS = {
    "pyarrow alone": read_with_pyarrow,
    "moments": moments,
    "PsiDAG().fit": fit,
    "stochastic": fit_stochastic,
}


def child(task: str, folder: str) -> None:
    start, busy = time.perf_counter(), time.process_time()
    result = TASKS[task](folder)
    took, busy = time.perf_counter() - start, time.process_time() - busy
    with open("/proc/self/status") as lines:
        peak = next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))
    print(f"{task:<16}{took:>9.1f}{busy:>9.1f}{peak:>10.0f}   {result}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="10^7 rows instead of 10^6")
    parser.add_argument("--folder", help="where to put the files; a temporary folder by default")
    parser.add_argument("--tasks", nargs="*", default=list(TASKS), choices=list(TASKS))
    parser.add_argument("--child", nargs=2, metavar=("TASK", "FOLDER"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        child(*given.child)
        return
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        files = 20 if given.full else 2
        write_files(Path(folder), files)
        size = sum(path.stat().st_size for path in Path(folder).iterdir()) / 1e9
        print(f"{files * ROWS_IN_FILE} rows x {COLUMNS} columns, float32, {size:.1f} GB of Parquet in {files} files")
        print(f"{'':<16}{'seconds':>9}{'CPU':>9}{'peak/MB':>10}", flush=True)
        for task in given.tasks:
            subprocess.run([sys.executable, __file__, "--child", task, folder], check=True)


if __name__ == "__main__":
    main()
