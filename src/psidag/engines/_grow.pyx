# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""An order grown by residual variance, with sparse regressions on what is placed.

Compiled because each of d steps touches the nodes that are left, and their parents, in a data-dependent way.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free

from psidag.data._entries cimport Entries, Matrix, rounding
from psidag.stages._regression cimport (
    Regression, Score, add, clear, conditional_variance, drop, least_gain, least_loss, make_score, release, reserve,
    residual_covariance, weakest,
)
from psidag.stages._settle cimport settle


cdef inline bint is_listed(const int32_t[::1] start, const int32_t[::1] items, Py_ssize_t j, int32_t i) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(start[j], start[j + 1]):
        if items[k] == i:
            return True
    return False


cdef inline int take_in(const Matrix* S, Score* score, int32_t i, int32_t j, Regression* fit, double remainder,
                        Py_ssize_t max_parents, const int32_t[::1] forbidden_start, const int32_t[::1] forbidden,
                        double* scratch) noexcept nogil:
    """Make i, of which its own parents leave `remainder`, a parent of j if it pays, and drop what no longer does.

    1 if it was taken, 0 if not, -1 when memory is out.
    """
    cdef double c = residual_covariance(S, i, j, fit), delta, loss, tiny = rounding(S)
    cdef Py_ssize_t k
    # What the parents of i leave of it is about the least that those of j can leave of it.
    if c * c <= least_gain(score, 0, fit.v) * remainder or fit.k >= max_parents or fit.v <= tiny:
        return 0
    delta = conditional_variance(S, i, fit, scratch)
    if not (delta > tiny and c * c > least_gain(score, 0, fit.v) * delta) or is_listed(forbidden_start, forbidden, j, i):
        return 0
    if reserve(fit, fit.k + 1) < 0:
        return -1
    add(S, i, j, fit, scratch)
    settle(S, j, fit, scratch)
    while fit.k > 0:
        k = weakest(fit, fit.k, &loss)
        if loss > least_loss(score, 0, fit.v):
            break
        drop(fit, k, scratch)
        settle(S, j, fit, scratch)
    return 1


def grow(
    Entries S, const double[::1] variance, double n, double penalty, Py_ssize_t max_parents,
    const int32_t[::1] tier, const int32_t[::1] required_start, const int32_t[::1] required,
    const int32_t[::1] forbidden_start, const int32_t[::1] forbidden,
    const int64_t[::1] near_start, const int32_t[::1] near, int32_t[::1] order,
):
    """Fill the order: always next the node whose variance, given the nodes placed before it, is lowest.

    S are correlations and ``variance`` their scale. Each node left keeps a regression on placed nodes that pay
    their penalty by its own variance; parents that no longer pay leave. A node that has been placed is offered to
    all nodes left, or where lists are given to those in ``near[near_start[i]:near_start[i + 1]]``. Required parents
    and earlier tiers come first, forbidden parents are not used.
    """
    cdef Matrix* base = &S.matrix
    cdef Py_ssize_t d = base.d, t, a, h, k, left = d
    cdef Score score = make_score(n, penalty)
    cdef Regression* fits = <Regression*> calloc(d, sizeof(Regression))
    cdef int32_t* open = <int32_t*> calloc(2 * d, sizeof(int32_t))
    cdef int32_t* slot = open + d                   # where a node stands in `open`, -1 once it is placed
    cdef double* value = <double*> calloc(3 * d, sizeof(double))    # by slot
    cdef double* scratch = value + d
    cdef int32_t i = 0, j, lowest
    cdef double best, remainder
    cdef bint ready, tiered = False, everyone = near_start.shape[0] == 0
    cdef int code = 0
    if fits == NULL or open == NULL or value == NULL:
        code = -1
    with nogil:
        if code == 0:
            for j in range(d):
                clear(fits + j, 1.0)
                open[j] = j
                slot[j] = j
                value[j] = variance[j]
                tiered = tiered or tier[j] >= 0
        for t in range(d):
            if code < 0:
                break
            lowest = 2147483647
            for a in range(left if tiered else 0):
                if 0 <= tier[open[a]] < lowest:
                    lowest = tier[open[a]]
            best = INFINITY
            h = -1
            for a in range(left):
                if value[a] < best or h < 0:
                    j = open[a]
                    ready = tier[j] <= lowest
                    for k in range(required_start[j], required_start[j + 1]):
                        ready = ready and slot[required[k]] < 0
                    if ready:
                        best = value[a]
                        h = a
            i = open[h]
            order[t] = i
            left -= 1
            open[h] = open[left]
            value[h] = value[left]
            slot[open[h]] = <int32_t> h
            slot[i] = -1
            remainder = fits[i].v
            release(fits + i)
            for a in range(0 if everyone else near_start[i], left if everyone else near_start[i + 1]):
                j = open[a] if everyone else near[a]
                if slot[j] < 0:
                    continue
                code = take_in(base, &score, i, j, fits + j, remainder, max_parents, forbidden_start, forbidden, scratch)
                if code < 0:
                    break
                if code > 0:
                    value[slot[j]] = fits[j].v * variance[j] / (1 - fits[j].k / n)
    if fits != NULL:
        for t in range(d):
            release(fits + t)
    free(fits)
    free(open)
    free(value)
    if code < 0:
        raise MemoryError("no memory for the regressions of the nodes left")
