# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Entries of a symmetric d x d matrix, held whole or computed from the columns behind it when they are asked for.

A kernel asks for one entry at a time and does not know which of the two it gets.
"""

from libc.stdint cimport int32_t, uint64_t

cdef extern from *:
    """
    #ifndef PSIDAG_FOUR_PRODUCTS
    #define PSIDAG_FOUR_PRODUCTS
    #include <stddef.h>
    /* Products of one column with four others, each summed as `dot` does, to the last bit: no multiplication is fused with
       an addition, for which the target has no instruction. Twice as fast, as the sums do not wait for one another.
       0 where the processor has no wide registers. */
    #if defined(__x86_64__) && defined(__GNUC__)
    typedef float psidag_lanes __attribute__((vector_size(64), aligned(4), may_alias));
    __attribute__((target("avx2"))) static void
    psidag_four_wide(const float *x, const float *const *y, ptrdiff_t n, double *out)
    {
        psidag_lanes sums[4] = {{0}, {0}, {0}, {0}};
        ptrdiff_t k = 0;
        for (; k + 16 <= n; k += 16) {
            psidag_lanes own = *(const psidag_lanes *)(x + k);
            for (int i = 0; i < 4; i++)
                sums[i] += own * *(const psidag_lanes *)(y[i] + k);
        }
        for (int i = 0; i < 4; i++) {
            out[i] = 0;
            for (int a = 0; a < 16; a++)
                out[i] += sums[i][a];
            for (ptrdiff_t t = k; t < n; t++)
                out[i] += x[t] * y[i][t];
        }
    }
    static inline int
    psidag_four_products(const float *x, const float *const *y, ptrdiff_t n, double *out)
    {
        if (!__builtin_cpu_supports("avx2"))
            return 0;
        psidag_four_wide(x, y, n, out);
        return 1;
    }
    #else
    static inline int
    psidag_four_products(const float *x, const float *const *y, ptrdiff_t n, double *out)
    {
        return 0;
    }
    #endif
    #endif
    """
    int psidag_four_products(const float* x, const float** y, Py_ssize_t n, double* out) noexcept nogil

cdef enum:
    FOUR = 4                    # products that are computed at once


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


cdef inline void dots(const float* x, const float** y, Py_ssize_t count, Py_ssize_t n, double* out) noexcept nogil:
    """The products of one column with up to four others."""
    cdef Py_ssize_t a
    if count == FOUR and psidag_four_products(x, y, n, out):
        return
    for a in range(count):
        out[a] = dot(x, y[a], n)


cdef inline uint64_t pair_of(const Matrix* S, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
    return <uint64_t> (i * S.d + j if i < j else j * S.d + i) + 1


cdef inline Product* slot_of(const Matrix* S, uint64_t pair) noexcept nogil:
    return S.cache + ((pair * <uint64_t> 0x9E3779B97F4A7C15) >> S.shift)


cdef inline double product(const Matrix* S, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
    """The entry of columns i and j. The cache never changes a value, only whether it is computed again."""
    cdef uint64_t pair
    cdef Product* slot
    if i == j:
        return 1
    if S.cache == NULL:
        return dot(S.columns + i * S.n, S.columns + j * S.n, S.n)
    pair = pair_of(S, i, j)
    slot = slot_of(S, pair)
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


cdef inline void products(const Matrix* S, Py_ssize_t i, const int32_t* nodes, Py_ssize_t count, double* out) noexcept nogil:
    """out <- the entries of column i with these, as `product` has them; those that are not remembered are computed together."""
    cdef Py_ssize_t a, h, missing = 0
    cdef Py_ssize_t at[FOUR]
    cdef Product* slots[FOUR]
    cdef const float* columns[FOUR]
    cdef double found[FOUR]
    cdef uint64_t pair
    for a in range(count):
        h = nodes[a]
        if h == i:
            out[a] = 1
        elif S.cache != NULL:
            pair = pair_of(S, i, h)
            slots[missing] = slot_of(S, pair)
            out[a] = slots[missing].value
        if h != i and (S.cache == NULL or slots[missing].pair != pair):
            at[missing], columns[missing] = a, S.columns + h * S.n
            missing += 1
        if missing == FOUR or (missing and a + 1 == count):
            dots(S.columns + i * S.n, columns, missing, S.n, found)
            for h in range(missing):
                out[at[h]] = found[h]
                if S.cache != NULL:
                    slots[h].pair = pair_of(S, i, nodes[at[h]])
                    slots[h].value = found[h]
            missing = 0


cdef inline void entries(const Matrix* S, Py_ssize_t i, const int32_t* nodes, Py_ssize_t count, double* out) noexcept nogil:
    """out <- S[i, nodes]."""
    cdef Py_ssize_t a
    if S.columns != NULL:
        products(S, i, nodes, count, out)
        return
    for a in range(count):
        out[a] = entry(S, i, nodes[a])


cdef inline double rounding(const Matrix* S) noexcept nogil:
    """Share of a variance below which what is left of it is rounding: such a candidate is collinear."""
    return 1e-5 if S.precise == NULL else 1e-12


cdef class Entries:
    cdef Matrix matrix
    cdef object _held
