# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""New parents for a node, wherever in the order they stand, as long as they are no descendants."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from psidag.data._entries cimport Matrix, dot, entry
from psidag.scores._score cimport cost, least_gain
from psidag.search._knowledge cimport may_point
from psidag.search._memory cimport Bag, push, zeros
from psidag.search._regression cimport (
    FEW, WIDE, Regression, combine, conditional_variances, copy, is_rounding, real, reserve,
)
from psidag.search._resolve cimport add_parent
from psidag.search._state cimport State, move_before, node_cost, pays, reselect, set_parents


cdef enum:
    DOUBT = 2               # a candidate is weighed exactly if it would pay with this share less of what is left by an estimate


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


cdef struct Lists:
    # Who may become a parent: those of node i are the items from start[i] to start[i + 1]; no start, no lists.
    const int64_t* start
    const int32_t* items


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


cdef inline void residual(const Matrix* S, int32_t j, Regression* fit, float* rest) noexcept nogil:
    """What its parents leave of column j."""
    cdef Py_ssize_t a, t, n = S.n
    cdef const float* column
    cdef float b
    memcpy(rest, S.columns + j * n, n * sizeof(float))
    for a in range(fit.k):
        column = S.columns + fit.parents[a] * n
        b = <float> fit.b[a]
        for t in range(n):
            rest[t] -= b * column[t]


cdef inline int share_parents(Search* search, const int32_t* nodes, Py_ssize_t count) except -1 nogil:
    """Note which of these nodes are parents, each once: its number is negative from then on."""
    cdef Py_ssize_t a
    for a in range(count):
        if search.number[nodes[a]] > 0:
            push(&search.shared, search.number[nodes[a]] - 1)
            search.number[nodes[a]] *= -1
    return 0


cdef inline double left_by_relatives(const Matrix* S, State* s, Search* search, Regression* fit, int32_t i,
                                     const Lists* near) except? -1 nogil:
    """About what the parents leave of the variance of i, by those that are related to it or listed for it alone."""
    cdef Py_ssize_t a, h, q
    cdef const int32_t* which
    cdef const double* m
    cdef double left = s.fits[i].variance, t
    cdef double* c = search.u
    search.shared.size = 0
    share_parents(search, near.items + near.start[i], near.start[i + 1] - near.start[i])
    share_parents(search, s.fits[i].parents, s.fits[i].k)
    share_parents(search, s.children[i].items, s.children[i].size)
    q, which = search.shared.size, search.shared.items
    for a in range(q):
        c[a] = entry(S, i, fit.parents[which[a]])
        search.number[fit.parents[which[a]]] *= -1
    for a in range(q):
        m = fit.M + which[a] * fit.room
        t = 0
        for h in range(a):
            t += m[which[h]] * c[h]
        left -= c[a] * (2 * t + m[which[a]] * c[a])
    return left


cdef inline int weigh_listed(const Matrix* S, State* s, Search* search, const float* rest, int32_t j, const Lists* near,
                             const Lists* lists, int32_t whose) except -1 nogil:
    """Weigh the nodes on one list as parents of j, whose residual is `rest`, but for those that others had before."""
    cdef Py_ssize_t a
    cdef int32_t i
    cdef double c, left
    cdef Regression* fit = s.fits + j
    for a in range(lists.start[whose], lists.start[whose + 1]):
        i = lists.items[a]
        if search.below[i]:
            continue
        # Not a second time from another list.
        search.below[i] = 1
        push(&search.family, i)
        c = dot(rest, S.columns + i * S.n, S.n)
        if c * c <= search.least * s.floor[i]:
            continue
        # To ask all parents of a hub takes long: first those that can matter, who are few.
        if fit.k > FEW:
            left = left_by_relatives(S, s, search, fit, i, near)
            if DOUBT * c * c <= search.least * left:
                continue
        search.batch[search.waiting] = i
        search.c[search.waiting] = c
        search.waiting += 1
        if search.waiting == WIDE:
            weigh(S, s, search, j, search.batch, search.c, WIDE)
            search.waiting = 0
    return 0


cdef inline int search_listed(const Matrix* S, State* s, Search* search, float* rest, int32_t j, const Lists* near,
                              const Lists* hubs) except -1 nogil:
    """Weigh the nodes listed for j and for its parents, by products of columns with the residual of j.

    The parents of a hub have most nodes on their lists: where there are lists for hubs, these are looked at instead.
    """
    cdef Py_ssize_t h
    cdef Regression* fit = s.fits + j
    residual(S, j, fit, rest)
    search.waiting = 0
    weigh_listed(S, s, search, rest, j, near, near, j)
    if fit.k > FEW and hubs.start != NULL:
        weigh_listed(S, s, search, rest, j, near, hubs, j)
    else:
        for h in range(fit.k):
            weigh_listed(S, s, search, rest, j, near, near, fit.parents[h])
    weigh(S, s, search, j, search.batch, search.c, search.waiting)
    return 0


cdef inline int additions_listed(const Matrix* S, State* s, Py_ssize_t first, Py_ssize_t last, const Lists* near,
                                 const Lists* hubs, const int64_t[::1] start, int32_t[::1] found, int32_t[::1] counts,
                                 double[::1] gains) except -1 nogil:
    """Additions among the candidates listed for a node and for its parents, where the columns are held."""
    cdef Py_ssize_t j
    cdef Search search
    cdef float* rest = NULL
    try:
        open_search(&search, s.d)
        rest = <float*> zeros(S.n, sizeof(float))
        for j in range(first, last):
            if begin_node(S, s, &search, <int32_t> j, start[j + 1] - start[j], &found[start[j]], &counts[j],
                          &gains[start[j]]):
                search_listed(S, s, &search, rest, <int32_t> j, near, hubs)
                end_node(s, &search, <int32_t> j)
    finally:
        free(rest)
        close_search(&search)
    return 0


cdef inline int64_t looking(State* s, Py_ssize_t j) noexcept nogil:
    """About the multiplications that it takes to look for additions to a node; rows are read at once."""
    return s.d * (s.fits[j].k + 1) // 2


cdef struct Looker:
    # Looks for additions to one node after the other.
    Search search
    float* single               # rows and bounds, in the precision of the matrix
    double* precise
    float* rest                 # or a residual, where columns are held
    int32_t* found
    double* gains


cdef inline int open_looker(const Matrix* S, State* s, Looker* looker) except -1 nogil:
    """Get ready, with the floors as they are now; `close_looker` is to follow, whatever comes of it."""
    cdef Py_ssize_t i
    memset(looker, 0, sizeof(Looker))
    open_search(&looker.search, s.d)
    looker.found = <int32_t*> zeros(s.d, sizeof(int32_t))
    looker.gains = <double*> zeros(s.d, sizeof(double))
    if S.single != NULL:
        looker.single = <float*> zeros(2 * s.d, sizeof(float))
        for i in range(s.d):
            looker.single[s.d + i] = <float> s.floor[i]
    elif S.precise != NULL:
        looker.precise = <double*> zeros(2 * s.d, sizeof(double))
        memcpy(looker.precise + s.d, s.floor, s.d * sizeof(double))
    else:
        looker.rest = <float*> zeros(S.n, sizeof(float))
    return 0


cdef inline void close_looker(Looker* looker) noexcept nogil:
    close_search(&looker.search)
    free(looker.found)
    free(looker.gains)
    free(looker.single)
    free(looker.precise)
    free(looker.rest)


cdef inline int32_t look(const Matrix* S, State* s, Looker* looker, int32_t j, Py_ssize_t room,
                         const int64_t[::1] near_start, const int32_t[::1] near) except -1 nogil:
    """How many additions to j pay, up to `room`; they and their gains are in `found` and `gains`, the best first."""
    cdef int32_t count = 0
    cdef Lists lists, none
    if begin_node(S, s, &looker.search, j, room, looker.found, &count, looker.gains):
        if S.single != NULL:
            search_everywhere(S, S.single, s, &looker.search, looker.single, looker.single + s.d, j)
        elif S.precise != NULL:
            search_everywhere(S, S.precise, s, &looker.search, looker.precise, looker.precise + s.d, j)
        else:
            lists.start, lists.items, none.start, none.items = &near_start[0], &near[0], NULL, NULL
            search_listed(S, s, &looker.search, looker.rest, j, &lists, &none)
        end_node(s, &looker.search, j)
    return count


cdef inline int take_found(const Matrix* S, State* s, int32_t j, const int32_t* found, Py_ssize_t count) except -1 nogil:
    """Give j those of the parents found for it that close no cycle and still pay; 1 if that lowers the score."""
    cdef Py_ssize_t h
    cdef Regression* me = &s.me
    copy(me, s.fits + j)
    reserve(me, me.k + count)
    for h in range(count):
        if move_before(s, found[h], j) and pays(S, s, found[h], j, me):
            add_parent(S, found[h], j, me, s.scratch)
    reselect(S, s, j, me, NULL, 0)
    if node_cost(s, j, me) < node_cost(s, j, s.fits + j) - s.gain:
        set_parents(S, s, j, me.parents, me.k)
        return 1
    return 0
