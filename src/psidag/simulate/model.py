"""The linear structural equation model: samples along the graph, and the same model in standardised units."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, DTypeLike, NDArray

from psidag.graph.dag import DAG
from psidag.graph.order import Order, topological_levels
from psidag.simulate.graphs import Seed
from psidag.simulate.noise import standard_noise
from psidag.system.atomic import replacing
from psidag.system.errors import InputError
from psidag.system.parallel import workers

Floats = NDArray[np.float64]

#: Rows are made in blocks of about this many numbers, so that the work space stays small beside the samples.
_BLOCK = 1 << 21


@dataclass(frozen=True, eq=False)
class LinearSEM:
    """x_j = intercept_j + Σ_i weights[i, j] · x_i + scale_j · ε_j, with independent ε_j of one distribution.

    Parameters
    ----------
    dag : DAG
        The graph with its weights, order and names.
    noise : str
        A name known to :func:`psidag.simulate.standard_noise`; its draws are not centred.
    scale : float or array of d
        What multiplies the noise, for all vertices or for each.
    intercept : float or array of d
        What is added.

    Examples
    --------
    >>> model = LinearSEM(DAG.from_edges([("dose", "effect", 2.0)]), noise="exponential", scale=[1.0, 0.1])
    >>> model.sample(1000, seed=0).shape
    (1000, 2)
    >>> batches = model.stream(64, seed=1)
    >>> next(batches).shape
    (64, 2)
    """

    dag: DAG
    noise: str = "gaussian"
    scale: ArrayLike = 1.0
    intercept: ArrayLike = 0.0

    def __post_init__(self) -> None:
        standard_noise(self.noise)
        for name in ("scale", "intercept"):
            given = np.asarray(getattr(self, name), dtype=np.float64)
            if given.shape not in ((), (self.d,)) or not np.isfinite(given).all():
                raise InputError(f"{name} must be one finite number or {self.d} of them; shape {given.shape}")
            object.__setattr__(self, name, np.broadcast_to(given, self.d))
        if np.any(self._scale < 0):
            raise InputError("the scale of the noise must not be negative")

    @property
    def d(self) -> int:
        """Number of variables."""
        return self.dag.d

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the variables."""
        return self.dag.names

    @property
    def weights(self) -> sp.csr_array:
        """The weights, ``weights[i, j]`` for i → j."""
        return self.dag.weights

    @property
    def order(self) -> Order:
        """An order in which every edge points forward."""
        return self.dag.order

    @property
    def noise_mean(self) -> Floats:
        """The mean of each variable's noise."""
        return self._scale * standard_noise(self.noise).mean

    @property
    def noise_variance(self) -> Floats:
        """The variance of each variable's noise."""
        return self._scale**2 * standard_noise(self.noise).variance

    @property
    def mean(self) -> Floats:
        """The mean of each variable.

        Examples
        --------
        >>> LinearSEM(DAG.from_edges([("a", "b", 2.0)]), intercept=[1.0, 0.5]).mean.tolist()
        [1.0, 2.5]
        """
        return self._propagate((self._intercept + self.noise_mean)[:, None].copy())[:, 0]

    def sample(self, n: int, seed: Seed, dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """Draw n rows, level by level of the graph by sparse products, in little more memory than they take.

        Rows come one after another from the generator: the first m of n rows are what m rows would have been,
        and float32 rows are the float64 ones, rounded.
        """
        X = np.empty((_row_count(n, 0), self.d), dtype=_floating(dtype))
        for rows, block in self._noise_blocks(n, seed):
            X[rows] = self._propagate(block).T
        return X

    def write(
        self, path: str | Path, n: int, seed: Seed, dtype: DTypeLike = np.float64, n_jobs: int | None = None
    ) -> NDArray[Any]:
        """The rows of :meth:`sample` in an ``.npy`` file, block by block as they are made; returns it memory-mapped.

        Noise is drawn by one thread and led along the graph by ``n_jobs`` of them: the rows are the same for any
        number.
        """
        kind, shape = _floating(dtype), (_row_count(n, 0), self.d)
        self._levels  # noqa: B018  (found once, not by each thread)

        def rows_of(item: tuple[slice, Floats]) -> NDArray[Any]:
            return np.ascontiguousarray(self._propagate(item[1]).T, dtype=kind)

        with replacing(path) as file, workers(n_jobs) as threads:
            header = {"descr": np.lib.format.dtype_to_descr(kind), "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(file, header)
            for rows in threads.stream(rows_of, self._noise_blocks(n, seed)):
                file.write(rows.data)
        mapped: NDArray[Any] = np.load(path, mmap_mode="r")
        return mapped

    def stream(self, batch_size: int, seed: Seed, dtype: DTypeLike = np.float64) -> Iterator[NDArray[Any]]:
        """Batches without end; joined together they are the rows that ``sample`` gives for the same seed."""
        size = _row_count(batch_size, 1)
        rng = np.random.default_rng(seed)
        while True:
            yield self.sample(size, rng, dtype)

    def standardised(self, n: int, seed: Seed) -> LinearSEM:
        """The model of (x − mean) / sd, with the mean and sd of the n rows that this seed gives.

        So ``model.standardised(n, seed).sample(n, seed)`` are the rows of ``model.sample(n, seed)``, each
        column brought to mean 0 and variance 1. The graph is the same and weights are w_ij · sd_i / sd_j.

        Examples
        --------
        >>> model = LinearSEM(DAG.from_edges([("a", "b", 3.0)]))
        >>> bool(np.allclose(model.standardised(50, seed=0).sample(50, seed=0).std(axis=0), 1))
        True
        """
        pivot, total, squares = np.zeros(self.d), np.zeros(self.d), np.zeros(self.d)
        for rows, block in self._noise_blocks(_row_count(n, 2), seed):
            self._propagate(block)
            if rows.start == 0:
                pivot = block.mean(axis=1)
            block -= pivot[:, None]
            total += block.sum(axis=1)
            squares += np.einsum("ij,ij->i", block, block)
        shift = total / n
        mean, sd = pivot + shift, _unit_if_zero(np.sqrt(np.maximum(squares / n - shift**2, 0)))
        return self._in_units(mean, sd, parent_mean=mean, parent_sd=sd)

    def internally_standardised(self, n: int, seed: Seed) -> LinearSEM:
        """The model in which each variable is standardised as it is made, before its children see it (iSCM).

        Mean and sd are those of the n rows that this seed gives: ``sample(n, seed)`` of the result has
        columns of mean 0 and variance 1. Unlike standardising afterwards, this keeps signal and noise in
        balance along the order, so that R² says nothing about it on Erdős–Rényi graphs either (hubs with many
        parents still stand out). Needs 8·n·d bytes while it runs.

        References
        ----------
        Ormaniec, Sussex, Lorch, Schölkopf & Krause (2024), "Standardizing structural causal models".

        Examples
        --------
        >>> chain = LinearSEM(DAG.from_edges([("a", "b", 3.0), ("b", "c", 3.0)]))
        >>> chain.internally_standardised(100_000, seed=0).weights.data.round(2).tolist()
        [0.95, 0.95]
        """
        nodes = np.empty((self.d, _row_count(n, 2)))
        for rows, block in self._noise_blocks(n, seed):
            nodes[:, rows] = block
        mean, sd = np.empty(self.d), np.empty(self.d)
        for level, incoming in self._levels:
            values = nodes[level] + incoming @ nodes
            mean[level] = values.mean(axis=1)
            values -= mean[level, None]
            sd[level] = _unit_if_zero(np.sqrt(np.einsum("ij,ij->i", values, values) / n))
            values /= sd[level, None]
            nodes[level] = values
        return self._in_units(mean, sd, parent_mean=np.zeros(self.d), parent_sd=np.ones(self.d))

    @property
    def _scale(self) -> Floats:
        return np.asarray(self.scale, dtype=np.float64)

    @property
    def _intercept(self) -> Floats:
        return np.asarray(self.intercept, dtype=np.float64)

    @cached_property
    def _levels(self) -> list[tuple[Order, sp.csr_array]]:
        """Each level of the graph with the rows of weightsᵀ that lead into it."""
        incoming = sp.csr_array(self.weights.T)
        return [(level, incoming[level]) for level in topological_levels(self.weights)]

    def _noise_blocks(self, n: int, rng: Seed) -> Iterator[tuple[slice, Floats]]:
        """Intercept plus noise, a block of rows at a time, transposed: one contiguous line per variable."""
        rng = np.random.default_rng(rng)
        draw = standard_noise(self.noise).draw
        step = max(1, _BLOCK // max(1, self.d))
        for start in range(0, n, step):
            stop = min(n, start + step)
            block = draw(rng, (stop - start, self.d))
            block *= self._scale
            block += self._intercept
            yield slice(start, stop), np.ascontiguousarray(block.T)

    def _propagate(self, block: Floats) -> Floats:
        """Noise to values, in place."""
        for level, incoming in self._levels[1:]:
            block[level] += incoming @ block
        return block

    def _in_units(self, mean: Floats, sd: Floats, *, parent_mean: Floats, parent_sd: Floats) -> LinearSEM:
        """The model of (x_j − mean_j) / sd_j when what parents pass on was in units of its own."""
        weights = self.weights.tocoo()
        passed_on = np.bincount(weights.col, weights.data * parent_mean[weights.row], minlength=self.d)
        scaled = weights.data * parent_sd[weights.row] / sd[weights.col]
        matrix = sp.csr_array((scaled, self.weights.indices, self.weights.indptr), shape=weights.shape)
        return replace(
            self,
            dag=DAG(matrix, self.order, self.names),
            scale=self._scale / sd,
            intercept=(self._intercept + passed_on - mean) / sd,
        )


def _row_count(n: int, least: int) -> int:
    if n != int(n) or n < least:
        raise InputError(f"the number of rows must be a whole number, at least {least}; got {n}")
    return int(n)


def _floating(dtype: DTypeLike) -> np.dtype[Any]:
    kind = np.dtype(dtype)
    if kind not in (np.float32, np.float64):
        raise InputError(f"samples are float32 or float64; got {kind}")
    return kind


def _unit_if_zero(sd: Floats) -> Floats:
    """A constant variable keeps its unit."""
    return np.where(sd > 0, sd, 1.0)
