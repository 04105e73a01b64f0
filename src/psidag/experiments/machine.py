"""What the measurements were made on, and how threads are held to a number."""

from __future__ import annotations

import platform
from contextlib import suppress
from functools import cache
from importlib.metadata import version

from psidag.system.parallel import available_cores

#: The variables by which libraries of linear algebra are told how many threads to use.
_THREAD_VARIABLES = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS",
)  # fmt: skip


@cache
def describe() -> str:
    """Processor, cores and versions in one line."""
    libraries = ", ".join(f"{name} {version(name)}" for name in ("psidag", "numpy", "scipy"))
    software = f"{platform.system()}; Python {platform.python_version()}, {libraries}"
    return f"{_processor()}, {available_cores()} cores, {software}"


def pinned(threads: int) -> dict[str, str]:
    """The environment of a process that may use this many threads."""
    return {name: str(threads) for name in _THREAD_VARIABLES}


def _processor() -> str:
    with suppress(OSError), open("/proc/cpuinfo") as lines:
        for line in lines:
            if line.startswith("model name"):
                return " ".join(line.split(":", 1)[1].split())
    return platform.processor() or platform.machine()
