# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Regressions on nearly collinear parents, or with next to nothing left over, kept exact at O(k^2) a change.

An update of M = (S_PP)^-1 loses as many digits as the largest conditional precision in it has, and v is the small
difference of large numbers. Where that could move a score, the regression is *delicate*: it holds the Cholesky factor
R of its parents, R'R = S_PP, too. R loses no digits, whoever comes and goes: a parent that comes is one more column, one
that goes is rotated out (Golub & Van Loan, Matrix Computations, section 6.5). Weights, v, and all by which M changes, are
found from it, and refined by S. What M itself loses when nearly collinear parents go is counted (`blur`), and before it matters M is
found from R anew.
"""

from libc.math cimport sqrt
from libc.string cimport memcpy

from psidag.data._entries cimport Matrix, entries, entry, rounding
from psidag.data._factor cimport invert_factor
from psidag.search._regression cimport Regression, drop, enter, is_rounding, relate
from psidag.search._memory cimport resized


cdef enum:
    # Up to this conditional precision, and down to its inverse as share left over, updates alone are exact enough:
    # 1e5 times the rounding of a sum, times n, is still far below one unit of score.
    STEADY = 100000
    # How many times as large the relative error of M may become as it is when M has just been found from R.
    BLURRED = 100000
    # Or still be when the regression is no longer delicate.
    BARELY = 10


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


cdef inline bint makes_delicate(const Matrix* S, Py_ssize_t i, Regression* r, const double* u, double delta,
                                double c) noexcept nogil:
    """Whether i, of which the parents leave `delta` and which has the covariance c with the residual, makes it so."""
    cdef Py_ssize_t a, p
    if S.precise == NULL:
        return False
    if (r.v - c * c / delta) * STEADY < r.variance or delta * STEADY < S.precise[i * S.d + i]:
        return True
    for a in range(r.k):
        p = r.parents[a]
        if (r.M[a * r.room + a] + u[a] * u[a] / delta) * S.precise[p * S.d + p] > STEADY:
            return True
    return False


cdef inline int factor(const Matrix* S, Regression* r) except -1 nogil:
    """R from S alone; O(k^3). Pivots are at least a share of their diagonal entry."""
    cdef Py_ssize_t a, b, h, k = r.k, room = r.room
    cdef double f, own
    cdef double* row
    cdef double* other
    if r.R == NULL:
        r.R = <double*> resized(NULL, room * room * sizeof(double))
    for a in range(k):
        entries(S, r.parents[a], r.parents + a, k - a, r.R + a * room + a)
    for a in range(k):
        row = r.R + a * room
        own = rounding(S) * entry(S, r.parents[a], r.parents[a])
        f = sqrt(row[a] if row[a] > own else own)
        for h in range(a, k):
            row[h] /= f
        row[a] = f
        for b in range(a + 1, k):
            f = row[b]
            other = r.R + b * room
            for h in range(b, k):
                other[h] -= f * row[h]
    return 0


cdef inline void solve_lower(const Regression* r, double* y) noexcept nogil:
    """y <- R'^-1 y."""
    cdef Py_ssize_t a, h
    cdef double f
    cdef const double* row
    for a in range(r.k):
        row = r.R + a * r.room
        f = y[a] = y[a] / row[a]
        for h in range(a + 1, r.k):
            y[h] -= f * row[h]


cdef inline void solve_upper(const Regression* r, const double* y, double* x) noexcept nogil:
    """x <- R^-1 y. Four sums at a time, which do not wait for one another."""
    cdef Py_ssize_t a, h
    cdef double t0, t1, t2, t3
    cdef const double* row
    for a in range(r.k - 1, -1, -1):
        row = r.R + a * r.room
        t0, t1, t2, t3 = y[a], 0, 0, 0
        h = a + 1
        while h + 3 < r.k:
            t0 -= row[h] * x[h]
            t1 -= row[h + 1] * x[h + 1]
            t2 -= row[h + 2] * x[h + 2]
            t3 -= row[h + 3] * x[h + 3]
            h += 4
        while h < r.k:
            t0 -= row[h] * x[h]
            h += 1
        x[a] = ((t0 + t1) + (t2 + t3)) / row[a]


cdef inline void solve(const Matrix* S, Py_ssize_t j, Regression* r, double* scratch) noexcept nogil:
    """The weights of the parents of j and what they leave of it, from R, and refined by S. Overwrites scratch[:3k].

    v is the quadratic form at the weights, so that no error of theirs can make it less than it is.
    """
    cdef Py_ssize_t a, h, k = r.k
    cdef double t, v = entry(S, j, j)
    cdef double* own = scratch
    cdef double* left = scratch + k
    cdef double* row = scratch + 2 * k
    entries(S, j, r.parents, k, own)
    memcpy(left, own, k * sizeof(double))
    solve_lower(r, left)
    solve_upper(r, left, r.b)
    for a in range(k):
        entries(S, r.parents[a], r.parents, k, row)
        t = own[a]
        for h in range(k):
            t -= row[h] * r.b[h]
        left[a] = t
        v -= r.b[a] * (own[a] + t)
    memcpy(own, left, k * sizeof(double))
    solve_lower(r, own)
    solve_upper(r, own, row)
    for a in range(k):
        r.b[a] += row[a]
        v -= left[a] * row[a]
    r.v = v if v > rounding(S) * r.variance else rounding(S) * r.variance


cdef inline void sharpen(Regression* r, double* scratch) noexcept nogil:
    """M from R; O(k^3). Overwrites scratch[:k]."""
    cdef Py_ssize_t a, h
    for a in range(r.k):
        for h in range(a):
            r.M[a * r.room + h] = r.R[h * r.room + a]
        r.M[a * r.room + a] = 1 / r.R[a * r.room + a]
    invert_factor(r.M, r.k, r.room, scratch)
    r.blur = 1


cdef inline double relate_exactly(const Matrix* S, Py_ssize_t i, Regression* r, double* u, double* y) noexcept nogil:
    """u <- M S_Pi and y <- R'^-1 S_Pi; returns what the parents leave of the variance of i."""
    cdef Py_ssize_t a
    cdef double delta = entry(S, i, i)
    entries(S, i, r.parents, r.k, y)
    solve_lower(r, y)
    for a in range(r.k):
        delta -= y[a] * y[a]
    solve_upper(r, y, u)
    return delta


cdef inline int add_parent(const Matrix* S, Py_ssize_t i, Py_ssize_t j, Regression* r, double* scratch) except -1 nogil:
    """Take i as one more parent of j, exactly; room must be there. 0 when i is collinear, and stays out.

    Leaves M S_Pi of the old parents in scratch[:k-1]; overwrites what is behind it.
    """
    cdef Py_ssize_t a, k = r.k
    cdef double delta, c = 0
    cdef double* y = scratch + k
    if not r.delicate:
        delta = relate(S, i, j, r, scratch, &c)
        if is_rounding(S, delta, entry(S, i, i)):
            return 0
        if not makes_delicate(S, i, r, scratch, delta, c):
            enter(S, i, r, scratch, delta, c)
            return 1
        factor(S, r)
        r.delicate, r.blur = True, 1
    delta = relate_exactly(S, i, r, scratch, y)
    if is_rounding(S, delta, entry(S, i, i)):
        return 0
    for a in range(k):
        r.R[a * r.room + k] = y[a]
    r.R[k * r.room + k] = sqrt(delta)
    enter(S, i, r, scratch, delta, c)
    solve(S, j, r, y)
    return 1


cdef inline void rotate_out(Regression* r, Py_ssize_t w) noexcept nogil:
    """Take column w out of R and make it triangular again, by rotations of neighbouring rows; k is still the old one."""
    cdef Py_ssize_t a, h, k = r.k
    cdef double c, s, t, length
    cdef double* row
    cdef double* below
    for a in range(k - 1):
        row = r.R + a * r.room
        if a < w:
            for h in range(w, k - 1):
                row[h] = row[h + 1]
            continue
        below = row + r.room
        length = sqrt(row[a + 1] * row[a + 1] + below[a + 1] * below[a + 1])
        c, s = row[a + 1] / length, below[a + 1] / length
        row[a] = length
        for h in range(a + 2, k):
            t = row[h]
            row[h - 1] = c * t + s * below[h]
            below[h] = c * below[h] - s * t


cdef inline void take_out_of_inverse(Regression* r, Py_ssize_t w, double* scratch) noexcept nogil:
    """M, its rows and columns behind w moved up, without parent number w; counts the digits that it loses."""
    cdef Py_ssize_t a, h, to = 0, k = r.k
    cdef double f, before, ratio = 1
    cdef double* own = scratch
    cdef double* row
    cdef double* target
    memcpy(own, r.M + w * r.room, k * sizeof(double))
    for a in range(k):
        if a == w:
            continue
        row, target = r.M + a * r.room, r.M + to * r.room
        f, before = own[a] / own[w], row[a]
        for h in range(w):
            target[h] = row[h] - f * own[h]
        for h in range(w + 1, k):
            target[h - 1] = row[h] - f * own[h]
        # Rounding can leave nothing: then all digits are lost.
        if not target[to] * ratio > before:
            ratio = before / target[to] if target[to] > 0 else BLURRED + 1
        to += 1
    r.blur *= ratio


cdef inline void drop_parent(const Matrix* S, Py_ssize_t j, Regression* r, Py_ssize_t w, double* scratch) noexcept nogil:
    """Take parent number w of j out, exactly; another one may move into its place. Overwrites scratch[:3k]."""
    cdef Py_ssize_t a
    if not r.delicate:
        drop(r, w, scratch)
        return
    take_out_of_inverse(r, w, scratch)
    rotate_out(r, w)
    r.k -= 1
    for a in range(w, r.k):
        r.parents[a] = r.parents[a + 1]
    if r.blur > BLURRED:
        sharpen(r, scratch)
    solve(S, j, r, scratch)
    if not is_delicate(S, r):
        if r.blur > BARELY:
            sharpen(r, scratch)
        r.delicate = False
