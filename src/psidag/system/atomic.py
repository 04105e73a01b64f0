"""Files that are replaced in one move: whoever looks finds the old one or the new one, never a part."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from psidag.system.errors import InputError
from psidag.system.memory import as_text


@contextmanager
def replacing(path: str | Path) -> Iterator[BinaryIO]:
    """A new file to write to, which takes the place of ``path`` when the block ends well.

    It is written beside the old one, forced onto the disk and renamed; then the folder is forced onto the disk too. A
    failure, or a power cut at any moment, leaves the old one. A link is followed, and what is not a file
    (``/dev/null``, a pipe) is written to as it is.

    Raises
    ------
    InputError
        If the file cannot be written; it says why.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with replacing(f"{folder}/note") as file:
    ...         _ = file.write(b"whole")
    ...     Path(folder, "note").read_bytes()
    b'whole'
    """
    target = Path(os.path.realpath(path))
    try:
        if target.exists() and not target.is_file() and not target.is_dir():
            with target.open("wb") as file:
                yield file
            return
        temporary = target.parent / f"{_prefix(target)}{secrets.token_hex(6)}.tmp"
        try:
            with _create(temporary) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            if target.is_file():
                os.chmod(temporary, target.stat().st_mode & 0o777)
            os.replace(temporary, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
        _sync_folder(target.parent)
    except OSError as error:
        raise InputError(f"cannot write {str(path)!r}: {error.strerror or error}") from None


def replace_file(path: str | Path, content: bytes) -> None:
    """Put the content in the place of a file, whole or not at all."""
    with replacing(path) as file:
        file.write(content)


def check_writable(path: str | Path, size: float = 0) -> None:
    """Raise unless a file of about this size can be put in this place; nothing is left behind, what is there stays."""
    target = Path(os.path.realpath(path))
    trial = target.parent / f"{_prefix(target)}{secrets.token_hex(6)}.tmp"
    try:
        if target.is_dir():
            raise IsADirectoryError(21, "it is a folder")
        if target.exists() and not os.access(target, os.W_OK):
            raise PermissionError(13, "it may not be written to")
        if target.exists() and not target.is_file():
            return
        _create(trial).close()
        os.unlink(trial)
        free = shutil.disk_usage(target.parent).free
    except OSError as error:
        raise InputError(f"cannot write {str(path)!r}: {error.strerror or error}") from None
    if free < size:
        raise InputError(
            f"cannot write {str(path)!r}: it may take {as_text(size)}, and {as_text(free)} are left on the disk"
        )


def remove_leftovers(path: str | Path) -> None:
    """Remove what writers of this file that were killed have left beside it."""
    target = Path(os.path.realpath(path))
    with suppress(OSError):
        for entry in target.parent.iterdir():
            if entry.name.startswith(_prefix(target)) and entry.name.endswith(".tmp"):
                entry.unlink(missing_ok=True)


def _prefix(target: Path) -> str:
    # Names may have 255 bytes, and ours must fit too.
    return f".{target.name[:40]}.psidag-"


def _create(path: Path) -> BinaryIO:
    """A file that was not there before, with the permissions that any new file gets."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    return os.fdopen(os.open(path, flags, 0o666), "wb")


def _sync_folder(folder: Path) -> None:
    """A rename is on the disk when the folder is. Not every system can do that to a folder; then nothing is lost."""
    if os.name != "posix":
        return
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
