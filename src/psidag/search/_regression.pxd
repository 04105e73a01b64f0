# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""One node's regression on its parents, kept up to date while parents come and go.

For node j with parents P it holds M = (S_PP)^-1, the weights b = M S_Pj and the residual variance
v = S_jj - b'S_Pj. Adding or dropping a parent costs O(k^2). Inline code shared by the kernels; S is a
symmetric d x d matrix read entry by entry, row after row where it is held, and all sums are in double.
`scratch` always has room for WIDE d numbers, and what is in it after a call is said there.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from psidag.data._entries cimport FOUR, Matrix, entries, entry, rounding
from psidag.search._memory cimport resized

ctypedef fused real:
    float
    double


ctypedef fused sum_type:
    float
    double


cdef struct Regression:
    Py_ssize_t room         # how many parents fit
    Py_ssize_t k            # how many there are
    Py_ssize_t locked       # the first this many parents are required and never dropped
    bint delicate           # whether updates alone would lose too many digits (see _exact)
    int32_t* parents
    double* b
    double* M               # row-major, rows `room` apart
    double* R               # where it is delicate: the Cholesky factor of S_PP, above the diagonal, in rows as far apart
    double blur             # and how many times as large the error of M is as that of M found from R
    double v
    double variance         # S_jj


cdef inline double* spread(double* A, Py_ssize_t k, Py_ssize_t room, Py_ssize_t more) except NULL nogil:
    """A matrix of k rows that are `more` apart instead of `room`; the old one is given back."""
    cdef Py_ssize_t a
    cdef double* wider = <double*> resized(NULL, more * more * sizeof(double))
    for a in range(k):
        memcpy(wider + a * more, A + a * room, k * sizeof(double))
    free(A)
    return wider


cdef inline int reserve(Regression* r, Py_ssize_t room) except -1 nogil:
    """Make room for this many parents; what is there stays."""
    if room <= r.room:
        return 0
    if room < 2 * r.room:
        room = 2 * r.room
    if room < 16:
        room = 16
    r.parents = <int32_t*> resized(r.parents, room * sizeof(int32_t))
    r.b = <double*> resized(r.b, room * sizeof(double))
    r.M = spread(r.M, r.k, r.room, room)
    if r.R != NULL:
        r.R = spread(r.R, r.k if r.delicate else 0, r.room, room)
    r.room = room
    return 0


cdef inline void release(Regression* r) noexcept nogil:
    free(r.M)
    free(r.R)
    free(r.parents)
    free(r.b)
    memset(r, 0, sizeof(Regression))


cdef inline int copy(Regression* r, Regression* other) except -1 nogil:
    """Make r the same as the other."""
    cdef Py_ssize_t a, k = other.k
    r.k = 0
    reserve(r, k + 2)
    r.k = k
    r.locked = other.locked
    r.delicate = other.delicate
    r.v = other.v
    r.variance = other.variance
    memcpy(r.parents, other.parents, k * sizeof(int32_t))
    memcpy(r.b, other.b, k * sizeof(double))
    for a in range(k):
        memcpy(r.M + a * r.room, other.M + a * other.room, k * sizeof(double))
    if other.delicate:
        r.blur = other.blur
        if r.R == NULL:
            r.R = <double*> resized(NULL, r.room * r.room * sizeof(double))
        for a in range(k):
            memcpy(r.R + a * r.room + a, other.R + a * other.room + a, (k - a) * sizeof(double))
    return 0


cdef inline void clear(Regression* r, double variance) noexcept nogil:
    """No parents."""
    r.k = 0
    r.locked = 0
    r.delicate = False
    r.variance = variance
    r.v = variance


cdef inline Py_ssize_t find(Regression* r, int32_t i) noexcept nogil:
    """Place of i among the parents, or -1."""
    cdef Py_ssize_t a
    for a in range(r.k):
        if r.parents[a] == i:
            return a
    return -1


cdef inline bint is_rounding(const Matrix* S, double left, double own) noexcept nogil:
    """Whether what is left of a variance is no more than rounding: such a node is collinear with the others."""
    return not left > rounding(S) * own


cdef inline double conditional_variance(const Matrix* S, Py_ssize_t i, Regression* r,
                                        double* scratch) noexcept nogil:
    """Variance of i given the parents."""
    cdef Py_ssize_t a, h
    cdef double delta = entry(S, i, i), t
    cdef double* s = scratch
    cdef double* m
    entries(S, i, r.parents, r.k, s)
    for a in range(r.k):
        m = r.M + a * r.room
        t = 0
        for h in range(a):
            t += m[h] * s[h]
        delta -= s[a] * (2 * t + m[a] * s[a])
    return delta


cdef enum:
    WIDE = 4                # nodes that conditional_variances takes at once
    FEW = 16                # this many rows of S are in the cache when parents have just been used


cdef inline void conditional_variances(const Matrix* S, const int32_t* nodes, Py_ssize_t count,
                                       Regression* r, double* delta, double* scratch) noexcept nogil:
    """Bring delta from the variances of up to WIDE nodes to those given the parents.

    One pass over M serves all of them, which is what takes long for hubs. Unrolled by hand for WIDE = 4.
    """
    cdef Py_ssize_t a, h, q, k = r.k
    cdef double t0, t1, t2, t3
    cdef double* m
    cdef double* s0
    cdef double* s1
    cdef double* s2
    cdef double* s3
    for q in range(WIDE):
        h = nodes[q if q < count else 0]
        s0 = scratch + q * k
        if k <= FEW and S.columns == NULL:
            for a in range(k):
                s0[a] = entry(S, r.parents[a], h)
        else:
            entries(S, h, r.parents, k, s0)
    s0 = scratch
    s1 = s0 + k
    s2 = s1 + k
    s3 = s2 + k
    for a in range(k):
        m = r.M + a * r.room
        t0 = t1 = t2 = t3 = 0
        for h in range(a):
            t0 += m[h] * s0[h]
            t1 += m[h] * s1[h]
            t2 += m[h] * s2[h]
            t3 += m[h] * s3[h]
        delta[0] -= s0[a] * (2 * t0 + m[a] * s0[a])
        delta[1] -= s1[a] * (2 * t1 + m[a] * s1[a])
        delta[2] -= s2[a] * (2 * t2 + m[a] * s2[a])
        delta[3] -= s3[a] * (2 * t3 + m[a] * s3[a])


cdef inline double residual_covariance(const Matrix* S, Py_ssize_t i, Py_ssize_t j, Regression* r) noexcept nogil:
    """Covariance of i with what the parents leave of j."""
    cdef Py_ssize_t a = 0, h, some
    cdef double c = entry(S, i, j)
    cdef double row[FOUR]
    while a < r.k:
        some = r.k - a if r.k - a < FOUR else FOUR
        entries(S, i, r.parents + a, some, row)
        for h in range(some):
            c -= r.b[a + h] * row[h]
        a += some
    return c


cdef inline double relate(const Matrix* S, Py_ssize_t i, Py_ssize_t j, Regression* r, double* scratch,
                          double* covariance) noexcept nogil:
    """What the parents leave of the variance of i, and the covariance of that with what they leave of j.

    Leaves M S_Pi in scratch[:k]; overwrites the k numbers behind it.
    """
    cdef Py_ssize_t a, h, k = r.k
    cdef double delta = entry(S, i, i), c = entry(S, i, j), t
    cdef double* s = scratch + k
    cdef double* m
    entries(S, i, r.parents, k, s)
    for a in range(k):
        m = r.M + a * r.room
        t = 0
        for h in range(k):
            t += m[h] * s[h]
        scratch[a] = t
        delta -= t * s[a]
        c -= r.b[a] * s[a]
    covariance[0] = c
    return delta


cdef inline void enter(const Matrix* S, Py_ssize_t i, Regression* r, const double* u, double delta, double c) noexcept nogil:
    """Take i as one more parent; u, delta and c are what `relate` says. Room must be there."""
    cdef Py_ssize_t a, h, k = r.k, room = r.room
    cdef double t, beta = c / delta
    cdef double* m
    for a in range(k):
        t = u[a] / delta
        m = r.M + a * room
        for h in range(k):
            m[h] += t * u[h]
        m[k] = -t
        r.M[k * room + a] = -t
        r.b[a] -= u[a] * beta
    r.M[k * room + k] = 1 / delta
    r.b[k] = beta
    r.parents[k] = <int32_t> i
    r.k = k + 1
    r.v -= c * beta
    if r.v < rounding(S) * r.variance:
        r.v = rounding(S) * r.variance


cdef inline void drop(Regression* r, Py_ssize_t w, double* scratch) noexcept nogil:
    """Take parent number w out; the last parent moves into its place."""
    cdef Py_ssize_t a, h, k = r.k, room = r.room, last = r.k - 1
    cdef double m = r.M[w * room + w], bw = r.b[w], f
    cdef double* u = scratch
    cdef double* row
    r.v += bw * bw / m
    for a in range(k):
        u[a] = r.M[w * room + a]
    for a in range(k):
        if a != w:
            f = u[a] / m
            r.b[a] -= f * bw
            row = r.M + a * room
            for h in range(k):
                row[h] -= f * u[h]
    if w != last:
        r.parents[w] = r.parents[last]
        r.b[w] = r.b[last]
        memcpy(r.M + w * room, r.M + last * room, k * sizeof(double))
        for a in range(last):
            r.M[a * room + w] = r.M[a * room + last]
    r.k = last


cdef inline Py_ssize_t weakest(Regression* r, double* loss) noexcept nogil:
    """The parent, among those that may go, whose loss raises v least; -1 if there is none."""
    cdef Py_ssize_t a, w = -1
    cdef double t
    loss[0] = INFINITY
    for a in range(r.locked, r.k):
        t = r.b[a] * r.b[a] / r.M[a * r.room + a]
        if t < loss[0]:
            loss[0] = t
            w = a
    return w


cdef inline void combine(const real* S, Py_ssize_t d, Regression* fit, const double* f, Py_ssize_t k,
                         sum_type* q) noexcept nogil:
    """q <- q + sum_a f_a S[parent_a], over the first k parents; four rows at a time."""
    cdef Py_ssize_t a = 0, i
    cdef const real* r0
    cdef const real* r1
    cdef const real* r2
    cdef const real* r3
    cdef sum_type f0, f1, f2, f3
    while a + 3 < k:
        r0 = S + fit.parents[a] * d
        r1 = S + fit.parents[a + 1] * d
        r2 = S + fit.parents[a + 2] * d
        r3 = S + fit.parents[a + 3] * d
        f0 = <sum_type> f[a]
        f1 = <sum_type> f[a + 1]
        f2 = <sum_type> f[a + 2]
        f3 = <sum_type> f[a + 3]
        for i in range(d):
            q[i] += f0 * r0[i] + f1 * r1[i] + f2 * r2[i] + f3 * r3[i]
        a += 4
    while a < k:
        r0 = S + fit.parents[a] * d
        f0 = <sum_type> f[a]
        for i in range(d):
            q[i] += f0 * r0[i]
        a += 1
