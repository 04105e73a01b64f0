"""A solution in plain words."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from psidag.graph.dag import DAG
from psidag.graph.partial import CONFLICT, REASONS, reason_name
from psidag.graph.sortability import sortability
from psidag.solution.confidence import Confidence

if TYPE_CHECKING:
    from psidag.solution.solution import Solution

_EDGES = 10
#: Beyond this many variables the paths of a graph take longer to count than a print should.
_COUNTABLE = 2000
_HIGH = 0.9
_WORDS = {
    "knowledge": "knowledge",
    "collider": "colliders",
    "intervention": "interventions",
    "equal variances": "equal noise variances",
    "shape": "the shape of the noise",
}


def summarise(solution: Solution) -> str:
    """What was learned, from what, how it ended, what to distrust, and the strongest edges."""
    dag = solution.dag
    seconds = f" in {solution.trace[-1].seconds:.3g} s" if solution.trace else ""
    rounds = f", {len(solution.trace)} rounds{seconds}" if solution.trace else ""
    edges = f"{dag.n_edges} edge{'s' * (dag.n_edges != 1)}"
    lines = [
        f"{edges} among {dag.d} variables, learned from {_rows(solution.n_samples)}",
        f"  engine  {solution.engine}{rounds}",
        f"  edges   {solution.selection}",
        f"  status  {solution.status}",
    ]
    if solution.noise is not None:
        lines.append(f"  noise   {solution.noise}")
    if dag.n_edges:
        lines.append(f"  arrows  {_directions(solution)}")
    if dag.n_edges and dag.d <= _COUNTABLE and _rests_on_units(solution):
        share = sortability(dag, solution.variance)
        if share > _HIGH:
            lines.append(
                f"  units   variance rises along {100 * share:.0f} % of the paths: directions lean on the units\n"
                "          of the columns, and may turn when a column is rescaled"
            )
    if solution.confidence is not None:
        lines.append(f"  support {_support(dag, solution.confidence)}")
    lines += [f"  beware  {warning}" for warning in solution.warnings]
    if solution.origin is not None and solution.origin.steps:
        count = len(solution.origin.steps)
        lines.append(f"  table   prepared in {count} step{'s' * (count != 1)}, listed in origin.steps and in reports")
    table = solution.edges()
    title = "strongest edges" if len(table) > _EDGES else "edges"
    body = "\n".join("  " + line for line in table.to_text(_EDGES).splitlines())
    return "\n".join([*lines, "", f"{title}:", body])


def _rows(count: float) -> str:
    """Rows with weights, or of pairs of columns, need not be a whole number."""
    return f"{count:g} rows" if count == round(count) else f"about {count:,.0f} rows"


def _rests_on_units(solution: Solution) -> bool:
    """Whether any direction does."""
    graph = solution.graph
    return bool((graph.reason[graph.directed] == REASONS.index("equal variances")).any())


def _support(dag: DAG, confidence: Confidence) -> str:
    """How many edges of the graph most replicates have, and how the bootstrap ended if it did not end well."""
    found = confidence.of(dag)
    joined, directed = (int((found[key] >= _HIGH).sum()) for key in ("connection", "support"))
    doubtful = int((found["connection"] < 0.5).sum())
    kind = f"{confidence.replicates} replicates ({confidence.method})"
    unfinished = "" if confidence.status.ok else f"\n          {confidence.status}"
    share = f"{joined} edges in 90 % of {kind}, {directed} of them in this direction"
    return f"{share}; {doubtful} in fewer than half{unfinished}"


def _directions(solution: Solution) -> str:
    """How many edges have a direction, and what it rests on."""
    graph = solution.graph
    count = Counter(reason_name(code) for code in graph.reason[graph.directed].tolist())
    because = [f"{count[reason]} by {_WORDS[reason]}" for reason in REASONS if count[reason]]
    follows = int((graph.derived & graph.directed & (graph.reason == REASONS.index("knowledge"))).sum())
    if follows:
        because[0] = f"{count['knowledge'] - follows} by knowledge, {follows} that follow from it"
    free = graph.n_edges - graph.n_directed
    conflicts = int((graph.reason == CONFLICT).sum())
    if free:
        because.append(f"{free} open" + (f" ({conflicts} by conflict)" if conflicts else ""))
    return ", ".join(because) or "as given"
