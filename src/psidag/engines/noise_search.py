"""The sparse search under a noise model that the data choose: search, ask, then search again or refine."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, get_args

import numpy as np
import scipy.sparse as sp

from psidag.data.rows_behind import rows_behind
from psidag.engines.noise_choice import (
    clearly_equal,
    differs_too_little,
    equal_fits_better,
    in_words,
    judged_by_shape,
    looks_standardised,
    neighbours_apart,
    parents_of,
    pooled_kurtosis,
    prior_that_helps,
)
from psidag.engines.noise_state import KEPT, Phase, State, draws_of, stored_facts, stored_prior
from psidag.engines.sparse import Sparse
from psidag.run.loop import Progress, Task
from psidag.run.status import Candidate, Fitted, Status, stored_candidate
from psidag.scores.equality import LEVEL, equality_of
from psidag.scores.gaussian import EQUAL, UNEQUAL
from psidag.scores.nearly_equal import estimate_prior
from psidag.scores.residual_score import ResidualScore, Sample
from psidag.solution.noise import NoiseModel
from psidag.stages.noise_facts import noise_facts
from psidag.stages.parent_limit import ParentLimit
from psidag.stages.refinement import Climb
from psidag.system.errors import InputError

#: A prior is estimated anew at the refined graph at most this often, and is the same if its spread changes by less than
#: this share.
_PRIORS, _SAME_SPREAD = 6, 0.05
#: Beyond this many columns a few that stand out, as hubs that lack parents do, are no reason for a search under the
#: unequal score, which takes longer than all else where graphs are dense.
_MANY = 250


@dataclass(frozen=True, eq=False)
class NoiseSearch:
    """A search whose noise model is chosen by the data.

    Two questions are answered. Are the noise variances equal? The graph of the equal score is tested; where it fails,
    the search may have been stuck, so it begins again at an order by variances given all nodes before, where rows are
    enough for that, and at the graph of the unequal score, and is tested each time; what fails then is unequal noise,
    or nearly equal noise if a prior on the spread of variances can help. And is the noise Gaussian? Columns whose
    residuals are not take part with the shape of their noise in a refinement of the graph.

    Parameters
    ----------
    search : Sparse
        How graphs are searched.
    asked : {"auto", "equal", "nongaussian"}
        Equal variances are taken for granted with ``"equal"``, which profits from the second start all the same, but
        where correlations do not fit in memory; any variances, and noise of any shape, with ``"nongaussian"``.
    decided : NoiseModel, optional
        A choice that was made before, on the whole table; then nothing is asked.
    """

    patience: ClassVar[int] = 0
    tol: ClassVar[float] = 0.0

    search: Sparse
    asked: str = "auto"
    decided: NoiseModel | None = None

    @property
    def name(self) -> str:
        """That of the search."""
        return self.search.name

    @property
    def needs_rows(self) -> bool:
        """Whether rows must be there: for a refinement by shape that is settled beforehand."""
        return self.decided is not None and bool(self.decided.shape)

    @property
    def max_rounds(self) -> int:
        """That of the search."""
        return self.search.max_rounds

    def memory(self, n: int, d: int) -> float:
        """Bytes at the most, beside the data: those of the search, and rows in single precision for their shape."""
        shaped = self.asked != "equal" and (self.decided is None or bool(self.decided.shape))
        return self.search.memory(n, d) + (4.0 * n * d if shaped else 0.0)

    def init(self, task: Task) -> State:
        """The first search; tables that look standardised need none under the equal score."""
        if self.asked == "nongaussian" and not (task.source.has_rows and task.source.can_reread):
            raise InputError(
                "noise='nongaussian' looks at the shape of residuals, and moments or a stream have no rows to look at: "
                "give the table, or use noise='unequal'"
            )
        if self.decided is not None:
            phase: Phase = "equal" if self.decided.chosen == "equal" else "unequal"
            noise = self.decided
        elif self.asked == "nongaussian":
            phase, noise = "unequal", NoiseModel(self.asked, "unequal", "noise of any variance and shape was asked for")
        else:
            reason = "asked for" if self.asked == "equal" else "not tested, as the search was stopped before"
            phase, noise = "equal", NoiseModel(self.asked, "equal", reason)
        seed = int(task.rng.integers(2**63))
        search = self.search.init(_task(task, phase))
        if self.asked == "auto" and self.decided is None and looks_standardised(search.data.sd):
            reason = "all columns have the same variance, as if standardised, which says nothing about directions"
            phase, noise = "unequal", noise.because(reason, chosen="unequal")
            search = self.search.over(_task(task, phase), search.data)
        return State(phase, search, noise, seed, draws_of(seed, phase))

    def step(self, task: Task, state: State) -> tuple[State, Progress]:
        """A step of the search, or a round of the refinement; at the end of either, what comes next."""
        if state.climb is not None:
            return self._refine(task, state, state.climb)
        inside = replace(_task(task, state.phase, state.start), rng=state.draws)
        search, progress = self.search.step(inside, state.search)
        progress = progress._replace(steps=state.steps + progress.steps)
        state = state._replace(search=search)
        if progress.closed is None:
            return state, progress
        best = progress.closed if state.best is None or progress.closed.loss < state.best.loss else state.best
        state = state._replace(best=best)
        if progress.finished is None:
            return self._shown(state), progress._replace(closed=self._presentable(state))
        found = self.search.finish(inside, search, best)
        state, ended = self._next(task, state._replace(steps=progress.steps), found)
        closed = state.best if ended else self._presentable(state)
        return state, progress._replace(closed=closed, finished=progress.finished if ended else None)

    def conclude(self, task: Task, state: State) -> Candidate:
        """The graph as it stands."""
        return self.search.conclude(_task(task, state.phase, state.start), state.search)

    def finish(self, task: Task, state: State, best: Candidate) -> Candidate:
        """The weights in the units of the data."""
        return best if best.fitted is not None else self.search.finish(task, state.search, best)

    def standing(self, state: State) -> str:
        """That of the search, where it is under way."""
        return self.search.standing(state.search) if state.climb is None else ""

    def dump(self, state: State) -> dict[str, Any]:
        """What :meth:`restore` needs."""
        climb = None if state.climb is None else (state.climb.graph(), tuple(sorted(state.climb.stale)))
        kept = {key: getattr(state, key) for key in KEPT}
        search, noise, draws = self.search.dump(state.search), state.noise.as_dict(), state.draws.bit_generator.state
        return kept | {"search": search, "noise": noise, "draws": draws, "climb": climb}

    def restore(self, task: Task, held: dict[str, Any]) -> State:
        """The state that was dumped."""
        if held["phase"] not in get_args(Phase):
            raise ValueError("a phase that there is not")
        phase: Phase = held["phase"]
        best, equal, unequal = (stored_candidate(held[key], task.d) for key in ("best", "equal", "unequal"))
        search = self.search.restore(_task(task, phase), held["search"])
        start = _start(phase, unequal)
        seed = int(held["seed"])
        draws = draws_of(seed, phase)
        draws.bit_generator.state = held["draws"]
        state = State(
            phase, search, NoiseModel.from_dict(held["noise"]), seed, draws,
            start=start, best=best, equal=equal, unequal=unequal,
            facts=stored_facts(held["facts"], task.d), prior=stored_prior(held["prior"]), priors=int(held["priors"]),
            steps=int(held["steps"]),
        )  # fmt: skip
        if held["climb"] is None:
            return state
        graph, stale = held["climb"]
        state = self._climbing(task, state, graph)
        if state.climb is not None:
            state.climb.stale = {int(v) for v in stale}
        return state

    def _presentable(self, state: State) -> Candidate | None:
        """The graph to answer with if the search ends now."""
        if state.phase == "unequal" and self.asked == "equal":
            return state.equal
        if state.phase == "again":
            return state.equal if self.asked == "equal" else state.unequal
        return state.best or state.equal

    def _shown(self, state: State) -> State:
        """The state with the noise of the graph to answer with."""
        if state.phase == "unequal" and self.asked == "auto" and state.noise.chosen == "equal":
            return state._replace(noise=replace(state.noise, chosen="unequal", contradicted=False))
        return state

    def _next(self, task: Task, state: State, found: Candidate) -> tuple[State, bool]:
        """What follows the end of a phase, and whether it is the end of all."""
        state = state._replace(best=found)
        if state.phase == "equal":
            state = state._replace(equal=found)
            if self.decided is not None:
                return self._settle(task, self._looked(task, state, found), found)
            state = self._tested(task, state, found)
            few = self._few_stand_out(task, state, found)
            if few and self.asked != "equal":
                state = state._replace(noise=differs_too_little(state.noise))
            # Of so many columns that correlations do not fit in memory some always stand out: no reason to begin again.
            if few or not state.noise.contradicted or (self.asked == "equal" and state.data.matrix is None):
                return self._settle(task, state, found)
            return self._begin(task, state, "unequal")
        if state.phase == "unequal":
            state = state._replace(unequal=found)
            if state.equal is None:
                return self._settle(task, self._looked(task, state, found), found)
            return self._begin(task, self._shown(state), "again")
        return self._compare(task, state, found)

    def _few_stand_out(self, task: Task, state: State, found: Candidate) -> bool:
        """Whether variances of many columns are not equal, but for a few of them are."""
        many = task.d > _MANY or state.data.matrix is None
        return state.noise.contradicted and many and clearly_equal(_fitted(found), pooled_kurtosis(state.facts))

    def _begin(self, task: Task, state: State, phase: Phase) -> tuple[State, bool]:
        """Another search over the same correlations."""
        start = _start(phase, state.unequal)
        search = self.search.over(_task(task, phase, start), state.data, state.search)
        return state._replace(
            phase=phase, search=search, start=start, best=None, draws=draws_of(state.seed, phase)
        ), False  # fmt: skip

    def _freed(self, task: Task, state: State, found: Candidate) -> State:
        """The better of two graphs under the equal score, and whether variances are equal there."""
        if state.equal is not None and not found.loss < state.equal.loss:
            return state
        state = self._tested(task, state._replace(equal=found), found)
        if state.noise.contradicted and self.asked != "equal":
            return state
        freed = f"{state.noise.reason}; the search was stuck, and freed by a second start"
        return state._replace(noise=state.noise.because(freed))

    def _compare(self, task: Task, state: State, found: Candidate) -> tuple[State, bool]:
        """The end of the second search under the equal score: was the first one stuck, or is the noise unequal?"""
        first, unequal = state.equal, state.unequal
        assert first is not None
        assert unequal is not None
        best, before = found if found.loss < first.loss else first, state.noise
        state = self._freed(task, state, found)
        state = state._replace(best=best, noise=replace(state.noise, chosen="equal"))
        if self.asked == "equal" or state.noise.p_value is None or state.noise.p_value >= LEVEL:
            return self._settle(task, state, best)
        edges, kurtosis = (best.weights.nnz, unequal.weights.nnz), pooled_kurtosis(state.facts)
        if equal_fits_better(_fitted(best), _fitted(unequal), edges, state.search.penalty, kurtosis):
            return self._settle(task, state._replace(noise=differs_too_little(state.noise)), best)
        noise = replace(before, chosen="unequal", contradicted=False)
        state = self._looked(task, state._replace(best=unequal, noise=noise), unequal)
        return self._settle(task, state, unequal)

    def _looked(self, task: Task, state: State, found: Candidate) -> State:
        """What the residuals of a graph say about the noise, where there are rows and a use for it."""
        fixed = self.decided is not None and not self.decided.shape
        rows = state.rows or (None if fixed else rows_behind(task.source, task.workers))
        if rows is None:
            lost = "" if fixed or self.asked == "equal" else "without rows the shape of the noise cannot be looked at"
            return state._replace(facts=None, noise=replace(state.noise, lost=lost))
        facts = noise_facts(rows.X, rows.weight, _fitted(found).mean, found.weights, task.workers)
        return state._replace(facts=facts, rows=rows)

    def _tested(self, task: Task, state: State, found: Candidate) -> State:
        """Whether noise variances are equal at a graph."""
        state, fitted = self._looked(task, state, found), _fitted(found)
        kurtosis = None if state.facts is None else state.facts.kurtosis
        tested = equality_of(fitted.residual_variance, fitted.n_samples, parents_of(found), kurtosis)
        before = "asked for; " if self.asked == "equal" else "taken as equal, " if tested.rejected else ""
        noise = replace(
            state.noise, chosen="equal", p_value=tested.p_value, ratio=tested.ratio, contradicted=tested.rejected,
            reason=before + in_words(tested, task.source.names, fitted.n_samples),
        )  # fmt: skip
        return state._replace(noise=noise)

    def _settle(self, task: Task, state: State, found: Candidate) -> tuple[State, bool]:
        """The variances are settled: refine the graph by a prior on their spread, or by the shape of noise, or end."""
        facts, noise, names = state.facts, state.noise, task.source.names
        kurtosis = pooled_kurtosis(facts)
        if self.asked == "equal":
            return state._replace(best=found), True
        if self.decided is not None:
            shaped = np.isin(np.array(names), np.array(noise.shape)) if facts is not None else None
            shaped = None if facts is None or shaped is None else shaped & facts.valued
        else:
            shaped = None if facts is None else (facts.valued if self.asked == "nongaussian" else facts.shaped)
            prior = prior_that_helps(_fitted(found), kurtosis) if self.asked == "auto" else None
            if noise.chosen == "unequal" and prior is not None and not looks_standardised(state.data.sd):
                close = f"{noise.reason}; most are within {math.sqrt(prior.spread2):.0%}, so a prior on them helps"
                noise = noise.because(close, chosen="nearly equal")
            if self.asked == "nongaussian" and facts is not None and not facts.shaped.any():
                noise = replace(noise, contradicted=True)
            if shaped is not None and shaped.any():
                noise = replace(noise, shape=tuple(np.array(names, dtype=object)[shaped].tolist()))
        by_shape = shaped is not None and bool(shaped.any())
        fitted = _fitted(found)
        prior = estimate_prior(fitted.residual_variance, fitted.n_samples, kurtosis) if noise.equal else None
        state = state._replace(noise=noise, best=found, prior=prior)
        if not (by_shape or noise.chosen == "nearly equal"):
            return state, True
        return self._climbing(task, state._replace(phase="refined"), _ones(found.weights)), False

    def _climbing(self, task: Task, state: State, graph: sp.csr_array) -> State:
        """A refinement that begins at this graph."""
        data, facts, rows = state.data, state.facts, state.rows
        shaped = np.isin(np.array(task.source.names), np.array(state.noise.shape)) if state.noise.shape else None
        if shaped is not None and rows is None:
            rows = rows_behind(task.source, task.workers)
        if shaped is None or rows is None or facts is None:
            sample, shaped, apart = Sample.of(data), None, {}
        else:
            sample, shaped = Sample.of(data, rows.X, rows.weight), judged_by_shape(shaped, facts.valued)
            apart = neighbours_apart(graph, shaped, facts.valued)
        limit = ParentLimit.of(data.count, self.search.max_parents).parents
        # Hubs of the graph may have more where their noise was taken as that of all.
        most = max(limit, int(np.bincount(graph.indices, minlength=1).max()))
        score = ResidualScore(
            sample, state.search.penalty, prior=state.prior, shaped=shaped, apart=apart, max_parents=most
        )  # fmt: skip
        return state._replace(climb=Climb(score, graph, task.constraints, task.workers), rows=rows)

    def _refine(self, task: Task, state: State, climb: Climb) -> tuple[State, Progress]:
        """A round of changes of single edges; when none pays, the prior that the new graph speaks for."""
        changes, steps = climb.round(), state.steps + 1
        if not changes:
            climb.drop_idle()
        graph, data = climb.graph(), state.data
        live = data.sd > 0
        per_row = climb.total() / data.count + float(np.log(data.variance[live]).sum())
        loss = 0.5 * data.d * math.exp(per_row / max(1, int(live.sum())))
        order = Climb(climb.costs.score, graph, task.constraints).order()
        best = Candidate(order, graph, loss)
        state = state._replace(best=best, steps=steps)
        if changes:
            return state, Progress(steps, 0, best)
        best = self.search.finish(task, state.search, best)
        state = state._replace(best=best)
        prior = state.prior
        if prior is not None and state.priors < _PRIORS:
            fitted = _fitted(best)
            new = estimate_prior(fitted.residual_variance, fitted.n_samples, pooled_kurtosis(state.facts))
            if abs(math.sqrt(new.spread2) - math.sqrt(prior.spread2)) > _SAME_SPREAD * math.sqrt(
                prior.spread2 + prior.error2
            ):
                again = state._replace(prior=new, priors=state.priors + 1)
                return self._climbing(task, again, graph), Progress(steps, 0, best)
        return state, Progress(steps, 0, best, finished=Status("converged", "no move improves the score"))


def _task(task: Task, phase: Phase, start: sp.csr_array | None = None) -> Task:
    """The task of a search: its score, and where it begins."""
    return replace(task, score=UNEQUAL if phase in ("unequal", "refined") else EQUAL, start=start)


def _start(phase: Phase, unequal: Candidate | None) -> sp.csr_array | None:
    """The graph at which the search of a phase begins, if it is not the search's own."""
    return unequal.weights if phase == "again" and unequal is not None else None


def _ones(weights: sp.csr_array) -> sp.csr_array:
    """The edges of a graph, whatever they weigh."""
    return sp.csr_array((np.ones(weights.nnz), weights.indices, weights.indptr), shape=weights.shape)


def _fitted(found: Candidate) -> Fitted:
    """What is known of a graph whose search has ended."""
    assert found.fitted is not None
    return found.fitted
