# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Columns compared with columns in small integers, to list the pairs whose products are worth computing exactly.

A processor multiplies and adds more bytes than single-precision numbers in an instruction: `small_products.h` has a kernel
for each kind of them, and what they gain.
"""

from libc.math cimport rint, sqrt
from libc.stdint cimport int8_t, int32_t, uint8_t, uint32_t
from libc.stdlib cimport free, malloc

from psidag.data._entries cimport dot

cdef extern from "small_products.h" nogil:
    enum:
        SMALL_STRIP
        SMALL_BLOCK
        SMALL_STEP
        SMALL_STEP_BYTES
        SMALL_PLAIN
        SMALL_KERNELS
    ctypedef struct small_block:
        const uint8_t* left
        const int8_t* right
        const int32_t* start
        Py_ssize_t width
    int small_has(int kernel)
    void small_begin(int kernel)
    void small_end(int kernel)
    uint32_t small_sums(int kernel, const small_block* of, const int32_t* bound, int32_t* sums)

cdef enum:
    LARGEST = 31                # of a small integer; one side is shifted by OFFSET to be unsigned
    OFFSET = 32
    NEVER = 2147483647          # a bound that nothing exceeds
    LINE = 64                   # bytes of a cache line
    NEAR = 1 << 19              # bytes that stay in a core's own cache, and in the one that cores share
    FAR = 1 << 22

#: Rows are padded to a multiple of STEP values, held in strips of STRIP rows and compared in blocks of BLOCK of them.
STEP, STRIP, BLOCK = SMALL_STEP, SMALL_STRIP, SMALL_BLOCK

_NAMES = ("plain", "avx2", "vnni", "amx")
_here = {}


def kernels():
    """The kernels that this processor has, by name, the fastest last. Asked when first needed: a kernel may take a permit."""
    if not _here:
        _here.update({name: k for k, name in enumerate(_NAMES) if small_has(k)})
    return _here


def available():
    """Whether this processor compares small integers faster than numbers."""
    return len(kernels()) > 1


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


def pack(const signed char[:, ::1] small, signed char[:, ::1] strips, int[::1] start, const int[::1] sums):
    """Fills ``strips`` with rows of ``small`` as the right side of a comparison, and ``start`` with what their sums begin with.

    A strip has 16 rows of a multiple of 64 values; rows that are wanting are zeros. An even number of strips.
    """
    cdef Py_ssize_t m = small.shape[0], width = small.shape[1], i, t, k
    cdef int8_t* to
    with nogil:
        for i in range(strips.shape[0] * SMALL_STRIP):
            start[i] = -OFFSET * sums[i] if i < m else 0
            to = <int8_t*> &strips[i // SMALL_STRIP, i % SMALL_STRIP * 4]
            for t in range(width // 4):
                for k in range(4):
                    to[t * SMALL_STEP + k] = small[i, 4 * t + k] if i < m else 0


cdef void lay_out(const signed char[:, ::1] small, uint8_t* to, Py_ssize_t rows) noexcept nogil:
    """Rows as the left side of a comparison; those that are wanting have any values."""
    cdef Py_ssize_t m = small.shape[0], width = small.shape[1], i, t, k
    cdef uint8_t* at
    for i in range(rows):
        at = to + i // SMALL_STRIP * SMALL_STRIP * width + i % SMALL_STRIP * SMALL_STEP
        for t in range(width // SMALL_STEP):
            for k in range(SMALL_STEP):
                at[t * SMALL_STEP_BYTES + k] = <uint8_t> (small[min(i, m - 1), t * SMALL_STEP + k] + OFFSET)


cdef Py_ssize_t listed(uint32_t found, const int32_t* sums, const int32_t* bounds, Py_ssize_t i, Py_ssize_t j,
                       Py_ssize_t beyond, int[::1] row, int[::1] column, Py_ssize_t count) noexcept nogil:
    """Lists what exceeds its bound in the rows of a block that were found, from row i and column j on; returns how many."""
    cdef Py_ssize_t a, b
    cdef int32_t value
    for a in range(SMALL_BLOCK if found else 0):
        for b in range(SMALL_BLOCK if found >> a & 1 else 0):
            value = sums[SMALL_BLOCK * a + b]
            if (value > bounds[a] or -value > bounds[a]) and j + b > i + a + beyond:
                if count < row.shape[0]:
                    row[count], column[count] = <int> (i + a), <int> (j + b)
                count += 1
    return count


def compare(const signed char[:, ::1] left, const signed char[:, ::1] right, const int[::1] start, const int[::1] bound,
            Py_ssize_t beyond, int[::1] row, int[::1] column, int kernel):
    """Pairs (i, j) with j > i + beyond whose sum of products exceeds ``bound[i]`` in size, into ``row`` and ``column``.

    Returns how many there are; where that is more than there is room for, only the first are filled in. ``right`` and
    ``start`` are as :func:`pack` fills them; bounds are not negative. ``kernel`` is one of :func:`kernels`.
    """
    cdef Py_ssize_t m = left.shape[0], width = left.shape[1], count = 0, i
    cdef Py_ssize_t blocks = (m + SMALL_BLOCK - 1) // SMALL_BLOCK, panels = right.shape[0] * SMALL_STRIP // SMALL_BLOCK
    cdef Py_ssize_t lines = max(1, NEAR // (SMALL_BLOCK * width)), columns = max(1, FAR // (SMALL_BLOCK * width))
    cdef Py_ssize_t at, part, p, q
    cdef uint32_t found
    cdef small_block of
    cdef Py_ssize_t sums_bytes = SMALL_BLOCK * SMALL_BLOCK * sizeof(int32_t), rows_bytes = blocks * SMALL_BLOCK * width
    cdef void* held = malloc(LINE + sums_bytes + rows_bytes + blocks * SMALL_BLOCK * sizeof(int32_t))
    cdef int32_t* sums
    cdef int32_t* bounds
    cdef uint8_t* rows
    if held == NULL:
        raise MemoryError("no memory for a block of columns")
    # From the beginning of a cache line on: the kernels read and write whole ones.
    sums = <int32_t*> ((<size_t> held + LINE - 1) // LINE * LINE)
    rows = <uint8_t*> sums + sums_bytes
    bounds = <int32_t*> (rows + rows_bytes)
    with nogil:
        lay_out(left, rows, blocks * SMALL_BLOCK)
        for i in range(blocks * SMALL_BLOCK):
            bounds[i] = bound[i] if i < m else NEVER
        of.width = width
        small_begin(kernel)
        # Columns come from memory once for all rows, a part that stays in the last cache at a time. Rows of a part that
        # stays in the one before it pass by 32 columns, which stay in the nearest one.
        for at in range((max(0, beyond + 1) // SMALL_BLOCK) // columns, (panels + columns - 1) // columns):
            for part in range((blocks + lines - 1) // lines):
                for p in range(max(at * columns, max(0, beyond + 1) // SMALL_BLOCK), min((at + 1) * columns, panels)):
                    of.right = <const int8_t*> &right[p * SMALL_BLOCK // SMALL_STRIP, 0]
                    of.start = <const int32_t*> &start[p * SMALL_BLOCK]
                    for q in range(part * lines, min((part + 1) * lines, blocks)):
                        i = q * SMALL_BLOCK
                        if i + beyond >= (p + 1) * SMALL_BLOCK - 1:
                            break
                        of.left = rows + i * width
                        found = small_sums(kernel, &of, bounds + i, sums)
                        count = listed(found, sums, bounds + i, i, p * SMALL_BLOCK, beyond, row, column, count)
        small_end(kernel)
    free(held)
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
