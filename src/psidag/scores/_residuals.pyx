# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Residuals of nodes given parents: their variance from correlations, and their shape in one pass over the rows.

Not plain NumPy because a refinement asks for tens of thousands of small regressions, and for the residuals of each:
at n = 5,000 this takes 10 to 20 microseconds for one, NumPy some 200 and more.
"""

from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memset

from psidag.data._entries cimport Entries, Matrix, entry, rounding
from psidag.data._factor cimport invert_factor


cdef enum:
    CHUNK = 512             # rows at a time: a residual stays in the fastest cache
    LANES = 8               # partial sums, so that they can be vectorised
    MANY = 4                # this many queries of one node share a factorisation


cdef struct Fit:
    Py_ssize_t room
    Py_ssize_t k
    int32_t* parents
    double* b
    double* s               # scratch of 2 k numbers
    double* L               # Cholesky factor with inverse pivots, k rows `room` apart
    double* M               # inverse, where it was asked for
    double v


cdef inline int reserve(Fit* fit, Py_ssize_t k) noexcept nogil:
    cdef Py_ssize_t room = 2 * k + 8
    if k + 1 <= fit.room:
        return 0
    release(fit)
    fit.parents = <int32_t*> malloc(room * sizeof(int32_t))
    fit.b = <double*> malloc(room * sizeof(double))
    fit.s = <double*> malloc(2 * room * sizeof(double))
    fit.L = <double*> malloc(2 * room * room * sizeof(double))
    if fit.parents == NULL or fit.b == NULL or fit.s == NULL or fit.L == NULL:
        return -1
    fit.M = fit.L + room * room
    fit.room = room
    return 0


cdef inline void release(Fit* fit) noexcept nogil:
    free(fit.parents)
    free(fit.b)
    free(fit.s)
    free(fit.L)
    memset(fit, 0, sizeof(Fit))


cdef inline void solve(const Matrix* S, Py_ssize_t j, Fit* fit) noexcept nogil:
    """The regression of j on fit.parents[:k]; parents that are collinear with those before them get no weight."""
    cdef Py_ssize_t a, c, h, k = fit.k, room = fit.room
    cdef double t, own, least = rounding(S)
    cdef double* L = fit.L
    cdef double* y = fit.s
    own = entry(S, j, j)
    fit.v = own
    for a in range(k):
        for c in range(a + 1):
            t = entry(S, fit.parents[a], fit.parents[c])
            for h in range(c):
                t -= L[a * room + h] * L[c * room + h]
            if c < a:
                L[a * room + c] = t * L[c * room + c]
            elif t > least:
                L[a * room + a] = 1 / sqrt(t)
            else:
                L[a * room + a] = 0
        t = entry(S, fit.parents[a], j)
        for h in range(a):
            t -= L[a * room + h] * y[h]
        y[a] = t * L[a * room + a]
        fit.v -= y[a] * y[a]
    for a in range(k - 1, -1, -1):
        t = y[a]
        for h in range(a + 1, k):
            t -= L[h * room + a] * fit.b[h]
        fit.b[a] = t * L[a * room + a]
    if not fit.v > least * own:
        fit.v = least * own


cdef inline void invert(Fit* fit) noexcept nogil:
    """M from L."""
    cdef Py_ssize_t a
    for a in range(fit.k):
        memcpy(fit.M + a * fit.room, fit.L + a * fit.room, (a + 1) * sizeof(double))
    invert_factor(fit.M, fit.k, fit.room, fit.s)


cdef inline bint derive(const Matrix* S, Py_ssize_t j, Fit* base, const int32_t* parents, Py_ssize_t k,
                        Fit* fit) noexcept nogil:
    """The regression on parents that are those of the base but for one, more or less; False if they are not.

    Needs the inverse of the base.
    """
    cdef Py_ssize_t a, h = 0, at = -1, room = base.room
    cdef double t, c, delta, beta, m, least = rounding(S)
    cdef int32_t new
    if k + 1 == base.k:
        for a in range(k):
            if h < base.k and parents[a] != base.parents[h]:
                if at >= 0:
                    return False
                at = h
                h += 1
            if parents[a] != base.parents[h]:
                return False
            h += 1
        if at < 0:
            at = k
        m = base.M[at * room + at]
        if not m > 0:
            return False
        beta = base.b[at] / m
        h = 0
        for a in range(base.k):
            if a != at:
                fit.parents[h] = base.parents[a]
                fit.b[h] = base.b[a] - base.M[a * room + at] * beta
                h += 1
        fit.k = k
        fit.v = base.v + base.b[at] * beta
        return True
    if k != base.k + 1:
        return False
    for a in range(k):
        if h < base.k and parents[a] == base.parents[h]:
            h += 1
        elif at >= 0:
            return False
        else:
            at = a
    if at < 0:
        return False
    new = parents[at]
    delta = entry(S, new, new)
    c = entry(S, new, j)
    for a in range(base.k):
        fit.s[a] = entry(S, new, base.parents[a])
        c -= base.b[a] * fit.s[a]
    for a in range(base.k):
        t = 0
        for h in range(base.k):
            t += base.M[a * room + h] * fit.s[h]
        fit.s[base.k + a] = t
        delta -= t * fit.s[a]
    beta = c / delta if delta > least else 0
    h = 0
    for a in range(k):
        fit.parents[a] = parents[a]
        if a == at:
            fit.b[a] = beta
        else:
            fit.b[a] = base.b[h] - fit.s[base.k + h] * beta
            h += 1
    fit.k = k
    fit.v = base.v - c * beta
    if not fit.v > least * entry(S, j, j):
        fit.v = least * entry(S, j, j)
    return True


cdef inline void shape(const float* X, Py_ssize_t n, double scale, const float* weight, Py_ssize_t j, Fit* fit,
                       double* even, double* odd) noexcept nogil:
    """Sums of 1 / (1 + u^2 / 4) and u / (1 + u^2 / 4), each row by its weight, of the standardised residual u of j."""
    cdef float u[CHUNK]
    cdef float first[LANES]
    cdef float second[LANES]
    cdef Py_ssize_t start, size, a, t, lane
    cdef float f, f0, f1, q
    cdef const float* x
    cdef const float* x0
    cdef const float* x1
    f = <float> (scale / sqrt(fit.v))
    even[0] = odd[0] = 0
    start = 0
    while start < n:
        size = n - start if n - start < CHUNK else CHUNK
        x = X + j * n + start
        for t in range(size):
            u[t] = f * x[t]
        a = 0
        while a + 1 < fit.k:
            x0 = X + fit.parents[a] * n + start
            x1 = X + fit.parents[a + 1] * n + start
            f0 = f * <float> fit.b[a]
            f1 = f * <float> fit.b[a + 1]
            for t in range(size):
                u[t] -= f0 * x0[t] + f1 * x1[t]
            a += 2
        if a < fit.k:
            x0 = X + fit.parents[a] * n + start
            f0 = f * <float> fit.b[a]
            for t in range(size):
                u[t] -= f0 * x0[t]
        for lane in range(LANES):
            first[lane] = second[lane] = 0
        t = 0
        while t + LANES <= size:
            for lane in range(LANES):
                q = weight[start + t + lane] / (<float> 1 + <float> 0.25 * u[t + lane] * u[t + lane])
                first[lane] += q
                second[lane] += q * u[t + lane]
            t += LANES
        while t < size:
            q = weight[start + t] / (<float> 1 + <float> 0.25 * u[t] * u[t])
            first[0] += q
            second[0] += q * u[t]
            t += 1
        for lane in range(LANES):
            even[0] += first[lane]
            odd[0] += second[lane]
        start += size


cdef int shared(const Matrix* S, Py_ssize_t j, const int64_t[::1] start, const int32_t[::1] parents,
                Py_ssize_t first, Py_ssize_t last, int32_t* votes, Fit* base) noexcept nogil:
    """Make the base the regression on the parents that most of these queries have; -1 when memory is out."""
    cdef Py_ssize_t a, k = 0, h
    cdef int32_t p
    for a in range(start[first], start[last]):
        votes[parents[a]] += 1
        if 2 * votes[parents[a]] > last - first:
            votes[parents[a]] -= <int32_t> (last - first) * 4
            k += 1
    if reserve(base, k + 1) < 0:
        k = -1
    else:
        h = 0
        for a in range(start[first], start[last]):
            p = parents[a]
            if votes[p] < 0:
                votes[p] = 0
                base.parents[h] = p
                h += 1
        base.k = h
        # Insertion sort: parents come ascending from each query, so that little is out of place.
        for a in range(1, h):
            p = base.parents[a]
            k = a - 1
            while k >= 0 and base.parents[k] > p:
                base.parents[k + 1] = base.parents[k]
                k -= 1
            base.parents[k + 1] = p
        solve(S, j, base)
        invert(base)
        k = 0
    for a in range(start[first], start[last]):
        votes[parents[a]] = 0
    return <int> k


def measure(
    Entries S, const float[:, ::1] columns, double scale, const float[::1] weight, const int32_t[::1] nodes,
    const int64_t[::1] start, const int32_t[::1] parents, const uint8_t[::1] shaped, double[::1] variance,
    double[::1] even, double[::1] odd,
):
    """Fill in the residual variance of each query and, for nodes that are ``shaped``, the two sums of its shape.

    Query q is node ``nodes[q]`` with the parents ``parents[start[q]:start[q + 1]]``, ascending; queries of one node are
    fastest beside each other. ``columns`` holds the columns of the table as rows, of unit variance once multiplied with
    ``scale``; no columns where no node is shaped.
    """
    cdef Py_ssize_t count = nodes.shape[0], q, a, j, k, last = 0, n = weight.shape[0]
    cdef Matrix matrix = S.matrix
    cdef Fit fit, base
    cdef int32_t* votes = <int32_t*> malloc(matrix.d * sizeof(int32_t))
    cdef const float* X = &columns[0, 0] if columns.shape[0] else NULL
    cdef bint grouped = False
    cdef int code = 0 if votes != NULL else -1
    # What it remembers is for one thread, and this may run in several.
    matrix.cache = NULL
    memset(&fit, 0, sizeof(Fit))
    memset(&base, 0, sizeof(Fit))
    with nogil:
        if code == 0:
            memset(votes, 0, matrix.d * sizeof(int32_t))
        for q in range(count):
            if code < 0:
                break
            j = nodes[q]
            k = start[q + 1] - start[q]
            if q >= last:
                last = q + 1
                while last < count and nodes[last] == j:
                    last += 1
                grouped = last - q >= MANY
                if grouped and shared(&matrix, j, start, parents, q, last, votes, &base) < 0:
                    code = -1
                    break
            if reserve(&fit, k + 1) < 0:
                code = -1
                break
            if not (grouped and derive(&matrix, j, &base, &parents[0] + start[q], k, &fit)):
                fit.k = k
                for a in range(k):
                    fit.parents[a] = parents[start[q] + a]
                solve(&matrix, j, &fit)
            variance[q] = fit.v
            if shaped[j]:
                shape(X, n, scale, &weight[0], j, &fit, &even[q], &odd[q])
    release(&fit)
    release(&base)
    free(votes)
    if code < 0:
        raise MemoryError("no memory for the regression of one node")


def explained(Entries S, Py_ssize_t j, const int32_t[::1] parents, const int32_t[::1] candidates, double[::1] share):
    """Fill in the squared partial correlation of j with each candidate, given the parents."""
    cdef Matrix matrix = S.matrix
    cdef Py_ssize_t q, a, h, i, k = parents.shape[0]
    cdef double c, delta, t
    cdef Fit fit
    cdef int code
    matrix.cache = NULL
    memset(&fit, 0, sizeof(Fit))
    code = reserve(&fit, k + 1)
    with nogil:
        if code == 0:
            fit.k = k
            for a in range(k):
                fit.parents[a] = parents[a]
            solve(&matrix, j, &fit)
            invert(&fit)
            for q in range(candidates.shape[0]):
                i = candidates[q]
                c = entry(&matrix, i, j)
                delta = entry(&matrix, i, i)
                for a in range(k):
                    fit.s[a] = entry(&matrix, i, fit.parents[a])
                    c -= fit.b[a] * fit.s[a]
                for a in range(k):
                    t = 0
                    for h in range(k):
                        t += fit.M[a * fit.room + h] * fit.s[h]
                    delta -= t * fit.s[a]
                share[q] = c * c / (delta * fit.v) if delta > rounding(&matrix) else 0
    release(&fit)
    if code < 0:
        raise MemoryError("no memory for the regression of one node")
