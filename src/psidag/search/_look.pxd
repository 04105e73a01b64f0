# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Additions to one node after the other, found and made."""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from psidag.data._entries cimport Matrix
from psidag.search._additions cimport Search, begin_node, close_search, end_node, open_search, search_everywhere
from psidag.search._listed cimport Lists, search_listed
from psidag.search._memory cimport zeros
from psidag.search._regression cimport Regression, copy, reserve
from psidag.search._exact cimport add_parent
from psidag.search._state cimport State, doubt, move_before, node_cost, pays, reselect, set_parents


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
    if node_cost(s, j, me) < node_cost(s, j, s.fits + j) - s.gain - doubt(s, j):
        set_parents(S, s, j, me.parents, me.k)
        return 1
    return 0
