"""Text from strangers on its way to a terminal: what would move the cursor or hide letters is spelled out."""

from __future__ import annotations

import re

#: Control characters but for the line feed, marks that turn the direction of writing, and halves of characters.
_CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    r"""The text with control characters as escapes; line feeds stay.

    Examples
    --------
    >>> printable("dose\x1b[2J")
    'dose\\x1b[2J'
    """
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape", "surrogatepass").decode(), text)


def printable_name(name: str) -> str:
    r"""A name on one line.

    Examples
    --------
    >>> printable_name("two\nlines")
    'two\\nlines'
    """
    return printable(name).replace("\n", "\\n")


def printable_json(text: str) -> str:
    """JSON with such characters as its own escapes: the same value."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
