# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The state of a search to arrays and back, to the last bit.

Regressions are updated in place as parents come and go, so their numbers depend on the way they came; so do the
sequence of a node's parents and children and that of the queue. All of it is kept.
"""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from psidag.scores._score cimport make_score
from psidag.search._memory cimport push, resized
from psidag.search._regression cimport Regression, reserve
from psidag.search._state cimport State, enqueue


cdef inline Py_ssize_t inverse_entries(State* s) noexcept nogil:
    cdef Py_ssize_t j, total = 0
    for j in range(s.d):
        total += s.fits[j].k * s.fits[j].k * (2 if s.fits[j].delicate else 1)
    return total


cdef inline void dump_nodes(
    State* s, int32_t[::1] order, int32_t[:, ::1] nodes, double[:, ::1] levels, int32_t[::1] queue,
    double[::1] numbers, int64_t[::1] counts,
) noexcept nogil:
    cdef Py_ssize_t j, at
    for j in range(s.d):
        order[j] = s.order[j]
        nodes[j, 0] = <int32_t> s.fits[j].k
        nodes[j, 1] = <int32_t> s.fits[j].locked
        nodes[j, 2] = <int32_t> s.children[j].size
        nodes[j, 3] = s.stale[j]
        nodes[j, 4] = s.fits[j].delicate
        nodes[j, 5] = s.paired[j]
        levels[j, 0] = s.fits[j].v
        levels[j, 1] = s.fits[j].variance
        levels[j, 2] = s.sigma2[j]
        levels[j, 3] = s.floor[j]
        levels[j, 4] = s.fits[j].blur if s.fits[j].delicate else 0
    for j in range(s.waiting):
        at = s.head + j
        queue[j] = s.queue[at - s.d if at >= s.d else at]
    numbers[0] = s.score.n
    numbers[1] = s.score.penalty
    numbers[2] = s.leeway
    numbers[3] = s.tolerance
    numbers[4] = s.gain
    counts[0] = s.limits.max_parents
    counts[1] = s.limits.max_additions
    counts[2] = s.sweeps
    counts[3] = s.visits
    counts[4] = s.moves
    counts[5] = s.work


cdef inline void dump_fits(
    State* s, int32_t[::1] parents, int32_t[::1] children, double[::1] weights, double[::1] inverses
) noexcept nogil:
    cdef Py_ssize_t j, a, edge = 0, child = 0, entry = 0
    cdef Regression* fit
    for j in range(s.d):
        fit = s.fits + j
        for a in range(fit.k):
            parents[edge + a] = fit.parents[a]
            weights[edge + a] = fit.b[a]
            memcpy(&inverses[entry], fit.M + a * fit.room, fit.k * sizeof(double))
            entry += fit.k
        for a in range(fit.k if fit.delicate else 0):
            memset(&inverses[entry], 0, a * sizeof(double))
            memcpy(&inverses[entry + a], fit.R + a * fit.room + a, (fit.k - a) * sizeof(double))
            entry += fit.k
        edge += fit.k
        for a in range(s.children[j].size):
            children[child + a] = s.children[j].items[a]
        child += s.children[j].size


cdef inline void restore_nodes(
    State* s, const int32_t[:, ::1] nodes, const double[:, ::1] levels, const int32_t[::1] queue,
    const double[::1] numbers, const int64_t[::1] counts,
) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(s.d):
        s.stale[j] = nodes[j, 3] != 0
        s.fits[j].delicate = nodes[j, 4] != 0
        s.paired[j] = nodes[j, 5]
        s.fits[j].v = levels[j, 0]
        s.fits[j].variance = levels[j, 1]
        s.sigma2[j] = levels[j, 2]
        s.floor[j] = levels[j, 3]
        s.fits[j].blur = levels[j, 4]
    for j in range(queue.shape[0]):
        enqueue(s, queue[j])
    s.score = make_score(numbers[0], numbers[1])
    s.leeway = numbers[2]
    s.tolerance = numbers[3]
    s.gain = numbers[4]
    s.limits.max_parents = counts[0]
    s.limits.max_additions = counts[1]
    s.sweeps = counts[2]
    s.visits = counts[3]
    s.moves = counts[4]
    s.work = counts[5]


cdef inline int restore_fits(
    State* s, const int32_t[:, ::1] nodes, const int32_t[::1] parents, const int32_t[::1] children,
    const double[::1] weights, const double[::1] inverses,
) except -1 nogil:
    cdef Py_ssize_t j, a, edge = 0, child = 0, entry = 0
    cdef Regression* fit
    for j in range(s.d):
        fit = s.fits + j
        reserve(fit, nodes[j, 0])
        fit.k = nodes[j, 0]
        fit.locked = nodes[j, 1]
        for a in range(fit.k):
            fit.parents[a] = parents[edge + a]
            fit.b[a] = weights[edge + a]
            memcpy(fit.M + a * fit.room, &inverses[entry], fit.k * sizeof(double))
            entry += fit.k
        if fit.delicate:
            fit.R = <double*> resized(fit.R, fit.room * fit.room * sizeof(double))
        for a in range(fit.k if fit.delicate else 0):
            memcpy(fit.R + a * fit.room, &inverses[entry], fit.k * sizeof(double))
            entry += fit.k
        edge += fit.k
        for a in range(nodes[j, 2]):
            push(s.children + j, children[child + a])
        child += nodes[j, 2]
    return 0
