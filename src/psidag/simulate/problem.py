"""A problem: rows to learn from, rows to be judged on, and the true graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from psidag.graph.comparison import Comparison, compare_graphs
from psidag.graph.dag import DAG
from psidag.simulate.graphs import WEIGHT_RANGES, Seed, random_graph, random_weights
from psidag.simulate.model import LinearSEM
from psidag.system.errors import InputError

Standardise = Literal["data", "internal"]


@dataclass(frozen=True, eq=False)
class Problem:
    """Data with a known answer, simulated or real.

    Parameters
    ----------
    name : str
        What it is called in tables.
    X : array of shape (n, d)
        Rows to learn from.
    dag : DAG
        The true graph. For real data it is a topology: its weights are all 1 and mean nothing.
    X_test : array of shape (n_test, d), optional
        Rows to be judged on.
    model : LinearSEM, optional
        What the rows were drawn from, if that is known.
    stream_seed : SeedSequence, optional
        Where fresh rows come from, independent of ``X`` and ``X_test``.

    Examples
    --------
    >>> problem = Problem("two", np.array([[0.0, 1], [1, 3], [2, 5]]), DAG.from_edges([("dose", "effect")]))
    >>> problem
    Problem('two': 3 rows of 2 variables, 1 true edge)
    >>> problem.compare(problem.dag)["shd"]
    0
    """

    name: str
    X: NDArray[Any]
    dag: DAG
    X_test: NDArray[Any] | None = None
    model: LinearSEM | None = None
    stream_seed: np.random.SeedSequence | None = field(default=None, repr=False)

    @classmethod
    def from_model(
        cls,
        model: LinearSEM,
        n: int,
        *,
        seed: Seed,
        n_test: int = 0,
        standardise: Standardise | None = None,
        dtype: DTypeLike = np.float64,
        name: str = "model",
        path: str | Path | None = None,
    ) -> Problem:
        """Draw a problem from a model; the parameters are those of :func:`simulate`.

        Examples
        --------
        >>> Problem.from_model(LinearSEM(DAG.from_edges([("a", "b", 2.0)])), n=100, seed=0)
        Problem('model': 100 rows of 2 variables, 1 true edge)
        """
        train, test, stream = _children(seed, 3)
        if standardise == "data":
            model = model.standardised(n, train)
        elif standardise == "internal":
            model = model.internally_standardised(n, train)
        elif standardise is not None:
            raise InputError(f"standardise must be None, 'data' or 'internal'; got {standardise!r}")
        return cls(
            name=name,
            X=model.sample(n, train, dtype) if path is None else model.write(path, n, train, dtype),
            dag=model.dag,
            X_test=model.sample(n_test, test, dtype) if n_test else None,
            model=model,
            stream_seed=stream,
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.dag.names

    @property
    def n(self) -> int:
        """Number of rows to learn from."""
        return len(self.X)

    @property
    def d(self) -> int:
        """Number of variables."""
        return self.dag.d

    def stream(self, batch_size: int, dtype: DTypeLike = np.float64) -> Iterator[NDArray[Any]]:
        """Fresh batches without end, the same ones each time it is called."""
        if self.model is None or self.stream_seed is None:
            raise InputError(f"{self.name} is a fixed set of rows: there is no model to draw more from")
        return self.model.stream(batch_size, self.stream_seed, dtype)

    def compare(self, learned: DAG, *, adjustment: bool = False) -> Comparison:
        """Judge a learned graph, by the test rows too if there are any, centred by the training mean.

        Examples
        --------
        >>> problem = simulate("ER2", n=500, d=20, seed=0, n_test=100)
        >>> problem.compare(problem.dag)["gap"]
        0.0
        """
        return compare_graphs(
            self.dag,
            learned,
            X_test=self.X_test,
            mean=None if self.X_test is None else self.X.mean(axis=0, dtype=np.float64),
            weighted=self.model is not None,
            adjustment=adjustment,
        )

    def __repr__(self) -> str:
        edges = f"{self.dag.n_edges} true edge{'s' * (self.dag.n_edges != 1)}"
        test = "" if self.X_test is None else f", {len(self.X_test)} to test"
        return f"Problem({self.name!r}: {self.n} rows of {self.d} variables{test}, {edges})"


def simulate(
    graph: str | DAG,
    n: int,
    *,
    d: int | None = None,
    seed: Seed,
    noise: str = "gaussian",
    scale: ArrayLike = 1.0,
    ranges: Sequence[tuple[float, float]] | None = WEIGHT_RANGES,
    n_test: int = 0,
    standardise: Standardise | None = None,
    dtype: DTypeLike = np.float64,
    name: str | None = None,
    path: str | Path | None = None,
) -> Problem:
    """A linear structural equation model on a random or given graph, and rows drawn from it.

    Graph, weights, training rows, test rows and stream each have a seed of their own, spawned from the one
    given: asking for more test rows, or for float32, leaves everything else as it was.

    Parameters
    ----------
    graph : str or DAG
        ``"ERk"`` or ``"SFk"`` with about k·d edges, or a graph to put data on.
    n : int
        Rows to learn from.
    d : int
        Number of variables, for a random graph.
    seed : int, SeedSequence or Generator
        The same seed gives the same bits.
    noise : str
        ``gaussian``, ``exponential``, ``gumbel``, ``laplace``, ``uniform``, ``student_t`` (5 degrees of
        freedom) or ``student_t:df``.
    scale : float or array of d
        What multiplies the noise.
    ranges : sequence of (low, high), or None
        Where weights come from. None keeps the weights of the given graph.
    n_test : int
        Rows to be judged on.
    standardise : None, "data" or "internal"
        Bring the training columns to variance 1 after sampling, or each variable before its children see it
        (iSCM). The true weights and the test rows are in the same units.
    dtype : float64 or float32
        Of the rows.
    name : str
        By default ``ER2-d100-gaussian`` and the like.
    path : str or Path, optional
        An ``.npy`` file for the training rows, which are made in parallel and go straight there; ``X`` is the file,
        memory-mapped.

    Examples
    --------
    >>> problem = simulate("SF2", n=500, d=20, seed=0, n_test=100)
    >>> problem
    Problem('SF2-d20-gaussian': 500 rows of 20 variables, 100 to test, 37 true edges)
    >>> next(problem.stream(batch_size=8)).shape
    (8, 20)
    """
    graph_seed, weight_seed, row_seed = _children(seed, 3)
    if isinstance(graph, str):
        if d is None:
            raise InputError(f"a random graph needs its number of vertices: simulate({graph!r}, d=..., ...)")
        if ranges is None:
            raise InputError("ranges=None keeps the weights of a given graph, but a random graph has none")
        kind, dag = graph.upper(), random_graph(graph, d, graph_seed)
    else:
        if d is not None and d != graph.d:
            raise InputError(f"d = {d}, but the given graph has {graph.d} vertices: leave d out")
        kind, dag = "graph", graph
    if ranges is not None:
        dag = random_weights(dag, weight_seed, ranges)
    return Problem.from_model(
        LinearSEM(dag, noise, scale),
        n,
        seed=row_seed,
        n_test=n_test,
        standardise=standardise,
        dtype=dtype,
        name=name or f"{kind}-d{dag.d}-{noise}",
        path=path,
    )


def _children(seed: Seed, count: int) -> list[np.random.SeedSequence]:
    """Independent seeds; a seed sequence rather than a generator each, because it can be started twice."""
    if isinstance(seed, np.random.Generator):
        root = seed.bit_generator.seed_seq.spawn(1)[0]  # type: ignore[attr-defined]
    else:
        given = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
        # A copy: spawning from the caller's own would make a second call with it draw something else.
        root = np.random.SeedSequence(given.entropy, spawn_key=given.spawn_key, pool_size=given.pool_size)
    return list(root.spawn(count))
