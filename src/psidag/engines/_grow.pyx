# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""An order grown by residual variance, with sparse regressions on what is placed.

Compiled because each of d steps touches every node that is left, and its parents, in a data-dependent way.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from psidag.stages._regression cimport (
    Regression, Score, add, clear, conditional_variance, drop, least_gain, least_loss, make_score, real, release,
    reserve, residual_covariance, rounding, weakest,
)
from psidag.stages._settle cimport settle


def grow(
    const real[:, ::1] S, const double[::1] variance, double n, double penalty, Py_ssize_t max_parents,
    const int32_t[::1] tier, const int32_t[::1] required_start, const int32_t[::1] required,
    const int32_t[::1] forbidden_start, const int32_t[::1] forbidden, int32_t[::1] order,
):
    """Fill the order: always next the node whose variance, given the nodes placed before it, is lowest.

    S are correlations and ``variance`` their scale. Each node left keeps a regression on placed nodes that pay
    their penalty by its own variance; parents that no longer pay leave. Required parents and earlier tiers
    come first, forbidden parents are not used.
    """
    cdef Py_ssize_t d = S.shape[0], t, a, h, k, left = d
    cdef const real* base = &S[0, 0]
    cdef const real* row
    cdef Score score = make_score(n, penalty)
    cdef Regression* fits = <Regression*> calloc(d, sizeof(Regression))
    cdef Regression* fit
    cdef int32_t* open = <int32_t*> calloc(d, sizeof(int32_t))
    cdef uint8_t* placed = <uint8_t*> calloc(d, 1)
    cdef double* scratch = <double*> calloc(2 * d, sizeof(double))
    cdef int32_t i = 0, j, lowest
    cdef double c, delta, loss, value, best, remainder, tiny = rounding(base)
    cdef bint ready
    cdef int code = 0
    if fits == NULL or open == NULL or placed == NULL or scratch == NULL:
        code = -1
    with nogil:
        if code == 0:
            for j in range(d):
                clear(fits + j, 1.0)
                open[j] = j
        for t in range(d):
            if code < 0:
                break
            lowest = 2147483647
            for a in range(left):
                if 0 <= tier[open[a]] < lowest:
                    lowest = tier[open[a]]
            best = INFINITY
            h = -1
            for a in range(left):
                j = open[a]
                value = fits[j].v * variance[j] / (1 - fits[j].k / n)
                if value < best or h < 0:
                    ready = tier[j] <= lowest
                    for k in range(required_start[j], required_start[j + 1]):
                        ready = ready and placed[required[k]]
                    if ready:
                        best = value
                        h = a
            i = open[h]
            order[t] = i
            placed[i] = 1
            left -= 1
            open[h] = open[left]
            remainder = fits[i].v
            release(fits + i)
            row = base + i * d
            for a in range(left):
                j = open[a]
                fit = fits + j
                c = residual_covariance(row, j, fit)
                # What the parents of i leave of it is about the least that those of j can leave of it.
                if c * c <= least_gain(&score, 0, fit.v) * remainder or fit.k >= max_parents or fit.v <= tiny:
                    continue
                delta = conditional_variance(row, i, fit, scratch)
                if not (delta > tiny and c * c > least_gain(&score, 0, fit.v) * delta):
                    continue
                ready = True
                for k in range(forbidden_start[j], forbidden_start[j + 1]):
                    if forbidden[k] == i:
                        ready = False
                if not ready:
                    continue
                if reserve(fit, fit.k + 1) < 0:
                    code = -1
                    break
                add(row, i, j, fit, scratch)
                settle(base, d, j, fit, scratch)
                while fit.k > 0:
                    k = weakest(fit, fit.k, &loss)
                    if loss > least_loss(&score, 0, fit.v):
                        break
                    drop(fit, k, scratch)
                    settle(base, d, j, fit, scratch)
    if fits != NULL:
        for t in range(d):
            release(fits + t)
    free(fits)
    free(open)
    free(placed)
    free(scratch)
    if code < 0:
        raise MemoryError("no memory for the regressions of the nodes left")
