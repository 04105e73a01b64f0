"""What a run will take, before it is begun."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from psidag.data.correlations import SINGLE_FROM
from psidag.framework import Engine
from psidag.learn import choose_engine
from psidag.parallel import available_cores

#: Rounds that a run of the stochastic engine usually takes: 4 to 10 on simulated data, more on real ones.
_ROUNDS = 7
#: Seconds a gradient step takes whatever its size.
_STEP = 3e-4
#: Seconds that the search of the sparse engine spends on a node of a sparse graph; a hub takes more.
_SWEEPS = 4e-4


class Forecast(NamedTuple):
    """Which engine would run, for about how many seconds, and how many bytes it needs beside the data."""

    engine: str
    seconds: float
    memory: float


def forecast(n: int, d: int, solver: str | Engine = "auto") -> Forecast | None:
    """Time and memory that learning from n rows of d columns will take on this machine, within a factor of a few.

    The speed of the machine is measured by one small matrix product. None for an engine whose cost is not
    known beforehand.

    Examples
    --------
    >>> forecast(1000, 20, "stochastic").engine
    'stochastic'
    """
    engine, _ = choose_engine(solver)
    cost, memory = _SECONDS.get(engine.name), getattr(engine, "memory", None)
    return None if cost is None or memory is None else Forecast(engine.name, cost(engine, n, d), memory(n, d))


def _stochastic(engine: Engine, n: int, d: int) -> float:
    batch: int = getattr(engine, "batch_size", None) or (64 if d < 2000 else 256)
    steps: int = getattr(engine, "tau1", 0) + getattr(engine, "tau2", 0)
    work = 4.0 * min(batch, n) * d**2
    return _ROUNDS * steps * (_STEP + work / _speed(d))


def _sparse(engine: Engine, n: int, d: int) -> float:
    single = d >= SINGLE_FROM
    products = float(n) * d**2 / (_speed(d) * available_cores() * (1.0 if single else 0.5))
    return products + _SWEEPS * d * math.sqrt(max(1.0, d / 1000))


_SECONDS: dict[str, Callable[[Engine, int, int], float]] = {"sparse": _sparse, "stochastic": _stochastic}


def _speed(d: int) -> float:
    """Floating-point operations a second of a product like those of a gradient step."""
    size = min(max(d, 64), 1024)
    rows, weights = np.ones((64, size), np.float32), np.ones((size, size), np.float32)
    best = np.inf
    for _ in range(5):
        start = time.perf_counter()
        rows @ weights
        best = min(best, time.perf_counter() - start)
    return 2.0 * 64 * size**2 / max(best, 1e-9)
