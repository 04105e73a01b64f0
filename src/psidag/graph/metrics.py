"""How far a learned graph is from the true one: its edges, its order, its weights, its loss on new rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from psidag.graph.dag import DAG
from psidag.graph.equivalence import cpdag
from psidag.graph.order import as_adjacency, check_order, edge_ends, positions
from psidag.system.errors import InputError

__all__ = [
    "EdgeErrors",
    "cpdag_shd",
    "edge_errors",
    "heldout_gap",
    "order_errors",
    "relative_gap",
    "shd",
    "squared_loss",
    "weight_error",
]

Floats = NDArray[np.float64]

#: Residuals are made in blocks of about this many numbers.
_BLOCK = 1 << 21


class EdgeErrors(NamedTuple):
    """The edges of two graphs, sorted into right and wrong. A reversed edge is one error, not two.

    Where graphs have undirected edges (both ``[i, j]`` and ``[j, i]``), an edge that is directed in one and
    undirected in the other counts as reversed.

    Examples
    --------
    >>> from psidag.graph.metrics import edge_errors
    >>> edge_errors([[0, 1], [0, 0]], [[0, 0], [1, 0]]).reversed
    1
    """

    correct: int
    missing: int
    extra: int
    reversed: int
    d: int

    @property
    def true_edges(self) -> int:
        """Edges of the true graph."""
        return self.correct + self.missing + self.reversed

    @property
    def learned_edges(self) -> int:
        """Edges of the learned graph."""
        return self.correct + self.extra + self.reversed

    @property
    def shd(self) -> int:
        """Structural Hamming distance: missing + extra + reversed."""
        return self.missing + self.extra + self.reversed

    @property
    def skeleton_errors(self) -> int:
        """Missing + extra: what is wrong whatever the directions."""
        return self.missing + self.extra

    @property
    def tpr(self) -> float:
        """Share of the true edges that were found, with their direction; 1 if there are none."""
        return self.correct / self.true_edges if self.true_edges else 1.0

    @property
    def fpr(self) -> float:
        """NOTEARS' false positive rate: (reversed + extra) / (d(d−1)/2 − true edges)."""
        return (self.reversed + self.extra) / max(1, self.d * (self.d - 1) // 2 - self.true_edges)

    @property
    def precision(self) -> float:
        """Share of the learned edges that are true, with their direction; 1 if there are none."""
        return self.correct / self.learned_edges if self.learned_edges else 1.0

    @property
    def fdr(self) -> float:
        """Share of the learned edges that are reversed or extra: 1 − precision."""
        return 1.0 - self.precision

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall; 1 if neither graph has edges."""
        both = self.true_edges + self.learned_edges
        return 2 * self.correct / both if both else 1.0


def edge_errors(truth: Any, learned: Any) -> EdgeErrors:
    """Count the edges that are right, missing, extra and reversed, in time of the number of edges.

    Parameters
    ----------
    truth, learned : DAG, array or sparse matrix
        ``[i, j] != 0`` for i → j; both ``[i, j]`` and ``[j, i]`` for an undirected edge, as in a CPDAG.

    Examples
    --------
    >>> errors = edge_errors([[0, 1, 1], [0, 0, 1], [0, 0, 0]], [[0, 1, 0], [0, 0, 0], [0, 1, 0]])
    >>> errors
    EdgeErrors(correct=1, missing=1, extra=0, reversed=1, d=3)
    >>> errors.shd
    2
    """
    a, b = _same_size(truth, learned)
    (true_pairs, true_marks), (learned_pairs, learned_marks) = _pairs(a), _pairs(b)
    _, in_truth, in_learned = np.intersect1d(true_pairs, learned_pairs, assume_unique=True, return_indices=True)
    joined = len(in_truth)
    correct = int(np.sum(true_marks[in_truth] == learned_marks[in_learned]))
    return EdgeErrors(
        correct=correct,
        missing=len(true_pairs) - joined,
        extra=len(learned_pairs) - joined,
        reversed=joined - correct,
        d=a.shape[0],
    )


def shd(truth: Any, learned: Any) -> int:
    """Structural Hamming distance: edges missing, extra or reversed; a reversed edge counts once.

    Takes DAGs, and CPDAGs as well, as :func:`edge_errors` does.

    Examples
    --------
    >>> shd([[0, 1], [0, 0]], [[0, 0], [1, 0]])
    1
    """
    return edge_errors(truth, learned).shd


def cpdag_shd(truth: Any, learned: Any) -> int:
    """SHD between the CPDAGs of two DAGs: 0 if no data could tell them apart.

    Examples
    --------
    >>> cpdag_shd([[0, 1], [0, 0]], [[0, 0], [1, 0]])
    0
    """
    return shd(cpdag(truth), cpdag(learned))


def order_errors(truth: Any, order: ArrayLike) -> int:
    """How many true edges point backwards in a learned order: edges that nothing within it can recover.

    Examples
    --------
    >>> order_errors([[0, 1, 1], [0, 0, 1], [0, 0, 0]], order=[1, 0, 2])
    1
    """
    matrix = as_matrix(truth)
    place = positions(check_order(order, matrix.shape[0]))
    rows, cols = edge_ends(matrix)
    return int(np.sum(place[rows] > place[cols]))


def weight_error(truth: Any, learned: Any) -> float:
    """Root mean square error of the weights over the true edges; an edge that was missed has weight 0.

    Examples
    --------
    >>> weight_error([[0, 2.0, 0.6], [0, 0, 0], [0, 0, 0]], [[0, 1.2, 0], [0, 0, 5.0], [0, 0, 0]])
    0.7071...
    """
    a, b = _same_size(truth, learned)
    if not a.nnz:
        return 0.0
    difference = a - b * pattern(a)
    return float(np.sqrt(np.sum(difference.data**2) / a.nnz))


def squared_loss(
    weights: Any,
    X: NDArray[Any],
    *,
    mean: ArrayLike | None = None,
    intercept: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """The loss of the paper on given rows: ½ · mean ‖x − Wᵀx‖².

    Parameters
    ----------
    weights : DAG, array or sparse matrix
        The model.
    X : array of shape (n, d)
        Rows, float32 or float64; reduced in float64, block by block.
    mean : array of d, optional
        What rows are centred by, usually the mean of the training rows.
    intercept : array of d, optional
        What the model adds, ½ · mean ‖x − Wᵀx − intercept‖²; it takes the place of ``mean``.
    sample_weight : array of n, optional
        Weights of the rows in the mean.

    Examples
    --------
    >>> squared_loss([[0, 2.0], [0, 0]], np.array([[1.0, 2.0], [1.0, 4.0]]))
    1.5
    """
    W = as_matrix(weights)
    d = W.shape[0]
    if X.ndim != 2 or X.shape[1] != d or not len(X):
        raise InputError(f"the loss needs rows of {d} columns; got shape {X.shape}")
    if mean is not None and intercept is not None:
        raise InputError("give the mean to centre rows by or the intercept that the model adds, not both")
    centre = _vector("mean", mean, d)
    shift = _vector("intercept", intercept, d)
    # One product instead of a product and a difference.
    residual_map = sp.csr_array(sp.eye_array(d) - W)
    weight = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    total = 0.0
    step = max(1, _BLOCK // d)
    for start in range(0, len(X), step):
        residual = (X[start : start + step] - centre) @ residual_map - shift
        total += float(np.einsum("ij,ij,i->", residual, residual, weight[start : start + step]))
    return total / (2 * float(weight.sum()))


def heldout_gap(truth: Any, learned: Any, X: NDArray[Any], *, mean: ArrayLike | None = None) -> float:
    """How much worse than the true model the learned one predicts new rows: (f(W) − f(W*)) / f(W*).

    f is :func:`squared_loss` on the rows ``X``, which neither has seen, centred by ``mean`` (of the training
    rows) for both.

    Examples
    --------
    >>> rows = np.array([[1.0, 2.0], [1.0, 4.0]])
    >>> heldout_gap([[0, 2.0], [0, 0]], [[0, 0], [0, 0]], rows)
    2.6666666666666665
    """
    best = squared_loss(truth, X, mean=mean)
    return relative_gap(squared_loss(learned, X, mean=mean), best)


def relative_gap(loss: float, best: float) -> float:
    """(loss − best) / best, with 0 for 0 / 0.

    Examples
    --------
    >>> relative_gap(1.1, 1.0) > 0, relative_gap(0.0, 0.0)
    (True, 0.0)
    """
    if best > 0:
        return (loss - best) / best
    return 0.0 if loss == best else float("inf")


def as_matrix(graph: Any) -> sp.csr_array:
    """The weights of a DAG, or an array or sparse matrix as one of them."""
    return graph.weights if isinstance(graph, DAG) else as_adjacency(graph)


def pattern(matrix: sp.csr_array) -> sp.csr_array:
    """Ones where there are edges, with 32-bit indices, which other libraries expect."""
    ones = np.ones(matrix.nnz, dtype=np.int8)
    return sp.csr_array((ones, matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)), shape=matrix.shape)


def _same_size(truth: Any, learned: Any) -> tuple[sp.csr_array, sp.csr_array]:
    a, b = as_matrix(truth), as_matrix(learned)
    if a.shape != b.shape:
        raise InputError(f"graphs of {a.shape[0]} and {b.shape[0]} vertices cannot be compared")
    names = [graph.names for graph in (truth, learned) if isinstance(graph, DAG)]
    # Other names are fine, a table may have come without; the same ones elsewhere are a trap.
    if len(names) == 2 and names[0] != names[1] and set(names[0]) == set(names[1]):
        raise InputError("the two graphs have the same names in a different order: bring them into one")
    return a, b


def _pairs(matrix: sp.csr_array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The joined pairs as sorted numbers, and their marks: 1 for low → high, 2 for high → low, 3 for both."""
    rows, cols = (side.astype(np.int64) for side in edge_ends(matrix))
    if np.any(rows == cols):
        raise InputError(f"the graph has an edge from vertex {int(rows[rows == cols][0])} to itself")
    d = matrix.shape[0]
    pairs, position = np.unique(np.minimum(rows, cols) * d + np.maximum(rows, cols), return_inverse=True)
    marks = np.bincount(position.ravel(), np.where(rows < cols, 1, 2), minlength=len(pairs))
    return pairs, marks.astype(np.int64)


def _vector(name: str, given: ArrayLike | None, d: int) -> Floats:
    if given is None:
        return np.zeros(d)
    vector = np.asarray(given, dtype=np.float64)
    if vector.shape != (d,):
        raise InputError(f"{name} must have {d} numbers; got shape {vector.shape}")
    return vector
