"""Results in one file: a zip archive of a JSON head and ``.npy`` arrays, with checksums and a version."""

from __future__ import annotations

import hashlib
import io
import json
import math
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from psidag.errors import InputError
from psidag.exchange.files import replace_file

Arrays = Mapping[str, NDArray[Any]]
Result = TypeVar("Result")


class Kind(NamedTuple):
    """What a file holds: its word for it (``"solution"``) and the version of its format."""

    word: str
    version: int

    @property
    def format(self) -> str:
        """What the head says."""
        return f"psidag-{self.word}"

    @property
    def head(self) -> str:
        """Where the head is."""
        return f"{self.word}.json"


def write(path: str | Path, kind: Kind, head: Mapping[str, Any], arrays: Arrays) -> None:
    """Write head and arrays, whole or not at all. Nothing in the file is code; any zip tool opens it."""
    members = {f"{key}.npy": _npy(array) for key, array in arrays.items()}
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in members.items()}
    full = {"format": kind.format, "version": kind.version, **head, "sha256": sums}
    held = io.BytesIO()
    # Stored, not deflated: random digits do not shrink, and sizes cannot lie about what is in the file.
    with zipfile.ZipFile(held, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(kind.head, json.dumps(full, ensure_ascii=False, allow_nan=False))
        for name, content in members.items():
            archive.writestr(name, content)
    replace_file(Path(path), held.getvalue())


def read(path: str | Path, kind: Kind, rebuild: Callable[[dict[str, Any], Arrays], Result]) -> Result:
    """What ``rebuild`` makes of a file; one that is not whole, not ours or of a later version is an error."""
    where = repr(str(path))
    try:
        with zipfile.ZipFile(path) as archive:
            head, members = _members(archive, kind, where)
    except FileNotFoundError:
        raise InputError(f"there is no file {where}") from None
    except (OSError, EOFError, zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise InputError(f"{where} is not a whole psidag {kind.word}: {error}") from None
    try:
        return rebuild(head, {name.removesuffix(".npy"): _array(content) for name, content in members.items()})
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise InputError(f"{where} is damaged: {type(error).__name__}: {error}") from None


def _members(archive: zipfile.ZipFile, kind: Kind, where: str) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The head and the arrays, each of which must be what its checksum says."""
    entries = {entry.filename: entry for entry in archive.infolist()}
    packed = [name for name, entry in entries.items() if entry.compress_type != zipfile.ZIP_STORED]
    if kind.head not in entries or packed:
        raise InputError(f"{where} is not a psidag {kind.word}")
    try:
        head = json.loads(archive.read(kind.head))
    except (ValueError, RecursionError):
        raise InputError(f"{where} is damaged: its {kind.head} is not JSON") from None
    if not isinstance(head, dict) or head.get("format") != kind.format:
        raise InputError(f"{where} is not a psidag {kind.word}")
    if head.get("version") != kind.version:
        raise InputError(f"{where} has version {head.get('version')!r} of the format; this psidag reads {kind.version}")
    sums = head.get("sha256")
    if not isinstance(sums, dict) or set(sums) != set(entries) - {kind.head}:
        raise InputError(f"{where} is not whole: arrays are missing")
    members = {name: archive.read(name) for name in sums}
    broken = [name for name, content in members.items() if hashlib.sha256(content).hexdigest() != sums[name]]
    if broken:
        raise InputError(f"{where} is damaged: {broken[0]} does not match its checksum")
    return head, members


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
