"""A solution in plain words: what was learned, how sure it is, and what to distrust."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from psidag.graph.order import edge_ends
from psidag.solution import Solution
from psidag.solution.residuals import ResidualChecks
from psidag.view import columns

#: ``distrust``: the graph may be wrong because of it. ``beware``: good to know. ``fine``: looked at, and well.
Level = Literal["distrust", "beware", "fine"]

_SORTABLE = 0.9
_UNEQUAL = 2.0
_FEW_ROWS = 10
_SURE = 0.9


class Remark(NamedTuple):
    """One thing that was looked at; ``names`` are the variables that it is about, worst first."""

    level: Level
    title: str
    text: str
    names: tuple[str, ...] = ()


def lead(solution: Solution) -> list[str]:
    """A few sentences: what was learned, from what, how it ended, how sure it is."""
    dag = solution.dag
    joined = len(np.union1d(*edge_ends(dag.weights)))
    alone = dag.d - joined
    apart = f"; {_count(alone, 'variable')} {_verb(alone, 'has', 'have')} no edge" if alone and dag.n_edges else ""
    sentences = [
        f"{_count(dag.n_edges, 'edge')} among {_count(dag.d, 'variable')}, learned from "
        f"{_count(solution.n_samples, 'row')}{apart}."
    ]
    if dag.n_edges:
        strongest = solution.edges()[0]
        sentences.append(
            f"The strongest edge is {strongest.source} → {strongest.target}: one unit more of {strongest.source} goes "
            f"with {abs(strongest.weight):.3g} {'more' if strongest.weight > 0 else 'less'} of {strongest.target}, its "
            "other causes held fixed."
        )
    return [*sentences, _sure(solution)]


def _sure(solution: Solution) -> str:
    found = columns.support(solution)
    if found is None:
        return (
            "No resampling was done: standard errors take the graph as given, and say nothing of whether an edge or "
            "its direction would come up again. A bootstrap does."
        )
    firm = int((found.connection >= _SURE).sum())
    directed = int((found.direction >= _SURE).sum())
    turned = int((found.reverse > found.direction).sum())
    sentence = (
        f"{firm:,} of {_count(len(found.connection), 'edge')} came up in at least {_SURE:.0%} of the resampled tables, "
        f"{directed:,} of them in the direction shown"
    )
    return sentence + (f"; {turned:,} came up more often the other way round." if turned else ".")


def remarks(solution: Solution, checks: ResidualChecks | None) -> list[Remark]:
    """What was looked at, the gravest first."""
    found = [_status(solution), _rows(solution), _noise(solution)]
    if solution.dag.n_edges:
        found.append(_units(solution))
    found += _residuals(checks)
    found.append(
        Remark(
            "beware",
            "Not tested",
            "Linear relations between independent rows, and no hidden common causes, are assumed. Two effects of "
            "something that was not measured are joined by an edge here.",
        )
    )
    grave = ("distrust", "beware", "fine")
    return sorted(found, key=lambda remark: grave.index(remark.level))


def _status(solution: Solution) -> Remark:
    text = solution.status.message[:1].upper() + solution.status.message[1:] + "."
    if solution.status.ok:
        return Remark("fine", "The search ended by itself", text)
    return Remark("distrust", f"The search did not end by itself ({solution.status.code})", text)


def _rows(solution: Solution) -> Remark:
    n, d = solution.n_samples, solution.dag.d
    counts = f"{_count(n, 'row')} for {_count(d, 'column')}"
    if n < d:
        return Remark("distrust", "Fewer rows than columns", f"{counts}: only strong edges can be told from chance.")
    if n < _FEW_ROWS * d:
        return Remark("beware", "Few rows", f"{counts}: weak edges may be missing, and weights are rough.")
    return Remark("fine", "Enough rows", f"{counts}.")


def _noise(solution: Solution) -> Remark:
    ratio = solution.diagnostics().variance_ratio
    if ratio > _UNEQUAL:
        return Remark(
            "distrust",
            "Noise of unequal strength",
            f"Residual variances differ {ratio:.3g}-fold between the first and the ninth decile. If equal noise was "
            "assumed (noise='equal'), directions follow the units of the columns more than the causes.",
        )
    return Remark("fine", "Noise of equal strength", f"Residual variances are within a factor of {ratio:.2g}.")


def _units(solution: Solution) -> Remark:
    found = solution.diagnostics()
    text = (
        f"Variance rises along {found.var_sortability:.0%} of the directed paths; explained variance, which does not "
        f"depend on units, along {found.r2_sortability:.0%}."
    )
    if found.var_sortability > _SORTABLE:
        return Remark(
            "beware", "Directions lean on units", f"{text} Rescaling a column may turn the edges that touch it."
        )
    return Remark("fine", "Directions do not just follow variance", text)


def _residuals(checks: ResidualChecks | None) -> list[Remark]:
    if checks is None:
        return [
            Remark(
                "beware",
                "Residuals not looked at",
                "The rows were not at hand when this report was written; with them (--data), it says which relations "
                "are bent and whose noise is not normal.",
            )
        ]
    d = len(checks.names)
    bent, odd = checks.standing_out("linearity"), checks.standing_out("normality")
    found = [
        Remark("distrust", "Bent relations", f"{_of(bent, d)} not a linear function of their causes.", tuple(bent))
        if bent
        else Remark("fine", "Linear relations", "Squares and cubes of the fitted values explain nothing more."),
        Remark(
            "beware",
            "Noise that is not normal",
            f"{_of(odd, d)} skewed or heavy-tailed in their residuals: weights hold, standard errors less so.",
            tuple(odd),
        )
        if odd
        else Remark("fine", "Normal noise", "No residual is skewed or heavy-tailed beyond chance."),
    ]
    return found


def _of(names: list[str], d: int) -> str:
    return f"{len(names):,} of {d:,} variables {_verb(len(names), 'is', 'are')}"


def _count(number: float, thing: str) -> str:
    return f"{number:,.10g} {thing}{'s' * (number != 1)}"


def _verb(number: int, one: str, many: str) -> str:
    return one if number == 1 else many
