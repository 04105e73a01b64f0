"""Fitted models for the tests of pictures and reports, each made once."""

import warnings
from functools import cache

import numpy as np

from psidag import DAG, DataWarning, Solution, learn_dag
from psidag.datasets import load_sachs
from psidag.learning.selection import assemble
from psidag.run.status import Candidate, Fitted, Status
from psidag.simulate import simulate


@cache
def sachs() -> tuple[Solution, np.ndarray]:
    return _learned(load_sachs())


@cache
def simulated(d: int) -> tuple[Solution, np.ndarray]:
    return _learned(simulate("ER2", d=d, n=1000, seed=1, dtype="float32"))


def _learned(problem) -> tuple[Solution, np.ndarray]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        # Equal variances, taken for granted, direct every edge.
        found = learn_dag(problem.X, noise="equal", evidence=False, names=problem.names, random_state=0)
        return found, problem.X


def given(edges, names=None) -> Solution:
    """A solution on a graph that is written down, without rows behind it."""
    dag = DAG.from_edges(edges, names=names)
    d = dag.d
    found = Fitted(100.0, np.zeros(d), np.ones(d) * 2, np.ones(d), np.full(dag.n_edges, 0.1), "as given")
    candidate = Candidate(dag.order, dag.weights, 1.0, found)
    return assemble("as given", dag, found, candidate, Status("converged", "as given"))
