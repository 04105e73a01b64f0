"""Threads that change how fast an answer comes, never the answer."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from threadpoolctl import threadpool_limits

from psidag.errors import InputError

Item = TypeVar("Item")
Result = TypeVar("Result")

#: Taken for the memory of a machine that does not tell.
_UNKNOWN_MEMORY = 8e9


class Workers:
    """A number of threads and a ``map`` over independent pieces of work, whose results come in order.

    BLAS is held to one thread meanwhile: a threaded BLAS may sum in another order on another number of
    cores. Work is cut into pieces of a fixed size instead, one writer each, so that the bits are the same
    for any number of threads.
    """

    def __init__(self, jobs: int, pool: ThreadPoolExecutor | None) -> None:
        self.jobs = jobs
        self._pool = pool

    def map(self, work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """``[work(item) for item in items]``, in parallel where there is more than one item and thread."""
        pieces = list(items)
        if self._pool is None or len(pieces) < 2:
            return [work(piece) for piece in pieces]
        return list(self._pool.map(work, pieces))


#: No threads: for work inside work that is shared out already.
SERIAL = Workers(1, None)


def available_cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def workers(n_jobs: int | None = None) -> Iterator[Workers]:
    """Threads for one call: ``None`` or -1 for all cores, or their number."""
    jobs = available_cores() if n_jobs in (None, -1) else n_jobs
    if not isinstance(jobs, int) or jobs < 1:
        raise InputError(f"n_jobs must be a positive number, or -1 or None for all cores; got {n_jobs!r}")
    with threadpool_limits(limits=1, user_api="blas"):
        if jobs == 1:
            yield Workers(1, None)
        else:
            with ThreadPoolExecutor(jobs) as pool:
                yield Workers(jobs, pool)


def tiles(size: int, width: int) -> list[slice]:
    """``range(size)`` cut into consecutive slices of ``width``; the cut depends on nothing else."""
    return [slice(start, min(start + width, size)) for start in range(0, size, width)]


def machine_memory() -> float:
    """Bytes of memory that this process may come to use: the machine's, or what its control group is allowed."""
    limits = [_physical_memory()]
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            limits.append(float(Path(path).read_text()))
        except (OSError, ValueError):
            continue
    return min(limits)


def _physical_memory() -> float:
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return _UNKNOWN_MEMORY
