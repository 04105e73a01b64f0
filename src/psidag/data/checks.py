"""What about the data deserves a warning before anything is learned from them."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from psidag.data.moments import Moments
from psidag.errors import listing

#: A column whose variance given the others is below this share of its own is taken as a combination of them.
_COLLINEAR = 1e-9


def constant_columns(moments: Moments) -> list[str]:
    """Columns that do not vary."""
    return [moments.names[j] for j in np.flatnonzero(moments.sd == 0)]


def data_warnings(moments: Moments) -> list[str]:
    """One sentence for each thing that makes the answer less trustworthy."""
    found = []
    constant = constant_columns(moments)
    if constant:
        found.append(f"constant columns become isolated nodes: {listing(constant)}")
    if moments.count <= moments.d:
        found.append(
            f"{moments.count:g} rows for {moments.d} columns: weak edges cannot be told from chance; "
            "trust the strongest only"
        )
    else:
        combined = collinear_columns(moments)
        if combined:
            found.append(
                f"columns that are a linear combination of others (or copies): {listing(combined)}; "
                "which of them is the cause cannot be told from these data"
            )
    return found


def collinear_columns(moments: Moments) -> list[str]:
    """Columns that others determine: what a pivoted Cholesky factorisation of the correlations leaves over."""
    sd = moments.sd
    live = np.flatnonzero(sd > 0)
    C = moments.covariance[np.ix_(live, live)] / np.outer(sd[live], sd[live])
    _, pivots, rank, _ = scipy.linalg.lapack.dpstrf(C, tol=_COLLINEAR, lower=1, overwrite_a=1)
    return [moments.names[live[j]] for j in sorted(pivots[rank:] - 1)]
