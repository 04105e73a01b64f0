"""How much memory there is, how much of it this process holds, and how people write such amounts."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from psidag.system.errors import InputError

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
#: Taken for the memory of a machine that does not tell.
_UNKNOWN_MEMORY = 8e9


def as_bytes(size: str | float, name: str = "max_memory") -> int:
    """A number of bytes, from itself or from words such as ``"4GB"``, ``"500 MB"`` or ``"2GiB"``.

    Examples
    --------
    >>> as_bytes("1.5 GB"), as_bytes("4GiB"), as_bytes(1000)
    (1500000000, 4294967296, 1000)
    """
    if isinstance(size, str):
        read = re.fullmatch(r"\s*([0-9]{1,15}(?:\.[0-9]{1,15})?)\s*([kmgt]i?)?b?\s*", size.lower())
        number = float(read[1]) * _UNITS[read[2] or ""] if read else 0.0
    else:
        number = float(size)
    if not 1 <= number < 2**63:
        raise InputError(f"{name} must be an amount of memory such as '4GB', or a number of bytes; got {size!r}")
    return int(number)


def as_text(count: float) -> str:
    """An amount of memory for people.

    Examples
    --------
    >>> as_text(1.23e9), as_text(4.5e6), as_text(700)
    ('1.2 GB', '4 MB', '1 kB')
    """
    if count >= 1e9:
        return f"{count / 1e9:.1f} GB"
    return f"{count / 1e6:.0f} MB" if count >= 1e6 else f"{max(count / 1e3, 1):.0f} kB"


def in_use() -> int | None:
    """Bytes that this process holds and nobody else can have; None where the system does not tell.

    Pages of mapped files are not counted: the system takes them back when it needs them.
    """
    try:
        resident, shared = Path("/proc/self/statm").read_text().split()[1:3]
    except OSError:
        return _peak()
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")


def reset_peak() -> None:
    """Let :func:`peak_megabytes` begin at what is held now, where the system can (Linux)."""
    with suppress(OSError), open("/proc/self/clear_refs", "w") as switch:
        switch.write("5")


def peak_megabytes() -> float:
    """The most resident memory this process has held; nan where the system does not say."""
    with suppress(OSError), open("/proc/self/status") as lines:
        # getrusage would also count what the parent held when it started this process.
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))
    peak = _peak()
    return math.nan if peak is None else peak / 2**20


def resident_megabytes(pid: int) -> float:
    """Resident memory of another process; 0 where it has ended."""
    with suppress(OSError, IndexError, ValueError):
        if os.path.isdir("/proc/self"):
            with open(f"/proc/{pid}/statm") as sizes:
                return int(sizes.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
        listed = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True)
        return int(listed.stdout) / 1024
    return 0.0


def available() -> int | None:
    """Bytes that can still be had without swapping; None where the system does not tell."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        return None
    try:
        # Inside a container its own limit counts.
        limit = int(Path("/sys/fs/cgroup/memory.max").read_text())
        return min(free, max(0, limit - int(Path("/sys/fs/cgroup/memory.current").read_text())))
    except (OSError, ValueError):
        return free


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


def check_available(needed: float, what: str) -> None:
    """Raise if this many bytes cannot be had, before anything is taken."""
    free = available()
    if free is not None and needed > free:
        raise InputError(f"{what} would take {as_text(needed)} of memory, and {as_text(free)} are free")


def _peak() -> int | None:
    """Bytes: the most that was ever held, where only that is known."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
