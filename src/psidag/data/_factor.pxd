"""From a Cholesky factor to the inverse of what it is the factor of; included where it is used."""


cdef inline void invert_factor(double* A, Py_ssize_t k, Py_ssize_t room) noexcept nogil:
    """A factor L below the diagonal of A, whose diagonal holds inverse pivots, becomes the inverse of LL', in place.

    Rows are `room` apart; O(k^3).
    """
    cdef Py_ssize_t a, b, c
    cdef double t
    # The factor becomes its own inverse, column by column.
    for b in range(k):
        for a in range(b + 1, k):
            t = 0
            for c in range(b, a):
                t += A[a * room + c] * A[c * room + b]
            A[a * room + b] = -t * A[a * room + a]
    # The product of its transpose and itself: entries of row a and below are all that it takes.
    for a in range(k):
        for b in range(a + 1):
            t = 0
            for c in range(a, k):
                t += A[c * room + a] * A[c * room + b]
            A[a * room + b] = t
    for a in range(k):
        for b in range(a):
            A[b * room + a] = A[a * room + b]
