# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""New parents for a node, wherever in the order they stand, as long as they are no descendants."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from psidag.data._entries cimport Matrix
from psidag.scores._score cimport cost, least_gain
from psidag.search._knowledge cimport may_point
from psidag.search._memory cimport Bag, push, zeros
from psidag.search._regression cimport WIDE, Regression, combine, conditional_variances, is_rounding, real
from psidag.search._state cimport State, node_cost


cdef inline int descendants(State* s, int32_t j, uint8_t* below, Bag* found) except -1 nogil:
    """Mark j and its descendants in `below` and list them in `found`."""
    cdef Py_ssize_t at = 0, a
    cdef int32_t z
    found.size = 0
    below[j] = 1
    push(found, j)
    while at < found.size:
        z = found.items[at]
        at += 1
        for a in range(s.children[z].size):
            if not below[s.children[z].items[a]]:
                below[s.children[z].items[a]] = 1
                push(found, s.children[z].items[a])
    return 0


cdef struct Search:
    # The search for additions to one node, in one thread.
    uint8_t* below              # by node: the node itself, its descendants and parents
    Bag family                  # these, to clear the marks
    int32_t* number             # by node: its number among the parents, from 1 on; 0 for others
    Bag shared                  # numbers of parents that are relatives of a candidate
    int32_t batch[WIDE]         # candidates to be weighed together, and
    double c[WIDE]              # their covariances with the residual
    Py_ssize_t waiting
    double* u                   # scratch of WIDE d numbers
    double least                # gain that the next candidate must exceed
    Py_ssize_t room
    int32_t* found              # the best candidates so far, best first, and
    double* gains               # what each alone takes off the variance
    int32_t* count


cdef inline int open_search(Search* search, Py_ssize_t d) except -1 nogil:
    """Get ready; `close_search` is to follow, whatever comes of it."""
    memset(search, 0, sizeof(Search))
    search.below = <uint8_t*> zeros(d, 1)
    search.number = <int32_t*> zeros(d, sizeof(int32_t))
    search.u = <double*> zeros(WIDE * d, sizeof(double))
    return 0


cdef inline void close_search(Search* search) noexcept nogil:
    free(search.below)
    free(search.number)
    free(search.u)
    free(search.family.items)
    free(search.shared.items)


cdef inline int begin_node(const Matrix* S, State* s, Search* search, int32_t j, Py_ssize_t room, int32_t* found,
                           int32_t* count, double* gains) except -1 nogil:
    """Get ready for additions to j; 0 if none are to be looked for."""
    cdef Py_ssize_t a
    cdef Regression* fit = s.fits + j
    count[0] = 0
    if not s.stale[j] or fit.k >= s.limits.max_parents or is_rounding(S, fit.v, fit.variance):
        return 0
    search.least = least_gain(&s.score, s.sigma2[j], fit.v)
    search.room = room
    search.found = found
    search.gains = gains
    search.count = count
    descendants(s, j, search.below, &search.family)
    for a in range(fit.k):
        search.below[fit.parents[a]] = 1
        search.number[fit.parents[a]] = <int32_t> (a + 1)
    return 1


cdef inline void weigh(const Matrix* S, State* s, Search* search, int32_t j, const int32_t* batch, const double* c,
                Py_ssize_t waiting) noexcept nogil:
    """Put those of up to WIDE candidates that pay into their places among the best; c are their residual covariances."""
    cdef Py_ssize_t q, a
    cdef int32_t i
    cdef double gain
    cdef double deltas[WIDE]
    for q in range(waiting):
        deltas[q] = s.fits[batch[q]].variance
    if waiting:
        conditional_variances(S, batch, waiting, s.fits + j, deltas, search.u)
    for q in range(waiting):
        i = batch[q]
        if is_rounding(S, deltas[q], s.fits[i].variance) or not c[q] * c[q] > search.least * deltas[q]:
            continue
        if not may_point(&s.rules, i, j) or 0 <= s.rules.tier[j] < s.rules.tier[i]:
            continue
        # The last of a full list falls out.
        gain = c[q] * c[q] / deltas[q]
        a = search.count[0]
        if a < search.room:
            search.count[0] += 1
        else:
            a -= 1
        while a > 0 and search.gains[a - 1] < gain:
            search.gains[a] = search.gains[a - 1]
            search.found[a] = search.found[a - 1]
            a -= 1
        search.gains[a] = gain
        search.found[a] = i
        if search.count[0] == search.room:
            search.least = search.gains[search.room - 1]


cdef inline void end_node(State* s, Search* search, int32_t j) noexcept nogil:
    """Turn falls of the variance into falls of the score."""
    cdef Py_ssize_t a
    cdef Regression* fit = s.fits + j
    for a in range(search.count[0]):
        search.gains[a] = node_cost(s, j, fit) - cost(&s.score, s.sigma2[j], fit.v - search.gains[a], fit.k + 1)
    for a in range(fit.k):
        search.below[fit.parents[a]] = 0
        search.number[fit.parents[a]] = 0
    for a in range(search.family.size):
        search.below[search.family.items[a]] = 0


cdef inline int search_everywhere(const Matrix* S, const real* base, State* s, Search* search, real* r, real* bound,
                                  int32_t j) noexcept nogil:
    """Weigh all nodes as parents of j, by whole rows of a matrix that is held; sums are in its precision."""
    cdef Py_ssize_t d = s.d, a, next = 0, waiting
    cdef int32_t batch[WIDE]
    cdef double c[WIDE]
    # Not raised as better ones are found: bounds are estimates, and the best must not depend on who comes first.
    cdef real bar = <real> search.least
    cdef Regression* fit = s.fits + j
    memcpy(r, base + j * d, d * sizeof(real))
    for a in range(fit.k):
        search.u[a] = -fit.b[a]
    combine(base, d, fit, search.u, fit.k, r)
    while next < d:
        waiting = 0
        while next < d and waiting < WIDE:
            if r[next] * r[next] > bar * bound[next] and not search.below[next]:
                batch[waiting] = <int32_t> next
                c[waiting] = r[next]
                waiting += 1
            next += 1
        weigh(S, s, search, j, batch, c, waiting)
    return 0


cdef inline int additions_everywhere(const Matrix* S, const real* base, State* s, Py_ssize_t first, Py_ssize_t last,
                                     const int64_t[::1] start, int32_t[::1] found, int32_t[::1] counts,
                                     double[::1] gains) except -1 nogil:
    """Additions among all nodes, where the matrix is held."""
    cdef Py_ssize_t i, j
    cdef Search search
    cdef real* r = NULL
    try:
        open_search(&search, s.d)
        r = <real*> zeros(2 * s.d, sizeof(real))
        for i in range(s.d):
            r[s.d + i] = <real> s.floor[i]
        for j in range(first, last):
            if begin_node(S, s, &search, <int32_t> j, start[j + 1] - start[j], &found[start[j]], &counts[j],
                          &gains[start[j]]):
                search_everywhere(S, base, s, &search, r, r + s.d, <int32_t> j)
                end_node(s, &search, <int32_t> j)
    finally:
        free(r)
        close_search(&search)
    return 0
