"""How the command line speaks: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

from psidag.system.errors import CheckpointWarning, DataWarning
from psidag.system.text import printable, printable_json

#: Words that scikit-learn asks of its estimators, and what they are to somebody with a table.
_WORDS = (
    (re.compile(r"\bInput X contains NaN\b"), "values are missing"),
    (re.compile(r"\bInput X contains infinity\b"), "values are infinite"),
    (re.compile(r"\bFound array with \d+ feature.*? is required: "), ""),
    (
        re.compile(r"\bFound array with (\d+) sample.*? a minimum of (\d+) is required: "),
        r"\1 rows, and \2 are needed: ",
    ),
)
#: A setting as Python writes it.
_SETTING = re.compile(r"""\b(noise|missing|solver|max_time|max_memory|threshold)=["'](\w+)["']""")


def say(text: str = "") -> None:
    """A line of the result, at once, so that a long run shows how far it is even through a pipe."""
    sys.stdout.write(printable(text) + "\n")
    sys.stdout.flush()


def say_json(value: Any) -> None:
    """The result for machines: one JSON value, with null for what is not a finite number."""
    sys.stdout.write(printable_json(json.dumps(_finite(value), ensure_ascii=False, allow_nan=False)) + "\n")
    sys.stdout.flush()


def note(text: str) -> None:
    """A remark beside the result."""
    sys.stderr.write(f"note: {printable(text)}\n")


def progress(text: str) -> None:
    """How far a long run is, at once and apart from the result."""
    sys.stderr.write(f"{printable(text)}\n")
    sys.stderr.flush()


def complain(text: str) -> None:
    """Why there is no result."""
    sys.stderr.write(f"psidag: {printable(text)}\n")


def in_flags(text: str) -> str:
    """Settings as they are written on the command line.

    Examples
    --------
    >>> in_flags("consider noise='unequal'")
    'consider --noise unequal'
    """
    for known, said in _WORDS:
        text = known.sub(said, text)
    return _SETTING.sub(lambda found: f"--{found[1].replace('_', '-')} {found[2]}", text)


def show_warning(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
    """Our own warnings as one line each; those of other libraries are not the user's business."""
    if issubclass(category, DataWarning | CheckpointWarning):
        sys.stderr.write(f"warning: {printable(in_flags(str(message)))}\n")


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not abs(value) < float("inf"):
        return None
    return value
