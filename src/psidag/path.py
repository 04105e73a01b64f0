"""How the graph depends on the price of an edge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from psidag.engines.sparse import Sparse
from psidag.errors import InputError
from psidag.framework import Noise
from psidag.graph.constraints import Constraints
from psidag.learn import learn_dag
from psidag.solution import Solution
from psidag.stages.within_order import evidence_penalty

#: The automatic price is looked at from both sides.
_FACTORS = (4.0, 2.0, 1.4, 1.0, 0.7, 0.5)


class PathPoint(NamedTuple):
    """The graph at one price of an edge; ``kept`` of the edges of the chosen graph are in it, in their direction."""

    penalty: float
    edges: int
    loss: float
    kept: int
    solution: Solution


@dataclass(frozen=True, eq=False)
class PenaltyPath:
    """Graphs from the highest price of an edge to the lowest, and which of them the automatic price gives.

    Attributes
    ----------
    points : tuple of PathPoint
        One for each price.
    chosen : int
        The place of the automatic price, or of the one closest to it.
    """

    points: tuple[PathPoint, ...]
    chosen: int

    @property
    def solution(self) -> Solution:
        """The graph at the chosen price."""
        return self.points[self.chosen].solution

    def __str__(self) -> str:
        lines = [f"{'penalty':>9} {'edges':>7} {'loss':>12} {'kept':>7}"]
        for place, point in enumerate(self.points):
            mark = "  <- chosen" if place == self.chosen else ""
            lines.append(f"{point.penalty:9.2f} {point.edges:7d} {point.loss:12.6g} {point.kept:7d}{mark}")
        return "\n".join(lines)


def penalty_path(
    data: Any,
    penalties: Sequence[float] | None = None,
    *,
    noise: Noise = "equal",
    constraints: Constraints | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    names: Sequence[str] | None = None,
) -> PenaltyPath:
    """Learn a DAG by sparse search at several prices of an edge.

    Parameters
    ----------
    data, noise, constraints, random_state, n_jobs, names
        As in :func:`psidag.learn_dag`; data that can be read only once will not do.
    penalties : sequence of float, optional
        Prices in units of twice the log-likelihood; by default the automatic one times 4, 2, 1.4, 1, 0.7 and 0.5.

    Examples
    --------
    >>> from psidag.simulate import simulate
    >>> path = penalty_path(simulate("ER2", n=500, d=10, seed=0).X)
    >>> [point.penalty > 0 and point.edges > 0 for point in path.points]
    [True, True, True, True, True, True]
    >>> path.points[path.chosen].kept == path.solution.dag.n_edges
    True
    """

    def learned(penalty: float | None) -> Solution:
        return learn_dag(
            data, Sparse(penalty=penalty), noise=noise, constraints=constraints, random_state=random_state,
            n_jobs=n_jobs, names=names,
        )  # fmt: skip

    def edge_set(solution: Solution) -> set[tuple[str, str]]:
        return {(source, target) for source, target, _ in solution.dag.edges()}

    automatic = learned(None)
    price = evidence_penalty(automatic.n_samples, automatic.dag.d)
    prices = [factor * price for factor in _FACTORS] if penalties is None else sorted(penalties, reverse=True)
    if not prices or not min(prices) > 0:
        raise InputError(f"penalties must be positive numbers, at least one; got {penalties!r}")
    solutions = [automatic if c == price else learned(c) for c in prices]
    chosen = int(np.argmin(np.abs(np.log(np.array(prices) / price))))
    reference = edge_set(solutions[chosen])
    points = tuple(
        PathPoint(
            c,
            solution.dag.n_edges,
            0.5 * float(solution.residual_variance.sum()),
            len(reference & edge_set(solution)),
            solution,
        )
        for c, solution in zip(prices, solutions, strict=True)
    )
    return PenaltyPath(points, chosen)
