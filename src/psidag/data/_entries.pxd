# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Entries of a symmetric d x d matrix, held whole or computed from the columns behind it when they are asked for.

A kernel asks for one entry at a time and does not know which of the two it gets.
"""

from libc.stdint cimport uint64_t


cdef struct Product:
    # One slot of the cache: the pair, numbered from 1, and its product.
    uint64_t pair
    double value


cdef struct Matrix:
    # One of the three pointers is not NULL.
    Py_ssize_t d
    const float* single         # d x d
    const double* precise       # d x d
    const float* columns        # d x n: the products of two rows of this are the entries, with 1 on the diagonal
    Py_ssize_t n
    Product* cache              # products by the hash of their pair, the last one to come stays; or NULL
    int shift                   # 64 less the bits of a slot number


cdef inline double dot(const float* x, const float* y, Py_ssize_t n) noexcept nogil:
    """Sum of products in single precision, over 16 partial sums so that it can be vectorised; symmetric to the last bit."""
    cdef float lanes[16]
    cdef Py_ssize_t a, k = 0
    cdef double total = 0
    for a in range(16):
        lanes[a] = 0
    while k + 16 <= n:
        for a in range(16):
            lanes[a] += x[k + a] * y[k + a]
        k += 16
    for a in range(16):
        total += lanes[a]
    while k < n:
        total += x[k] * y[k]
        k += 1
    return total


cdef inline double product(const Matrix* S, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
    """The entry of columns i and j. The cache never changes a value, only whether it is computed again."""
    cdef uint64_t pair
    cdef Product* slot
    if i == j:
        return 1
    if S.cache == NULL:
        return dot(S.columns + i * S.n, S.columns + j * S.n, S.n)
    pair = <uint64_t> (i * S.d + j if i < j else j * S.d + i) + 1
    slot = S.cache + ((pair * <uint64_t> 0x9E3779B97F4A7C15) >> S.shift)
    if slot.pair != pair:
        slot.value = dot(S.columns + i * S.n, S.columns + j * S.n, S.n)
        slot.pair = pair
    return slot.value


cdef inline double entry(const Matrix* S, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
    """S[i, j]; row i is the one to stay in when several are asked for."""
    if S.single != NULL:
        return S.single[i * S.d + j]
    if S.precise != NULL:
        return S.precise[i * S.d + j]
    return product(S, i, j)


cdef inline double rounding(const Matrix* S) noexcept nogil:
    """Share of a variance below which what is left of it is rounding: such a candidate is collinear."""
    return 1e-5 if S.precise == NULL else 1e-12


cdef class Entries:
    cdef Matrix matrix
    cdef object _held
