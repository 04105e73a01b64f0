"""The rows behind a source, as far as they fit: for questions that moments do not answer."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from psidag.data.sources import Source, in_memory, read_again
from psidag.system.parallel import Workers

#: Numbers that are brought together from rows that stay where they are: 64 MB in single precision.
_NUMBERS = 1 << 24


class RowsBehind(NamedTuple):
    """Rows, all of them or at equal distances, with their weights."""

    X: NDArray[np.floating]
    weight: NDArray[np.float64] | None = None


def rows_behind(source: Source, workers: Workers) -> RowsBehind | None:
    """The rows of a table as they are; those of files or a cluster from a further pass; None where there are none.

    Of rows that do not fit, every second, third, … is taken. A stream has passed when it would be asked.
    """
    if in_memory(source):
        return RowsBehind(source.X, source.sample_weight)
    if not read_again(source):
        return None
    count = int(source.moments(workers).count)
    apart = -(-count * source.d // _NUMBERS)
    X: NDArray[np.floating] | None = None
    filled = seen = 0
    for rows in source.batches():
        if X is None:
            X = np.empty((-(-count // apart), source.d), np.float32 if apart > 1 else rows.dtype)
        some = rows[-seen % apart :: apart]
        X[filled : filled + len(some)] = some
        filled, seen = filled + len(some), seen + len(rows)
    return None if X is None else RowsBehind(X[:filled])
