"""Kill checkpointed runs at random moments until each has died a dozen times; then see that each ends as it should.

A process of its own, because it forks: ``python kill_runs.py FOLDER``. Prints how often it has killed.
"""

import os
import random
import signal
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from psidag import DataWarning, Solution, learn_dag
from psidag.baselines import Dagma
from psidag.engines.exact import Exact
from psidag.engines.sparse import Sparse
from psidag.engines.stochastic import Stochastic
from psidag.simulate import simulate

warnings.simplefilter("ignore", DataWarning)

#: Each takes a second or so with a checkpoint after every step.
RUNS = {
    "sparse": (Sparse(restarts=40), {}),
    "in blocks": (Sparse(restarts=40, max_memory=0), {"noise": "equal"}),
    "unequal": (Sparse(quiet_rounds=20), {"noise": "unequal"}),
    "exact": (Exact(gradient_steps=2000, patience=40, max_rounds=40), {}),
    "stochastic": (Stochastic(tau1=50, tau2=50, patience=40, max_rounds=40), {}),
    "DAGMA": (Dagma(warm_iter=3000, max_iter=4000, checkpoint=50, tolerance=0), {}),
}
DEATHS = 12


def child(X, engine, options, path):
    learn_dag(X, engine, checkpoint=path, checkpoint_interval=0.0, resume=True, **options).save(f"{path}.model")


def born(*args):
    """A child that runs by itself."""
    pid = os.fork()
    if pid == 0:
        try:
            child(*args)
            os._exit(0)
        except BaseException as error:
            print(f"child: {error!r}", flush=True)
        os._exit(1)
    return pid


def kill_until_tired(X, engine, options, path, rng):
    """How often a run of its own was killed; at last it is let end."""
    deaths = 0
    while True:
        pid = born(X, engine, options, path)
        while not path.exists() and os.waitpid(pid, os.WNOHANG)[0] == 0:
            time.sleep(0.001)
        if deaths < DEATHS:
            time.sleep(rng.uniform(0.0, 0.08))
            os.kill(pid, signal.SIGKILL)
        _, ended = os.waitpid(pid, 0)
        if ended == 0:
            return deaths
        assert os.WIFSIGNALED(ended), f"{path.name} failed by itself"
        deaths += 1


def main(folder):
    rng = random.Random(0)
    X = simulate("ER2", d=20, n=300, seed=0).X
    total = 0
    for name, (engine, more) in RUNS.items():
        options = {"random_state": 0, "n_jobs": 1, **more}
        whole = learn_dag(X, engine, **options)
        deaths = runs = 0
        # A fast machine may end a run before it has died often enough.
        while deaths < DEATHS:
            path = folder / f"{name}{runs}"
            deaths += kill_until_tired(X, engine, options, path, rng)
            runs += 1
            check_same(Solution.load(f"{path}.model"), whole, name)
        assert not [p for p in folder.iterdir() if p.name.startswith(".")], "leftovers"
        total += deaths
    print(total)


def check_same(found, whole, name):
    for part in ("order", "residual_variance", "standard_error"):
        assert np.array_equal(getattr(found, part), getattr(whole, part)), (name, part)
    assert np.array_equal(found.dag.weights.toarray(), whole.dag.weights.toarray()), name
    traces = [repr([row._replace(seconds=0.0) for row in solution.trace]) for solution in (found, whole)]
    assert traces[0] == traces[1], name


if __name__ == "__main__":
    main(Path(sys.argv[1]))
