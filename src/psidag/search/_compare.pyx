# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Columns compared with columns in small integers, to list the pairs whose products are worth computing exactly.

The sums of 32 products of bytes take two instructions where those of single-precision numbers take four: half again as
fast as the BLAS on one machine (benchmarks/huge.md, "the comparison").
"""

from libc.math cimport rint, sqrt
from libc.stdint cimport int8_t, int32_t, uint8_t
from libc.stdlib cimport free, malloc

from psidag.data._entries cimport dot

cdef extern from "small_products.h" nogil:
    int small_products_available()
    void small_products(const uint8_t* const* left, const int8_t* const* right, Py_ssize_t width, int32_t* out)

cdef enum:
    LARGEST = 31                # of a small integer; one side is shifted by OFFSET to be unsigned
    OFFSET = 32
    BLOCK = 196608              # bytes on the right that stay in a core's cache while rows on the left pass by


def available():
    """Whether this processor compares small integers faster than numbers."""
    return bool(small_products_available())


def quantise(const float[:, ::1] rows, const float[::1] step, signed char[:, ::1] small, int[::1] sums,
             float[::1] gain, float[::1] error):
    """Fills ``small`` with each row x in units of its step, rounded and cut off at 31, and zeros up to its width.

    ``sums`` are of the small integers. As numbers they are g x + e with e orthogonal to x: ``gain`` is g, and ``error``
    the length of e as a share of that of x. A row with a step of 0 becomes zeros, with a gain of 1.
    """
    cdef Py_ssize_t m = rows.shape[0], n = rows.shape[1], width = small.shape[1], i, t
    cdef float unit, q
    cdef double own, both, squares
    cdef int total
    with nogil:
        for i in range(m):
            unit, own, both, squares, total = step[i], 0, 0, 0, 0
            for t in range(n):
                q = rint(rows[i, t] / unit) if unit > 0 else 0
                q = LARGEST if q > LARGEST else (-LARGEST if q < -LARGEST else q)
                small[i, t] = <signed char> q
                total += <int> q
                q *= unit
                own += rows[i, t] * rows[i, t]
                both += rows[i, t] * q
                squares += q * q
            for t in range(n, width):
                small[i, t] = 0
            sums[i] = total
            gain[i] = both / own if own > 0 else 1
            error[i] = sqrt(max(0.0, squares - both * both / own) / own) if own > 0 else 0


def compare(const signed char[:, ::1] left, const signed char[:, ::1] right, const int[::1] sums, const int[::1] bound,
            Py_ssize_t beyond, int[::1] row, int[::1] column):
    """Pairs (i, j) with j > i + beyond whose sum of products exceeds ``bound[i]`` in size, into ``row`` and ``column``.

    Returns how many there are; where that is more than there is room for, only the first are filled in. ``sums`` are
    those of the rows of ``right``; both sides are padded with zeros to the same multiple of 256.
    """
    cdef Py_ssize_t m = left.shape[0], k = right.shape[0], width = left.shape[1], room = row.shape[0]
    cdef Py_ssize_t some = max(2, BLOCK // max(width, 1) // 2 * 2), begin, end, i, j, t, a, b, count = 0
    cdef const uint8_t* rows[4]
    cdef const int8_t* columns[2]
    cdef int32_t found[8]
    cdef int value
    cdef uint8_t* shifted = <uint8_t*> malloc(max(m * width, 1))
    if shifted == NULL:
        raise MemoryError("no memory for a block of columns")
    with nogil:
        for i in range(m):
            for t in range(width):
                shifted[i * width + t] = <uint8_t> (left[i, t] + OFFSET)
        begin = 0
        while begin < k:
            end = min(begin + some, k)
            i = 0
            while i < m:
                for a in range(4):
                    rows[a] = shifted + min(i + a, m - 1) * width
                j = begin
                if i + beyond + 1 > j:
                    j += (i + beyond + 1 - j) // 2 * 2
                while j < end:
                    for b in range(2):
                        columns[b] = <const int8_t*> &right[min(j + b, k - 1), 0]
                    small_products(rows, columns, width, found)
                    for b in range(min(2, end - j)):
                        for a in range(min(4, m - i)):
                            value = found[4 * b + a] - OFFSET * sums[j + b]
                            if (value > bound[i + a] or -value > bound[i + a]) and j + b > i + a + beyond:
                                if count < room:
                                    row[count], column[count] = <int> (i + a), <int> (j + b)
                                count += 1
                    j += 2
                i += 4
            begin = end
    free(shifted)
    return count


def confirm(const float[:, ::1] left, const float[:, ::1] columns, const float[::1] level, int[::1] row,
            int[::1] column, float[::1] square):
    """Keeps the pairs whose exact product r has r² > ``level[row]``, at the head of ``row``, ``column`` and ``square``.

    Returns how many they are.
    """
    cdef Py_ssize_t k, count = 0, n = left.shape[1]
    cdef float r
    with nogil:
        for k in range(row.shape[0]):
            r = <float> dot(&left[row[k], 0], &columns[column[k], 0], n)
            if r * r > level[row[k]]:
                row[count], column[count], square[count] = row[k], column[k], r * r
                count += 1
    return count
