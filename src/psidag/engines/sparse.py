"""Sparse search to a million nodes: edges by evidence, nodes re-inserted in the order, both scores."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from psidag.data.correlations import SINGLE_FROM, Correlations, correlations, matrix_fits
from psidag.data.sources import is_wide
from psidag.engines.beginning import first_network, listing_threshold
from psidag.engines.candidates import (
    EVERYONE,
    Scan,
    advance,
    first_scan,
    listed,
    parent_marks,
)
from psidag.engines.comparison import Compared
from psidag.engines.likely_parents import can_estimate
from psidag.engines.moves import Fits, Objective, add_edges, given_network, read, required_network, set_score
from psidag.engines.openings import Openings, before_openings, open_some
from psidag.engines.polishing import change_two, polish_hubs
from psidag.engines.sparse_state import State, dump_state, restored_state
from psidag.engines.starts import start_again, takes_too_long, worth_another
from psidag.graph.order import order_change
from psidag.run.loop import Progress, Task
from psidag.run.status import Candidate, Status
from psidag.scores.gaussian import Proportional
from psidag.scores.policy import SMALLEST_GAIN, penalised_loss
from psidag.scores.score import SearchScore
from psidag.search._network import Network, drain, resample
from psidag.stages.parent_limit import ParentLimit, limit_remarks
from psidag.stages.regressions import regressions
from psidag.stages.within_order import search_penalty
from psidag.system.errors import InputError

#: A node is listed for another if it would pay with this share of its variance left (judged in benchmarks/huge.md).
_SCANNED = 0.8
#: Bytes for a node's regression, candidates and remembered products.
_NODE_BYTES = 7000
#: At last, in tables of up to so many columns, a node may take over a family of so many parents from another: one that
#: stands before a chain of its causes has all of theirs, and passes them on from one to the next.
_FOR_FAMILIES, _FAMILY = 2000, 128
#: Sweeps per slice: a fraction of a second even with hubs.
_SWEEPS = 256


@dataclass(frozen=True, eq=False)
class Sparse:
    """A DAG of low penalised score, by local moves that keep a DAG with an order at every moment.

    The score is  Σ_j n v_j / σ² + c |P_j|  for noise of equal variance σ², and  Σ_j n log v_j + c |P_j|  for noise
    of unequal variances, where v_j is the variance of node j given its parents P_j. The second one does not depend
    on units and determines the DAG up to its equivalence class.

    The penalty comes down to c in steps, so that strong edges find their place before weak ones. At each level

    1. every node in a queue is put at the place in the order where the score is lowest, while its neighbours reselect
       their parents (re-insertion), until no node has a better place;
    2. every node is offered all nodes that are no descendants as new parents, wherever in the order they stand.

    At the last level all parents are selected once more from none, which frees hubs that have collected a bad set, and
    every node is offered two new parents at once, and one in the place of another.
    Under the equal score the start is the order grown by residual variance with the parents selected in it, at 8c,
    from 4,000 columns on by way of lists of correlated columns; under the unequal score it is the empty graph, at 512c,
    with the columns in a sequence of their own, so that it does not matter how they stand in the table; the search is
    repeated from random members of the equivalence class until ``quiet_rounds`` of them in a row have
    led nowhere. It begins again elsewhere if it may be stuck (:mod:`psidag.engines.starts`). A search that is given a
    graph (``Task.start``) begins there, at the last level, with long walks.

    Parameters
    ----------
    penalty : float, optional
        The price c of an edge in units of twice the log-likelihood; by default 2 ln 2d + ln n − 2.5
        (:func:`psidag.stages.within_order.search_penalty`). BIC is ln n.
    quiet_rounds : int
        Under the unequal score, how many rounds from random members of the class without a gain end the search.
    restarts : int, optional
        How many neighbourhoods are opened when the search has ended: a node and its neighbours lose their edges and
        find others, which stay if the score is lower. By default openings go on until many in a row have led nowhere,
        as many as take a share of the work of the search itself; small tables in which hardly one leads back to the
        same score, as where columns are nearly collinear, are looked at longer.
    reach : float, optional
        A node is walked along the order until the score has risen by this many penalties; 5 under the equal score,
        100 under the unequal one, where the way to a better order leads over higher ground.
    max_additions : int, optional
        Or until one node would take this many new parents in one exchange; 8 and 30.
    max_parents : int, optional
        Most parents of a node apart from required ones; by default a quarter of n or, under the equal score with up to
        2,000 columns, half of it.
    max_rounds : int
        Levels and closing rounds at the most.
    max_memory : float, optional
        Bytes that the correlations of a wide table may take; a quarter of the machine's memory by default. Where they
        take more they are computed from the rows, in blocks, when the search needs them.

    Notes
    -----
    The trace and the bar show ½ d · v̄ · exp(c |E| / (n d)), where v̄ is the arithmetic mean of the residual
    variances under the equal score (at c = 0 that is the loss) and their geometric mean under the unequal one.

    Examples
    --------
    >>> from psidag import Sparse, learn_dag
    >>> from psidag.simulate import simulate
    >>> X = simulate("ER2", d=10, n=1000, seed=0).X
    >>> dear, cheap = (learn_dag(X, Sparse(penalty=c), noise="equal", random_state=0).dag.n_edges for c in (100, 5))
    >>> dear < cheap
    True
    """

    name: ClassVar[str] = "sparse"
    needs_rows: ClassVar[bool] = False
    patience: ClassVar[int] = 1 << 30
    tol: ClassVar[float] = 0.0

    penalty: float | None = None
    quiet_rounds: int = 6
    restarts: int | None = None
    reach: float | None = None
    max_additions: int | None = None
    max_parents: int | None = None
    max_rounds: int = 1000
    max_memory: float | None = None

    def __post_init__(self) -> None:
        for name in ("penalty", "reach"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise InputError(f"{name} must be positive; got {value!r}")
        if self.max_memory is not None and not self.max_memory >= 0:
            raise InputError(f"max_memory must be a number of bytes; got {self.max_memory!r}")
        if self.restarts is not None and not self.restarts >= 0:
            raise InputError(f"restarts must not be negative; got {self.restarts!r}")
        for name in ("quiet_rounds", "max_additions", "max_parents", "max_rounds"):
            value = getattr(self, name)
            if value is not None and not value >= 1:
                raise InputError(f"{name} must be at least 1; got {value!r}")

    def init(self, task: Task) -> State:
        """The correlations, and the levels of the penalty."""
        return self.over(task, correlations(task.source, task.workers, max_memory=self.max_memory))

    def over(self, task: Task, data: Correlations, after: State | None = None) -> State:
        """The state before the first step of a search over correlations that are there already.

        What an earlier search ``after`` which this one comes has compared is not compared again.
        """
        penalty = search_penalty(data.count, data.d) if self.penalty is None else self.penalty
        levels = (1.0,) if task.start is not None else task.score.policy.levels
        levels = tuple(factor * penalty for factor in levels)
        if data.matrix is None and after is not None and after.scan is None:
            return State(data, penalty, levels, near=after.near, compared=after.compared)
        if data.matrix is None:
            scan = first_scan(data.columns, listing_threshold(data, penalty), task.workers)
            return State(data, penalty, levels, scan=scan, compared=Compared.of(data.columns, task.workers))
        return State(data, penalty, levels, near=EVERYONE)

    def step(self, task: Task, state: State) -> tuple[State, Progress]:
        """A slice of sweeps; when the queue is empty, additions; when there are none, the end of a round."""
        if state.scan is not None:
            return self._scan(task, state, state.scan)
        net = state.net
        if net is None:
            return self._begin(task, state), Progress(0, 0)
        if state.opening:
            return self._open(task, state, net)
        if net.waiting:
            drain(state.data.entries, net, _SWEEPS)
            objective = self._objective(task, state)
            if self._may_start_again(task, state) and takes_too_long(state.data, net, state.starts, objective):
                return self._cut(task, state, net)
            return self._count(state)
        self._set_score(task, state, net)
        if add_edges(state.data, net, task.workers, state.near or EVERYONE, state.compared):
            return self._count(state._replace(confirmed=False))
        last = state.level + 1 == len(state.levels)
        if last and state.data.matrix is None and state.near is not None:
            fits = read(net, task.d)
            level = _SCANNED * self._objective(task, state).least_gain(state.data, fits)
            unseen = state.near.unseen(fits.weights, level)
            if len(unseen):
                return self._count(state._replace(scan=Scan(unseen, level[unseen])))
        if last and not state.confirmed:
            return self._confirm(task, state, net)
        if last and change_two(state.data, net, state.quiet):
            return self._count(state)
        return self._close(task, state, net, last)

    def conclude(self, task: Task, state: State) -> Candidate:
        """The network as it stands, or the required edges if there is none yet."""
        net = state.net
        if net is None:
            order = task.constraints.nearest_order(state.data.own_order)
            net = required_network(state.data, order, task.constraints)
        return self._candidate(task, state, read(net, task.d))

    def finish(self, task: Task, state: State, best: Candidate) -> Candidate:
        """The weights solved once more, in double precision, and given in the units of the data."""
        known = task.constraints
        found = regressions(state.data, known.with_required(best.weights), task.workers)
        fitted = found.fitted(state.data, known, f"by evidence in the search, penalty {state.penalty:.2f}")
        limit = self._parent_limit(task, state.data)
        said = limit_remarks(state.data, found.weights, best.order, known, state.penalty, limit)
        return Candidate(best.order, found.weights, best.loss, fitted._replace(remarks=(*fitted.remarks, *said)))

    def standing(self, state: State) -> str:
        """Whether openings were still gaining when the search was stopped."""
        return state.openings.standing(state.penalty) if state.openings is not None and state.opening else ""

    def dump(self, state: State) -> dict[str, Any]:
        """What :meth:`restore` needs."""
        return dump_state(state)

    def restore(self, task: Task, held: dict[str, Any]) -> State:
        """The state that was dumped."""
        return restored_state(self.init(task), held, task.constraints)

    def memory(self, n: int, d: int) -> float:
        """Bytes at the most, beside the data: correlations, or the columns that they come from, and the search."""
        wide = is_wide(n, d)
        if wide and not matrix_fits(d, self.max_memory):
            return 5.0 * n * d + _NODE_BYTES * d
        matrix = 4.0 * d * (d + n) if wide and d >= SINGLE_FROM else 24.0 * d**2
        return matrix + _NODE_BYTES * d / 2

    def _begin(self, task: Task, state: State) -> State:
        """The graph to start from at the first level."""
        net = first_network(
            state.data, self._objective(task, state), state.penalty, task.constraints, task.workers,
            state.near or EVERYONE, task.start,
        )  # fmt: skip
        state = state._replace(net=net)
        self._set_score(task, state, net)
        net.set_stale()
        return state

    def _scan(self, task: Task, state: State, scan: Scan) -> tuple[State, Progress]:
        """The next slice of a comparison of nodes with all columns; at its end the lists, and another look at them."""
        data, net = state.data, state.net
        weights = None if net is None else read(net, data.d).weights
        scan = advance(state.compared or Compared(data.columns), scan, weights, task.workers)
        if not scan.ended:
            state, progress = self._count(state._replace(scan=scan))
            return state, progress._replace(doing="columns compared", share=scan.share(net is None))
        near = listed(scan, data.d, state.near, None if weights is None else parent_marks(weights))
        if net is not None:
            net.mark_stale(scan.nodes)
        return self._count(state._replace(scan=None, near=near))

    def _confirm(self, task: Task, state: State, net: Network) -> tuple[State, Progress]:
        """Where nothing seems left to do: look at hubs, and at last once more at everything."""
        objective, (_, least) = self._objective(task, state), self._limits(task, state)
        tried, gained = polish_hubs(state.data, net, objective, task.constraints, task.workers, least, state.tried)
        if not gained and tried == state.tried:
            # Nodes that were descendants when a node was last looked at may no longer be.
            state = state._replace(confirmed=True)
            self._set_score(task, state, net)
            net.set_stale()
            net.queue_all()
        return self._count(state._replace(tried=tried))

    def _close(self, task: Task, state: State, net: Network, last: bool) -> tuple[State, Progress]:
        """The end of a level or of a closing round: what comes next."""
        found = read(net, task.d)
        candidate = self._candidate(task, state, found)
        changed = math.nan if state.closed is None else order_change(state.closed.order, found.order)
        finished = None
        state = state._replace(closed=found, steps=_sweeps(state))
        if not last:
            state = state._replace(level=state.level + 1)
            self._set_score(task, state, net)
            net.set_stale()
        else:
            # The logarithm of the loss is the score, for each row and node.
            fall = math.log(state.best / candidate.loss) if candidate.loss > 0 else 0.0
            gain = state.data.count * task.d * fall > SMALLEST_GAIN
            state = state._replace(best=min(state.best, candidate.loss), quiet=0 if gain else state.quiet + 1)
            vain = state.starts.made > 0 and state.openings is None and candidate.loss >= state.starts.loss
            if state.starts.proportions is not None:
                state = self._look_anew(task, state._replace(starts=state.starts._replace(proportions=None)), net)
            elif task.score.policy.equivalent and state.quiet < self.quiet_rounds and not vain:
                resample(state.data.entries, net, int(task.rng.integers(2**63)))
            else:
                state, finished = self._ended(task, state, net, candidate.loss)
        return state, Progress(state.steps, 0, candidate, math.nan, changed, finished)

    def _ended(
        self, task: Task, state: State, net: Network, loss: float, cut: bool = False
    ) -> tuple[State, Status | None]:
        """What follows a search that is at its end or was cut short: another start, openings, or the end of all."""
        if self._may_start_again(task, state):
            starts = state.starts.after(net, loss, state.penalty / (state.data.count * task.d), cut)
            first_cut, state = cut and not starts.made, state._replace(starts=starts)
            if first_cut or worth_another(state.data, starts, self._objective(task, state)):
                return self._start_again(task, state), None
            unfinished, (starts, net) = starts.cut, starts.ended()
            state = state._replace(net=net, starts=starts, best=min(state.best, starts.loss))
            if unfinished:
                return self._look_anew(task, state, net), None
        openings = state.openings or before_openings(state.data, net, state.starts.work)
        state = state._replace(openings=openings, opening=not openings.over(task.d, self.restarts))
        return state, None if state.opening else self._converged(task, openings, state.penalty)

    def _may_start_again(self, task: Task, state: State) -> bool:
        return task.start is None and self.restarts != 0 and state.openings is None

    def _cut(self, task: Task, state: State, net: Network) -> tuple[State, Progress]:
        """Leave a search that takes too long."""
        loss = self._candidate(task, state, read(net, task.d)).loss
        state, finished = self._ended(task, state, net, loss, cut=True)
        if finished is None:
            return self._count(state)
        return state, Progress(state.steps, 0, self.conclude(task, state), finished=finished)

    def _start_again(self, task: Task, state: State) -> State:
        """The beginning of another search."""
        known, data, starts = task.constraints, state.data, state.starts
        state = state._replace(level=len(state.levels) - 1)
        graph, proportions = start_again(data, starts, self._objective(task, state), known, task.workers, task.rng)
        state = state._replace(starts=starts._replace(made=starts.made + 1, proportions=proportions))
        return self._look_anew(task, state, given_network(data, graph, known))

    def _look_anew(self, task: Task, state: State, net: Network) -> State:
        """The state before a search at the last level that goes through all nodes of a network."""
        self._set_score(task, state, net)
        net.set_stale()
        net.queue_all()
        return state._replace(net=net, confirmed=False, best=math.inf, quiet=0, tried=frozenset())

    def _open(self, task: Task, state: State, net: Network) -> tuple[State, Progress]:
        """A slice of openings; if they have led to a lower score, all nodes are looked at once more at the end."""
        before = state.openings or before_openings(state.data, net, state.starts.work)
        openings = open_some(
            state.data, net, self._objective(task, state), state.near or EVERYONE, before, task.rng, self.restarts
        )  # fmt: skip
        over, gained = openings.over(task.d, self.restarts), openings.gained > before.gained
        state = state._replace(openings=openings, opening=not over, steps=_sweeps(state))
        candidate = self._candidate(task, state, read(net, task.d)) if over or gained else None
        finished = None
        if over and openings.fresh:
            state = state._replace(openings=openings._replace(fresh=False), best=candidate.loss if candidate else 0.0)
            self._set_score(task, state, net)
            net.set_stale()
            net.queue_all()
        elif over:
            finished = self._converged(task, openings, state.penalty)
        return state, Progress(state.steps, 0, candidate, finished=finished)

    def _converged(self, task: Task, openings: Openings, penalty: float) -> Status:
        return Status("converged", openings.message(penalty, task.source.names))

    def _limits(self, task: Task, state: State) -> tuple[float, int]:
        """How far a walk goes: in penalties, and in new parents of one node."""
        policy = self._score(task, state).policy
        own = task.start is None and not state.starts.made
        reach, additions = (policy.reach, policy.additions) if own else policy.far
        if state.confirmed and task.d <= _FOR_FAMILIES:
            additions = max(additions, _FAMILY)
        return self.reach or reach, self.max_additions or additions

    def _objective(self, task: Task, state: State) -> Objective:
        limit = self._parent_limit(task, state.data).parents
        return Objective(self._score(task, state), state.data.count, state.levels[state.level], limit)

    def _parent_limit(self, task: Task, data: Correlations) -> ParentLimit:
        """Hubs that cannot be given parents by estimates are filled by chance while their noise is that of all."""
        common = not task.score.own_variances and can_estimate(data)
        return ParentLimit.of(data.count, self.max_parents, common_noise=common)

    def _score(self, task: Task, state: State) -> SearchScore:
        """The score of the task or, in the first half of another start, one with given proportions of variances."""
        given = state.starts.proportions
        return task.score if given is None else Proportional(given)

    def _set_score(self, task: Task, state: State, net: Network) -> None:
        set_score(state.data, net, self._objective(task, state), *self._limits(task, state))

    def _candidate(self, task: Task, state: State, found: Fits) -> Candidate:
        """The network as a DAG, on the scale of the correlations, with its penalised loss in that of the data."""
        data, live = state.data, state.data.sd > 0
        v = found.residual_variance[live] * data.variance[live]
        typical = task.score.typical_variance(v) if len(v) else 0.0
        loss = penalised_loss(typical, found.weights.nnz, state.penalty, data.count, data.d)
        return Candidate(found.order, found.weights, loss)

    def _count(self, state: State) -> tuple[State, Progress]:
        return state._replace(steps=_sweeps(state)), Progress(_sweeps(state), 0)


def _sweeps(state: State) -> int:
    """Those of all networks."""
    return state.starts.sweeps + (0 if state.net is None else int(state.net.counters[0]))
