"""What a run will take, before it is begun."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from psidag.data.correlations import SINGLE_FROM, matrix_fits
from psidag.data.sources import Rows, is_wide
from psidag.engines.comparison import Compared
from psidag.learning.plan import choose_engine
from psidag.run.loop import Engine
from psidag.stages.orderings import as_ordering, from_data_alone
from psidag.system.parallel import tiles, workers

#: Rounds that a run of the stochastic engine usually takes: 4 to 10 on simulated data, more on real ones.
_ROUNDS = 7
#: Seconds a gradient step takes whatever its size.
_STEP = 1.5e-4
#: Rounds of the exact engine, three or four on simulated data.
_EXACT_ROUNDS = 4
#: Seconds that the search of the sparse engine spends on a node of a sparse graph, and on a pair of nodes where
#: rows of correlations are gone through; a hub takes more.
_PER_NODE, _PER_PAIR_OF_NODES = 1.5e-4, 2e-8
#: Where correlations are computed when they are needed: seconds per node and row, and how many pairs of columns are
#: compared as a share of d²: half of them at first, the others for nodes whose parents have changed.
_PER_NODE_AND_ROW, _SCANS = 2.5e-7, 0.9
#: Where columns differ in how many others they are correlated with, hubs are behind it: the mean over the median up to
#: which there are none, and how many times more the work of a node is for each unit beyond (benchmarks/huge.md).
_EVEN, _HUBS = 1.25, 20.0
#: Columns that are compared with all others to see that, and a squared correlation that counts, times the rows.
_SAMPLED, _STANDS_OUT = 192, 15.0
#: Columns and rows of a trial of that comparison, and nodes that one thread takes at a time.
_TRIAL = (16384, 1024, 512)
#: Bytes that a run takes whatever its size.
_BASE_BYTES = 2e7


class Forecast(NamedTuple):
    """Which engine would run, for about how many seconds, and how many bytes it needs beside the data."""

    engine: str
    seconds: float
    memory: float


class Pace(NamedTuple):
    """How fast the machine is now: products a second in single precision, and how much slower it is than alone.

    ``unevenness`` is of the table: by how much more columns are correlated with others on average than at the median.
    """

    flops: float
    slowdown: float
    unevenness: float = 1.0


def forecast(n: int, d: int, solver: str | Engine = "auto", table: Rows | None = None) -> Forecast | None:
    """Time and memory that learning from n rows of d columns will take on this machine, within a factor of two or so.

    The speed of the machine, as busy as it is, is measured by a few products. Without the ``table`` it is the time of
    sparse graphs without hubs: of nodes with hundreds of parents nothing is known before a look at the rows. With it
    some columns are compared with the others where correlations are not held, which tells scale-free graphs from random
    ones. What it cannot know: how large the largest hubs are, whether noise variances turn out to be unequal (a second
    search follows), and how busy the machine will be. None for an engine whose cost is not known beforehand.

    Examples
    --------
    >>> forecast(1000, 20, "stochastic").engine
    'stochastic'
    """
    engine, _ = choose_engine(solver)
    seconds, memory = _SECONDS.get(engine.name), getattr(engine, "memory", None)
    if seconds is None or memory is None:
        return None
    unevenness = 1.0
    if table is not None and engine.name == "sparse" and _in_blocks(engine, n, d):
        unevenness = _unevenness(table)
    pace = measure_pace()._replace(unevenness=unevenness)
    return Forecast(engine.name, seconds(engine, n, d, pace), memory(n, d) + _BASE_BYTES)


def _stochastic(engine: Engine, n: int, d: int, pace: Pace) -> float:
    rows_at_once: Callable[[int], int] = engine.rows_at_once  # type: ignore[attr-defined]
    batch = rows_at_once(d)
    steps: int = getattr(engine, "tau1", 0) + getattr(engine, "tau2", 0)
    work = 4.0 * min(batch, n) * d**2
    return _ROUNDS * steps * (_STEP * pace.slowdown + work / pace.flops)


def _exact(engine: Engine, n: int, d: int, pace: Pace) -> float:
    one_round = from_data_alone(as_ordering(getattr(engine, "ordering", "psi")))
    steps: int = 1 if one_round else _EXACT_ROUNDS * getattr(engine, "gradient_steps", 0)
    # Double precision, at half the speed; the gradient's element-wise part takes a quarter on top.
    return 2.5 * (2.0 * steps * d**3 + float(n) * d**2) / pace.flops


def _sparse(engine: Engine, n: int, d: int, pace: Pace) -> float:
    products = float(n) * d**2 / pace.flops
    if _in_blocks(engine, n, d):
        nodes = _PER_NODE_AND_ROW * n * d * (1 + _HUBS * max(0.0, pace.unevenness - _EVEN))
        return _SCANS * n * float(d) ** 2 / _comparisons() + nodes * pace.slowdown
    search = (_PER_NODE * d + _PER_PAIR_OF_NODES * float(d) ** 2) * pace.slowdown
    return (products if d >= SINGLE_FROM and is_wide(n, d) else 2 * products) + search


_SECONDS: dict[str, Callable[[Engine, int, int, Pace], float]] = {
    "exact": _exact,
    "sparse": _sparse,
    "stochastic": _stochastic,
}


def _in_blocks(engine: Engine, n: int, d: int) -> bool:
    return is_wide(n, d) and not matrix_fits(d, getattr(engine, "max_memory", None))


def _unevenness(table: Rows) -> float:
    """The mean number of columns that one is correlated with over the median, of some columns spread over the table."""
    n, d = table.shape
    some = _unit(table[:, :: max(1, d // _SAMPLED)][:, :_SAMPLED])
    counts = np.zeros(some.shape[1])
    for part in tiles(d, 1024):
        counts += (np.square(_unit(table[:, part]).T @ some) > _STANDS_OUT / n).sum(axis=0)
    # Each is correlated with itself.
    return float((counts.mean() - 1 + 1e-9) / max(float(np.median(counts)) - 1, 1.0))


def _unit(columns: Rows) -> NDArray[np.float32]:
    """Columns of unit length, without their means; constant ones stay zero."""
    centred = np.asarray(columns, np.float32) - np.asarray(columns, np.float32).mean(axis=0)
    length = np.linalg.norm(centred, axis=0)
    return np.asarray(centred / np.where(length > 0, length, 1.0), np.float32)


def _comparisons() -> float:
    """Rows of pairs of columns that all cores compare in a second, as busy as they are."""
    columns, rows, nodes = _TRIAL
    noise = np.random.default_rng(0).standard_normal((columns, rows), np.float32)
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    with workers() as threads:
        compared = Compared.of(noise, threads)
        level, pieces = np.full(nodes, 0.02), tiles(threads.jobs * nodes, nodes)
        start = time.perf_counter()
        threads.map(lambda part: compared.matches(noise[part], level), pieces)
        seconds = max(time.perf_counter() - start, 1e-9)
    return len(pieces) * nodes * float(columns) * rows / seconds


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
