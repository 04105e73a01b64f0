"""Count, mean and scatter of rows: all that a least-squares learner needs to know of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from psidag.system.errors import InputError, listing
from psidag.system.parallel import SERIAL, Workers, one_blas_thread, tiles

Floats = NDArray[np.float64]

#: Rows are reduced in blocks of about this many numbers, so that no second copy of a large table is made.
_BLOCK = 1 << 22
#: Columns per tile of a scatter that threads share.
TILE = 512
#: From this many columns on, products in single precision take half of the time, with all that is around them.
_SINGLE_FROM = 2000
#: Rows of an outer product that are made at once: a whole one takes longer to fetch from memory than to add.
_OUTER_ROWS = 64
#: A sum of squares from which on products overflow.
_TOO_LARGE = 1e200
#: A sum of squares below which they lose digits, or vanish.
_TOO_SMALL = 1e-285
#: A standard deviation of up to this share of the mean, two units in the last place, is what rounding makes of none.
_ROUNDING = 2 * float(np.finfo(np.float64).eps)


class Moments:
    """Number, mean and scatter of rows, updated batch by batch and merged without loss.

    The scatter is Σ w (x − mean)(x − mean)ᵀ, accumulated in float64 by the pairwise update of
    Chan, Golub & LeVeque (1983): each batch is centred by its own mean first, so means of 10⁶ cost no digits.

    Parameters
    ----------
    d : int
        Number of columns.
    names : sequence of str, optional
        Column names; ``x0``, ``x1`` … by default.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(loc=1e6, size=(1000, 3))
    >>> a, b = Moments.from_rows(X[:300]), Moments.from_rows(X[300:])
    >>> bool(np.allclose(a.merge(b).covariance, np.cov(X.T, bias=True)))
    True
    """

    def __init__(self, d: int, names: Sequence[str] | None = None) -> None:
        self.names: tuple[str, ...] = tuple(f"x{i}" for i in range(d)) if names is None else tuple(names)
        if len(self.names) != d:
            raise InputError(f"{len(self.names)} names were given for {d} columns")
        self.count: float = 0.0
        self.mean: Floats = np.zeros(d)
        self.scatter: Floats = np.zeros((d, d))

    @classmethod
    def from_rows(
        cls,
        X: NDArray[np.floating],
        names: Sequence[str] | None = None,
        sample_weight: ArrayLike | None = None,
        workers: Workers | None = None,
    ) -> Moments:
        """The moments of all rows of a table, reduced block by block."""
        moments = cls(X.shape[1], names)
        weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        step = max(256, _BLOCK // max(1, X.shape[1]))
        for start in range(0, len(X), step):
            part = slice(start, start + step)
            moments.update(X[part], None if weight is None else weight[part], workers)
        return moments

    @classmethod
    def from_covariance(
        cls,
        covariance: ArrayLike,
        count: float,
        mean: ArrayLike | None = None,
        names: Sequence[str] | None = None,
    ) -> Moments:
        """Moments from a ready covariance matrix and the number of rows it was computed from."""
        S = np.array(covariance, dtype=np.float64)
        if S.ndim != 2 or S.shape[0] != S.shape[1]:
            raise InputError(f"a covariance must be a square matrix; got shape {S.shape}")
        moments = cls(len(S), names)
        if not np.isfinite(S).all():
            bad = [moments.names[i] for i in np.flatnonzero(~np.isfinite(S).all(axis=0))]
            raise InputError(f"the covariance has NaN or infinite entries in {listing(bad)}")
        if not count >= 2:
            raise InputError(f"the covariance needs the number of rows behind it, at least 2; got {count}")
        _check_covariance(S, moments.names)
        moments.count = float(count)
        moments.scatter = (S + S.T) * (0.5 * moments.count)
        if mean is not None:
            moments.mean = np.array(mean, dtype=np.float64).reshape(moments.d)
        return moments

    @property
    def d(self) -> int:
        """Number of columns."""
        return len(self.names)

    @property
    def covariance(self) -> Floats:
        """S = scatter / count, the covariance without Bessel's correction; a new array."""
        return self.scatter / max(self.count, 1.0)

    @property
    def variance(self) -> Floats:
        """The diagonal of the covariance."""
        return np.diag(self.scatter) / max(self.count, 1.0)

    @property
    def sd(self) -> Floats:
        """Standard deviations, exactly zero for columns that vary by no more than the rounding of their mean."""
        return spread(self.variance, self.mean)

    @one_blas_thread()
    def update(
        self,
        batch: NDArray[np.floating],
        sample_weight: ArrayLike | None = None,
        workers: Workers | None = None,
        *,
        quick: bool = False,
    ) -> Moments:
        """Take in more rows; returns itself.

        With ``quick`` many columns that come in single precision are multiplied in it. Copies of a column are then
        known as such to seven digits, not to fifteen.
        """
        if np.ma.is_masked(batch):
            raise InputError("moments have no place for masked values: learn_dag takes them, with missing=...")
        rows = np.asarray(batch)
        if rows.ndim != 2 or rows.shape[1] != self.d:
            raise InputError(f"a batch of shape {rows.shape} does not fit the {self.d} columns seen so far")
        if len(rows) == 0:
            return self
        if quick and rows.dtype == np.float32 and sample_weight is None and self.d >= _SINGLE_FROM:
            return self._take_in_single(rows, workers or SERIAL)
        rows = rows.astype(np.float64, copy=False)
        weight = np.ones(len(rows)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        total = float(weight.sum())
        if total <= 0:
            return self
        mean = weight @ rows / total
        # A second pass over the remainder removes what rounding left in the mean of large values.
        centred = rows - mean
        shift = weight @ centred / total
        centred -= shift
        if sample_weight is not None:
            centred *= np.sqrt(weight)[:, None]
        with np.errstate(over="ignore", invalid="ignore"):
            scatter = gram(centred, workers)
        check_scale(self.names, mean, np.diag(scatter), centred)
        self._absorb(total, mean + shift, scatter)
        return self

    def _take_in_single(self, rows: NDArray[np.float32], workers: Workers) -> Moments:
        """Take in rows by products in single precision, of columns that have been given norms of one for them."""
        n = len(rows)
        mean, norm, unit = np.empty(self.d), np.empty(self.d), np.empty_like(rows, order="C")

        def standardise(part: slice) -> None:
            block = rows[:, part].astype(np.float64)
            mean[part] = block.mean(axis=0)
            block -= mean[part]
            norm[part] = np.linalg.norm(block, axis=0)
            unit[:, part] = block / np.where(norm[part] > 0, norm[part], 1.0)

        workers.map(standardise, tiles(self.d, TILE))
        gap = mean - self.mean
        scaled = gap * (self.count * n / (self.count + n))

        def add(pair: tuple[slice, slice]) -> None:
            across, down = pair
            found = (unit[:, across].T @ unit[:, down]) * norm[across, None]
            found *= norm[down]
            if across == down:
                np.fill_diagonal(found, norm[down] ** 2)
            found += np.outer(scaled[across], gap[down])
            self.scatter[across, down] += found
            if across != down:
                self.scatter[down, across] = self.scatter[across, down].T

        workers.map(add, _upper_tiles(self.d))
        self.mean = self.mean + gap * (n / (self.count + n))
        self.count += n
        return self

    def merge(self, other: Moments) -> Moments:
        """The moments of both sets of rows together, as a new object."""
        if other.names != self.names:
            raise InputError(
                f"moments of different columns cannot be merged: {listing(self.names)} and {listing(other.names)}"
            )
        merged = self.copy()
        merged._absorb(other.count, other.mean, other.scatter)
        return merged

    def forget(self, share: float) -> Moments:
        """Let the rows so far weigh only this share of what they did; returns itself."""
        self.count *= share
        self.scatter *= share
        return self

    def copy(self) -> Moments:
        """An independent copy."""
        twin = Moments(self.d, self.names)
        twin.count, twin.mean, twin.scatter = self.count, self.mean.copy(), self.scatter.copy()
        return twin

    def _absorb(self, count: float, mean: Floats, scatter: Floats) -> None:
        if count <= 0:
            return
        total = self.count + count
        gap = mean - self.mean
        self.scatter += scatter
        if self.count:
            scaled = gap * (self.count * count / total)
            for rows in tiles(self.d, _OUTER_ROWS):
                self.scatter[rows] += np.outer(scaled[rows], gap)
        self.mean = self.mean + gap * (count / total)
        self.count = total

    def __repr__(self) -> str:
        return f"Moments({self.count:g} rows, {self.d} columns)"


def spread(variance: Floats, mean: Floats) -> Floats:
    """Standard deviations, exactly zero where they are no more than the rounding of the mean."""
    sd = np.sqrt(variance)
    sd[sd <= _ROUNDING * np.abs(mean)] = 0.0
    return sd


def check_scale(names: Sequence[str], mean: Floats, squares: Floats, centred: Floats) -> None:
    """Raise over numbers too large, or too small, to be multiplied with each other.

    ``squares`` are sums of the squares of the columns of ``centred``. What is not finite is said elsewhere.
    """
    finite = np.isfinite(mean)
    large = finite & ~(squares < _TOO_LARGE)
    if large.any() and finite.all():
        culprits = listing([names[int(j)] for j in np.flatnonzero(large)])
        raise InputError(f"values too large to reckon with, beyond 1e100, in {culprits}: give them in larger units")
    faint = np.flatnonzero(squares < _TOO_SMALL)
    if len(faint):
        varying = np.abs(centred[:, faint]).max(axis=0, initial=0.0) > _ROUNDING * np.abs(mean[faint])
        if varying.any():
            culprits = listing([names[int(j)] for j in faint[varying]])
            raise InputError(
                f"values that vary too little to reckon with, by less than 1e-140, in {culprits}: give them in smaller "
                "units"
            )


def gram(rows: Floats, workers: Workers | None = None) -> Floats:
    """RowsᵀRows from its upper tiles alone, which threads share; the tiles do not depend on their number."""
    d = rows.shape[1]
    if workers is None or d <= TILE:
        return rows.T @ rows
    product = np.empty((d, d))

    def tile(pair: tuple[slice, slice]) -> None:
        across, down = pair
        product[across, down] = rows[:, across].T @ rows[:, down]
        product[down, across] = product[across, down].T

    workers.map(tile, _upper_tiles(d))
    return product


def _upper_tiles(d: int) -> list[tuple[slice, slice]]:
    cuts = tiles(d, TILE)
    return [(a, b) for i, a in enumerate(cuts) for b in cuts[i:]]


def _check_covariance(S: Floats, names: tuple[str, ...]) -> None:
    """Raise unless S is symmetric and positive semi-definite up to rounding."""
    scale = float(np.abs(S).max(initial=0.0))
    skew = np.abs(S - S.T)
    if skew.max(initial=0.0) > 1e-8 * scale:
        i, j = np.unravel_index(int(skew.argmax()), S.shape)
        raise InputError(
            f"the covariance is not symmetric: entries ({names[i]!r}, {names[j]!r}) are {S[i, j]:g} and {S[j, i]:g}"
        )
    negative = np.flatnonzero(np.diag(S) < 0)
    if len(negative):
        raise InputError(f"the covariance has negative variances: {listing([names[i] for i in negative])}")
    sd = np.sqrt(np.diag(S))
    sd[sd == 0] = 1.0
    lowest = float(np.linalg.eigvalsh((S + S.T) / 2 / np.outer(sd, sd))[0])
    if lowest < -1e-8 * len(S):
        raise InputError(
            f"the covariance is not positive semi-definite: as correlations its lowest eigenvalue is {lowest:.3g}; "
            "compute it from complete rows, or repair it by clipping negative eigenvalues"
        )
