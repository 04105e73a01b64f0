"""Lines of text files: how long they may be, and what separates the cells in them."""

from __future__ import annotations

import io
import re
from typing import Any

from psidag.system.errors import InputError

#: The longest line that is read, in bytes: a million columns with all their digits. A few packed bytes can unfold to
#: a line that no memory holds.
LONGEST_LINE = 1 << 25
_QUOTED = re.compile(r'"(?:[^"]|"")*"')


class BoundedLines(io.RawIOBase):
    """The bytes of a stream, which ends with an error at a line that is too long."""

    def __init__(self, stream: Any, where: str, longest: int = LONGEST_LINE) -> None:
        self._stream = stream
        self._where = where
        self._longest = longest
        self._since = 0

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """As the stream beneath."""
        return bool(self._stream.seekable())

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Only to the beginning, where the count begins anew."""
        self._since = 0
        return int(self._stream.seek(offset, whence))

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer, and count the bytes since the last end of a line."""
        content = self._stream.read(len(buffer))
        size = len(content)
        buffer[:size] = content
        last = max(content.rfind(b"\n"), content.rfind(b"\r"))
        first = min((k for k in (content.find(b"\n"), content.find(b"\r")) if k >= 0), default=size)
        if self._since + first > self._longest:
            raise InputError(f"{self._where} has a line of more than {self._longest:,} bytes: it is not a table")
        self._since = size - 1 - last if last >= 0 else self._since + size
        return size

    def close(self) -> None:
        """Close the stream beneath, too."""
        self._stream.close()
        super().close()


def separator_of(line: str, known: str = ",\t;|") -> str | None:
    """The separator that a line has most of, outside of quotes; None if it has none.

    Examples
    --------
    >>> separator_of('"a,b,c";d')
    ';'
    """
    bare = _QUOTED.sub("", line)
    found = max(known, key=bare.count)
    return found if found in bare else None
