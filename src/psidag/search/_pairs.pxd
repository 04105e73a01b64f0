# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Two edges into a node at once: two new parents, neither of which pays alone, or one or two in the place of another.

Where one parent of a node is a cause of another and their effects are opposed, each without the other says little: a
selection that goes by single parents takes a few other nodes in their place, and stays there.
"""

from libc.stdint cimport int32_t, uint8_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from psidag.data._entries cimport Matrix, entry
from psidag.search._additions cimport descendants
from psidag.search._chance cimport draw
from psidag.search._exact cimport add_parent, drop_parent
from psidag.search._knowledge cimport may_point
from psidag.search._memory cimport Bag, refill, zeros
from psidag.search._regression cimport Regression, clear, copy, find, is_rounding, release, reserve
from psidag.search._selection cimport All, best_of_all, give_up, read_row, take
from psidag.search._state cimport State, doubt, move_before, node_cost, reselect, set_parents


cdef enum:
    FIRST = 8                   # nodes that are tried as the first of two, those that alone would gain most
    ROWS = 32                   # multiplications of whole rows for one of the search, which are one by one


cdef struct Pairs:
    # Scratch of the search for two new parents of one node after the other.
    All all                     # all nodes, given the parents and the first of two
    double* kept                # their covariances and variances given the parents alone
    uint8_t* below
    Bag family
    Regression fit


cdef inline int open_pairs(Pairs* pairs, Py_ssize_t d) except -1 nogil:
    """Get ready; `close_pairs` is to follow, whatever comes of it."""
    memset(pairs, 0, sizeof(Pairs))
    pairs.all.r = <double*> zeros(5 * d, sizeof(double))
    pairs.all.delta = pairs.all.r + d
    pairs.all.q = pairs.all.r + 2 * d
    pairs.kept = pairs.all.r + 3 * d
    pairs.all.open = <uint8_t*> zeros(2 * d, 1)
    pairs.below = pairs.all.open + d
    return 0


cdef inline void close_pairs(Pairs* pairs) noexcept nogil:
    release(&pairs.fit)
    free(pairs.family.items)
    free(pairs.all.r)
    free(pairs.all.open)


cdef inline int begin_pairs(const Matrix* S, State* s, Pairs* pairs, int32_t j) except -1 nogil:
    """Bring all nodes to where the parents of j are known; 0 if there is nothing to be looked for."""
    cdef Py_ssize_t i, d = s.d
    cdef Regression* fit = s.fits + j
    if is_rounding(S, fit.v, fit.variance):
        return 0
    descendants(s, j, pairs.below, &pairs.family)
    read_row(S, j, pairs.all.r)
    for i in range(d):
        pairs.all.delta[i] = entry(S, i, i)
        pairs.all.open[i] = not pairs.below[i] and may_point(&s.rules, <int32_t> i, j) and (
            s.rules.tier[j] < 0 or s.rules.tier[i] <= s.rules.tier[j]
        )
    for i in range(pairs.family.size):
        pairs.below[pairs.family.items[i]] = 0
    clear(&pairs.fit, fit.variance)
    for i in range(fit.k):
        if not take(S, fit.parents[i], j, &pairs.fit, &pairs.all, s.scratch):
            return 0
    s.work += d * (fit.k + 4) * (fit.k + 1) // (2 * ROWS)
    memcpy(pairs.kept, pairs.all.r, 2 * d * sizeof(double))
    return 1


cdef inline int32_t mark_of(Regression* fit) noexcept nogil:
    """The same number for the same parents in any sequence, another one for others; never 0."""
    cdef Py_ssize_t a
    cdef uint64_t one, total = 0
    for a in range(fit.k):
        one = fit.parents[a]
        total += draw(&one)
    return <int32_t> (total >> 33) | 1


cdef inline int change_two(const Matrix* S, State* s, int32_t j, int32_t out, int32_t first, int32_t second) except -1 nogil:
    """Take a parent of j out (-1: none), give it one or two (second -1: one), and take out who does not pay beside them.

    1 if that lowers the score; else all is as before.
    """
    cdef Regression* me = &s.me
    cdef double before = node_cost(s, j, s.fits + j)
    copy(me, s.fits + j)
    reserve(me, me.k + 2)
    if out >= 0:
        drop_parent(S, j, me, find(me, out), s.scratch)
    if not add_parent(S, first, j, me, s.scratch) or (second >= 0 and not add_parent(S, second, j, me, s.scratch)):
        return 0
    reselect(S, s, j, me, NULL, 0)
    before -= s.gain + doubt(s, j)
    # Who came in and is out again has left nothing but rounding.
    if not node_cost(s, j, me) < before or (find(me, first) < 0 and (second < 0 or find(me, second) < 0)):
        return 0
    if not move_before(s, first, j) or (second >= 0 and not move_before(s, second, j)):
        return 0
    refill(&s.candidates, s.fits[j].parents, s.fits[j].k)
    set_parents(S, s, j, me.parents, me.k)
    if node_cost(s, j, s.fits + j) < before:
        return 1
    set_parents(S, s, j, s.candidates.items, s.candidates.size)
    return 0


cdef inline int add_pair(const Matrix* S, State* s, Pairs* pairs, int32_t j) except -1 nogil:
    """Look for two new parents of j that pay together; 1 if it has gained them."""
    cdef Py_ssize_t tried, k = pairs.fit.k
    cdef int32_t first, second
    cdef All* all = &pairs.all
    if k + 2 > s.limits.max_parents:
        return 0
    for tried in range(FIRST):
        first = best_of_all(S, 0, all)
        if first < 0 or not take(S, first, j, &pairs.fit, all, s.scratch):
            break
        s.work += s.d * (k + 4) // ROWS
        second = best_of_all(S, 0, all)
        if second >= 0 and change_two(S, s, j, -1, first, second):
            return 1
        drop_parent(S, j, &pairs.fit, k, s.scratch)
        memcpy(all.r, pairs.kept, 2 * s.d * sizeof(double))
    return 0


cdef inline int exchange(const Matrix* S, State* s, Pairs* pairs, int32_t j) except -1 nogil:
    """Look for a parent of j in whose place another one does better, or two; 1 if there was one."""
    cdef Py_ssize_t a, k = pairs.fit.k
    cdef int32_t out, other, second
    cdef All* all = &pairs.all
    for a in range(s.fits[j].locked, k):
        out = s.fits[j].parents[a]
        give_up(S, j, &pairs.fit, find(&pairs.fit, out), all, s.scratch, False)
        s.work += s.d * (k + 4) // ROWS
        other = best_of_all(S, 0, all)
        if other >= 0 and change_two(S, s, j, out, other, -1):
            return 1
        if other >= 0 and k < s.limits.max_parents and take(S, other, j, &pairs.fit, all, s.scratch):
            s.work += s.d * (k + 4) // ROWS
            second = best_of_all(S, 0, all)
            if second >= 0 and change_two(S, s, j, out, other, second):
                return 1
            drop_parent(S, j, &pairs.fit, k - 1, s.scratch)
        if other >= 0:
            all.open[other] = 1
        reserve(&pairs.fit, k)
        if not add_parent(S, out, j, &pairs.fit, s.scratch):
            return 0
        memcpy(all.r, pairs.kept, 2 * s.d * sizeof(double))
    return 0


cdef inline int change_pair(const Matrix* S, State* s, Pairs* pairs, int32_t j, bint again) except -1 nogil:
    """Change two edges into j at once where that lowers the score, 1 if it does. S must be held whole.

    If nothing was found beside the parents that it has, nothing is looked for unless `again`.
    """
    cdef int32_t mark = mark_of(s.fits + j)
    if not again and s.paired[j] == mark:
        return 0
    # Those that were tried as the first of two are closed, so exchanging comes first.
    if begin_pairs(S, s, pairs, j) and (exchange(S, s, pairs, j) or add_pair(S, s, pairs, j)):
        return 1
    s.paired[j] = mark
    return 0
