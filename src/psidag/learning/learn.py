"""From data to a DAG: choose the engine, run the loop, select the edges."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from psidag.data.correlations import fits_whole
from psidag.data.ingest import as_source
from psidag.data.missing import Missing
from psidag.data.sources import Source, Stream
from psidag.engines.exact import Exact
from psidag.engines.sparse import Sparse
from psidag.engines.stochastic import Stochastic
from psidag.graph.constraints import BoundConstraints, Constraints
from psidag.graph.dag import DAG
from psidag.graph.order import check_order, topological_order
from psidag.learning.selection import assemble, check_threshold, conclude, fitted, select_edges, warned
from psidag.run.checkpoint import Checkpoint
from psidag.run.loop import Callback, Engine, Noise, Progress, Task, check_noise, run
from psidag.run.status import Candidate, Status
from psidag.solution import Origin, Solution
from psidag.stages.within_order import least_squares_within
from psidag.system.errors import InputError, listing
from psidag.system.memory import as_bytes
from psidag.system.parallel import Jobs, one_blas_thread, workers

#: The engines that go by a name.
ENGINES: dict[str, type[Engine]] = {"exact": Exact, "sparse": Sparse, "stochastic": Stochastic}

#: Settings that go without saying when a call is written down.
_DEFAULTS = {"solver": "auto", "noise": "equal", "missing": "error"}

_REASONS = {
    "sparse": "it is the fastest and most accurate for data that are all there",
    "stochastic": "the rows of a stream pass only once",
}


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during learning; ``solution`` is the best DAG until then."""

    def __init__(self, solution: Solution) -> None:
        super().__init__(str(solution.status))
        self.solution = solution


def learn_dag(
    data: Any,
    solver: str | Engine = "auto",
    *,
    noise: Noise = "equal",
    threshold: float | None = None,
    constraints: Constraints | None = None,
    max_time: float | None = None,
    random_state: Any = None,
    n_jobs: Jobs = None,
    progress: bool = False,
    callback: Callback | None = None,
    sample_weight: ArrayLike | None = None,
    missing: Missing = "error",
    names: Sequence[str] | None = None,
    max_memory: str | float | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_interval: float = 60.0,
    resume: bool = False,
) -> Solution:
    """Learn a DAG: min over DAGs W of ½ mean |x − Wᵀx|², then keep the edges that the data support.

    Parameters
    ----------
    data : array, DataFrame, Arrow table, path, Dask array or DataFrame, iterator of batches, or Moments
        Rows are samples, columns are variables. See :func:`psidag.data.ingest.as_source`.
    solver : str or options object
        ``"auto"``, ``"sparse"``, ``"exact"``, ``"stochastic"``, or an options object such as
        ``Stochastic(batch_size=256)``. Auto is sparse for data that are all there and stochastic for a stream.
    noise : {"equal", "unequal"}
        Whether the noise of all variables has the same variance.
    threshold : float, optional
        Keep weights of at least this size (0.3 in the paper). By default edges are chosen by evidence.
    constraints : Constraints, optional
        Prior knowledge; it always holds in the result.
    max_time : float, optional
        Seconds after which the best DAG so far is returned.
    random_state : int, Generator or RandomState, optional
        The same seed gives the same bits on one machine, on any number of threads, unless ``max_time`` stopped the
        run. Another processor rounds differently and may end in another optimum of equal standing.
    n_jobs : int or cluster, optional
        Threads, all cores by default; or a :func:`psidag.cluster`, whose workers share the per-node work.
    progress : bool
        Show a progress bar.
    callback : callable, optional
        Called with ``(round, candidate)`` after each round.
    sample_weight : array of shape (n,), optional
        Weights of the rows.
    missing : {"error", "drop", "mean", "pairwise"}
        What to do about missing values (NaN): refuse with advice, leave out rows, fill in the column mean, or
        take each correlation from the rows that have both columns (for engines that work on moments).
    names : sequence of str, optional
        Column names where the data have none.
    max_memory : str or number, optional
        How much memory the process may hold, as ``"4GB"`` or in bytes. What cannot fit is an error before it is
        begun; a run that grows beyond it ends with the best DAG so far.
    checkpoint : str or Path, optional
        A file in which the run is kept, so that another process can go on from it.
    checkpoint_interval : float
        Seconds between two checkpoints.
    resume : bool
        Go on from the checkpoint if it is there, and end with the same bits as an unbroken run. ``max_time`` is
        counted anew.

    Returns
    -------
    Solution

    Raises
    ------
    Interrupted
        On Ctrl-C; a KeyboardInterrupt that carries the best solution until then.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> dose = rng.normal(size=2000)
    >>> effect = 2 * dose + rng.normal(size=2000)
    >>> solution = learn_dag(np.c_[effect, dose], names=["effect", "dose"], random_state=0)
    >>> [(cause, target) for cause, target, _ in solution.dag.edges()]
    [('dose', 'effect')]
    """
    check_noise(noise)
    check_threshold(threshold)
    memory = None if max_memory is None else as_bytes(max_memory)
    keeper = _keeper(checkpoint, checkpoint_interval, resume, random_state)
    source = as_source(data, names=names, sample_weight=sample_weight, missing=missing)
    engine, reason = choose_engine(solver, source)
    if memory is not None and isinstance(engine, Sparse) and engine.max_memory is None:
        # Correlations get half of it; where they do not fit, they are computed in blocks.
        engine = replace(engine, max_memory=memory / 2)
    with workers(n_jobs) as threads:
        if isinstance(source, Stream) and not engine.needs_rows:
            source.drain(None if max_time is None else time.perf_counter() + max_time)
        task = Task(source, bind(constraints, source.names), as_generator(random_state), threads, noise)
        with _progress_bar(progress, engine.name) as on_step:
            outcome = run(
                engine, task, max_time=max_time, max_memory=memory, on_step=on_step, callback=callback, keeper=keeper
            )
        solution = conclude(reason, task, outcome, threshold)
    settings = {
        "solver": solver,
        "noise": noise,
        "threshold": threshold,
        "constraints": constraints,
        "max_time": max_time,
        "random_state": random_state,
        "missing": missing,
    }
    solution = replace(solution, origin=Origin.of("learn_dag", settings, _DEFAULTS))
    if outcome.status.code == "interrupted":
        raise Interrupted(solution)
    return solution


def fit_order(
    data: Any,
    order: ArrayLike,
    *,
    threshold: float | None = None,
    constraints: Constraints | None = None,
    n_jobs: Jobs = None,
    sample_weight: ArrayLike | None = None,
    names: Sequence[str] | None = None,
) -> Solution:
    """Fit a DAG within a given order: each variable regressed on those before it, edges kept by evidence.

    Parameters
    ----------
    data, constraints, n_jobs, sample_weight, names
        As in :func:`learn_dag`.
    order : sequence of int or of str
        All columns, causes first.
    threshold : float, optional
        0 keeps the full regression, 0.3 is the paper's rule; by default edges are chosen by evidence.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(500, 1))
    >>> table = np.c_[x, 3 * x + np.random.default_rng(1).normal(size=(500, 1))]
    >>> fit_order(table, [0, 1]).dag.to_dense().round(1)
    array([[0., 3.],
           [0., 0.]])
    """
    check_threshold(threshold)
    source = as_source(data, names=names, sample_weight=sample_weight)
    bound = bind(constraints, source.names)
    given = check_order(_as_indices(order, source.names), source.d)
    if not bound.respects(given):
        raise InputError("the order contradicts the constraints: a required edge or a tier points backwards in it")
    with workers(n_jobs) as threads:
        moments = source.moments(threads)
        allowed = None if bound.empty else bound.allowed()
        full = least_squares_within(moments.covariance, given, allowed)
        candidate = Candidate(given, full.weights, 0.5 * float(full.residual_variance.sum()))
        status = Status("converged", "an order determines its regressions")
        weights, found = select_edges(moments, candidate, threshold, bound, threads)
    solution = assemble("within the given order", DAG(weights, given, source.names), found, candidate, status)
    return warned(solution, moments, None)


@one_blas_thread()
def fit_dag(
    data: Any, dag: Any, *, sample_weight: ArrayLike | None = None, names: Sequence[str] | None = None
) -> Solution:
    """Fit the weights of a given DAG: each variable regressed on its parents.

    Parameters
    ----------
    data, sample_weight, names
        As in :func:`learn_dag`.
    dag : DAG, array or sparse matrix
        ``dag[i, j] != 0`` for i → j; a :class:`DAG` is matched by the names of its variables.
    """
    source = as_source(data, names=names, sample_weight=sample_weight)
    pattern = _match(dag, source.names)
    moments = source.moments()
    weights = sp.lil_array((source.d, source.d))
    columns = sp.csc_array(pattern)
    S = moments.covariance
    for j in range(source.d):
        parents = columns.indices[columns.indptr[j] : columns.indptr[j + 1]]
        if len(parents):
            weights[parents, [j]] = np.linalg.lstsq(S[np.ix_(parents, parents)], S[parents, j])[0][:, None]
    learned = DAG(sp.csr_array(weights), topological_order(pattern), source.names)
    found = fitted(moments, learned, "as given")
    candidate = Candidate(learned.order, learned.weights, 0.5 * float(found.residual_variance.sum()), found)
    status = Status("converged", "a DAG determines its regressions")
    solution = assemble("within the given graph", learned, found, candidate, status)
    return warned(solution, moments, None)


def choose_engine(solver: str | Engine, source: Source | None = None) -> tuple[Engine, str]:
    """The engine that goes by a name (``"auto"``: the one for this source), and its name with the reason."""
    if isinstance(solver, str):
        if solver == "auto":
            name = "stochastic" if isinstance(source, Stream) else "sparse"
            reason = _REASONS[name]
            if source is not None and name == "sparse" and not fits_whole(source):
                reason += f"; correlations in blocks, because {source.d} x {source.d} of them do not fit in memory"
            return ENGINES[name](), f"{name} (chosen because {reason})"
        if solver not in ENGINES:
            raise InputError(
                f"solver must be one of {listing(['auto', *ENGINES])} or an options object; got {solver!r}"
            )
        return ENGINES[solver](), solver
    if not hasattr(solver, "step") or isinstance(solver, type):
        raise InputError(f"solver must be a name or an options object such as Stochastic(); got {solver!r}")
    return solver, solver.name


def bind(constraints: Constraints | None, names: Sequence[str]) -> BoundConstraints:
    """The constraints in terms of these columns."""
    return (constraints or Constraints()).bind(names)


def as_generator(random_state: Any) -> np.random.Generator:
    """A generator from a seed, a generator, or scikit-learn's kind of random state."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    return np.random.default_rng(random_state)


def _keeper(path: str | Path | None, interval: float, resume: bool, random_state: Any) -> Checkpoint | None:
    if path is None:
        if resume:
            raise InputError("resume=True needs the checkpoint to go on from: checkpoint='FILE'")
        return None
    return Checkpoint(path, interval=interval, resume=resume, seeded=random_state is not None)


def _as_indices(order: ArrayLike, names: Sequence[str]) -> ArrayLike:
    given = np.asarray(order)
    if given.dtype.kind not in "UO":
        return given
    index = {name: k for k, name in enumerate(names)}
    unknown = [name for name in given.tolist() if name not in index]
    if unknown:
        raise InputError(f"the order names {listing(unknown)}, which are not columns; columns are {listing(names)}")
    return np.array([index[name] for name in given.tolist()])


def _match(dag: Any, names: Sequence[str]) -> sp.csr_array:
    """The graph with its vertices in the order of the columns."""
    if not isinstance(dag, DAG):
        dag = DAG.from_weights(dag, names=names)
    if set(dag.names) != set(names):
        strangers = sorted(set(dag.names) ^ set(names))
        raise InputError(f"the graph and the table do not have the same variables: {listing(strangers)}")
    where = [dag.names.index(name) for name in names]
    return sp.csr_array(dag.weights[where][:, where])


@contextmanager
def _progress_bar(show: bool, name: str) -> Iterator[Any]:
    """A callback for each step that draws a bar, or None."""
    if not show:
        yield None
        return
    from tqdm.auto import tqdm

    with tqdm(desc=name, unit=" steps", dynamic_ncols=True) as bar:

        def on_step(progress: Progress, best: Candidate | None) -> None:
            bar.update(progress.steps - bar.n)
            if best is not None:
                bar.set_postfix(loss=f"{best.loss:.6g}", refresh=False)

        yield on_step
