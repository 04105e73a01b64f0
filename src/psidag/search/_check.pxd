# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The invariants of the search, checked one after the other; for tests, which call it between moves."""

from libc.math cimport fabs
from libc.stdint cimport int32_t

from psidag.data._entries cimport Matrix, entry, rounding
from psidag.search._knowledge cimport is_listed, may_point, must_precede
from psidag.search._memory cimport Bag
from psidag.search._regression cimport Regression, find
from psidag.search._state cimport State


cdef inline Py_ssize_t count_in(Bag* bag, int32_t item) noexcept nogil:
    cdef Py_ssize_t a, total = 0
    for a in range(bag.size):
        total += bag.items[a] == item
    return total


cdef inline const char* broken_order(State* s) noexcept nogil:
    cdef Py_ssize_t t, a
    cdef int32_t j
    for t in range(s.d):
        j = s.order[t]
        if j < 0 or j >= s.d or s.place[j] != t:
            return "order and place are not inverse"
        if s.marks[t]:
            return "a mark was left"
        if s.journal.on or s.journal.noted[t]:
            return "a trial was left"
        if s.rules.ordered:
            for a in range(t):
                if must_precede(&s.rules, j, s.order[a]):
                    return "the order is against tiers or a required edge"
    return NULL


cdef inline const char* broken_lists(State* s) noexcept nogil:
    cdef Py_ssize_t a, edges = 0
    cdef int32_t j, i
    cdef Regression* fit
    for j in range(s.d):
        fit = s.fits + j
        for a in range(fit.k):
            i = fit.parents[a]
            if s.place[i] >= s.place[j]:
                return "a parent does not stand before its child"
            if find(fit, i) != a:
                return "a parent is there twice"
            if count_in(s.children + i, j) != 1:
                return "parents and children do not mirror each other"
            if not may_point(&s.rules, i, j) and not is_listed(s.rules.required_start, s.rules.required, j, i):
                return "a forbidden edge"
            if a < fit.locked and not is_listed(s.rules.required_start, s.rules.required, j, i):
                return "a locked parent is not required"
        edges += fit.k - s.children[j].size
    if edges != 0:
        return "parents and children do not mirror each other"
    return NULL


cdef inline const char* broken_queue(State* s) noexcept nogil:
    cdef Py_ssize_t a, at, total = 0
    for a in range(s.waiting):
        at = (s.head + a) % s.d
        if not s.queued[s.queue[at]]:
            return "a node in the queue is not marked as queued"
    for a in range(s.d):
        total += s.queued[a]
    if total != s.waiting:
        return "the queue and its marks differ"
    return NULL


cdef inline const char* broken_fit(const Matrix* S, State* s, int32_t j) noexcept nogil:
    """M S_PP = I, b = M S_Pj, v = S_jj - b'S_Pj, and R'R = S_PP where it is held, up to rounding."""
    cdef Regression* fit = s.fits + j
    cdef Py_ssize_t a, h, c
    cdef double t, left, close = 1e-3 if S.precise == NULL else 1e-6
    left = entry(S, j, j)
    for a in range(fit.k):
        t = -entry(S, j, fit.parents[a])
        for h in range(fit.k):
            t += fit.b[h] * entry(S, fit.parents[a], fit.parents[h])
        if fabs(t) > close:
            return "weights do not solve the normal equations"
        left -= fit.b[a] * entry(S, j, fit.parents[a])
        for c in range(fit.k):
            t = -1.0 if a == c else 0.0
            for h in range(fit.k):
                t += fit.M[a * fit.room + h] * entry(S, fit.parents[h], fit.parents[c])
            if fabs(t) > 1000 * close:
                return "M is not the inverse of the parents' correlations"
            t = entry(S, fit.parents[a], fit.parents[c])
            for h in range(min(a, c) + 1 if fit.delicate else 0):
                t -= fit.R[h * fit.room + a] * fit.R[h * fit.room + c]
            if fit.delicate and fabs(t) > 1e-12:
                return "R is not the factor of the parents' correlations"
    if fabs(fit.v - left) > close and fit.v > 2 * rounding(S) * fit.variance:
        return "the residual variance is not that of the weights"
    return NULL


cdef inline const char* broken_invariant(const Matrix* S, State* s) noexcept nogil:
    """What is broken, or NULL. O(d^2) where there is prior knowledge, else O(d k^3)."""
    cdef const char* broken = broken_order(s)
    cdef int32_t j
    if broken == NULL:
        broken = broken_lists(s)
    if broken == NULL:
        broken = broken_queue(s)
    for j in range(s.d):
        if broken == NULL:
            broken = broken_fit(S, s, j)
    return broken
