"""One comparison of a learned graph with the true one, with every measure we know, that prints as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from numpy.typing import ArrayLike, NDArray

from psidag.graph.dag import DAG
from psidag.graph.metrics import (
    as_matrix,
    cpdag_shd,
    edge_errors,
    order_errors,
    pattern,
    relative_gap,
    squared_loss,
    weight_error,
)
from psidag.system.errors import InputError

#: What each measure is called in print, and what a reader must know to compare it with other papers.
_ROWS = {
    "true_edges": ("true edges", ""),
    "learned_edges": ("learned edges", ""),
    "shd": ("SHD", "missing + extra + reversed; a reversed edge counts once"),
    "missing": ("  missing", ""),
    "extra": ("  extra", ""),
    "reversed": ("  reversed", ""),
    "tpr": ("TPR", "correct / true edges"),
    "fpr": ("FPR", "(reversed + extra) / (d(d-1)/2 - true edges)"),
    "fdr": ("FDR", "(reversed + extra) / learned edges"),
    "precision": ("precision", ""),
    "recall": ("recall", ""),
    "f1": ("F1", ""),
    "skeleton_errors": ("skeleton errors", "missing + extra"),
    "order_errors": ("order errors", "true edges that point backwards in the learned order"),
    "cpdag_shd": ("CPDAG SHD", "SHD between Markov equivalence classes"),
    "weight_error": ("weight error", "root mean square over true edges"),
    "loss": ("loss", "1/2 mean |x - W'x|^2 on held-out rows"),
    "true_loss": ("true loss", "the same for the true weights"),
    "gap": ("gap", "(loss - true loss) / true loss"),
    "ancestor_aid": ("ancestor AID", "wrongly identified effects by ancestor adjustment, share of all pairs"),
    "oset_aid": ("o-set AID", "the same by optimal adjustment"),
    "parent_aid": ("parent AID", "the same by parent adjustment"),
}


class Comparison(Mapping[str, float]):
    """Measures by name; ``print`` shows them as a table, ``dict`` and pandas take them as they are."""

    def __init__(self, measures: Mapping[str, float]) -> None:
        self._measures = {key: measures[key] for key in _ROWS if key in measures}

    def __getitem__(self, key: str) -> float:
        return self._measures[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._measures)

    def __len__(self) -> int:
        return len(self._measures)

    def __repr__(self) -> str:
        return f"Comparison({self._measures!r})"

    def __str__(self) -> str:
        lines = []
        for key, value in self.items():
            label, note = _ROWS[key]
            shown = str(value) if isinstance(value, int) else f"{value:.4g}"
            lines.append(f"{label:<16}{shown:>10}   {note}".rstrip())
        return "\n".join(lines)


def compare_graphs(
    truth: Any,
    learned: Any,
    *,
    X_test: NDArray[Any] | None = None,
    mean: ArrayLike | None = None,
    weighted: bool = True,
    adjustment: bool = False,
) -> Comparison:
    """Compare a learned DAG with the true one in every way there is.

    Parameters
    ----------
    truth, learned : DAG, array or sparse matrix
        Two DAGs, ``[i, j] != 0`` for i → j. The order of a learned ``DAG`` is judged as it is; for a matrix
        one is found.
    X_test : array of shape (n, d), optional
        Held-out rows; with them the loss, and its gap to the true model, are measured too.
    mean : array of d, optional
        What held-out rows are centred by: the mean of the training rows.
    weighted : bool
        False if the truth is only a topology, as that of Sachs: then there is no weight error and no gap.
    adjustment : bool
        Also adjustment identification distances; see :func:`adjustment_distances`.

    Examples
    --------
    >>> found = compare_graphs([[0, 1, 1], [0, 0, 1], [0, 0, 0]], [[0, 1, 0], [0, 0, 0], [0, 1, 0]])
    >>> found["shd"], round(found["tpr"], 2)
    (2, 0.33)
    >>> print(found)  # doctest: +ELLIPSIS, +NORMALIZE_WHITESPACE
    true edges               3
    learned edges            2
    SHD                      2   missing + extra + reversed; a reversed edge counts once
    ...
    """
    if mean is not None and X_test is None:
        raise InputError("mean is what held-out rows are centred by, but there are none: give X_test too")
    found = learned if isinstance(learned, DAG) else DAG.from_weights(learned)
    errors = edge_errors(truth, learned)
    measures: dict[str, float] = {
        "true_edges": errors.true_edges,
        "learned_edges": errors.learned_edges,
        "shd": errors.shd,
        "missing": errors.missing,
        "extra": errors.extra,
        "reversed": errors.reversed,
        "tpr": errors.tpr,
        "fpr": errors.fpr,
        "fdr": errors.fdr,
        "precision": errors.precision,
        "recall": errors.tpr,
        "f1": errors.f1,
        "skeleton_errors": errors.skeleton_errors,
        "order_errors": order_errors(truth, found.order),
        "cpdag_shd": cpdag_shd(truth, found),
    }
    if weighted:
        measures["weight_error"] = weight_error(truth, found)
    if X_test is not None:
        measures["loss"] = squared_loss(found, X_test, mean=mean)
        if weighted:
            measures["true_loss"] = squared_loss(truth, X_test, mean=mean)
            measures["gap"] = relative_gap(measures["loss"], measures["true_loss"])
    if adjustment:
        measures |= adjustment_distances(truth, found)
    return Comparison(measures)


def adjustment_distances(truth: Any, learned: Any) -> dict[str, float]:
    """Share of the d(d−1) effects of one variable on another that the learned graph would get wrong.

    An effect is wrong if the adjustment set read off the learned graph (parents, ancestors, or the optimal
    set) is not valid in the true one. Takes the ``gadjid`` package, and time that grows with d times the
    number of edges: minutes at tens of thousands of variables.

    References
    ----------
    Henckel, Würtzen & Weichwald (2024), "Adjustment identification distance: a gadjid for causal structure
    learning".

    Examples
    --------
    >>> adjustment_distances([[0, 1], [0, 0]], [[0, 0], [1, 0]])  # doctest: +SKIP
    {'ancestor_aid': 1.0, 'oset_aid': 1.0, 'parent_aid': 1.0}
    """
    try:
        import gadjid
    except ImportError:
        raise InputError("adjustment distances need the gadjid package: pip install gadjid") from None
    edges = [pattern(as_matrix(graph)) for graph in (truth, learned)]
    return {
        name: float(getattr(gadjid, name)(*edges, edge_direction="from row to column")[0])
        for name in ("ancestor_aid", "oset_aid", "parent_aid")
    }
