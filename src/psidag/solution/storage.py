"""A solution, and what is known of the confidence in it, in one file; see :mod:`psidag.system.archive`."""

from __future__ import annotations

import math
import reprlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psidag.graph.dag import DAG
from psidag.graph.order import check_order
from psidag.graph.orientation import markov_class
from psidag.graph.partial import PartialGraph
from psidag.run.status import Candidate, Round, Status, StatusCode
from psidag.solution.confidence import Confidence
from psidag.solution.noise import NoiseModel
from psidag.solution.origin import Origin
from psidag.system.archive import Kind, damage_named, read_archive, write_archive

if TYPE_CHECKING:
    from psidag.solution.solution import Solution

_KIND = Kind("psidag-solution", 1, "psidag solution")
_VECTORS = ("intercept", "residual_variance", "mean", "variance")
#: Arrays of the confidence and of the directions stand beside those of the solution under names of their own.
_CONFIDENCE = "confidence_"
_GRAPH = "graph_"
_PER_EDGE = ("sources", "targets", "directed", "reason", "delta", "probability", "derived")


def save(solution: Solution, path: str | Path) -> None:
    """Write the solution, whole or not at all."""
    candidate = sp.csr_array(solution.candidate.weights)
    arrays: dict[str, NDArray[Any]] = {key: getattr(solution, key) for key in _VECTORS}
    arrays |= {"order": solution.order, "candidate_order": solution.candidate.order}
    for key, matrix in (("weights", solution.dag.weights), ("candidate_weights", candidate)):
        arrays |= {f"{key}_data": matrix.data, f"{key}_indices": matrix.indices, f"{key}_indptr": matrix.indptr}
    if solution.standard_error is not None:
        arrays["standard_error"] = solution.standard_error
    arrays |= {_GRAPH + key: getattr(solution.graph, key) for key in _PER_EDGE}
    confidence = solution.confidence
    if confidence is not None:
        arrays |= {_CONFIDENCE + key: array for key, array in confidence.arrays().items()}
    head = {
        "names": solution.names,
        "n_samples": solution.n_samples,
        "status": solution.status,
        "trace": [[_or_null(value) for value in row] for row in solution.trace],
        "engine": solution.engine,
        "selection": solution.selection,
        "candidate_loss": _or_null(float(solution.candidate.loss)),
        "warnings": solution.warnings,
        "origin": None if solution.origin is None else solution.origin.as_dict(),
        "noise": None if solution.noise is None else solution.noise.as_dict(),
        "confidence": None if confidence is None else confidence.head(),
    }
    write_archive(path, _KIND, head, arrays)


def load(path: str | Path) -> Solution:
    """Read a solution back; a file that is not whole, not ours or of a later version is an error."""
    head, arrays = read_archive(path, _KIND)
    with damage_named(repr(str(path))):
        return _rebuild(head, arrays)


def _rebuild(head: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Solution:
    from psidag.solution.solution import Solution

    names = _texts(head["names"])
    d = len(names)
    matrices = {
        key: sp.csr_array(tuple(arrays[f"{key}_{part}"] for part in ("data", "indices", "indptr")), shape=(d, d))
        for key in ("weights", "candidate_weights")
    }
    for matrix in matrices.values():
        matrix.check_format(full_check=True)
    vectors = {key: arrays[key].astype(np.float64) for key in _VECTORS}
    wrong = [key for key, vector in vectors.items() if vector.shape != (d,)]
    if wrong:
        raise ValueError(f"{wrong[0]} is not of length {d}")
    error = arrays.get("standard_error")
    if error is not None and error.shape != (matrices["weights"].nnz,):
        raise ValueError("standard_error does not fit the edges")
    dag = DAG.from_weights(matrices["weights"], arrays["order"], names, zeros=True)
    origin = Origin.from_dict(head.get("origin"))
    own = {key.removeprefix(_CONFIDENCE): array for key, array in arrays.items() if key.startswith(_CONFIDENCE)}
    confidence = Confidence.rebuild(head["confidence"], own) if head.get("confidence") is not None else None
    solution = Solution(
        dag=dag,
        intercept=vectors["intercept"],
        residual_variance=vectors["residual_variance"],
        mean=vectors["mean"],
        variance=vectors["variance"],
        n_samples=float(head["n_samples"]),
        status=_status(head["status"]),
        trace=tuple(Round(*(_or_nan(value) for value in row)) for row in head["trace"]),
        engine=str(head["engine"]),
        selection=str(head["selection"]),
        candidate=Candidate(
            check_order(arrays["candidate_order"], d), matrices["candidate_weights"], _or_nan(head["candidate_loss"])
        ),
        standard_error=error,
        origin=origin,
        graph=_graph(arrays, dag, origin),
        noise=None if head.get("noise") is None else NoiseModel.from_dict(head["noise"]),
        warnings=_texts(head.get("warnings", [])),
    )
    return solution.with_confidence(confidence)


def _graph(arrays: dict[str, NDArray[Any]], dag: DAG, origin: Origin | None) -> PartialGraph:
    """The directions in a file; files of earlier versions have none, and say by the call what they rest on."""
    if _GRAPH + "sources" in arrays:
        return PartialGraph.from_arrays(dag.names, *(arrays[_GRAPH + key] for key in _PER_EDGE))
    return markov_class(dag) if origin and "noise='unequal'" in origin.call else PartialGraph.from_dag(dag)


def _texts(held: Any) -> tuple[str, ...]:
    if not isinstance(held, list) or not all(isinstance(text, str) for text in held):
        raise ValueError(f"{reprlib.repr(held)} is not a list of texts")
    return tuple(held)


def _status(held: Any) -> Status:
    code, message = held
    if code not in get_args(StatusCode) or not isinstance(message, str):
        raise ValueError(f"{reprlib.repr(held)} is not how a run ends")
    return Status(code, message)


def _or_null(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _or_nan(value: Any) -> Any:
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{reprlib.repr(value)} is not a number")
    return value
