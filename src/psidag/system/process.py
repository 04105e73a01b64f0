"""Work in a process of its own: its crash, its memory and its overrun stay there."""

from __future__ import annotations

import importlib
import os
import pickle
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from subprocess import DEVNULL, PIPE
from typing import IO, Any, Literal, NamedTuple, NoReturn, Protocol

from psidag.system.memory import resident_megabytes

#: Seconds between two looks at a running process.
_LOOK = 0.1
#: Seconds that a process has to end after its answer.
_FAREWELL = 10.0
#: How a fork server says a number: the process it has forked, then how that ended.
_NUMBER = struct.Struct("q")

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


class Apart:
    """Calls of one function, each in a process of its own.

    Where it is safe (Linux), the processes are forked from one that has imported the function and done nothing else:
    a fork is there in milliseconds, a new interpreter with NumPy and SciPy in a second. Elsewhere each is started anew.
    Either way they end with this process, however it ends.

    Parameters
    ----------
    target : str
        ``"package.module:function"``; the function takes the order and a ``report`` to call on the way.
    environment : mapping, optional
        Variables to set for it, before anything is imported.
    forks : bool
        Whether to fork where that is safe.
    """

    def __init__(self, target: str, environment: Mapping[str, str] | None = None, forks: bool = True) -> None:
        path = os.pathsep.join(entry for entry in sys.path if entry)
        self._target = target
        self._variables = os.environ | {"PYTHONPATH": path} | dict(environment or {})
        self._forks = forks and sys.platform == "linux"
        self._idle: list[_ForkServer] = []

    def __enter__(self) -> Apart:
        return self

    def __exit__(self, *_: object) -> None:
        while self._idle:
            self._idle.pop().close()

    def run(
        self,
        order: bytes,
        *,
        max_seconds: float | None = None,
        memory: float | None = None,
        stop: threading.Event | None = None,
    ) -> Ended:
        """Call the function with what ``order`` unpickles to, and wait for what comes of it.

        Threads may call this side by side.

        Parameters
        ----------
        order : bytes
            A pickle.
        max_seconds : float, optional
            Seconds after which the process is killed.
        memory : float, optional
            Megabytes of resident memory above which it is killed.
        stop : Event, optional
            Once set, the process is killed.
        """
        messages: list[tuple[str, Any]] = []
        with tempfile.TemporaryFile() as errors:
            process, stdin, stdout = self._start(errors)
            listener = threading.Thread(target=_listen, args=(stdout, messages), daemon=True)
            listener.start()
            try:
                with suppress(BrokenPipeError):
                    stdin.write(order)
                    stdin.flush()
                killed = _wait(process.pid, listener, max_seconds, memory, stop)
            finally:
                if listener.is_alive():
                    process.kill()
                code = _last_words(process)
                listener.join()
                with suppress(BrokenPipeError):
                    stdin.close()
                stdout.close()
                if isinstance(process, _Forked):
                    self._idle.append(process.server)
            errors.seek(0)
            remark = errors.read().decode(errors="replace").strip().rsplit("\n", 1)[-1]
        answers = [message for kind, message in messages if kind == "answer"]
        reports = [message for kind, message in messages if kind == "report"]
        return Ended(bool(answers), answers[0] if answers else None, reports, code, killed, remark)

    def _start(self, errors: IO[bytes]) -> tuple[_Process, IO[bytes], IO[bytes]]:
        """A process at work, the way to it, and the way back."""
        forked = self._forked(errors) if self._forks else None
        if forked is None:
            process = _interpreter(f"serve({self._target!r})", PIPE, self._variables, stdout=PIPE, stderr=errors)
            assert process.stdin is not None
            assert process.stdout is not None
            return process, process.stdin, process.stdout
        return forked

    def _forked(self, errors: IO[bytes]) -> tuple[_Process, IO[bytes], IO[bytes]] | None:
        """A process forked by a server that is idle, or else by a new one; nothing where that one does not live."""
        theirs_read, ours_write = os.pipe()
        ours_read, theirs_write = os.pipe()
        stdin, stdout = os.fdopen(ours_write, "wb"), os.fdopen(ours_read, "rb")
        with os.fdopen(theirs_read), os.fdopen(theirs_write, "w"):
            new = False
            while not new:
                try:
                    server = self._idle.pop()
                except IndexError:  # looked at and taken in one step: others may be at it
                    server, new = _ForkServer(self._target, self._variables), True
                try:
                    return server.fork((theirs_read, theirs_write, errors.fileno())), stdin, stdout
                except OSError:  # it was killed
                    server.close()
        stdin.close()
        stdout.close()
        return None


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

    work = _imported(target)
    with pipe:
        say("answer", work(order, lambda message: say("report", message)))


def serve_forks(target: str) -> None:
    """In a fork server: for every three streams that come in, fork a process to serve with them; say how it ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(Exception):  # whoever serves imports it again, and says what is wrong
        _imported(target)
    with socket.socket(fileno=os.dup(0)) as line:
        while (streams := socket.recv_fds(line, 1, 3)[1]) != []:
            pid = os.fork()
            if pid == 0:
                line.close()
                _serve_with(streams, target)
            for stream in streams:
                os.close(stream)
            line.sendall(_NUMBER.pack(pid))
            line.sendall(_NUMBER.pack(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])))


class _Process(Protocol):
    """What is asked of a process, started anew or forked."""

    pid: int

    def kill(self) -> None: ...

    def wait(self, timeout: float | None = None) -> int: ...


class _ForkServer:
    """A process that has imported a function, and forks others to do its work, one at a time."""

    def __init__(self, target: str, variables: Mapping[str, str]) -> None:
        self._line, theirs = socket.socketpair()
        with theirs:
            self._process = _interpreter(f"serve_forks({target!r})", theirs, variables, stdout=DEVNULL, stderr=DEVNULL)

    def fork(self, streams: Sequence[int]) -> _Forked:
        """A process that serves with these streams."""
        socket.send_fds(self._line, [b"f"], streams)
        return _Forked(self, self.hear(None))

    def hear(self, timeout: float | None) -> int:
        """The next number that it says."""
        self._line.settimeout(timeout)
        heard = self._line.recv(_NUMBER.size)
        if not heard:
            raise ConnectionResetError("the fork server is gone")
        number: int = _NUMBER.unpack(heard)[0]
        return number

    def close(self) -> None:
        """It ends when nobody is on the line."""
        self._line.close()
        _last_words(self._process)


class _Forked:
    """A process that a fork server has forked and waits for."""

    def __init__(self, server: _ForkServer, pid: int) -> None:
        self.server, self.pid = server, pid

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def wait(self, timeout: float | None = None) -> int:
        try:
            return self.server.hear(timeout)
        except TimeoutError:
            raise subprocess.TimeoutExpired("fork", timeout or 0.0) from None
        except OSError:  # whoever killed the server has most likely killed what it waited for
            return -signal.SIGKILL


def _interpreter(call: str, stdin: Any, variables: Mapping[str, str], **streams: Any) -> subprocess.Popen[bytes]:
    """A new Python that calls a function of this module."""
    command = [sys.executable, "-c", f"from psidag.system import process; process.{call}"]
    return subprocess.Popen(command, stdin=stdin, env=variables, **streams)


def _imported(target: str) -> Callable[[Any, Report], Any]:
    module, _, function = target.partition(":")
    found: Callable[[Any, Report], Any] = getattr(importlib.import_module(module), function)
    return found


def _serve_with(streams: Sequence[int], target: str) -> NoReturn:
    """In the fork: serve, and never go back into the loop of the server."""
    code = 1
    try:
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        serve(target)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(Exception):
            sys.stderr.flush()
        os._exit(code)


def _wait(
    pid: int,
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
        if memory is not None and resident_megabytes(pid) > memory:
            return "memory"


def _last_words(process: _Process) -> int:
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
