"""The evidence for the directions of a learned DAG, from the data that the search has left behind."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from psidag.data.correlations import Correlations, correlations
from psidag.data.labelled import LabelledTable, conditions_of
from psidag.data.rows_behind import RowsBehind, rows_behind
from psidag.directions.claims import Grounds, claim_directions
from psidag.directions.experiment import Experiment
from psidag.directions.independence import overstatement
from psidag.directions.row_order import follows_row_order, rows_have_more_in_common
from psidag.engines.noise_choice import neighbours_apart
from psidag.engines.noise_state import State as NoiseState
from psidag.graph.dag import DAG
from psidag.graph.partial import PartialGraph
from psidag.run.loop import Outcome, Task
from psidag.scores.shape import LEAST_ROWS
from psidag.stages.within_order import search_penalty
from psidag.system.errors import listing

#: Up to this many columns evidence is measured unless it is declined; beyond, it takes longer than the search.
MEASURED_UP_TO = 1000


class Measured(NamedTuple):
    """Directions with their evidence, and sentences about what to distrust."""

    graph: PartialGraph
    remarks: tuple[str, ...] = ()


def measured_directions(
    task: Task, outcome: Outcome, dag: DAG, *, equal: bool, asked: bool = False, shape: tuple[str, ...] = ()
) -> Measured:
    """Which directions of a DAG are claimed, because of what, and with what evidence.

    Parameters
    ----------
    task : Task
        What the search was given.
    outcome : Outcome
        What came of it; correlations that it holds are not computed again.
    dag : DAG
        The graph.
    equal : bool
        Whether noise variances were found, or said, to be equal.
    asked : bool
        Whether they were said to be. If only found, they direct nothing where noises are large in the same rows: heavy
        tails hide differences of variances, and these are the same tails in all columns.
    shape : tuple of str
        The columns whose noise is not Gaussian.
    """
    held = getattr(outcome.state, "data", None)
    data = held if isinstance(held, Correlations) else correlations(task.source, task.workers)
    rows, apart = _rows(task, outcome, dag, shape)
    alone = _left_alone(task, outcome)
    follows = np.zeros(dag.d, bool) if alone is None else follows_row_order(alone, dag.weights, task.workers)
    experiment = _experiment(task, search_penalty(data.count, data.d))
    # Where noises are large in the same rows, fewer rows would say as much.
    times = 1.0 if alone is None or experiment is not None else overstatement(alone, dag.weights)
    data = replace(data, count=data.count / times)
    in_order = follows | rows_have_more_in_common(follows, task.constraints.tier)
    grounds = Grounds(
        data,
        search_penalty(data.count, data.d),
        equal=equal and (asked or times == 1.0),
        rows=None if rows is None else rows.X,
        weight=None if rows is None else rows.weight,
        shaped=np.isin(np.array(dag.names), np.array(shape)) if shape else None,
        apart=apart,
        in_order=in_order,
        settled=times == 1.0,
        experiment=experiment,
    )
    graph = claim_directions(dag, grounds, task.constraints, task.workers)
    return Measured(graph, _remarks(graph, follows, in_order))


def _left_alone(task: Task, outcome: Outcome) -> NDArray[np.floating] | None:
    """The rows in which nothing was set, in their order, as far as there are rows."""
    if isinstance(task.source, LabelledTable):
        return task.source.X[task.source.controls()]
    state = outcome.state
    rows = state.rows if isinstance(state, NoiseState) and state.rows is not None else None
    rows = rows or rows_behind(task.source, task.workers)
    return None if rows is None else rows.X


def _remarks(graph: PartialGraph, follows: NDArray[np.bool_], in_order: NDArray[np.bool_]) -> tuple[str, ...]:
    """What was not claimed because rows depend on each other."""
    both = in_order[graph.sources] & in_order[graph.targets] & ~graph.directed
    if not both.any():
        return ()
    names = listing([graph.names[j] for j in np.flatnonzero(follows)], limit=4)
    which = "no edge" if in_order.all() else "no edge between two of these columns"
    return (
        f"the noise of {names} follows the order of the rows: time, or a group that rows belong to, may be behind both "
        f"ends of an edge, so {which} is directed by these data alone. If rows are points in time, use lagged() or "
        "--lags; if they are independent and only sorted by something that is not in the table, shuffle them",
    )


def _experiment(task: Task, price: float) -> Experiment | None:
    """The rows by what was set in them, where something was."""
    data = conditions_of(task.source, task.workers)
    if data is None:
        return None
    return Experiment(data, price, task.source.free_rows if isinstance(task.source, LabelledTable) else None)


def _rows(
    task: Task, outcome: Outcome, dag: DAG, shape: tuple[str, ...]
) -> tuple[RowsBehind | None, dict[int, tuple[int, ...]]]:
    """The rows that show the shape of the noise, left behind by the search, and whose neighbours have none."""
    state = outcome.state
    if shape and isinstance(task.source, LabelledTable):
        # Independence is tested in the rows in which nothing was set.
        alone = task.source.controls()
        return (RowsBehind(task.source.X[alone], None) if len(alone) >= LEAST_ROWS else None), {}
    if not shape or not isinstance(state, NoiseState) or state.facts is None:
        return None, {}
    shaped = np.isin(np.array(dag.names), np.array(shape))
    return state.rows, neighbours_apart(dag.weights, shaped, state.facts.valued)
