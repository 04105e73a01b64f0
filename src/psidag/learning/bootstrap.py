"""The same learner on many draws of the rows: how often does each edge come back?"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from psidag.data.labelled import LabelledTable
from psidag.data.missing import Missing
from psidag.data.resampling import Resampler, check_resampling
from psidag.data.row_counts import Resampling
from psidag.data.sources import Source, in_memory
from psidag.engines.noise_search import NoiseSearch
from psidag.graph.constraints import BoundConstraints, Constraints
from psidag.graph.dag import DAG
from psidag.learning.plan import Budget, Options, Plan, as_generator
from psidag.run.loop import Engine
from psidag.run.status import Status
from psidag.scores.named import Noise
from psidag.solution import Confidence
from psidag.solution.noise import NoiseModel
from psidag.system.clock import Deadline
from psidag.system.errors import InputError
from psidag.system.parallel import SERIAL, Jobs, Mapper, Workers, tiles, workers

#: Up to this many columns replicates are learned side by side, a thread each; beyond, one by one by all threads.
_ABREAST = 2000
#: Seconds after which what is done is written to the file again.
_KEEP_EVERY = 30.0
#: This many replicates for each worker of a cluster go there at a time.
_GROUP = 4

#: The weights of a replicate, which of its directions are known, and whether its engine came to an end of its own.
Learned: TypeAlias = tuple[sp.csr_array, NDArray[np.bool_], bool]


class BootstrapInterrupted(KeyboardInterrupt):
    """Ctrl-C during the bootstrap; ``confidence`` has the replicates until then, and ``resume=`` goes on from it.

    Examples
    --------
    >>> from psidag.simulate import simulate
    >>> class Hurried:
    ...     def map(self, work, items):
    ...         yield work(next(iter(items)))
    ...         raise KeyboardInterrupt  # as Ctrl-C does
    >>> try:
    ...     bootstrap(simulate("ER2", d=6, n=200, seed=0).X, replicates=20, random_state=0, n_jobs=Hurried())
    ... except BootstrapInterrupted as stopped:
    ...     stopped.confidence.replicates, stopped.confidence.status.code
    (1, 'interrupted')
    """

    def __init__(self, confidence: Confidence) -> None:
        super().__init__(str(confidence.status))
        self.confidence = confidence


def bootstrap(
    data: Any,
    solver: str | Engine = "auto",
    *,
    replicates: int = 100,
    method: Resampling = "bootstrap",
    fraction: float = 0.5,
    noise: Noise = "auto",
    threshold: float | None = None,
    constraints: Constraints | None = None,
    max_time: float | None = None,
    random_state: Any = None,
    n_jobs: Jobs = None,
    progress: bool = False,
    sample_weight: ArrayLike | None = None,
    missing: Missing = "error",
    names: Sequence[str] | None = None,
    interventions: Any = None,
    resume: Confidence | str | Path | None = None,
) -> Confidence:
    """Learn a graph from each of many draws of the rows, and count in how many each edge is, and each direction.

    A direction counts only where a replicate has a reason for it: where noise variances are not equal many edges are
    joined in all replicates and directed in none. With ``noise="auto"`` the noise model is chosen once, on all rows.

    Support says how far the graph depends on which rows happened to be there. It does not see what all rows
    share: wrong assumptions (hidden causes, noise variances that are not equal) support wrong edges, too.

    Parameters
    ----------
    data : array, DataFrame, Arrow table, path, Dask array or DataFrame, or Moments
        As in :func:`psidag.learn_dag`; a stream passes only once and cannot be drawn again. Files that are too large to
        be held are read once for as many replicates as there is room for. Moments have no rows: those of Gaussian rows
        of the same covariance are drawn instead.
    replicates : int
        How many draws, those that are resumed from included.
    method : {"bootstrap", "subsample"}
        Draw as many rows as there are, with replacement; or a fraction of them without, in pairs that share no row,
        which is what :meth:`Confidence.stability` needs.
    fraction : float
        Share of the rows in a subsample, at most ½.
    solver, noise, threshold, constraints, sample_weight, missing, names, interventions
        As in :func:`psidag.learn_dag`. A row of weight 2 is drawn as two rows. With interventions rows are drawn within
        each condition (and batch), which keeps its number of rows.
    max_time : float, optional
        Seconds after which what is there is returned, with a status that says so.
    random_state : int, Generator or RandomState, optional
        The same seed gives the same replicates, on any number of threads or machines and over any number of
        interruptions.
    n_jobs : int or cluster, optional
        Threads, all cores by default; or a :func:`psidag.cluster` to spread the replicates over.
    progress : bool
        Show a progress bar.
    resume : Confidence, str or Path, optional
        What an earlier call with the same data and options returned; only what is missing is run. With a path,
        what is done is kept in that file, and gone on from if it is there. The seed is the one it began with.

    Returns
    -------
    Confidence

    Raises
    ------
    BootstrapInterrupted
        On Ctrl-C; a KeyboardInterrupt that carries the replicates until then.

    Examples
    --------
    >>> from psidag.simulate import simulate
    >>> problem = simulate("ER2", d=10, n=500, seed=0)
    >>> confidence = bootstrap(problem.X, replicates=20, random_state=0)
    >>> confidence.replicates, confidence.consensus().n_edges <= 45
    (20, True)
    """
    options = Options(
        solver=solver,
        noise=noise,
        threshold=threshold,
        constraints=constraints,
        missing=missing,
        max_time=max_time,
        random_state=random_state,
        sample_weight=sample_weight,
        names=names,
        interventions=interventions,
    )
    if not isinstance(replicates, int | np.integer) or replicates < 1:
        raise InputError(f"replicates must be a whole number from 1 on; got {replicates!r}")
    source = options.ingest(data)
    check_resampling(source)
    plan = Plan.of(options, source)
    recipe = {
        "method": method,
        "fraction": f"{fraction:g}" if method == "subsample" else "1",
        "solver": repr(plan.engine.search if isinstance(plan.engine, NoiseSearch) else plan.engine),
        "noise": options.noise if isinstance(options.noise, str) else options.noise.name,
        "threshold": repr(threshold),
        "rows": _digest(source),
    }
    file = None if resume is None or isinstance(resume, Confidence) else Path(resume)
    begun = _begun(resume, file, plan.constraints, recipe, random_state)
    with workers(n_jobs) as threads:
        stop = _Stop(max_time)
        plan = _decided(plan, source, begun, threads, stop)
        resampler = Resampler(source, method, fraction, begun.entropy)
        learner = _Learner(resampler, plan, begun.entropy)
        numbers = range(begun.replicates, int(replicates))
        if threads.remote is threads:
            results = _on_threads(learner, numbers, threads, stop)
        else:
            groups = learner.groups(numbers, threads, stop)
            results = (learned for group in groups for learned in _spread(learner, group, threads.remote, stop))
        return _collect(results, begun, int(replicates), stop, file, progress)


def _decided(plan: Plan, source: Source, begun: Confidence, threads: Workers, stop: _Stop) -> Plan:
    """The plan with its noise model chosen, once, on all rows: rows that are drawn twice would be misjudged."""
    if not isinstance(plan.engine, NoiseSearch):
        return plan
    if plan.engine.asked == "equal":
        return plan.decided(NoiseModel("equal", "equal", "asked for"))
    rng = np.random.default_rng(np.random.SeedSequence(begun.entropy))
    try:
        learned = plan.search(source, rng, threads, Budget(stop.deadline, on_step=stop.check))
    except _StoppedError:
        return plan
    if learned.outcome.status.code == "interrupted":
        raise BootstrapInterrupted(begun)
    return plan.decided(learned.noise)


@dataclass(frozen=True, eq=False)
class _Learner:
    """All that it takes to learn any of the replicates, here or in another process."""

    resampler: Resampler
    plan: Plan
    entropy: tuple[int, ...]

    def learn(self, number: int, threads: Workers, stop: _Stop) -> Learned:
        stop.check()
        drawn = self.resampler.draw(number, threads, needs_rows=self.plan.engine.needs_rows)
        rng = np.random.default_rng(np.random.SeedSequence(self.entropy, spawn_key=(number, 0)))
        learned = self.plan.search(drawn, rng, threads, Budget(stop.deadline, on_step=stop.check))
        if learned.outcome.status.code == "time_limit":
            raise _StoppedError
        if learned.outcome.status.code == "interrupted":
            raise KeyboardInterrupt
        weights, _ = self.plan.edges(learned)
        dag = DAG(weights, learned.outcome.candidate.order, self.plan.constraints.names)
        graph = self.plan.directions(learned, dag)
        return weights, graph.directed[graph.rows_of(dag)], learned.outcome.status.ok

    def groups(self, numbers: range, threads: Workers, stop: _Stop) -> Iterator[range]:
        """Replicates in groups, each after the pass over the data that it may take."""
        needs_rows = self.plan.engine.needs_rows
        for group in self.resampler.groups(numbers, needs_rows=needs_rows):
            self.resampler.read(group, threads, stop.check, needs_rows=needs_rows)
            yield group

    def __call__(self, piece: tuple[int, float | None]) -> Learned | None:
        """A replicate by its number, or None if it is not learned within this many seconds."""
        number, seconds = piece
        try:
            return self.learn(number, SERIAL, _Stop(seconds))
        except _StoppedError:
            return None


def _on_threads(learner: _Learner, numbers: range, threads: Workers, stop: _Stop) -> Iterator[Learned]:
    abreast = learner.plan.constraints.d <= _ABREAST
    inside = SERIAL if abreast else threads
    for group in learner.groups(numbers, threads, stop):
        yield from (threads if abreast else SERIAL).stream(lambda number: learner.learn(number, inside, stop), group)


def _spread(learner: _Learner, numbers: range, machines: Mapper, stop: _Stop) -> Iterator[Learned]:
    """Group by group, so that the clock is looked at and what is done is kept in between."""
    while numbers:
        stop.check()
        jobs = getattr(machines, "jobs", 1)
        # A replicate that waits for another would begin its seconds too late.
        size = jobs * (_GROUP if stop.left is None else 1)
        for learned in machines.map(learner, [(number, stop.left) for number in numbers[:size]]):
            if learned is None:
                raise _StoppedError
            yield learned
        numbers = numbers[size:]


def _collect(
    results: Iterator[Learned],
    found: Confidence,
    wanted: int,
    stop: _Stop,
    file: Path | None,
    progress: bool,
) -> Confidence:
    """Add up replicates as they come; in their order, so that an interrupted run ends with the same bits."""
    kept = time.perf_counter()
    interrupted = False
    try:
        with _bar(progress, found.replicates, wanted) as tick:
            for weights, directed, settled in results:
                found = found.add(weights, directed, settled=settled)
                tick()
                if file is not None and time.perf_counter() - kept > _KEEP_EVERY:
                    replace(found, status=_status(found, wanted, None)).save(file)
                    kept = time.perf_counter()
    except _StoppedError:
        pass
    except KeyboardInterrupt:
        interrupted = True
        stop.now()
    found = replace(found, status=_status(found, wanted, "interrupted" if interrupted else stop.reason))
    if file is not None:
        found.save(file)
    if interrupted:
        raise BootstrapInterrupted(found)
    return found


def _status(found: Confidence, wanted: int, reason: str | None) -> Status:
    done = f"{found.replicates} of {wanted} replicates are done"
    if found.replicates < wanted:
        advice = "give the result (or its file) back as resume= to go on"
        if reason is not None and reason != "interrupted":
            return Status("time_limit", f"{reason}: {done}; {advice}")
        return Status("interrupted", f"{done}; {advice}")
    limits = f"; {found.unsettled} of them ended at a limit of the engine" if found.unsettled else ""
    return Status("complete", f"all {found.replicates} replicates{limits}")


class _StoppedError(Exception):
    """A replicate is left because the time is over."""


class _Stop:
    """When replicates are to be left: at the end of the time, or at once."""

    def __init__(self, max_time: float | None) -> None:
        self.deadline = Deadline(max_time)
        self._now = threading.Event()

    @property
    def reason(self) -> str:
        """Why time is up."""
        return "" if self.deadline.seconds is None else f"max_time={self.deadline.seconds:g} s was over"

    @property
    def left(self) -> float | None:
        """Seconds until then."""
        return None if self.deadline.seconds is None else self.deadline.left

    def now(self) -> None:
        """Leave all replicates that are being learned."""
        self._now.set()

    def check(self, *_: Any) -> None:
        """Called after each step of an engine."""
        if self._now.is_set() or self.deadline.over:
            raise _StoppedError


def _begun(
    resume: Confidence | str | Path | None,
    file: Path | None,
    known: BoundConstraints,
    recipe: dict[str, str],
    random_state: Any,
) -> Confidence:
    """The replicates there are already, which must be of the same kind; none with a new seed if there are none."""
    if isinstance(resume, Confidence):
        earlier = resume
    elif file is not None and file.exists():
        earlier = Confidence.load(file)
    else:
        entropy = tuple(as_generator(random_state).integers(2**32, size=4).tolist())
        return Confidence(known, recipe, entropy, Status("interrupted", "no replicate is done"))
    differing = [key for key, value in recipe.items() if earlier.recipe.get(key) != value]
    if differing:
        key = differing[0]
        raise InputError(
            f"what is to be resumed was made with other {key} ({earlier.recipe.get(key)}, now {recipe[key]}): give the "
            "same data and options, or begin anew without resume"
        )
    same = [np.array_equal(getattr(known, key), getattr(earlier.constraints, key)) for key in _KNOWLEDGE]
    if earlier.names != known.names or not all(same):
        raise InputError("what is to be resumed was made with other columns or other constraints: begin anew")
    return earlier


_KNOWLEDGE = ("required", "forbidden", "tier")


def _digest(source: Source) -> str:
    """A fingerprint of the data."""
    digest = hashlib.blake2b(digest_size=16)
    if in_memory(source):
        for part in tiles(len(source), 4096):
            digest.update(source.X[part].tobytes())
        parts = [np.array(source.X.shape), source.sample_weight]
        if isinstance(source, LabelledTable):
            digest.update(repr((source.targets.conditions, source.targets.kind)).encode())
            parts += [source.targets.condition, source.targets.batch]
    else:
        moments = source.moments()
        parts = [np.array(moments.count), moments.mean, moments.scatter]
    for array in parts:
        if array is not None:
            digest.update(array.tobytes())
    return digest.hexdigest()


@contextmanager
def _bar(show: bool, done: int, wanted: int) -> Iterator[Any]:
    """A function that moves a progress bar on by one."""
    if not show:
        yield lambda: None
        return
    from tqdm.auto import tqdm

    with tqdm(desc="bootstrap", total=wanted, initial=done, unit=" replicates", dynamic_ncols=True) as bar:
        yield bar.update
