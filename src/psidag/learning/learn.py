"""``learn_dag``, the front door for a call: from data to a DAG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from psidag.data.files import FileTable
from psidag.data.missing import Missing
from psidag.graph.constraints import Constraints
from psidag.learning.plan import Budget, Options, Plan, as_generator
from psidag.run.checkpoint import Checkpoint
from psidag.run.loop import Callback, Engine, Progress
from psidag.run.status import Candidate
from psidag.scores.named import Noise
from psidag.solution import Solution
from psidag.system.clock import Deadline, Pace
from psidag.system.errors import InputError
from psidag.system.parallel import Jobs, workers


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during learning; ``solution`` is the best DAG until then.

    Examples
    --------
    >>> from psidag.simulate import simulate
    >>> def press(*progress):
    ...     raise KeyboardInterrupt  # as Ctrl-C does
    >>> try:
    ...     learn_dag(simulate("ER2", d=6, n=200, seed=0).X, random_state=0, callback=press)
    ... except Interrupted as stopped:
    ...     stopped.solution.status.code, stopped.solution.dag.d
    ('interrupted', 6)
    """

    def __init__(self, solution: Solution) -> None:
        super().__init__(str(solution.status))
        self.solution = solution


def learn_dag(
    data: Any,
    solver: str | Engine = "auto",
    *,
    noise: Noise = "auto",
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
    evidence: bool | None = None,
    interventions: Any = None,
) -> Solution:
    """Learn a DAG from a table: which columns drive which, and which of its directions the data support.

    Parameters
    ----------
    data : array, DataFrame, Arrow table, path, Dask array or DataFrame, iterator of batches, or Moments
        Rows are samples, columns are variables. See :func:`psidag.data.ingest.as_source`.
    solver : str or options object
        ``"auto"``, ``"sparse"``, ``"exact"``, ``"stochastic"``, or an options object such as
        ``Stochastic(batch_size=256)``. Auto is sparse for data that are all there and stochastic for a stream.
    noise : {"auto", "equal", "unequal", "nongaussian"} or score
        What is assumed of the noise. ``"auto"`` asks the data whether all variances are equal, and which columns have
        noise that is not Gaussian, and says in ``solution.noise`` what it has chosen and why. ``"equal"``: the same
        variance for all, in the units given. ``"unequal"``: Gaussian noise of any variance. ``"nongaussian"``: of any
        variance and shape, which takes rows. Or a score of one's own (:class:`psidag.scores.score.SearchScore`).
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
    evidence : bool, optional
        Whether to measure the evidence for each direction in ``solution.graph``. By default it is measured up to 1,000
        columns, where it takes a few seconds; without it the graph says what holds if the assumption on the noise does.
    interventions : str, sequence or Interventions, optional
        Rows of an experiment: for each row None, the name of the variable that was set, or several; or the name of the
        column that says so, which then is no variable. Rows in which a variable was set do not enter its equation, but
        do enter those of its effects. :class:`psidag.Interventions` has more to say: shifts, words for controls,
        separators, batches.

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
        max_memory=max_memory,
        evidence=evidence,
        interventions=interventions,
    )
    keeper = _keeper(checkpoint, checkpoint_interval, resume, random_state)
    deadline = Deadline(max_time)
    source = options.ingest(data, deadline)
    plan = Plan.of(options, source)
    # The time counts from the first row of a stream that is asked for; a table is read before it begins.
    deadline = Deadline(max_time) if source.can_reread else deadline
    with workers(n_jobs) as threads, _progress_bar(progress, plan.engine.name) as on_step:
        budget = Budget(deadline, options.bytes, on_step, callback, keeper)
        learned = plan.search(source, as_generator(random_state), threads, budget)
        solution = plan.solution(learned)
    if isinstance(data, FileTable) and data.steps and solution.origin is not None:
        solution = replace(solution, origin=replace(solution.origin, steps=data.steps))
    if learned.outcome.status.code == "interrupted":
        raise Interrupted(solution)
    return solution


def _keeper(path: str | Path | None, interval: float, resume: bool, random_state: Any) -> Checkpoint | None:
    if path is None:
        if resume:
            raise InputError("resume=True needs the checkpoint to go on from: checkpoint='FILE'")
        return None
    return Checkpoint(path, interval=interval, resume=resume, seeded=random_state is not None)


@contextmanager
def _progress_bar(show: bool, name: str) -> Iterator[Any]:
    """A callback for each step that draws a bar, or None."""
    if not show:
        yield None
        return
    from tqdm.auto import tqdm

    with tqdm(desc=name, unit=" steps", dynamic_ncols=True) as bar:
        pace = Pace()

        def on_step(progress: Progress, best: Candidate | None) -> None:
            bar.update(progress.steps - bar.n)
            if progress.doing:
                left = pace.left(progress.doing, progress.share)
                until = "" if left is None else f", {bar.format_interval(left)} left"
                bar.set_postfix_str(f"{progress.doing} {progress.share:.0%}{until}")
            elif best is not None:
                bar.set_postfix(loss=f"{best.loss:.6g}", refresh=False)

        yield on_step
