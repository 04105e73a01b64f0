"""What the page is given: columns of numbers, as compact as JSON can be."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from psidag.graph.layout import layered
from psidag.solution import Solution
from psidag.solution.edges import direction_columns
from psidag.solution.residuals import ResidualChecks
from psidag.view import columns, words

_DIGITS = 4
#: What the trace draws; longer ones are thinned out.
_ROUNDS = 1000


def payload(solution: Solution, checks: ResidualChecks | None, title: str) -> dict[str, Any]:
    """Everything that the page shows."""
    return {
        "title": title,
        "lead": words.lead(solution),
        "remarks": [remark._asdict() for remark in words.remarks(solution, checks)],
        "warnings": list(solution.warnings),
        "nodes": _nodes(solution, checks),
        "edges": _edges(solution),
        "reasons": list(words.WHY.values()),
        "labels": list(words.WHY),
        "next": words.next_steps(solution),
        "trace": _trace(solution),
        "facts": _facts(solution),
    }


def as_json(value: Any) -> str:
    """JSON that can stand inside a script element: nothing in it opens or closes a tag."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    # A surrogate on its own, which a file name may carry, has no UTF-8.
    return text.encode("utf-8", "replace").decode("utf-8")


def _nodes(solution: Solution, checks: ResidualChecks | None) -> dict[str, Any]:
    place = layered(solution.dag)
    position = np.empty(solution.dag.d, dtype=np.intp)
    position[solution.order] = np.arange(solution.dag.d)
    noise = np.sqrt(solution.residual_variance)
    found: dict[str, Any] = {
        "name": list(solution.names),
        "layer": place.layer.tolist(),
        "x": numbers(place.x),
        "y": numbers(place.y),
        "position": position.tolist(),
        "intercept": numbers(solution.intercept),
        "mean": numbers(solution.mean),
        "sd": numbers(np.sqrt(solution.variance)),
        "noise": numbers(noise),
        "explained": numbers(columns.explained(solution)),
    }
    if checks is not None:
        for key in ("variance_ratio", "skewness", "excess_kurtosis", "normality_p", "nonlinearity_p"):
            found[key] = numbers(getattr(checks, key))
    return found


def _edges(solution: Solution) -> dict[str, Any]:
    W = solution.dag.weights.tocoo()
    strength = columns.strength(solution)
    values = {
        "weight": W.data,
        "error": solution.standard_error,
        "standardised": np.sign(W.data) * strength,
    }
    found = columns.support(solution)
    if found is not None:
        values |= {"connection": found.connection, "support": found.direction, "reverse": found.reverse}
    values |= _directions(solution)
    ranked = np.lexsort((W.col, W.row, -strength))
    return {"source": W.row[ranked].tolist(), "target": W.col[ranked].tolist()} | {
        key: numbers(value[ranked]) for key, value in values.items() if value is not None
    }


def _directions(solution: Solution) -> dict[str, Any]:
    """What is known of directions, as numbers; columns that say the same of every edge are left out."""
    known = direction_columns(solution.dag, solution.graph)
    place = {label: k for k, label in enumerate(words.WHY)}
    directed = known["directed"]
    because = [
        "open" if not sure and why is None else why for sure, why in zip(directed, known["because"], strict=True)
    ]
    found: dict[str, Any] = {key: known[key] for key in ("evidence", "probability") if key in known}
    if any(because):
        found["because"] = np.array([place.get(why, np.nan) for why in because])
    if not directed.all():
        found["directed"] = directed
    if known["derived"].any():
        found["derived"] = known["derived"]
    return found


def _trace(solution: Solution) -> dict[str, Any]:
    step = max(1, -(-len(solution.trace) // _ROUNDS))
    kept = [row for k, row in enumerate(solution.trace) if k % step == 0 or k == len(solution.trace) - 1]
    return {
        "round": [row.round for row in kept],
        "seconds": numbers([row.seconds for row in kept]),
        "loss": numbers([row.loss for row in kept], digits=8),
        "projected": numbers([row.loss_projected for row in kept], digits=8),
    }


def _facts(solution: Solution) -> list[list[str]]:
    """What it takes to repeat the run, as labels and texts."""
    origin = solution.origin
    facts = []
    if origin is not None:
        if origin.command:
            facts.append(["Command", origin.command])
        facts += [
            ["Python", origin.call],
            ["Seed", "none was given: another run may differ" if origin.seed is None else str(origin.seed)],
            ["Versions", ", ".join(f"{key} {value}" for key, value in origin.versions.items())],
        ]
        facts += [["Prepared", step] for step in origin.steps]
        if origin.knowledge:
            facts.append(["Known beforehand", origin.knowledge])
    return [
        *facts,
        ["Engine", solution.engine],
        ["Edges kept", solution.selection],
        ["Status", str(solution.status)],
    ]


def numbers(values: ArrayLike, digits: int = _DIGITS) -> list[float | int | None]:
    """Floats with this many significant digits; whole ones without a point, what is not finite as None.

    Examples
    --------
    >>> numbers([1 / 3, 2.0, float("nan"), 123456.0])
    [0.3333, 2, None, 123500]
    """
    return [_short(text) for text in _texts(np.asarray(values, dtype=np.float64).tolist(), digits)]


def _texts(values: Iterable[float], digits: int) -> Iterable[str]:
    return (f"{value:.{digits}g}" for value in values)


def _short(text: str) -> float | int | None:
    value = float(text)
    if value - value != 0:
        return None
    return int(value) if value == int(value) and abs(value) < 1e15 else value
