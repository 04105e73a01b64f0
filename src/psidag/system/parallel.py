"""Threads that change how fast an answer comes, never the answer."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

from threadpoolctl import ThreadpoolController

from psidag.system.clock import NEVER, Deadline
from psidag.system.errors import InputError

Item = TypeVar("Item")
Result = TypeVar("Result")


@runtime_checkable
class Mapper(Protocol):
    """Whoever can do independent pieces of work: threads, or the processes of a cluster.

    What is handed over must be pure: it may run in another process, which has copies of what it refers to, and it
    may run twice if a machine is lost. Results come in the order of the items. A mapper may say in ``jobs`` how many
    pieces it works on at a time, and in ``folder`` where its processes find files that are left for them.
    """

    def map(self, work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """``[work(item) for item in items]``."""
        ...


#: What ``n_jobs`` may be: a number of threads, None for all cores, or a cluster.
Jobs: TypeAlias = int | Mapper | None


class Workers:
    """A number of threads and a ``map`` over independent pieces of work, whose results come in order.

    BLAS is held to one thread meanwhile: a threaded BLAS may sum in another order on another number of
    cores. Work is cut into pieces of a fixed size instead, one writer each, so that the bits are the same
    for any number of threads.
    """

    def __init__(
        self, jobs: int, pool: ThreadPoolExecutor | None, remote: Mapper | None = None, deadline: Deadline = NEVER
    ) -> None:
        self.jobs = jobs
        self.deadline = deadline
        self._pool = pool
        self._remote = remote

    def until(self, deadline: Deadline) -> Workers:
        """The same threads, who leave their work with a :class:`TimeOver` between two pieces when time is over."""
        return Workers(self.jobs, self._pool, self._remote, deadline)

    @property
    def remote(self) -> Mapper:
        """Where pieces of work go that share no memory: a cluster if there is one, else these threads."""
        return self if self._remote is None else self._remote

    def map(self, work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """``[work(item) for item in items]``, in parallel where there is more than one item and thread."""
        pieces, work = list(items), self._punctual(work)
        if self._pool is None or len(pieces) < 2:
            return [work(piece) for piece in pieces]
        return list(self._pool.map(work, pieces))

    def stream(self, work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """``map`` for long work: each result as it comes, still in order, a few items ahead of who takes them.

        What has not begun when the iteration is left, by an error or by hand, is not begun any more.
        """
        work = self._punctual(work)
        if self._pool is None:
            yield from map(work, items)
            return
        waiting: deque[Future[Result]] = deque()
        try:
            for item in items:
                waiting.append(self._pool.submit(work, item))
                if len(waiting) > 2 * self.jobs:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()

    def _punctual(self, work: Callable[[Item], Result]) -> Callable[[Item], Result]:
        if self.deadline.seconds is None:
            return work

        def punctual(item: Item) -> Result:
            self.deadline.check()
            return work(item)

        return punctual


#: No threads: for work inside work that is shared out already.
SERIAL = Workers(1, None)


def available_cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def workers(n_jobs: Jobs = None) -> Iterator[Workers]:
    """Threads for one call: ``None`` or -1 for all cores, or their number; a cluster goes with all cores here."""
    remote = n_jobs if isinstance(n_jobs, Mapper) else None
    jobs = available_cores() if remote is not None or n_jobs in (None, -1) else n_jobs
    if not isinstance(jobs, int) or jobs < 1:
        raise InputError(
            f"n_jobs must be a positive number, -1 or None for all cores, or a psidag.cluster; got {n_jobs!r}"
        )
    with one_blas_thread():
        if jobs == 1:
            yield Workers(1, None, remote)
        else:
            with ThreadPoolExecutor(jobs) as pool:
                yield Workers(jobs, pool, remote)


class _Held:
    """How many calls want BLAS held to one thread, and what it was set to before the first of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls = 0
        self._before: dict[int, int] = {}

    def enter(self) -> None:
        with self._lock:
            self._calls += 1
            for k, library in enumerate(_blas()):
                number = library.get_num_threads()
                if number != 1:
                    self._before.setdefault(k, number)
                    _set_threads(library, 1)

    def leave(self) -> None:
        with self._lock:
            self._calls -= 1
            if self._calls == 0:
                for k, number in self._before.items():
                    _set_threads(_blas()[k], number)
                self._before = {}


_HELD = _Held()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """BLAS held to one thread: the bits then do not depend on the number of cores.

    The setting is the process's. Calls that overlap in several threads are counted: the first one notes what the
    setting was, the last one to end puts it back. It costs microseconds, so that it can stand around small work; as a
    decorator it stands around a whole function.
    """
    _HELD.enter()
    try:
        yield
    finally:
        _HELD.leave()


def _set_threads(library: Any, number: int) -> None:
    """Set a library's threads from any thread; threadpoolctl from 3.7 on heeds only the first one that asks."""
    release = getattr(library, "clear_controlling_thread", lambda force: None)
    release(force=True)
    library.set_num_threads(number)
    release(force=True)


@cache
def _blas() -> list[Any]:
    """The BLAS libraries of NumPy and SciPy, looked up once: that takes milliseconds."""
    import scipy.linalg  # noqa: F401  (it brings its own)

    libraries: list[Any] = ThreadpoolController().select(user_api="blas").lib_controllers
    return libraries


def tiles(size: int, width: int) -> list[slice]:
    """``range(size)`` cut into consecutive slices of ``width``; the cut depends on nothing else."""
    return [slice(start, min(start + width, size)) for start in range(0, size, width)]
