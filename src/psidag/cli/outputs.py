"""Files that a command writes: checked before the work is done, and then none of them takes the others along."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from psidag.cli.console import complain, note
from psidag.data.files import table_files
from psidag.solution import Solution
from psidag.system.atomic import check_writable
from psidag.system.errors import InputError

#: A path, and what writes to it.
Writer: TypeAlias = tuple[str, Callable[[str], None]]
#: Bytes of a graph file for each variable, with its values and a few edges.
_EACH = 1000
#: The page of a report without its graph.
_PAGE = 1 << 20


def check_places(outputs: Iterable[str], inputs: Iterable[str | None] = ()) -> None:
    """Raise unless each output can be written where it is to go, and is none of the inputs nor another output.

    Files are told by what they are, not by how they are spelled: a link to an input is the input.
    """
    read = {identity: name for name in inputs if name is not None for identity in _identities(name)}
    seen: dict[str, str] = {}
    for path in outputs:
        for identity in _identity(path):
            if identity in read:
                other = "" if read[identity] == path else f" ({read[identity]!r})"
                raise InputError(f"{path!r} is an input{other}: it would be overwritten; write to another file")
        place = os.path.realpath(path)
        if place in seen:
            raise InputError(f"{seen[place]!r} and {path!r} are the same file: give each output one of its own")
        seen[place] = path
        check_writable(path)


def check_space(outputs: Iterable[str], d: int) -> None:
    """Raise if the disk has no room for a graph of this many variables, by a rough count."""
    for path in outputs:
        size = _EACH * d + (2.0 * d**2 if path.lower().endswith(".matrix.csv") else 0)
        check_writable(path, size + (_PAGE if path.lower().endswith((".html", ".htm")) else 0))


def write_all(solution: Solution, writers: Sequence[Writer]) -> bool:
    """Write each file, whatever becomes of the others; whether all were written.

    What could be written nowhere goes to a file of its own, which is named.
    """
    written = []
    for path, write in writers:
        try:
            write(path)
        except Exception as error:  # whatever it is, the other files can still be written
            reason = str(error) if isinstance(error, InputError) else f"cannot write {path!r}: {error!r}"
            complain(" ".join(reason.split()))
        else:
            written.append(path)
            note(f"wrote {path}")
    if writers and not written:
        complain(_rescue(solution))
    return len(written) == len(writers)


def _rescue(solution: Solution) -> str:
    """Save a solution where it can be saved, and say where that is."""
    for folder in (".", tempfile.gettempdir(), str(Path.home())):
        with suppress(Exception):
            handle, path = tempfile.mkstemp(prefix="psidag-rescue-", suffix=".psidag", dir=folder)
            os.close(handle)
            try:
                solution.save(path)
            except BaseException:
                os.unlink(path)
                raise
            return f"the graph is kept in {path!r}: `psidag convert` makes of it what was to be written"
    return "the graph could not be kept anywhere else"


def _identities(name: str) -> list[tuple[int, int]]:
    """Of all files that an input stands for."""
    if name == "-":
        with suppress(OSError, ValueError, AttributeError):
            found = os.fstat(sys.stdin.fileno())
            return [(found.st_dev, found.st_ino)] if stat.S_ISREG(found.st_mode) else []
        return []
    with suppress(InputError):  # what is wrong with an input is said where it is read
        return [identity for file in table_files(name) for identity in _identity(file)]
    return []


def _identity(path: str | Path) -> list[tuple[int, int]]:
    """What a file that exists is known by; devices and pipes keep nothing that could be lost."""
    with suppress(OSError):
        found = os.stat(path)
        return [(found.st_dev, found.st_ino)] if stat.S_ISREG(found.st_mode) else []
    return []
