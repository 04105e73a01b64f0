"""Work in a process of its own: its crash, its memory and its overrun stay there."""

from __future__ import annotations

import importlib
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import IO, Any, Literal, NamedTuple

#: Seconds between two looks at a running process.
_LOOK = 0.1
#: Seconds that a process has to end after its answer.
_FAREWELL = 10.0

Report = Callable[[Any], None]


class Ended(NamedTuple):
    """What came of it.

    ``answer`` is what the work returned if ``answered``; ``reports`` are what it said on the way; ``killed`` says
    over which limit it was ended; ``remark`` is the last line of its standard error.
    """

    answered: bool
    answer: Any
    reports: list[Any]
    code: int
    killed: Literal["", "time", "memory", "stop"]
    remark: str


def run_apart(
    target: str,
    order: bytes,
    *,
    max_seconds: float | None = None,
    memory: float | None = None,
    stop: threading.Event | None = None,
    environment: Mapping[str, str] | None = None,
) -> Ended:
    """Call ``target`` in a fresh process with what ``order`` unpickles to, and wait for what comes of it.

    The process ends with this one, however this one ends.

    Parameters
    ----------
    target : str
        ``"package.module:function"``; the function takes the order and a ``report`` to call on the way.
    order : bytes
        A pickle.
    max_seconds : float, optional
        Seconds after which the process is killed.
    memory : float, optional
        Megabytes of resident memory above which it is killed.
    stop : Event, optional
        Once set, the process is killed.
    environment : mapping, optional
        Variables to set for it.
    """
    path = os.pathsep.join(entry for entry in sys.path if entry)
    variables = os.environ | {"PYTHONPATH": path} | dict(environment or {})
    command = [sys.executable, "-c", f"from psidag.system.process import serve; serve({target!r})"]
    messages: list[tuple[str, Any]] = []
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=variables
        )  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        listener = threading.Thread(target=_listen, args=(process.stdout, messages), daemon=True)
        listener.start()
        try:
            with suppress(BrokenPipeError):
                process.stdin.write(order)
                process.stdin.flush()
            killed = _wait(process, listener, max_seconds, memory, stop)
        finally:
            if listener.is_alive():
                process.kill()
            code = _last_words(process)
            listener.join()
            with suppress(BrokenPipeError):
                process.stdin.close()
            process.stdout.close()
        errors.seek(0)
        remark = errors.read().decode(errors="replace").strip().rsplit("\n", 1)[-1]
    answers = [message for kind, message in messages if kind == "answer"]
    reports = [message for kind, message in messages if kind == "report"]
    return Ended(bool(answers), answers[0] if answers else None, reports, code, killed, remark)


def serve(target: str) -> None:
    """In the new process: read the order, do the work, write reports and the answer."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that waits
    pipe = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever the work prints must not mix with the answer
    order = pickle.load(sys.stdin.buffer)
    threading.Thread(target=_end_with_parent, daemon=True).start()

    def say(kind: str, message: Any) -> None:
        pickle.dump((kind, message), pipe)
        pipe.flush()

    module, _, function = target.partition(":")
    work = getattr(importlib.import_module(module), function)
    with pipe:
        say("answer", work(order, lambda message: say("report", message)))


def reset_peak() -> None:
    """Let :func:`peak_megabytes` begin at what is held now, where the system can (Linux)."""
    with suppress(OSError), open("/proc/self/clear_refs", "w") as switch:
        switch.write("5")


def peak_megabytes() -> float:
    """The most resident memory this process has held; nan where the system does not say."""
    with suppress(OSError), open("/proc/self/status") as lines:
        # getrusage would also count what the parent held when it started this process.
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))
    try:
        import resource
    except ImportError:
        return float("nan")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def _wait(
    process: subprocess.Popen[bytes],
    listener: threading.Thread,
    max_seconds: float | None,
    memory: float | None,
    stop: threading.Event | None,
) -> Literal["", "time", "memory", "stop"]:
    """Until the process has said all it will, or a limit is passed: which one."""
    start = time.monotonic()
    while True:
        listener.join(_LOOK)
        if not listener.is_alive():
            return ""
        if stop is not None and stop.is_set():
            return "stop"
        if max_seconds is not None and time.monotonic() - start > max_seconds:
            return "time"
        if memory is not None and _resident_megabytes(process.pid) > memory:
            return "memory"


def _last_words(process: subprocess.Popen[bytes]) -> int:
    """Let a process that has said its answer end by itself, if it does so soon: its exit code."""
    try:
        return process.wait(_FAREWELL)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def _listen(pipe: IO[bytes], messages: list[tuple[str, Any]]) -> None:
    """Collect messages until the pipe is closed, by the end of the process at the latest."""
    with suppress(EOFError, pickle.UnpicklingError):
        while True:
            messages.append(pickle.load(pipe))


def _end_with_parent() -> None:
    """Leave when standard input closes: then whoever waits for the answer is gone."""
    while os.read(0, 4096):
        pass
    os._exit(1)


def _resident_megabytes(pid: int) -> float:
    """Resident memory of a process; 0 where it has ended."""
    with suppress(OSError, IndexError, ValueError):
        if os.path.isdir("/proc/self"):
            with open(f"/proc/{pid}/statm") as sizes:
                return int(sizes.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)
        listed = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True)
        return int(listed.stdout) / 1024
    return 0.0
