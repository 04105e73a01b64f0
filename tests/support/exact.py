"""Regressions in wider numbers than the library has."""

import numpy as np


def residual_variance(S, j, parents):
    """What these parents leave of column j, by Cholesky factors in the widest numbers there are."""
    P = [*map(int, parents), j]
    A = S[np.ix_(P, P)].astype(np.longdouble)
    L = np.zeros_like(A)
    for a in range(len(A)):
        for b in range(a + 1):
            t = A[a, b] - L[a, :b] @ L[b, :b]
            L[a, b] = np.sqrt(t) if a == b else t / L[b, b]
    return float(L[-1, -1] ** 2)
