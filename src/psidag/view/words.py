"""A solution in plain words: what was learned, how sure it is, and what to distrust."""

from __future__ import annotations

import shlex
from typing import Literal, NamedTuple

import numpy as np

from psidag.graph.order import edge_ends
from psidag.graph.partial import NOTHING, REASONS
from psidag.solution import Solution
from psidag.solution.residuals import ResidualChecks
from psidag.view import columns

#: ``distrust``: the graph may be wrong because of it. ``beware``: good to know. ``fine``: looked at, and well.
Level = Literal["distrust", "beware", "fine"]

_SORTABLE = 0.9
_UNEQUAL = 2.0
_FEW_ROWS = 10
_SURE = 0.9


#: Why an edge points as it does, or does not.
WHY = {
    "knowledge": "You said so: prior knowledge permits only this direction.",
    "collider": "Two causes that are not joined to each other meet here, and in data that looks different from any "
    "other direction.",
    "intervention": "Rows in which one of the two was set by an experimenter tell cause from effect.",
    "equal variances": "All noise is taken to have the same variance in the units given, and then variances tell the "
    "order. In other units the edge might turn.",
    "shape": "The noise is not normal, and its shape fits this direction better than the other.",
    "conflict": "Two sources of direction contradict each other, so that none is believed.",
    "open": "Too little tells cause from effect here: graphs with this edge the other way fit the data about as well.",
}


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
        arrow, causes = ("→", "its other causes") if strongest.directed else ("—", "what else is joined to it")
        sentences.append(
            f"The strongest edge is {strongest.source} {arrow} {strongest.target}: one unit more of {strongest.source} "
            f"goes with {_amount(abs(strongest.weight))} {'more' if strongest.weight > 0 else 'less'} of "
            f"{strongest.target}, {causes} held fixed."
        )
        sentences += _directed(solution)
    return [*sentences, _sure(solution)]


def _directed(solution: Solution) -> list[str]:
    free = solution.graph.n_edges - solution.graph.n_directed
    if not free:
        return []
    return [
        f"{free:,} of {_count(solution.graph.n_edges, 'edge')} {_verb(free, 'has', 'have')} no direction, because "
        f"the data do not tell cause from effect surely enough there; {_verb(free, 'it is', 'they are')} drawn without "
        "a head."
    ]


def next_steps(solution: Solution) -> list[list[str]]:
    """What to do with the answer: sentences, each with a command where there is one."""
    begun = solution.origin.command if solution.origin is not None else ""
    command = begun or "psidag fit TABLE"
    words = shlex.split(begun)
    steps = []
    if solution.confidence is None:
        steps.append(["See which edges would come up again with other rows.", f"{command} --bootstrap 100"])
    if solution.graph.n_directed < solution.graph.n_edges:
        said = words[words.index("--knowledge") + 1] if "--knowledge" in words[:-1] else None
        what = "Say what you know" if said is None else f"Say in {said} what else you know"
        text = f"{what}: which variables come first, which edges there must or cannot be. It directs more edges."
        steps.append([text, f"{command} --knowledge known.toml" if said is None else command])
    if solution.dag.n_edges:
        strongest = solution.edges()[0]
        ends = f"{strongest.source!r}, {strongest.target!r}"
        steps.append(
            [
                "Ask for the effect of one variable on another along all paths, with its interval (Python).",
                f"solution.effect({ends})",
            ]
        )
    kept = next((word for word in words if word.endswith(".psidag")), None)
    if kept is None:
        steps.append(["Keep the model, and look at it again later.", f"{command} -o model.psidag"])
    else:
        steps.append(["Look at the model again later.", f"psidag info {shlex.quote(kept)}"])
    return steps


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
    if solution.dag.n_edges and _on_variances(solution):
        found.append(_units(solution))
    found += [*_knowledge(solution), *_residuals(checks)]
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
    message = solution.status.message
    if solution.status.ok:
        # How it got there is among the facts at the end of the page.
        message, *more = message.split("; ")
        if any(part.startswith("within one penalty") for part in more):
            message += ". Graphs that fit about as well differ in a few edges, which the status at the end names"
        return Remark("fine", "The search ended by itself", f"{message[:1].upper()}{message[1:]}.")
    text = message[:1].upper() + message[1:] + "."
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
    noise = solution.noise
    if noise is not None and noise.chosen != "equal":
        return Remark(
            "fine", f"Noise of {noise.chosen} strength", f"{_sentence(str(noise))} {_UNITS_FREE[noise.equal]}"
        )
    if noise is not None and noise.p_value is not None:
        if noise.contradicted:
            text = "Directions and connections follow the units of the columns more than the causes."
            return Remark("distrust", "Noise of unequal strength", f"{_sentence(str(noise))} {text}")
        return Remark("fine", "Noise of equal strength", _sentence(str(noise)))
    if not _on_variances(solution):
        return Remark("fine", "Directions do not need equal noise", "None of them rests on equal noise variances.")
    ratio = solution.diagnostics().variance_ratio
    if ratio > _UNEQUAL:
        return Remark(
            "distrust",
            "Noise of unequal strength",
            f"Residual variances differ by a factor of {ratio:,.0f} between the first and the ninth decile. Directions "
            "that rest on equal variances follow the units of the columns more than the causes.",
        )
    return Remark("fine", "Noise of equal strength", f"Residual variances are within a factor of {ratio:.2g}.")


def _knowledge(solution: Solution) -> list[Remark]:
    """What prior knowledge there was, and how often it decided."""
    if solution.origin is None or not solution.origin.knowledge:
        return []
    graph = solution.graph
    known = graph.directed & (graph.reason == REASONS.index("knowledge"))
    derived = int((known & graph.derived).sum())
    text = f"You gave {solution.origin.knowledge}. That directs {int(known.sum()):,} of {_count(graph.n_edges, 'edge')}"
    return [Remark("fine", "Knowledge used", text + (f", {derived:,} of them by consequence." if derived else "."))]


_UNITS_FREE = {
    True: "Directions that rest on them depend on the units of the columns.",
    False: "Nothing depends on the units of the columns.",
}


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _on_variances(solution: Solution) -> bool:
    """Whether directions rest on equal variances, or nothing is known of what they rest on."""
    graph = solution.graph
    held = graph.reason[graph.directed]
    return bool(np.isin(held, [REASONS.index("equal variances"), NOTHING]).any())


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
        else Remark("fine", "Linear relations", "Squares and cubes of fitted values explain nothing beyond chance."),
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


def _amount(value: float) -> str:
    """A number as people read it: no powers of ten where it is large."""
    return f"{value:,.0f}" if 1000 <= value < 1e9 else f"{value:.3g}"


def _of(names: list[str], d: int) -> str:
    return f"{len(names):,} of {d:,} variables {_verb(len(names), 'is', 'are')}"


def _count(number: float, thing: str) -> str:
    about = "" if number == round(number) else "about "
    return f"{about}{number:,.0f} {thing}{'s' * (number != 1)}"


def _verb(number: int, one: str, many: str) -> str:
    return one if number == 1 else many
