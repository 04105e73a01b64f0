"""The graph as the price of an edge varies, for those who want to see what the automatic choice leaves out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from psidag.engines.sparse import Sparse
from psidag.graph.constraints import Constraints
from psidag.graph.metrics import edge_errors
from psidag.learning.plan import Options, Plan, as_generator
from psidag.scores.named import Noise, as_score
from psidag.solution import Solution
from psidag.solution.noise import NoiseModel
from psidag.stages.within_order import search_penalty
from psidag.system.errors import InputError
from psidag.system.parallel import Jobs, workers

#: Multiples of the automatic penalty that a path visits.
FACTORS = (8.0, 4.0, 2.0, 1.0, 0.5, 0.25)


@dataclass(frozen=True, eq=False)
class PenaltyPath:
    """Solutions along descending penalties; ``print`` shows a table with the automatic choice marked.

    Attributes
    ----------
    penalties : tuple of float
        Prices of an edge, in units of twice the log-likelihood.
    solutions : tuple of Solution
        What was learned at each.
    chosen : int
        Which of them has the automatic penalty.
    noise : {"equal", "unequal"} or score
        The noise variances that they share.

    Examples
    --------
    >>> from psidag import penalty_path
    >>> from psidag.simulate import simulate
    >>> path = penalty_path(simulate("ER2", d=10, n=500, seed=0).X, factors=(4, 1), noise="equal")
    >>> len(path), path.chosen
    (2, 1)
    """

    penalties: tuple[float, ...]
    solutions: tuple[Solution, ...]
    chosen: int
    noise: Noise

    def __len__(self) -> int:
        return len(self.penalties)

    def __iter__(self) -> Iterator[tuple[float, Solution]]:
        return iter(zip(self.penalties, self.solutions, strict=True))

    def __str__(self) -> str:
        lines = [f"{'penalty':>9}{'edges':>8}{'misfit':>12}{'turned':>8}"]
        middle = self.solutions[self.chosen].dag
        for k, (penalty, solution) in enumerate(self):
            turned = edge_errors(middle, solution.dag).reversed
            mark = "   <- chosen" if k == self.chosen else ""
            lines.append(f"{penalty:>9.2f}{solution.dag.n_edges:>8}{self.misfit(solution):>12.5g}{turned:>8}{mark}")
        note = "turned: edges that the chosen graph has the other way round"
        return "\n".join([*lines, f"misfit: {as_score(self.noise).misfit_text}, on the rows learned from; {note}"])

    def misfit(self, solution: Solution) -> float:
        """What the search lowers, without the penalty."""
        return as_score(self.noise).misfit(solution.residual_variance)


def penalty_path(
    data: Any,
    factors: Sequence[float] = FACTORS,
    *,
    noise: Noise = "auto",
    constraints: Constraints | None = None,
    random_state: Any = 0,
    n_jobs: Jobs = None,
    names: Sequence[str] | None = None,
) -> PenaltyPath:
    """Learn the graph at several multiples of the automatic penalty.

    Edges that stay when the price is raised are the ones to trust; those that only a lower price brings are the
    ones the automatic choice took for chance.

    Parameters
    ----------
    data, noise, constraints, random_state, n_jobs, names
        As in :func:`psidag.learn_dag`.
    factors : sequence of float
        Positive multiples of :func:`~psidag.stages.within_order.search_penalty`; 1 is always among them.

    Examples
    --------
    >>> from psidag.simulate import simulate
    >>> path = penalty_path(simulate("ER2", d=20, n=1000, seed=0).X)
    >>> path.solutions[0].dag.n_edges <= path.solutions[-1].dag.n_edges
    True
    """
    if not all(factor > 0 for factor in factors):
        raise InputError(f"factors must be positive multiples of the automatic penalty; got {list(factors)}")
    options = Options(noise=noise, constraints=constraints, random_state=random_state, names=names)
    source = options.ingest(data)
    ordered = sorted({1.0, *factors}, reverse=True)
    found: dict[float, Solution] = {}
    with workers(n_jobs) as threads:
        automatic = search_penalty(source.moments(threads).count, source.d)
        chosen: NoiseModel | None = None
        for factor in sorted(ordered, key=lambda factor: factor != 1):
            plan = Plan.of(replace(options, solver=Sparse(penalty=factor * automatic)), source)
            # What the noise is like is found out at the automatic penalty.
            plan = plan if chosen is None else plan.decided(chosen)
            learned = plan.search(source, as_generator(random_state), threads)
            chosen = learned.noise
            found[factor] = plan.solution(learned)
    if isinstance(noise, str) and chosen is not None:
        noise = "equal" if chosen.chosen == "equal" else "unequal"
    solutions = tuple(found[factor] for factor in ordered)
    return PenaltyPath(tuple(factor * automatic for factor in ordered), solutions, ordered.index(1.0), noise)
