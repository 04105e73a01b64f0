# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""New parents for a node among those that are listed, by products of columns: where no matrix is held."""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from psidag.data._entries cimport FOUR, Matrix, dots, entries
from psidag.search._additions cimport Search, begin_node, close_search, end_node, open_search, weigh
from psidag.search._memory cimport push, zeros
from psidag.search._regression cimport FEW, WIDE, Regression
from psidag.search._state cimport State


cdef enum:
    DOUBT = 2               # a candidate is weighed exactly if it would pay with this share less of what is left by an estimate


cdef struct Lists:
    # Who may become a parent: those of node i are the items from start[i] to start[i + 1]; no start, no lists.
    const int64_t* start
    const int32_t* items


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
    cdef int32_t* parents = <int32_t*> (search.u + s.d)
    search.shared.size = 0
    share_parents(search, near.items + near.start[i], near.start[i + 1] - near.start[i])
    share_parents(search, s.fits[i].parents, s.fits[i].k)
    share_parents(search, s.children[i].items, s.children[i].size)
    q, which = search.shared.size, search.shared.items
    for a in range(q):
        parents[a] = fit.parents[which[a]]
        search.number[parents[a]] *= -1
    entries(S, i, parents, q, c)
    for a in range(q):
        m = fit.M + which[a] * fit.room
        t = 0
        for h in range(a):
            t += m[which[h]] * c[h]
        left -= c[a] * (2 * t + m[which[a]] * c[a])
    return left


cdef inline int weigh_four(const Matrix* S, State* s, Search* search, const float* rest, int32_t j, const Lists* near,
                           const int32_t* nodes, Py_ssize_t count) except -1 nogil:
    """Weigh up to four nodes as parents of j, whose residual is `rest`."""
    cdef Py_ssize_t a
    cdef const float* columns[FOUR]
    cdef double c[FOUR]
    cdef double left
    for a in range(count):
        columns[a] = S.columns + nodes[a] * S.n
    dots(rest, columns, count, S.n, c)
    for a in range(count):
        if c[a] * c[a] <= search.least * s.floor[nodes[a]]:
            continue
        # To ask all parents of a hub takes long: first those that can matter, who are few.
        if s.fits[j].k > FEW:
            left = left_by_relatives(S, s, search, s.fits + j, nodes[a], near)
            if DOUBT * c[a] * c[a] <= search.least * left:
                continue
        search.batch[search.waiting] = nodes[a]
        search.c[search.waiting] = c[a]
        search.waiting += 1
        if search.waiting == WIDE:
            weigh(S, s, search, j, search.batch, search.c, WIDE)
            search.waiting = 0
    return 0


cdef inline int weigh_listed(const Matrix* S, State* s, Search* search, const float* rest, int32_t j, const Lists* near,
                             const Lists* lists, int32_t whose) except -1 nogil:
    """Weigh the nodes on one list as parents of j, but for those that others had before."""
    cdef Py_ssize_t a, count = 0
    cdef int32_t i
    cdef int32_t nodes[FOUR]
    for a in range(lists.start[whose], lists.start[whose + 1]):
        i = lists.items[a]
        if search.below[i]:
            continue
        # Not a second time from another list.
        search.below[i] = 1
        push(&search.family, i)
        nodes[count] = i
        count += 1
        if count == FOUR:
            weigh_four(S, s, search, rest, j, near, nodes, FOUR)
            count = 0
    return weigh_four(S, s, search, rest, j, near, nodes, count)


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
