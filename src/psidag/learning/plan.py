"""The one way from data to a solution, which every front door takes.

A plan is what is settled before rows are looked at: the engine, the prior knowledge, the score, the rule for
edges, and how to repeat all of it. Then

1. ``search`` runs the engine's moves on a source, in the only loop there is, and says what the noise was taken to be;
2. ``edges`` chooses what stays of the best DAG;
3. ``directions`` says which of its directions are known;
4. ``solution`` puts the answer together.

Whatever is to happen for every front door alike is a line in one of these. Which noise model to search with is up to
the engine where ``noise`` leaves it open (:class:`~psidag.engines.noise_search.NoiseSearch`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from psidag.baselines import BASELINES
from psidag.data.correlations import fits_whole
from psidag.data.experiment import as_experiment
from psidag.data.labelled import conditions_of, is_experiment
from psidag.data.missing import Missing
from psidag.data.sources import Source, in_memory, passes_once, read_again
from psidag.directions.experiment import settings_of
from psidag.engines.exact import Exact
from psidag.engines.sparse import Sparse
from psidag.engines.stochastic import Stochastic
from psidag.graph.constraints import BoundConstraints, Constraints
from psidag.graph.dag import DAG
from psidag.graph.partial import PartialGraph
from psidag.learning.evidence import MEASURED_UP_TO, Measured, measured_directions
from psidag.learning.noise import checked, choosing, noise_of, score_of, settled
from psidag.learning.selection import assemble, assumed_directions, check_threshold, chosen_edges, warned
from psidag.run.loop import Callback, Engine, Keeper, Outcome, Progress, Task, check_time, run
from psidag.run.status import Candidate, Fitted
from psidag.scores.named import Noise, as_score
from psidag.scores.score import SearchScore
from psidag.solution import Origin, Solution
from psidag.solution.noise import NoiseModel
from psidag.system.clock import NEVER, Deadline
from psidag.system.errors import InputError, listing
from psidag.system.memory import as_bytes
from psidag.system.parallel import Workers

#: The engines that go by a name.
ENGINES: dict[str, type[Engine]] = {"exact": Exact, "sparse": Sparse, "stochastic": Stochastic}

_REASONS = {
    "sparse": "it is the fastest and most accurate where all the data are at hand",
    "stochastic": "the rows of a stream pass only once",
}


@dataclass(frozen=True, eq=False, kw_only=True)
class Options:
    """All that a caller may say about the answer; what is not the default is written down in its origin."""

    solver: str | Engine = "auto"
    noise: Noise = "auto"
    threshold: float | None = None
    constraints: Constraints | None = None
    missing: Missing = "error"
    max_time: float | None = None
    random_state: Any = None
    sample_weight: ArrayLike | None = None
    names: Sequence[str] | None = None
    max_memory: str | float | None = None
    half_life: float | None = None
    evidence: bool | None = None
    interventions: Any = None

    def __post_init__(self) -> None:
        as_score(self.noise)
        check_threshold(self.threshold)
        check_time(self.max_time)

    @property
    def bytes(self) -> int | None:
        """``max_memory`` as a number of bytes."""
        return None if self.max_memory is None else as_bytes(self.max_memory)

    def ingest(self, data: Any, deadline: Deadline = NEVER) -> Source:
        """The source that the data become, checked and completed; a source stays what it is."""
        return as_experiment(
            data, self.interventions, names=self.names, sample_weight=self.sample_weight, missing=self.missing,
            deadline=deadline,
        )  # fmt: skip

    def origin(self, call: str = "learn_dag(data)") -> Origin:
        """How to repeat what these options lead to."""
        defaults = {field.name: field.default for field in fields(self)}
        return Origin.of(call, {name: getattr(self, name) for name in defaults}, defaults)


class Budget(NamedTuple):
    """What a search may take; who looks on; and where it is kept, or gone on from."""

    deadline: Deadline = NEVER
    max_memory: int | None = None
    on_step: Callable[[Progress, Candidate | None], None] | None = None
    callback: Callback | None = None
    keeper: Keeper | None = None
    state: Any = None


class Learned(NamedTuple):
    """What a search was given, and what came of it."""

    task: Task
    outcome: Outcome
    noise: NoiseModel


@dataclass(frozen=True, eq=False)
class Plan:
    """How graphs are learned from any source of these columns; see the head of this module."""

    engine: Engine
    label: str
    constraints: BoundConstraints
    noise: Noise = "auto"
    threshold: float | None = None
    origin: Origin | None = None
    evidence: bool = True

    @classmethod
    def of(cls, options: Options, source: Source, origin: Origin | None = None) -> Plan:
        """The plan that options make for a source; the origin is that of ``learn_dag`` unless it is given."""
        engine, label = choose_engine(options.solver, source)
        memory = options.bytes
        if memory is not None and isinstance(engine, Sparse) and engine.max_memory is None:
            # Correlations get half of it; where they do not fit, they are computed in blocks.
            engine = replace(engine, max_memory=memory / 2)
        known = bind(options.constraints, source.names)
        measured = source.d <= MEASURED_UP_TO if options.evidence is None else options.evidence
        return cls(
            choosing(engine, options.noise, experiment=is_experiment(source)), label, known, options.noise,
            options.threshold, origin or options.origin(), measured,
        )  # fmt: skip

    @property
    def score(self) -> SearchScore:
        """The score that a search begins with."""
        return as_score(self.noise)

    def decided(self, noise: NoiseModel) -> Plan:
        """The same plan with the noise model chosen beforehand, for draws from the same table."""
        return replace(self, engine=settled(self.engine, noise))

    def search(
        self, source: Source, rng: np.random.Generator, threads: Workers, budget: Budget | None = None
    ) -> Learned:
        """The best DAG that the engine finds for a source within a budget."""
        deadline, *given = budget or Budget()
        task = Task(source, self.constraints, rng, threads, self.score)
        if passes_once(source):
            source.deadline = deadline
        if passes_once(source) and not self.engine.needs_rows:
            # The rest of the time is for the search.
            source.deadline = deadline.part(0.5)
            source.drain()
            source.check_rows()
        outcome = run(self.engine, task.until(deadline), **dict(zip(Budget._fields[1:], given, strict=True)))
        if read_again(source) and not source.has_moments:
            raise InputError(f"max_time={deadline.seconds:g} s was over before the data had been read once: raise it")
        noise = noise_of(task, outcome, self.noise)
        return Learned(replace(task, score=score_of(task, noise)), outcome, noise)

    def edges(self, learned: Learned) -> tuple[sp.csr_array, Fitted]:
        """The weights that stay, and what the data say of them."""
        return chosen_edges(learned.task, learned.outcome.candidate, self.threshold)

    def directions(self, learned: Learned, dag: DAG) -> PartialGraph:
        """Which directions of the DAG that stays hold if the assumptions do, and why; no evidence is measured."""
        data = conditions_of(learned.task.source, learned.task.workers)
        return assumed_directions(dag, learned.noise, self.constraints, None if data is None else settings_of(data))

    def claims(self, learned: Learned, dag: DAG) -> Measured:
        """Which of its directions the data support; where evidence was declined, or time is up, those assumed."""
        task, outcome, noise = learned
        known = task.source.has_moments or in_memory(task.source)
        if not (self.evidence and outcome.status.ok and known):
            return Measured(self.directions(learned, dag))
        asked = noise.asked == "equal"
        return measured_directions(task, outcome, dag, equal=noise.equal, asked=asked, shape=noise.shape)

    def solution(self, learned: Learned) -> Solution:
        """The answer, with warnings about the data behind it."""
        task, outcome, noise = learned
        weights, found = self.edges(learned)
        noise = checked(task, noise, weights, found)
        dag = DAG(weights, outcome.candidate.order, task.source.names)
        graph, remarks = self.claims(learned, dag)
        found = found._replace(remarks=(*found.remarks, *remarks))
        solution = assemble(self.label, dag, found, outcome.candidate, outcome.status, outcome.trace, graph)
        # Wide tables are searched without moments in double precision: none are made for the warnings alone.
        moments = task.source.moments(task.workers) if task.source.has_moments else None
        said = tuple(getattr(task.source, "remarks", ()))
        # Correlations that were adjusted to fit together say nothing about which columns add up.
        adjusted = bool(said) and not task.source.has_rows
        told = warned(replace(solution, noise=noise), None if adjusted else moments)
        return replace(told, warnings=(*said, *told.warnings), origin=self.origin)


def choose_engine(solver: str | Engine, source: Source | None = None) -> tuple[Engine, str]:
    """The engine that goes by a name (``"auto"``: the one for this source), and its name with the reason."""
    if isinstance(solver, str):
        if solver == "auto":
            name = "sparse" if source is None or source.can_reread else "stochastic"
            reason = _REASONS[name]
            if source is not None and name == "sparse" and not fits_whole(source):
                reason += f"; correlations in blocks, because {source.d} x {source.d} of them do not fit in memory"
            return ENGINES[name](), f"{name} (chosen because {reason})"
        known: dict[str, Callable[[], Engine]] = {**ENGINES, **BASELINES}
        if solver not in known:
            raise InputError(
                f"solver must be one of {listing(['auto', *known], limit=10)} or an options object; got {solver!r}"
            )
        return known[solver](), solver
    if not hasattr(solver, "step") or isinstance(solver, type):
        raise InputError(f"solver must be a name or an options object such as Stochastic(); got {solver!r}")
    return solver, solver.name


def bind(constraints: Constraints | None, names: Sequence[str]) -> BoundConstraints:
    """The constraints in terms of these columns."""
    return Constraints.of(constraints).bind(names)


def as_generator(random_state: Any) -> np.random.Generator:
    """A generator from a seed, a generator, or scikit-learn's kind of random state."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    return np.random.default_rng(random_state)
