"""Tables to files."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from psidag.data.delimited import write_text
from psidag.data.formats import endings, format_of
from psidag.system.atomic import replacing
from psidag.system.errors import InputError


def check_table_path(path: str) -> None:
    """Raise unless the ending of a path is that of a table that can be written."""
    found = format_of(path)
    if path != "-" and (found is None or found[0].write is None):
        raise InputError(f"cannot write rows to {path!r}: the ending must be one of {endings(written=True)}")


def write_table(X: NDArray[Any], names: Sequence[str], path: str) -> None:
    """Write rows, whole or not at all; the ending says the format, ``-`` is CSV on standard output.

    ``.npy`` has no place for names.
    """
    check_table_path(path)
    found = format_of(path)
    if found is None or found[0].write is None:
        write_text(X, names, ",", sys.stdout)
        return
    with replacing(path) as file:
        found[0].write(X, names, file)
