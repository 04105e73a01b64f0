# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""An order grown by residual variance, with sparse regressions on what is placed.

Compiled because each of d steps touches the nodes that are left, and their parents, in a data-dependent way.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free

from psidag.data._entries cimport Entries, Matrix
from psidag.scores._score cimport Score, least_gain, make_score
from psidag.search._knowledge cimport Knowledge, Rules, may_point
from psidag.search._memory cimport zeros
from psidag.search._regression cimport (
    WIDE, Regression, clear, conditional_variance, is_rounding, release, reserve, residual_covariance,
)
from psidag.search._exact cimport add_parent, drop_parent
from psidag.search._selection cimport too_weak


cdef struct Growth:
    # What grows: nodes that are left, each with a regression on placed ones.
    Regression* fits            # by node
    int32_t* left               # the nodes that are left
    int32_t* slot               # by node: where it stands among them, -1 once it is placed
    double* value               # by slot: variance given the placed nodes, less what chance takes off; infinite behind them
    int32_t* lowest             # a tournament of the slots: node k has the lower one of 2k and 2k + 1, the first of equals
    Py_ssize_t leaves           # a power of two; the slots are its leaves
    double* scratch
    Py_ssize_t count


cdef inline void contest(Growth* g, Py_ssize_t k) noexcept nogil:
    """Fill one node of the tournament from the two below it."""
    cdef Py_ssize_t a = 2 * k
    cdef int32_t left = <int32_t> (a - g.leaves) if a >= g.leaves else g.lowest[a]
    cdef int32_t right = <int32_t> (a + 1 - g.leaves) if a >= g.leaves else g.lowest[a + 1]
    g.lowest[k] = right if g.value[right] < g.value[left] else left


cdef inline void set_value(Growth* g, Py_ssize_t at, double value) noexcept nogil:
    """The variance of the node in this slot has changed."""
    cdef Py_ssize_t k = (at + g.leaves) >> 1
    g.value[at] = value
    while k:
        contest(g, k)
        k >>= 1


cdef inline int take_in(const Matrix* S, Score* score, const Rules* rules, int32_t i, int32_t j, Regression* fit,
                        double remainder, Py_ssize_t max_parents, double* scratch) except -1 nogil:
    """Make i, of which its own parents leave `remainder`, a parent of j if it pays, and drop what no longer does.

    1 if it was taken.
    """
    cdef double c = residual_covariance(S, i, j, fit), delta, least = least_gain(score, 0, fit.v)
    cdef Py_ssize_t w
    # What the parents of i leave of it is about the least that those of j can leave of it.
    if c * c <= least * remainder or fit.k >= max_parents or is_rounding(S, fit.v, fit.variance):
        return 0
    delta = conditional_variance(S, i, fit, scratch)
    if is_rounding(S, delta, 1) or not c * c > least * delta or not may_point(rules, i, j):
        return 0
    reserve(fit, fit.k + 1)
    add_parent(S, i, j, fit, scratch)
    w = too_weak(score, 0, fit)
    while w >= 0:
        drop_parent(S, j, fit, w, scratch)
        w = too_weak(score, 0, fit)
    return 1


cdef inline Py_ssize_t next_slot(Growth* g, const Rules* rules) noexcept nogil:
    """Where the node of lowest variance stands, among those whose required parents and earlier tiers are placed."""
    cdef Py_ssize_t a, k, lowest = -1
    cdef int32_t j, tier = 2147483647
    cdef bint ready
    if not rules.ordered:
        return g.lowest[1] if g.leaves > 1 else 0
    for a in range(g.count):
        if 0 <= rules.tier[g.left[a]] < tier:
            tier = rules.tier[g.left[a]]
    for a in range(g.count):
        if lowest < 0 or g.value[a] < g.value[lowest]:
            j = g.left[a]
            ready = rules.tier[j] <= tier
            for k in range(rules.required_start[j], rules.required_start[j + 1]):
                ready = ready and g.slot[rules.required[k]] < 0
            if ready:
                lowest = a
    return lowest


cdef inline void place(Growth* g, Py_ssize_t at) noexcept nogil:
    """Take the node in this slot out of those that are left; the last one moves into its place."""
    g.slot[g.left[at]] = -1
    g.count -= 1
    if at < g.count:
        g.left[at] = g.left[g.count]
        g.slot[g.left[at]] = <int32_t> at
        set_value(g, at, g.value[g.count])
    set_value(g, g.count, INFINITY)


def grow(
    Entries S, const double[::1] variance, double n, double penalty, Py_ssize_t max_parents, Knowledge knowledge,
    const int64_t[::1] near_start, const int32_t[::1] near, int32_t[::1] order,
):
    """Fill the order: always next the node whose variance, given the nodes placed before it, is lowest.

    S are correlations and ``variance`` their scale. Each node left keeps a regression on placed nodes that pay
    their penalty by its own variance; parents that no longer pay leave. A node that has been placed is offered to
    all nodes left, or where lists are given to those in ``near[near_start[i]:near_start[i + 1]]``. Required parents
    and earlier tiers come first, forbidden parents are not used.
    """
    cdef Matrix* base = &S.matrix
    cdef Py_ssize_t d = base.d, t, a, at
    cdef Score score = make_score(n, penalty)
    cdef Rules* rules = &knowledge.rules
    cdef Growth g
    cdef int32_t i, j
    cdef double remainder
    cdef bint everyone = near_start.shape[0] == 0
    g.fits = NULL
    g.left = NULL
    g.value = NULL
    g.lowest = NULL
    g.count = d
    g.leaves = 1
    while g.leaves < d:
        g.leaves *= 2
    try:
        g.fits = <Regression*> zeros(d, sizeof(Regression))
        g.left = <int32_t*> zeros(2 * d, sizeof(int32_t))
        g.slot = g.left + d
        g.value = <double*> zeros(g.leaves + WIDE * d, sizeof(double))
        g.scratch = g.value + g.leaves
        g.lowest = <int32_t*> zeros(g.leaves, sizeof(int32_t))
        with nogil:
            for j in range(d):
                clear(g.fits + j, 1.0)
                g.left[j] = j
                g.slot[j] = j
                g.value[j] = variance[j]
            for t in range(d, g.leaves):
                g.value[t] = INFINITY
            for t in range(g.leaves - 1, 0, -1):
                contest(&g, t)
            for t in range(d):
                at = next_slot(&g, rules)
                i = g.left[at]
                order[t] = i
                place(&g, at)
                remainder = g.fits[i].v
                release(g.fits + i)
                for a in range(0 if everyone else near_start[i], g.count if everyone else near_start[i + 1]):
                    j = g.left[a] if everyone else near[a]
                    if g.slot[j] >= 0 and take_in(
                        base, &score, rules, i, j, g.fits + j, remainder, max_parents, g.scratch
                    ):
                        set_value(&g, g.slot[j], g.fits[j].v * variance[j] / (1 - g.fits[j].k / n))
    finally:
        for t in range(d if g.fits != NULL else 0):
            release(g.fits + t)
        free(g.fits)
        free(g.left)
        free(g.value)
        free(g.lowest)
