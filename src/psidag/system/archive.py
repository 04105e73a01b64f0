"""Named arrays and a JSON head in one zip archive, with checksums, a format and a version; nothing in it is code."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from psidag.system.atomic import replacing
from psidag.system.errors import InputError

#: Arrays go to the file in pieces of this many bytes.
_PIECE = 1 << 24


class Kind(NamedTuple):
    """What a file says it is: the name of its format, its version, and what people call it."""

    format: str
    version: int
    called: str

    @property
    def head(self) -> str:
        """The member that holds everything but the arrays."""
        return f"{self.format.removeprefix('psidag-')}.json"


def write_archive(path: str | Path, kind: Kind, head: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write the archive, whole or not at all; arrays are not copied. Any zip tool opens it."""
    # Stored, not deflated: random digits do not shrink, and sizes cannot lie about what is in the file.
    with replacing(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        sums = {f"{key}.npy": _write_array(archive, f"{key}.npy", array) for key, array in arrays.items()}
        whole = {"format": kind.format, "version": kind.version, **head, "sha256": sums}
        archive.writestr(kind.head, json.dumps(whole, ensure_ascii=False, allow_nan=False))


def read_archive(path: str | Path, kind: Kind) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The head and the arrays; a file that is not whole, not of this kind or of another version is an error."""
    where = repr(str(path))
    try:
        with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
            head, members = _members(archive, os.fstat(file.fileno()).st_size, kind, where)
    except FileNotFoundError:
        raise InputError(f"there is no file {where}") from None
    except (OSError, EOFError, zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{where} is not a whole {kind.called}: {_line(error)}") from None
    with damage_named(where):
        return head, {name.removesuffix(".npy"): _array(content) for name, content in members.items()}


@contextmanager
def damage_named(where: str) -> Iterator[None]:
    """What breaks over the content of a file in this block is an error that says so, on one line."""
    try:
        yield
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, RecursionError) as error:
        raise InputError(f"{where} is damaged: {type(error).__name__}: {_line(error)}") from None


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())


def _write_array(archive: zipfile.ZipFile, name: str, array: NDArray[Any]) -> str:
    """Write one ``.npy`` member; returns its checksum."""
    if array.dtype.hasobject:
        raise TypeError(f"an array of objects cannot be stored: {name}")
    # As it lies in memory, by rows or by columns: BLAS may round otherwise for the other.
    by_columns = array.flags.f_contiguous and not array.flags.c_contiguous
    laid_out = array if by_columns else np.ascontiguousarray(array).reshape(array.shape)
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(laid_out))
    flat = laid_out.T.reshape(-1) if by_columns else laid_out.reshape(-1)
    content: memoryview[Any] = flat.view(np.uint8).data if flat.size else memoryview(b"")
    digest = hashlib.sha256()
    with archive.open(name, "w", force_zip64=True) as member:
        digest.update(header.getvalue())
        member.write(header.getvalue())
        for start in range(0, len(content), _PIECE):
            piece = content[start : start + _PIECE]
            digest.update(piece)
            member.write(piece)
    return digest.hexdigest()


def _members(archive: zipfile.ZipFile, size: int, kind: Kind, where: str) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The head and the arrays as bytes, each of which must be what its checksum says."""
    entries = {entry.filename: entry for entry in archive.infolist()}
    packed = [name for name, entry in entries.items() if entry.compress_type != zipfile.ZIP_STORED]
    if kind.head not in entries or packed:
        raise InputError(f"{where} is not a {kind.called}")
    # Before any of it is read: members that claim more than there is, or share their bytes, would take memory for it.
    if len(archive.infolist()) != len(entries) or sum(entry.file_size for entry in entries.values()) > size:
        raise InputError(f"{where} is damaged: it claims to hold more than its {size} bytes")
    head = _head(archive, kind, where)
    sums = head.get("sha256")
    if not isinstance(sums, dict) or set(sums) != set(entries) - {kind.head}:
        raise InputError(f"{where} is not whole: arrays are missing")
    members = {name: _read(archive.open(name)) for name in sums}
    broken = [name for name, content in members.items() if hashlib.sha256(content).hexdigest() != sums[name]]
    if broken:
        raise InputError(f"{where} is damaged: {broken[0]} does not match its checksum")
    return head, members


def _head(archive: zipfile.ZipFile, kind: Kind, where: str) -> dict[str, Any]:
    try:
        head = json.loads(archive.read(kind.head))
    except (ValueError, RecursionError):
        raise InputError(f"{where} is damaged: its {kind.head} is not JSON") from None
    if not isinstance(head, dict) or head.get("format") != kind.format:
        raise InputError(f"{where} is not a {kind.called}")
    if head.get("version") != kind.version:
        raise InputError(f"{where} has version {head.get('version')!r} of the format; this psidag reads {kind.version}")
    return head


def _read(member: IO[bytes]) -> bytes:
    with member:
        return member.read()


def _array(content: bytes) -> NDArray[Any]:
    """The array of an ``.npy`` member; what its header claims must be what is there before memory is taken for it."""
    stream = io.BytesIO(content)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError("an array of another .npy version")
    shape, by_columns, dtype = np.lib.format.read_array_header_1_0(stream)
    if dtype.hasobject or math.prod(shape) * dtype.itemsize != len(content) - stream.tell():
        raise ValueError("an array whose header does not fit its content")
    return np.frombuffer(content, dtype, offset=stream.tell()).copy().reshape(shape, order="F" if by_columns else "C")
