"""What a run will take, before it is begun."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from psidag.data.correlations import SINGLE_FROM, matrix_fits
from psidag.framework import Engine
from psidag.learn import choose_engine
from psidag.parallel import tiles, workers

#: Rounds that a run of the stochastic engine usually takes: 4 to 10 on simulated data, more on real ones.
_ROUNDS = 7
#: Seconds a gradient step takes whatever its size.
_STEP = 1.5e-4
#: Bytes per pair of variables that the stochastic engine holds: weights, averages, masks and the covariance.
_PER_PAIR = 80
#: Rounds of the exact engine, three or four on simulated data, and its bytes per pair of variables.
_EXACT_ROUNDS, _EXACT_PER_PAIR = 4, 56
#: Seconds that the search of the sparse engine spends on a node of a sparse graph, and on a pair of nodes where
#: rows of correlations are gone through; a hub takes more.
_PER_NODE, _PER_PAIR_OF_NODES = 1.5e-4, 2e-8
#: Where correlations are computed when they are needed: seconds per node and row, and full comparisons of all columns.
_PER_NODE_AND_ROW, _SCANS = 2.5e-7, 1.4
#: Bytes for a node's regression, candidates and remembered products.
_NODE_BYTES = 7000
#: Bytes that a run takes whatever its size.
_BASE_BYTES = 2e7


class Forecast(NamedTuple):
    """Which engine would run, for about how many seconds, and how many bytes it needs beside the data."""

    engine: str
    seconds: float
    memory: float


class Pace(NamedTuple):
    """How fast the machine is now: products a second in single precision, and how much slower it is than alone."""

    flops: float
    slowdown: float


def forecast(n: int, d: int, solver: str | Engine = "auto") -> Forecast | None:
    """Time and memory that learning from n rows of d columns will take on this machine, within a factor of two or so.

    For sparse graphs; hubs take longer. The speed of the machine, as busy as it is, is measured by a few products.
    None for an engine whose cost is not known beforehand.

    Examples
    --------
    >>> forecast(1000, 20, "stochastic").engine
    'stochastic'
    """
    engine, _ = choose_engine(solver)
    cost = _COSTS.get(engine.name)
    if cost is None:
        return None
    seconds, memory = cost(engine, n, d, measure_pace())
    return Forecast(engine.name, seconds, memory + _BASE_BYTES)


def _stochastic(engine: Engine, n: int, d: int, pace: Pace) -> tuple[float, float]:
    batch = getattr(engine, "batch_size", None) or (64 if d < 2000 else 256)
    steps = getattr(engine, "tau1", 0) + getattr(engine, "tau2", 0)
    work = 4.0 * min(batch, n) * d**2
    return _ROUNDS * steps * (_STEP * pace.slowdown + work / pace.flops), _PER_PAIR * float(d) ** 2


def _exact(engine: Engine, n: int, d: int, pace: Pace) -> tuple[float, float]:
    by_gradients = getattr(engine, "ordering", "projection") == "projection"
    steps = _EXACT_ROUNDS * getattr(engine, "gradient_steps", 0) if by_gradients else 1
    # Double precision, at half the speed; the gradient's element-wise part takes a quarter on top.
    return 2.5 * (2.0 * steps * d**3 + float(n) * d**2) / pace.flops, _EXACT_PER_PAIR * float(d) ** 2


def _sparse(engine: Engine, n: int, d: int, pace: Pace) -> tuple[float, float]:
    products = float(n) * d**2 / pace.flops
    if n <= 2 * d and not matrix_fits(d, getattr(engine, "max_memory", None)):
        search = _PER_NODE_AND_ROW * n * d * pace.slowdown
        return _SCANS * 2 * products + search, 4.0 * n * d + _NODE_BYTES * float(d)
    search = (_PER_NODE * d + _PER_PAIR_OF_NODES * float(d) ** 2) * pace.slowdown
    if d >= SINGLE_FROM and n <= 2 * d:
        return products + search, 4.0 * d * (d + n) + _NODE_BYTES * float(d) / 2
    return 2 * products + search, 24.0 * d**2 + _NODE_BYTES * float(d) / 2


_COSTS: dict[str, Callable[[Engine, int, int, Pace], tuple[float, float]]] = {
    "exact": _exact,
    "sparse": _sparse,
    "stochastic": _stochastic,
}


def measure_pace() -> Pace:
    """Some tenths of a second of products on all cores, cut like those of the engines."""
    left, right = np.ones((256, 1000), np.float32), np.ones((1000, 1024), np.float32)

    def multiply(_: slice) -> float:
        start = time.perf_counter()
        left @ right
        return time.perf_counter() - start

    pieces = tiles(24, 1)
    with workers() as threads:
        multiply(pieces[0])
        start = time.perf_counter()
        each = threads.map(multiply, pieces)
        seconds = max(time.perf_counter() - start, 1e-9)
    flops = 2.0 * left.size * right.shape[1] * len(pieces) / seconds
    alone = min(each) * len(pieces) / threads.jobs
    return Pace(flops, max(1.0, seconds / max(alone, 1e-9)))
