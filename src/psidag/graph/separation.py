"""What a DAG says about dependence: d-separation, Markov blankets, and what to adjust for."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import scipy.sparse as sp

from psidag.graph.dag import DAG
from psidag.system.errors import InputError


def d_separated(dag: DAG, a: str | Iterable[str], b: str | Iterable[str], given: Iterable[str] = ()) -> bool:
    """Whether a and b are independent given other variables in every distribution of this graph.

    They are if nothing joins them in the moral graph of the ancestors of all of them once the given are taken out
    (Lauritzen et al. 1990).

    Parameters
    ----------
    dag : DAG
        The graph.
    a, b : str, or several
        Variables.
    given : several str
        Variables whose values are known; none of ``a`` and ``b``.

    Examples
    --------
    >>> dag = DAG.from_edges([("rain", "wet"), ("sprinkler", "wet")])
    >>> d_separated(dag, "rain", "sprinkler"), d_separated(dag, "rain", "sprinkler", ["wet"])
    (True, False)
    """
    first, second, known = (_columns(dag, names) for names in (a, b, given))
    shared = (first & second) | (first & known) | (second & known)
    if shared:
        raise InputError(f"{dag.names[min(shared)]!r} is named more than once: separate variables from different ones")
    parents = sp.csc_array(dag.weights)
    wanted = first | second | known
    ancestral = set(wanted)
    waiting = list(wanted)
    while waiting:
        v = waiting.pop()
        above = parents.indices[parents.indptr[v] : parents.indptr[v + 1]].tolist()
        waiting += [u for u in above if u not in ancestral]
        ancestral.update(above)
    joined: dict[int, set[int]] = {v: set() for v in ancestral}
    for v in ancestral:
        family = [v, *parents.indices[parents.indptr[v] : parents.indptr[v + 1]].tolist()]
        for u in family:
            joined[u].update(family)
    seen = set(first)
    waiting = list(first)
    while waiting:
        new = joined[waiting.pop()] - seen - known
        if new & second:
            return False
        seen |= new
        waiting += new
    return True


def markov_blanket(dag: DAG, name: str) -> list[str]:
    """Parents, children and the other parents of the children: given these, nothing else tells of the variable.

    Examples
    --------
    >>> markov_blanket(DAG.from_edges([("a", "b"), ("b", "c"), ("d", "c"), ("c", "e")]), "b")
    ['a', 'd', 'c']
    """
    children = dag.children(name)
    found = {*dag.parents(name), *children, *(parent for child in children for parent in dag.parents(child))}
    return [dag.names[v] for v in dag.order.tolist() if dag.names[v] in found - {name}]


def adjustment_set(dag: DAG, source: str, target: str) -> list[str]:
    """What to put beside the source into a regression of the target, so that its coefficient is the total effect.

    Of all such sets this one gives the least variance: the parents of the variables on directed paths from source to
    target that are not on such paths themselves (Henckel, Perković & Maathuis 2022, "Graphical criteria for efficient
    total effect estimation via adjustment in causal linear models").

    Examples
    --------
    >>> dag = DAG.from_edges([("age", "dose"), ("age", "effect"), ("dose", "level"), ("level", "effect")])
    >>> adjustment_set(dag, "dose", "effect")
    ['age']
    """
    if source == target:
        raise InputError(f"{source!r} cannot be cause and effect at once")
    below = set(dag.descendants(source))
    if target not in below:
        raise InputError(
            f"no path leads from {source!r} to {target!r}: the total effect is 0, and nothing need be adjusted for"
        )
    between = (below & set(dag.ancestors(target))) | {target}
    found = {parent for name in between for parent in dag.parents(name)} - between - {source}
    return [dag.names[v] for v in dag.order.tolist() if dag.names[v] in found]


def _columns(dag: DAG, names: str | Iterable[str]) -> set[int]:
    return {dag.index(name) for name in ([names] if isinstance(names, str) else names)}


def implied_covariance(dag: DAG, noise_variance: np.typing.NDArray[np.float64], columns: Iterable[int]) -> np.ndarray:
    """The covariance of some variables under x = Wᵀx + noise: AᵀΩA with the columns of A = (I − W)⁻¹ for them."""
    chosen = list(columns)
    effect = np.zeros((dag.d, len(chosen)))
    effect[chosen, np.arange(len(chosen))] = 1.0
    W = dag.weights
    # Against the order, so that the effects of all children are known.
    for v in dag.order[::-1].tolist():
        part = slice(int(W.indptr[v]), int(W.indptr[v + 1]))
        if part.stop > part.start:
            effect[v] += W.data[part] @ effect[W.indices[part]]
    return effect.T @ (noise_variance[:, None] * effect)
