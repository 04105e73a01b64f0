"""What about the data deserves a warning before anything is learned from them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from psidag.data.moments import Moments
from psidag.system.errors import listing

Floats = NDArray[np.float64]

#: A column whose variance given the others is below this share of its own is taken as a combination of them.
_COLLINEAR = 1e-9
#: Below this share it is nearly one: weights among such columns swing with the last digits of the data.
NEARLY_DETERMINED = 1e-5
#: Up to this many columns combinations are looked for: the factorisation takes a second there.
_MOST_COLUMNS = 3000


def data_warnings(names: Sequence[str], count: float, sd: Floats, moments: Moments | None = None) -> list[str]:
    """One sentence for each thing that makes the answer less trustworthy.

    Linear combinations are looked for where the moments are at hand and not too wide.
    """
    found = []
    constant = constant_columns(names, sd)
    if constant:
        found.append(f"constant columns become isolated nodes: {listing(constant)}")
    if count <= len(names):
        found.append(
            f"{count:g} rows for {len(names)} columns: weak edges cannot be told from chance; trust the strongest only"
        )
    elif moments is not None and moments.d <= _MOST_COLUMNS:
        combined, nearly = collinear_columns(moments)
        if combined:
            found.append(
                f"columns that are a linear combination of others (or copies): {listing(combined)}; "
                "which of them is the cause cannot be told from these data"
            )
        if nearly:
            found.append(
                f"columns that others determine almost wholly (less than {NEARLY_DETERMINED:g} of their variance is "
                f"left): {listing(nearly)}; weights and directions among them are not to be trusted: leave one of each "
                "group out"
            )
    return found


def constant_columns(names: Sequence[str], sd: Floats) -> list[str]:
    """Columns that do not vary."""
    return [name for name, spread in zip(names, sd, strict=True) if spread == 0]


def collinear_columns(moments: Moments) -> tuple[list[str], list[str]]:
    """Columns that others determine, and those that they nearly do.

    A pivoted Cholesky factorisation of the correlations has at its end what the others leave over of each column.
    """
    sd = moments.sd
    live = np.flatnonzero(sd > 0)
    C = moments.covariance[np.ix_(live, live)] / np.outer(sd[live], sd[live])
    factor, pivots, rank, _ = scipy.linalg.lapack.dpstrf(C, tol=_COLLINEAR, lower=1, overwrite_a=1)
    almost = np.flatnonzero(np.diag(factor)[:rank] ** 2 < NEARLY_DETERMINED)
    exact, nearly = ([moments.names[live[j]] for j in sorted(found - 1)] for found in (pivots[rank:], pivots[almost]))
    return exact, nearly
