# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The loop of ψ. In NumPy, with norms that are never recomputed, it takes 1.5 to 2.5 times as long at d = 2,000; the
recomputation that keeps small edges would be a loop over single rows there."""

from libc.math cimport INFINITY
from libc.float cimport DBL_MIN
from libc.stdlib cimport free, malloc

ctypedef fused real:
    float
    double

# A running norm is computed anew once it has fallen by this factor, so that what subtraction
# rounds away stays below 1e-10 of it.
cdef double STALE = 1e-6


def transpose(const real[:, ::1] source, real[:, ::1] target):
    """Write the transpose of `source` into `target`, in blocks that fit the cache."""
    cdef Py_ssize_t d = source.shape[0], i, j, bi, bj, i1, j1
    with nogil:
        for bi in range(0, d, 32):
            i1 = min(bi + 32, d)
            for bj in range(0, d, 32):
                j1 = min(bj + 32, d)
                for j in range(bj, j1):
                    for i in range(bi, i1):
                        target[j, i] = source[i, j]


def closest_order(
    const real[:, ::1] W,
    const real[:, ::1] Wt,
    const double[::1] row_factor,
    const double[::1] col_factor,
    const int[::1] after_ptr,
    const int[::1] after,
    const int[::1] before_ptr,
    const int[::1] before,
    double[::1] row,
    double[::1] col,
    Py_ssize_t[::1] order,
):
    """Fill `order` with ψ(W); returns False, with `order` unspecified, if a norm is not finite.

    The squared entries are W[i, j]² · row_factor[i] · col_factor[j]; `Wt` is the transpose of W; `row` and `col`
    come in as the squared norms of all rows and columns and are used up. Vertex v is placed first only once
    everything in its `before` list is placed, last only once its `after` list is; lists may name milestones,
    vertices from d on that are passed as soon as nothing holds them.
    """
    cdef Py_ssize_t d = W.shape[0], m = after_ptr.shape[0] - 1
    cdef Py_ssize_t head = 0, tail = d - 1, size = d, live, at, k, v, best_r, best_c
    cdef double x, own, low_r, low_c
    cdef const real* line
    cdef bint ok = True
    cdef Py_ssize_t* active = <Py_ssize_t*>malloc(d * sizeof(Py_ssize_t))
    cdef bint* gone = <bint*>malloc(d * sizeof(bint))
    cdef double* norms = <double*>malloc(2 * d * sizeof(double))
    cdef int* holds = <int*>malloc((2 * m + 1) * sizeof(int))
    cdef Py_ssize_t* stack = <Py_ssize_t*>malloc((m + 1) * sizeof(Py_ssize_t))
    if not (active and gone and norms and holds and stack):
        free(active); free(gone); free(norms); free(holds); free(stack)
        raise MemoryError("no room for the working arrays of the projection")
    cdef double* row_low = norms
    cdef double* col_low = norms + d
    cdef int* hold_first = holds
    cdef int* hold_last = holds + m
    with nogil:
        for k in range(d):
            active[k] = k
            gone[k] = False
        for k in range(m):
            hold_first[k] = before_ptr[k + 1] - before_ptr[k]
            hold_last[k] = after_ptr[k + 1] - after_ptr[k]
        for k in range(d):
            if not (row[k] < INFINITY and col[k] < INFINITY):
                ok = False
            if row[k] < DBL_MIN:
                row[k] = remaining(W, k, row_factor[k], col_factor, active, size, gone)
            if col[k] < DBL_MIN:
                col[k] = remaining(Wt, k, col_factor[k], row_factor, active, size, gone)
            row_low[k] = stale(row[k])
            col_low[k] = stale(col[k])
        while head <= tail and ok:
            best_r = best_c = -1
            low_r = low_c = INFINITY
            live = 0
            for at in range(size):
                k = active[at]
                if gone[k]:
                    continue
                active[live] = k
                live += 1
                if hold_last[k] == 0 and row[k] < low_r:
                    low_r = row[k]
                    best_r = k
                if hold_first[k] == 0 and col[k] < low_c:
                    low_c = col[k]
                    best_c = k
            size = live
            if low_r <= low_c:
                v = best_r
                order[tail] = v
                tail -= 1
                release(v, d, before_ptr, before, hold_last, stack)
            else:
                v = best_c
                order[head] = v
                head += 1
                release(v, d, after_ptr, after, hold_first, stack)
            gone[v] = True
            own = row_factor[v]
            line = &W[v, 0]
            for at in range(size):
                k = active[at]
                x = line[k]
                col[k] -= x * x * own * col_factor[k]
                if col[k] < col_low[k] and not gone[k]:
                    col[k] = remaining(Wt, k, col_factor[k], row_factor, active, size, gone)
                    col_low[k] = stale(col[k])
            own = col_factor[v]
            line = &Wt[v, 0]
            for at in range(size):
                k = active[at]
                x = line[k]
                row[k] -= x * x * own * row_factor[k]
                if row[k] < row_low[k] and not gone[k]:
                    row[k] = remaining(W, k, row_factor[k], col_factor, active, size, gone)
                    row_low[k] = stale(row[k])
    free(active); free(gone); free(norms); free(holds); free(stack)
    return ok


cdef inline double stale(double norm) noexcept nogil:
    """The value below which a running norm is computed anew; always, where squares underflow."""
    return 2 * DBL_MIN if norm == DBL_MIN else STALE * norm


cdef double remaining(
    const real[:, ::1] A, Py_ssize_t k, double own, const double[::1] factor,
    Py_ssize_t* active, Py_ssize_t size, bint* gone,
) noexcept nogil:
    """The squared norm of row k of A over the vertices that are left: zero only where all entries are."""
    cdef Py_ssize_t at, u
    cdef bint some = False
    cdef double x, total = 0
    for at in range(size):
        u = active[at]
        if not gone[u]:
            x = A[k, u]
            total += x * x * own * factor[u]
            some = some or x != 0
    return DBL_MIN if some and total < DBL_MIN else total


cdef void release(
    Py_ssize_t v, Py_ssize_t d, const int[::1] ptr, const int[::1] held, int* holds, Py_ssize_t* stack,
) noexcept nogil:
    """Vertex v is placed: whatever waited for it waits for one less; milestones that are free pass at once."""
    cdef Py_ssize_t depth = 1
    cdef int at, u
    stack[0] = v
    while depth > 0:
        depth -= 1
        v = stack[depth]
        for at in range(ptr[v], ptr[v + 1]):
            u = held[at]
            holds[u] -= 1
            if holds[u] == 0 and u >= d:
                stack[depth] = u
                depth += 1
