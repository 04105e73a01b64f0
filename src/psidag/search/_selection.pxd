# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Forward-backward selection of the parents of one node, from a few candidates or from all nodes.

The candidate of largest gain comes in while it pays, and after each addition parents that no longer pay leave.
"""

from libc.stdint cimport int32_t, uint8_t
from libc.string cimport memcpy, memset

from psidag.data._entries cimport Matrix, entry
from psidag.scores._score cimport Score, least_gain, least_loss
from psidag.search._knowledge cimport Rules, may_point
from psidag.search._regression cimport (
    WIDE, Regression, combine, conditional_variances, find, is_rounding, reserve, residual_covariance,
    weakest,
)
from psidag.search._exact cimport add_parent, drop_parent


cdef struct Few:
    # A short list: what a candidate would gain is computed when it is asked for.
    const int32_t* items
    Py_ssize_t count
    const double* floor         # by node: about the least variance it can have given any others
    const Regression* fits      # by node
    const Rules* rules


cdef struct All:
    # Every node, given the parents of j so far, kept up to date while parents come and go.
    double* r                   # covariance with the residual of j
    double* delta               # conditional variance
    double* q                   # scratch
    uint8_t* open               # whether it may become a parent


ctypedef fused Candidates:
    Few
    All


cdef struct Limits:
    Py_ssize_t max_parents
    Py_ssize_t max_additions    # selection is given up when it would take more


cdef inline Py_ssize_t too_weak(Score* score, double sigma2, Regression* fit) noexcept nogil:
    """The parent that costs most more than it is worth, or -1."""
    cdef double loss
    cdef Py_ssize_t w = weakest(fit, &loss)
    return w if loss <= least_loss(score, sigma2, fit.v) else -1


cdef inline int32_t best_of_few(const Matrix* S, int32_t j, double least, Regression* fit, Few* few,
                                double* scratch) noexcept nogil:
    """The candidate that takes most off v, and more than `least`; -1 if there is none."""
    cdef Py_ssize_t a = 0, w, waiting
    cdef int32_t i, best = -1
    cdef int32_t batch[WIDE]
    cdef double c
    cdef double deltas[WIDE]
    cdef double own[WIDE]
    cdef double squares[WIDE]
    while a < few.count:
        waiting = 0
        while a < few.count and waiting < WIDE:
            i = few.items[a]
            a += 1
            if i == j:
                continue
            c = residual_covariance(S, i, j, fit)
            if c * c > least * few.floor[i] and find(fit, i) < 0:
                batch[waiting] = i
                squares[waiting] = c * c
                deltas[waiting] = own[waiting] = few.fits[i].variance
                waiting += 1
        if waiting:
            conditional_variances(S, batch, waiting, fit, deltas, scratch)
        for w in range(waiting):
            if is_rounding(S, deltas[w], own[w]):
                continue
            if squares[w] > least * deltas[w] and may_point(few.rules, batch[w], j):
                best = batch[w]
                least = squares[w] / deltas[w]
    return best


cdef inline int32_t best_of_all(const Matrix* S, double least, All* all) noexcept nogil:
    """The same among all nodes."""
    cdef Py_ssize_t i
    cdef int32_t best = -1
    for i in range(S.d):
        if all.r[i] * all.r[i] > least * all.delta[i]:
            if all.open[i] and not is_rounding(S, all.delta[i], entry(S, i, i)):
                best = <int32_t> i
                least = all.r[i] * all.r[i] / all.delta[i]
    return best


cdef inline void read_row(const Matrix* S, Py_ssize_t i, double* q) noexcept nogil:
    """q <- S[i]; S is held whole."""
    cdef Py_ssize_t a
    if S.single != NULL:
        for a in range(S.d):
            q[a] = S.single[i * S.d + a]
    else:
        memcpy(q, S.precise + i * S.d, S.d * sizeof(double))


cdef inline void add_rows(const Matrix* S, Regression* fit, const double* factors, Py_ssize_t k, double* q) noexcept nogil:
    """q <- q + sum_a factors_a S[parent_a], over the first k parents; S is held whole."""
    if S.single != NULL:
        combine(S.single, S.d, fit, factors, k, q)
    else:
        combine(S.precise, S.d, fit, factors, k, q)


cdef inline int take(const Matrix* S, int32_t i, int32_t j, Regression* fit, All* all, double* scratch) except -1 nogil:
    """Make i a parent of j and bring the candidates up to date; 0 when i is collinear, and stays out."""
    cdef Py_ssize_t a, k = fit.k
    cdef double beta, precision
    cdef double* q = all.q
    all.open[i] = 0
    reserve(fit, k + 1)
    if not add_parent(S, i, j, fit, scratch):
        return 0
    for a in range(k):
        scratch[a] = -scratch[a]
    read_row(S, i, q)
    add_rows(S, fit, scratch, k, q)
    beta = fit.b[k]
    precision = fit.M[k * fit.room + k]
    for a in range(S.d):
        all.r[a] -= q[a] * beta
        all.delta[a] -= q[a] * q[a] * precision
    return 1


cdef inline void give_up(const Matrix* S, int32_t j, Regression* fit, Py_ssize_t w, All* all, double* scratch,
                         bint again) noexcept nogil:
    """Take parent number w of j out and bring the candidates up to date; `again`: whether it may come in again."""
    cdef Py_ssize_t a
    cdef double m = fit.M[w * fit.room + w], bw = fit.b[w]
    cdef double* q = all.q
    for a in range(fit.k):
        scratch[a] = fit.M[w * fit.room + a] / m
    memset(q, 0, S.d * sizeof(double))
    add_rows(S, fit, scratch, fit.k, q)
    for a in range(S.d):
        all.r[a] += q[a] * bw
        all.delta[a] += q[a] * q[a] * m
    all.open[fit.parents[w]] = again
    drop_parent(S, j, fit, w, scratch)


cdef inline int forward_backward(const Matrix* S, int32_t j, Score* score, double sigma2, Limits* limits,
                                 Regression* fit, Candidates* candidates, double* scratch) except -1 nogil:
    """Select parents of j, from those that it has; 0 when it was given up because it would take too many additions."""
    cdef Py_ssize_t w, additions = 0
    cdef int32_t best = -1
    cdef double least
    while True:
        w = too_weak(score, sigma2, fit)
        while w >= 0:
            if Candidates is All:
                # What has just come in and does not pay came in by rounding: it must not come again.
                give_up(S, j, fit, w, candidates, scratch, fit.parents[w] != best)
            else:
                drop_parent(S, j, fit, w, scratch)
            w = too_weak(score, sigma2, fit)
        if fit.k >= limits.max_parents or is_rounding(S, fit.v, fit.variance):
            return 1
        least = least_gain(score, sigma2, fit.v)
        if Candidates is All:
            best = best_of_all(S, least, candidates)
        else:
            best = best_of_few(S, j, least, fit, candidates, scratch)
        if best < 0:
            return 1
        if additions == limits.max_additions:
            return 0
        additions += 1
        if Candidates is All:
            # One that turns out to be collinear is closed: the next one may do.
            take(S, best, j, fit, candidates, scratch)
        else:
            reserve(fit, fit.k + 1)
            if not add_parent(S, best, j, fit, scratch):
                return 1
