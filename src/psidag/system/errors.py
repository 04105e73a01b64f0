"""What psidag raises and warns with, so that callers can tell our complaints from anybody else's."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real


class InputError(ValueError):
    """The input cannot be used as it is; the message names the culprit and the remedy.

    Examples
    --------
    >>> from psidag import DAG
    >>> try:
    ...     DAG.from_edges([("dose", "effect"), ("effect", "dose")])
    ... except InputError as error:
    ...     print("no DAG")
    no DAG
    """


class DataWarning(UserWarning):
    """The data can be used, but the answer deserves less trust than usual; the message says why.

    Examples
    --------
    >>> import warnings
    >>> warnings.simplefilter("error", DataWarning)  # stop rather than go on
    >>> warnings.simplefilter("default", DataWarning)
    """


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written; the run goes on, and the message says why."""


def listing(items: Sequence[object], limit: int = 5) -> str:
    """Items as a short enumeration: ``'a', 'b', 'c' and 4 more``."""
    shown = ", ".join(repr(item) for item in items[:limit])
    return shown if len(items) <= limit else f"{shown} and {len(items) - limit} more"


def is_number(value: object) -> bool:
    """Whether an option is a number, not text that looks like one."""
    return isinstance(value, Real) and not isinstance(value, bool)
