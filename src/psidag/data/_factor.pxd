"""From a Cholesky factor to the inverse of what it is the factor of; included where it is used."""

from libc.string cimport memcpy, memset


cdef inline void invert_factor(double* A, Py_ssize_t k, Py_ssize_t room, double* row) noexcept nogil:
    """A factor L below the diagonal of A, whose diagonal holds inverse pivots, becomes the inverse of LL', in place.

    Rows are `room` apart; `row` has room for k numbers. O(k^3), all of it multiples of rows that are added to rows.
    """
    cdef Py_ssize_t a, b, c
    cdef double f
    # The factor becomes its own inverse, row by row.
    for a in range(k):
        memset(row, 0, a * sizeof(double))
        for c in range(a):
            f = A[a * room + c]
            for b in range(c + 1):
                row[b] -= f * A[c * room + b]
        f = A[a * room + a]
        for b in range(a):
            A[a * room + b] = row[b] * f
    # The product of its transpose and itself: row c has been used up when rows above it take their share of it.
    for c in range(k):
        memcpy(row, A + c * room, (c + 1) * sizeof(double))
        memset(A + c * room, 0, (c + 1) * sizeof(double))
        for a in range(c + 1):
            f = row[a]
            for b in range(a + 1):
                A[a * room + b] += f * row[b]
    for a in range(k):
        for b in range(a):
            A[b * room + a] = A[a * room + b]
