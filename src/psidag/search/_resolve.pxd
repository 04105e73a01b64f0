# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Regressions on nearly collinear parents, or with next to nothing left over, kept exact.

An update of M = (S_PP)^-1 loses as many digits as the largest conditional precision in it has, and v is the small
difference of large numbers. Where that could move a score, the regression is solved again after each update.
"""

from libc.math cimport sqrt

from psidag.data._entries cimport Matrix, entry, rounding
from psidag.data._factor cimport invert_factor
from psidag.search._regression cimport Regression, add, drop


cdef enum:
    # Up to this conditional precision, and down to its inverse as share left over, updates alone are exact enough:
    # 1e5 times the rounding of a sum, times n, is still far below one unit of score.
    STEADY = 100000


cdef inline bint is_delicate(const Matrix* S, Regression* r) noexcept nogil:
    """Whether updates of this regression lose digits that matter; never where S itself has no more of them."""
    cdef Py_ssize_t a, p
    if S.precise == NULL:
        return False
    if r.v * STEADY < r.variance:
        return True
    for a in range(r.k):
        p = r.parents[a]
        if r.M[a * r.room + a] * S.precise[p * S.d + p] > STEADY:
            return True
    return False


cdef inline void invert(double* A, Py_ssize_t k, Py_ssize_t room, double least) noexcept nogil:
    """A symmetric positive matrix becomes its inverse, in place, by Cholesky factors.

    Pivots are at least this share of their diagonal entry.
    """
    cdef Py_ssize_t a, b, c
    cdef double t, own
    for a in range(k):
        for b in range(a):
            t = A[a * room + b]
            for c in range(b):
                t -= A[a * room + c] * A[b * room + c]
            A[a * room + b] = t * A[b * room + b]
        own = t = A[a * room + a]
        for c in range(a):
            t -= A[a * room + c] * A[a * room + c]
        if not t > least * own:
            t = least * own
        # The diagonal holds inverse pivots: what the lines above and below divide by.
        A[a * room + a] = 1 / sqrt(t)
    invert_factor(A, k, room)


cdef inline void solve(const Matrix* S, Py_ssize_t j, Regression* r, double* scratch) noexcept nogil:
    """The regression of j on the parents it has, from S alone; O(k^3).

    v is the quadratic form at b, so that no error of b can make it less than it is.
    """
    cdef Py_ssize_t a, h, k = r.k, room = r.room, turn, p
    cdef double t, v
    cdef double* left = scratch
    for a in range(k):
        p = r.parents[a]
        for h in range(k):
            r.M[a * room + h] = entry(S, p, r.parents[h])
        r.b[a] = 0
    invert(r.M, k, room, 0.1 * rounding(S))
    # Refined once, which makes up for the digits that M lacks; the last turn only finds what is left.
    for turn in range(3):
        v = entry(S, j, j)
        for a in range(k):
            p = r.parents[a]
            t = entry(S, p, j)
            v -= r.b[a] * t
            for h in range(k):
                t -= entry(S, p, r.parents[h]) * r.b[h]
            left[a] = t
            v -= r.b[a] * t
        if turn < 2:
            for a in range(k):
                t = 0
                for h in range(k):
                    t += r.M[a * room + h] * left[h]
                r.b[a] += t
    r.v = v if v > rounding(S) * r.variance else rounding(S) * r.variance


cdef inline void resolve_if_ill_conditioned(const Matrix* S, Py_ssize_t j, Regression* r, double* scratch) noexcept nogil:
    """After a parent of j has come or gone: solve again if the regression is or was delicate. Overwrites scratch[:k]."""
    cdef bint now = is_delicate(S, r)
    if now or r.delicate:
        solve(S, j, r, scratch)
        now = is_delicate(S, r)
    r.delicate = now


cdef inline bint add_parent(const Matrix* S, Py_ssize_t i, Py_ssize_t j, Regression* r, double* scratch) noexcept nogil:
    """Take i as one more parent of j, exactly; room must be there. False when i is collinear, and stays out."""
    if not add(S, i, j, r, scratch):
        return False
    resolve_if_ill_conditioned(S, j, r, scratch)
    return True


cdef inline void drop_parent(const Matrix* S, Py_ssize_t j, Regression* r, Py_ssize_t w, double* scratch) noexcept nogil:
    """Take parent number w of j out, exactly; the last parent moves into its place."""
    drop(r, w, scratch)
    resolve_if_ill_conditioned(S, j, r, scratch)
