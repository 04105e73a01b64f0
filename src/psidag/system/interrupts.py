"""Ctrl-C and SIGTERM on the command line: the first stops the work, one during saving waits, one more does not."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

_WAIT = "psidag: stopping as soon as what there is has been saved; once more leaves at once\n"


class Interrupts:
    """What to do when somebody wants the command to end.

    The first signal raises KeyboardInterrupt, which ends learning with the best graph so far. From then on, or while
    results are being written, one more signal is only noted, so that impatience does not lose what there is; the
    next raises again.
    """

    def __init__(self) -> None:
        self.pressed = 0
        self._excused = 0

    def __call__(self, signum: int, frame: FrameType | None) -> None:
        """What Python calls when a signal has come."""
        self.pressed += 1
        if self._excused:
            self._excused -= 1
            # Not through sys.stderr, which the signal may have caught in the middle of a line.
            with suppress(OSError):
                os.write(2, _WAIT.encode())
            return
        self._excused = 1
        raise KeyboardInterrupt

    @property
    def farewell(self) -> str:
        """What to say of a command that ends without a result."""
        return "left at once: what was not written is lost" if self.pressed > 1 else "stopped; nothing is saved"

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """In this block results are written: the first signal waits for its end."""
        self._excused = max(self._excused, 1)
        yield

    @contextmanager
    def heeded(self) -> Iterator[None]:
        """In this block Ctrl-C and SIGTERM come here. What they cut off is one line and exit code 130."""
        self.pressed = self._excused = 0
        before = {}
        with suppress(ValueError):  # signals are for the main thread
            before = {number: signal.signal(number, self) for number in _wanted()}
        try:
            yield
        except KeyboardInterrupt:
            sys.stderr.write(f"psidag: {self.farewell}\n")
            raise SystemExit(130) from None
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            # Python notes a KeyboardInterrupt that leaves code given as text, as that of a dataclass is, and
            # `python -m` then dies of SIGINT at its end though it was caught. The next such code clears the note.
            exec("")


def _wanted() -> list[signal.Signals]:
    """Signals to heed; one that the caller of this process has it ignore stays ignored."""
    return [number for number in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(number) is not signal.SIG_IGN]


#: Those of this process.
INTERRUPTS = Interrupts()
