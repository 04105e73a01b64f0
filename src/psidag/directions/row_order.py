"""Does the noise of a column follow the order of the rows? Then something that changes along them acts on it."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import scipy.fft
import scipy.sparse as sp
import scipy.special
from numpy.typing import NDArray

from psidag.system.parallel import Workers, tiles

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

# Levels and distances: benchmarks/directions.md, "rows that depend on each other".
#: Rows of one look: more would find correlations that are too small to matter.
_ROWS = 2048
#: Fewer rows tell nothing about their order.
_FEWEST = 30
#: Chance of calling noise that is independent from row to row dependent, for one column.
_LEVEL = 0.001
#: Distances between rows that are tested together; each further one by itself.
_NEAR = 5
#: Noise this many robust deviations away counts as if it were no further.
_FURTHEST = 3.0
#: Rows from which those deviations are estimated.
_ROUGHLY = 256
#: Of a column that rows are sorted by, powers up to this one explain what follows it; and at most this many columns.
_POWERS, _MOST_KEYS = 3, 3
#: Where more than this share of the columns follow the rows, what they have in common is behind the others, too: it
#: only shows less in those whose parents carry it.
_MANY = 1 / 3
#: Rows that show of most columns that rows are not sorted by them.
_GLANCE = 16
#: Columns that one thread takes at a time.
_COLUMNS = 64
#: Noise of less than this share of its column is what rounding left.
_NOTHING_LEFT = 1e-6


def follows_row_order(X: NDArray[Any], weights: sp.csr_array, workers: Workers) -> NDArray[np.bool_]:
    """The columns whose noise in one row depends on that in others, by how far these are away.

    Points in time are like those before them; people of one family, school or country that stand together are like each
    other. Where the noise of two columns follows the rows, what the rows have in common may be behind both, and no
    arrow between them is safe. Independent rows that were only sorted by a column of the table are another thing:
    beyond a smooth function of this column their order tells nothing.

    Parameters
    ----------
    X : array of shape (n, d)
        Rows. Of many, neighbouring ones in the middle are looked at, and some at equal distances.
    weights : sparse array of shape (d, d)
        The graph, fitted: ``weights[i, j]`` for i → j.
    workers : Workers
        Threads; they do not change the result.

    Examples
    --------
    >>> import numpy as np
    >>> from psidag.system.parallel import SERIAL
    >>> rng = np.random.default_rng(0)
    >>> walks, white = rng.normal(size=(2, 500)).cumsum(axis=1), rng.normal(size=500)
    >>> follows_row_order(np.column_stack([*walks, white]), sp.csr_array((3, 3)), SERIAL).tolist()
    [True, True, False]
    >>> by_cause = np.column_stack([np.sort(white), np.sort(white) + rng.normal(size=500)])
    >>> follows_row_order(by_cause, sp.csr_array((2, 2)), SERIAL).tolist()
    [False, False]
    """
    n = len(X)
    if n < _FEWEST:
        return np.zeros(X.shape[1], dtype=bool)
    if n <= 2 * _ROWS:
        return _dependent(X, weights, _LEVEL, workers)
    first = (n - _ROWS) // 2
    beside = _dependent(X[first : first + _ROWS], weights, _LEVEL / 2, workers)
    return beside | _dependent(X[:: n // _ROWS], weights, _LEVEL / 2, workers)


def rows_have_more_in_common(follows: NDArray[np.bool_], tier: NDArray[np.integer]) -> bool:
    """Whether the order of the rows concerns all columns, because more than a third of them follow it.

    Columns that prior knowledge has before others do not count: their past may do with them what it likes.

    Parameters
    ----------
    follows : boolean array of shape (d,)
        What :func:`follows_row_order` has found.
    tier : array of shape (d,)
        The place of each column in the order of tiers; −1 where it has none.
    """
    last = follows[(tier < 0) | (tier == tier.max(initial=-1))]
    return bool(last.sum() >= 2 and last.mean() > _MANY)


def _dependent(X: NDArray[Any], weights: sp.csr_array, level: float, workers: Workers) -> NDArray[np.bool_]:
    """Of each column, whether noise that is independent from row to row is rejected at this level."""
    columns, keys = sp.csc_array(weights), _keys(X)

    def look(part: slice) -> NDArray[np.bool_]:
        few = columns[:, part]
        used = np.unique(few.indices)
        own = np.ascontiguousarray(X[:, part].T, dtype=np.float64)
        noise = own - few[used].T @ np.ascontiguousarray(X[:, used].T, dtype=np.float64)
        left = np.ptp(noise, axis=1) > _NOTHING_LEFT * np.ptp(own, axis=1)
        return np.asarray(left & (_p_values(_even(noise, keys)) < level))

    return np.concatenate(workers.map(look, tiles(X.shape[1], _COLUMNS)))


def _keys(X: NDArray[Any]) -> Floats:
    """Orthonormal functions of the rows, one in each: a constant, and powers of the columns that they are sorted by."""
    ends = X[-1] - X[0]
    # A few rows rule most columns out.
    begun = np.flatnonzero(np.all(np.diff(X[:_GLANCE], axis=0) * np.sign(ends) >= 0, axis=0) & (ends != 0))
    rising = (j for j in begun.tolist() if np.all(np.diff(X[:, j]) * np.sign(ends[j]) >= 0))
    sorted_by = list(islice(rising, _MOST_KEYS))
    functions = [np.ones(len(X))]
    for j in sorted_by:
        key = (X[:, j] - X[0, j]) / ends[j]
        functions += [(2 * key - 1) ** k for k in range(1, _POWERS + 1)]
    Q, R = np.linalg.qr(np.stack(functions, axis=1))
    kept = np.abs(np.diag(R)) > 1e-9 * np.sqrt(len(X))
    return np.asarray(Q[:, kept].T)


def _even(noise: Floats, keys: Floats) -> Singles:
    """Noise with its extremes drawn in, and without what a sorted column explains."""
    size = np.maximum(noise.max(axis=1), -noise.min(axis=1))
    noise = (noise / np.maximum(size, np.finfo(np.float64).tiny)[:, None]).astype(np.float32)
    some = noise[:, :: max(1, noise.shape[1] // _ROUGHLY)]
    middle = np.median(some, axis=1, keepdims=True)
    spread = 1.4826 * np.median(np.abs(some - middle), axis=1, keepdims=True)
    reach = _FURTHEST * np.where(spread > 0, spread, noise.std(axis=1, keepdims=True))
    noise = np.clip(noise, middle - reach, middle + reach)
    keys = keys.astype(np.float32)
    return np.asarray(noise - (noise @ keys.T) @ keys)


def _p_values(noise: Singles) -> Floats:
    """Of noise, one in each row, that is independent along it: Ljung and Box's for near lags, that of the largest."""
    n = noise.shape[1]
    length = scipy.fft.next_fast_len(n + n // 2, real=True)
    power = np.abs(scipy.fft.rfft(noise, length, axis=1)) ** 2
    found = scipy.fft.irfft(power, length, axis=1)[:, : n // 2]
    lags = np.arange(1, n // 2)
    square = (found[:, 1:] / np.maximum(found[:, :1], np.finfo(np.float64).tiny)) ** 2 * (n * (n + 2) / (n - lags))
    near = scipy.special.chdtrc(_NEAR, square[:, :_NEAR].sum(axis=1))
    far = square.shape[1] * scipy.special.chdtrc(1, square.max(axis=1))
    return np.asarray(2 * np.minimum(near, far))
