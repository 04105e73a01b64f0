"""Threads that change how fast an answer comes, never the answer."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Protocol, TypeAlias, TypeVar, runtime_checkable

from threadpoolctl import threadpool_limits

from psidag.errors import InputError

Item = TypeVar("Item")
Result = TypeVar("Result")


@runtime_checkable
class Mapper(Protocol):
    """Whoever can do independent pieces of work: threads, or the processes of a cluster.

    What is handed over must be pure: it may run in another process, which has copies of what it refers to, and it
    may run twice if a machine is lost. Results come in the order of the items.
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

    def __init__(self, jobs: int, pool: ThreadPoolExecutor | None, afar: Mapper | None = None) -> None:
        self.jobs = jobs
        self._pool = pool
        self._afar = afar

    @property
    def afar(self) -> Mapper:
        """Where pieces of work go that share no memory: a cluster if there is one, else these threads."""
        return self if self._afar is None else self._afar

    def map(self, work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """``[work(item) for item in items]``, in parallel where there is more than one item and thread."""
        pieces = list(items)
        if self._pool is None or len(pieces) < 2:
            return [work(piece) for piece in pieces]
        return list(self._pool.map(work, pieces))

    def stream(self, work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """``map`` over items as they come, in the caller's thread; few are held at a time."""
        if self._pool is None:
            yield from map(work, items)
            return
        waiting: deque[Future[Result]] = deque()
        for item in items:
            waiting.append(self._pool.submit(work, item))
            if len(waiting) > self.jobs:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


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
    afar = n_jobs if isinstance(n_jobs, Mapper) else None
    jobs = available_cores() if afar is not None or n_jobs in (None, -1) else n_jobs
    if not isinstance(jobs, int) or jobs < 1:
        raise InputError(
            f"n_jobs must be a positive number, -1 or None for all cores, or a psidag.cluster; got {n_jobs!r}"
        )
    with threadpool_limits(limits=1, user_api="blas"):
        if jobs == 1:
            yield Workers(1, None, afar)
        else:
            with ThreadPoolExecutor(jobs) as pool:
                yield Workers(jobs, pool, afar)


def tiles(size: int, width: int) -> list[slice]:
    """``range(size)`` cut into consecutive slices of ``width``; the cut depends on nothing else."""
    return [slice(start, min(start + width, size)) for start in range(0, size, width)]
