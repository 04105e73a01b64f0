"""``.npy`` and ``.npz`` files, whose headers are held against what is there before memory is taken for them."""

from __future__ import annotations

import io
import math
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np

from psidag.system.memory import check_available

#: No deflated byte becomes more than this many.
_MOST_INFLATED = 1032


def load_numpy(source: str | Path | bytes, ending: str) -> Any:
    """The array of an ``.npy`` file, mapped if it is on the disk, or the arrays of an ``.npz`` file by name.

    Raises ValueError where a header claims what is not there, InputError where what it claims cannot be held, and
    whatever NumPy and zipfile raise over broken files. Nothing in a file is executed.
    """
    with io.BytesIO(source) if isinstance(source, bytes) else Path(source).open("rb") as file:
        size = file.seek(0, io.SEEK_END)
        file.seek(0)
        if ending == ".npz":
            with zipfile.ZipFile(file) as archive:
                _check_members(archive, size)
            file.seek(0)
            with np.load(file, allow_pickle=False) as held:
                return {key: held[key] for key in held.files}
        _check_header(file, size)
        file.seek(0)
        if isinstance(source, bytes):
            return np.load(file, allow_pickle=False)
    return np.load(source, mmap_mode="r", allow_pickle=False)


def _check_members(archive: zipfile.ZipFile, size: int) -> None:
    entries = archive.infolist()
    if sum(entry.compress_size for entry in entries) > size:
        raise ValueError("its members claim more bytes than the file has")
    for entry in entries:
        packed = entry.compress_type == zipfile.ZIP_DEFLATED
        if entry.file_size > entry.compress_size * (_MOST_INFLATED if packed else 1):
            raise ValueError(f"{entry.filename} claims more bytes than can be in it")
        with archive.open(entry) as member:
            _check_header(member, entry.file_size)
    check_available(sum(entry.file_size for entry in entries), "what is packed in it")


def _check_header(file: IO[bytes], size: int) -> None:
    """Raise unless an ``.npy`` header claims an array of just the bytes that follow it."""
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    elif version == (2, 0):
        shape, _, dtype = np.lib.format.read_array_header_2_0(file)
    else:
        raise ValueError(f"version {version} of the .npy format holds no table of numbers")
    if dtype.hasobject:
        raise ValueError("it holds Python objects, not numbers")
    if math.prod(shape) * dtype.itemsize > size - file.tell():
        raise ValueError(f"its header claims an array of shape {shape}, and there are {size} bytes")
