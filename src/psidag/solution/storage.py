"""A solution in one file: a zip archive of ``solution.json`` and ``.npy`` arrays, with checksums and a version."""

from __future__ import annotations

import hashlib
import io
import json
import math
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psidag.errors import InputError
from psidag.exchange.files import replace_file
from psidag.graph.dag import DAG
from psidag.solution.origin import Origin
from psidag.solution.status import Candidate, Round, Status

if TYPE_CHECKING:
    from psidag.solution.solution import Solution

_FORMAT = "psidag-solution"
_VERSION = 1
_HEAD = "solution.json"
_VECTORS = ("intercept", "residual_variance", "mean", "variance")


def save(solution: Solution, path: str | Path) -> None:
    """Write the solution, whole or not at all. Nothing in the file is code; any zip tool opens it."""
    candidate = sp.csr_array(solution.candidate.weights)
    arrays: dict[str, NDArray[Any]] = {key: getattr(solution, key) for key in _VECTORS}
    arrays |= {"order": solution.order, "candidate_order": solution.candidate.order}
    for key, matrix in (("weights", solution.dag.weights), ("candidate_weights", candidate)):
        arrays |= {f"{key}_data": matrix.data, f"{key}_indices": matrix.indices, f"{key}_indptr": matrix.indptr}
    if solution.standard_error is not None:
        arrays["standard_error"] = solution.standard_error
    members = {f"{key}.npy": _npy(array) for key, array in arrays.items()}
    head = {
        "format": _FORMAT,
        "version": _VERSION,
        "names": solution.names,
        "n_samples": solution.n_samples,
        "status": solution.status,
        "trace": [[_or_null(value) for value in row] for row in solution.trace],
        "engine": solution.engine,
        "selection": solution.selection,
        "candidate_loss": _or_null(float(solution.candidate.loss)),
        "warnings": solution.warnings,
        "origin": None if solution.origin is None else solution.origin.as_dict(),
        "sha256": {name: hashlib.sha256(content).hexdigest() for name, content in members.items()},
    }
    held = io.BytesIO()
    # Stored, not deflated: random digits do not shrink, and sizes cannot lie about what is in the file.
    with zipfile.ZipFile(held, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(_HEAD, json.dumps(head, ensure_ascii=False, allow_nan=False))
        for name, content in members.items():
            archive.writestr(name, content)
    replace_file(Path(path), held.getvalue())


def load(path: str | Path) -> Solution:
    """Read a solution back; a file that is not whole, not ours or of a later version is an error."""
    where = repr(str(path))
    try:
        with zipfile.ZipFile(path) as archive:
            head, members = _members(archive, where)
    except FileNotFoundError:
        raise InputError(f"there is no file {where}") from None
    except (OSError, EOFError, zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise InputError(f"{where} is not a whole psidag solution: {error}") from None
    try:
        return _rebuild(head, {name.removesuffix(".npy"): _array(content) for name, content in members.items()})
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise InputError(f"{where} is damaged: {type(error).__name__}: {error}") from None


def _members(archive: zipfile.ZipFile, where: str) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The head and the arrays, each of which must be what its checksum says."""
    entries = {entry.filename: entry for entry in archive.infolist()}
    packed = [name for name, entry in entries.items() if entry.compress_type != zipfile.ZIP_STORED]
    if _HEAD not in entries or packed:
        raise InputError(f"{where} is not a psidag solution")
    try:
        head = json.loads(archive.read(_HEAD))
    except (ValueError, RecursionError):
        raise InputError(f"{where} is damaged: its {_HEAD} is not JSON") from None
    if not isinstance(head, dict) or head.get("format") != _FORMAT:
        raise InputError(f"{where} is not a psidag solution")
    if head.get("version") != _VERSION:
        raise InputError(f"{where} has version {head.get('version')!r} of the format; this psidag reads {_VERSION}")
    sums = head.get("sha256")
    if not isinstance(sums, dict) or set(sums) != set(entries) - {_HEAD}:
        raise InputError(f"{where} is not whole: arrays are missing")
    members = {name: archive.read(name) for name in sums}
    broken = [name for name, content in members.items() if hashlib.sha256(content).hexdigest() != sums[name]]
    if broken:
        raise InputError(f"{where} is damaged: {broken[0]} does not match its checksum")
    return head, members


def _rebuild(head: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Solution:
    from psidag.solution.solution import Solution

    names = tuple(map(str, head["names"]))
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
    return Solution(
        dag=DAG.from_weights(matrices["weights"], arrays["order"], names),
        **vectors,
        n_samples=float(head["n_samples"]),
        status=Status(*head["status"]),
        trace=tuple(Round(*(_or_nan(value) for value in row)) for row in head["trace"]),
        engine=str(head["engine"]),
        selection=str(head["selection"]),
        candidate=Candidate(arrays["candidate_order"], matrices["candidate_weights"], _or_nan(head["candidate_loss"])),
        standard_error=error,
        warnings=tuple(map(str, head.get("warnings", ()))),
        origin=Origin.from_dict(head.get("origin")),
    )


def _or_null(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _or_nan(value: Any) -> Any:
    return math.nan if value is None else value


def _npy(array: NDArray[Any]) -> bytes:
    out = io.BytesIO()
    np.save(out, np.ascontiguousarray(array), allow_pickle=False)
    return out.getvalue()


def _array(content: bytes) -> NDArray[Any]:
    """The array of an ``.npy`` member; what its header claims must be what is there before memory is taken for it."""
    stream = io.BytesIO(content)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError("an array of another .npy version")
    shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    if dtype.hasobject or math.prod(shape) * dtype.itemsize != len(content) - stream.tell():
        raise ValueError("an array whose header does not fit its content")
    return np.frombuffer(content, dtype, offset=stream.tell()).reshape(shape).copy()
