"""When a call is to be back: the one clock that all who may take long look at."""

from __future__ import annotations

import math
import time

#: Seconds that a call may be late at the least, for what it takes to put an answer together; or this share of its time.
_GRACE, _SHARE = 1.0, 0.1
#: Floating-point operations a second that one thread does in products of matrices, on the slow side.
_PACE = 2e10


class TimeOver(Exception):  # noqa: N818  (an event, not an error: the run ends with what it has)
    """The time of a call is over in the midst of its work."""


class Deadline:
    """A point in time, this many seconds from now; None is never.

    Examples
    --------
    >>> Deadline(None).over, Deadline(1e-9).over
    (False, True)
    """

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self._end = math.inf if seconds is None else _now() + seconds

    @property
    def left(self) -> float:
        """Seconds until then, negative after it."""
        return self._end - _now()

    @property
    def over(self) -> bool:
        """Whether it has passed."""
        return self.seconds is not None and self.left <= 0

    def check(self) -> None:
        """Raise :class:`TimeOver` if it has passed so long ago that what was begun before is to be left."""
        if self.seconds is not None and self.left <= -self._grace:
            raise TimeOver

    def affords(self, operations: float) -> bool:
        """Whether this many floating-point operations of one thread end in time, or not much later."""
        return self.seconds is None or operations / _PACE <= self.left + self._grace

    def before(self, operations: float) -> Deadline:
        """The deadline of what this many operations have to follow."""
        if self.seconds is None:
            return self
        earlier = Deadline(self.seconds)
        earlier._end = self._end - max(0.0, operations / _PACE - self._grace)
        return earlier

    def part(self, share: float) -> Deadline:
        """The deadline of what may take this share of the time that is left."""
        if self.seconds is None:
            return self
        earlier = Deadline(self.seconds)
        earlier._end = self._end - (1 - share) * max(0.0, self.left)
        return earlier

    @property
    def _grace(self) -> float:
        return 0.5 * max(_GRACE, _SHARE * (self.seconds or 0.0))


#: The deadline of those who have none.
NEVER = Deadline(None)


class Pace:
    """How long work that says how far it is will still take, by the pace since it was first asked about.

    Examples
    --------
    >>> pace = Pace()
    >>> pace.left("reading", 0.2) is None
    True
    >>> 0 < pace.left("reading", 0.6) < 1
    True
    """

    def __init__(self) -> None:
        self._what, self._since, self._from = "", 0.0, 0.0

    def left(self, what: str, share: float) -> float | None:
        """Seconds until all of it is done; None where nothing is known yet. Less than before is other work."""
        if what != self._what or share < self._from:
            self._what, self._since, self._from = what, _now(), share
        gone = share - self._from
        return None if gone <= 0 else (1 - share) * (_now() - self._since) / gone


def _now() -> float:
    return time.perf_counter()
