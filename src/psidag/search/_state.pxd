# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What the search holds, and its smallest changes. The invariants are in the docstring of psidag.search."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memchr, memmove

from psidag.data._entries cimport Matrix
from psidag.scores._score cimport Score, cost, least_gain
from psidag.search._journal cimport Journal, note_before
from psidag.search._knowledge cimport Rules, must_precede
from psidag.search._memory cimport Bag, push, take_out
from psidag.search._regression cimport (
    Regression, conditional_variance, find, is_rounding, reserve, residual_covariance,
)
from psidag.search._exact cimport add_parent, drop_parent
from psidag.search._selection cimport Few, Limits, forward_backward


cdef struct Move:
    # What a walk found: put a node at this place of the order, with these changes of parents.
    double change               # of the score
    Py_ssize_t target           # the place
    Bag parents                 # of the node that moves
    Bag others                  # node, number of its new parents, these parents; and so on


cdef struct State:
    Py_ssize_t d
    # the DAG, by node; `order` by place
    Regression* fits
    Bag* children
    int32_t* order
    int32_t* place
    # the score
    Score score
    double* sigma2              # by node: known noise variance, 0 where it is the node's own
    double* floor               # by node: about the least variance it can have given any others
    Limits limits
    double leeway               # a walk ends when the score has risen by this much
    double tolerance            # a move must lower the score by more than this; negative: may raise it by this much
    double gain                 # scores that differ by less than this are equal but for rounding
    Rules rules
    # nodes to sweep, first in first out: a ring
    int32_t* queue
    uint8_t* queued             # by node
    Py_ssize_t head
    Py_ssize_t waiting
    Journal journal             # of a trial
    uint8_t* stale              # by node: whether its parents changed since additions to it were looked for
    int32_t* paired             # by node: a mark of the parents it had when two changes at once were looked for; 0: never
    # scratch; `marks` are all 0 between two functions
    uint8_t* marks              # by place, from either end of the order
    double* scratch             # WIDE d numbers, of the regressions
    Regression me               # of a walk: the node that moves
    Regression other            # and one that it passes
    Bag candidates              # of selection
    Bag aside                   # nodes that make way
    Bag touched                 # nodes whose parents or children a move has changed; may name one twice
    Move left
    Move right
    # counters
    int64_t sweeps
    int64_t visits
    int64_t moves
    int64_t work                # about the multiplications so far


cdef enum:
    SELECTION = 200             # multiplications that a selection without candidates is worth
    CROWD = 32                  # in a trial a node with more effects is not moved by one more or less


cdef inline Py_ssize_t farthest(State* s, int32_t v, Py_ssize_t step) noexcept nogil:
    """The last place to the left (step -1) or right (step 1) that v may reach without passing whom it must not."""
    cdef Py_ssize_t t = s.place[v]
    if not s.rules.ordered:
        return 0 if step < 0 else s.d - 1
    while 0 <= t + step < s.d:
        if step < 0 and must_precede(&s.rules, s.order[t + step], v):
            break
        if step > 0 and must_precede(&s.rules, v, s.order[t + step]):
            break
        t += step
    return t


cdef inline void enqueue(State* s, int32_t v) noexcept nogil:
    cdef Py_ssize_t at
    if not s.queued[v]:
        s.queued[v] = 1
        at = s.head + s.waiting
        s.queue[at - s.d if at >= s.d else at] = v
        s.waiting += 1


cdef inline int32_t dequeue(State* s) noexcept nogil:
    cdef int32_t v = s.queue[s.head]
    s.head = 0 if s.head + 1 == s.d else s.head + 1
    s.waiting -= 1
    s.queued[v] = 0
    return v


cdef inline bint moves(State* s, int32_t i) noexcept nogil:
    """Whether one effect more or less may move a node: in a trial, which costs what it touches, not a hub."""
    return not s.journal.on or s.children[i].size <= CROWD


cdef inline void queue_touched(State* s) noexcept nogil:
    """Queue the nodes that were touched and their neighbours.

    Neighbours across an edge into a hub are left out: one edge of many hardly moves the other end.
    """
    cdef Py_ssize_t a, h, hub = 2 * s.limits.max_additions
    cdef int32_t z, child
    for a in range(s.touched.size):
        z = s.touched.items[a]
        enqueue(s, z)
        if s.fits[z].k <= hub:
            for h in range(s.fits[z].k):
                if moves(s, s.fits[z].parents[h]):
                    enqueue(s, s.fits[z].parents[h])
        for h in range(s.children[z].size):
            child = s.children[z].items[h]
            if s.fits[child].k <= hub:
                enqueue(s, child)


cdef inline double node_cost(State* s, int32_t j, Regression* fit) noexcept nogil:
    return cost(&s.score, s.sigma2[j], fit.v, fit.k)


cdef inline double doubt(State* s, int32_t j) noexcept nogil:
    """About by how much rounding may move the cost of j; next to nothing but where its regression is delicate.

    The way to a graph decides the last digits: without this, moves to and fro between equal graphs would look like gains.
    """
    cdef Regression* fit = s.fits + j
    if not fit.delicate:
        return 0
    return 1e-14 * s.score.n * fit.variance / (s.sigma2[j] if s.sigma2[j] > 0 else fit.v)


cdef inline int reselect(const Matrix* S, State* s, int32_t j, Regression* fit, const int32_t* items,
                         Py_ssize_t count) except -1 nogil:
    """Select parents of j, from those that it has, over a short list; 0 when that takes more than a move is worth."""
    cdef Few few
    few.items = items
    few.count = count
    few.floor = s.floor
    few.fits = s.fits
    few.rules = &s.rules
    s.work += SELECTION + (fit.k + 1) * (fit.k + 2 * count)
    return forward_backward(S, j, &s.score, s.sigma2[j], &s.limits, fit, &few, s.scratch)


cdef inline bint pays(const Matrix* S, State* s, int32_t i, int32_t j, Regression* fit) noexcept nogil:
    """Whether i is worth its penalty as one more parent of j."""
    cdef double c, delta, least = least_gain(&s.score, s.sigma2[j], fit.v)
    if fit.k >= s.limits.max_parents:
        return False
    c = residual_covariance(S, i, j, fit)
    if c * c <= least * s.floor[i]:
        return False
    delta = conditional_variance(S, i, fit, s.scratch)
    return c * c > least * delta and not is_rounding(S, delta, s.fits[i].variance)


cdef inline int touch(State* s, int32_t i) except -1 nogil:
    """A node has an effect more or less."""
    if moves(s, i):
        push(&s.touched, i)
    return 0


cdef inline int set_parents(const Matrix* S, State* s, int32_t j, const int32_t* parents, Py_ssize_t k) except -1 nogil:
    """Give j these parents, in place; those that it has and keeps stay. Collinear ones stay out.

    Everyone who gains or loses an edge, and j, is touched; j is stale.
    """
    cdef Regression* fit = s.fits + j
    cdef Py_ssize_t a = fit.locked, h
    cdef int32_t i
    note_before(&s.journal, j, fit, s.children + j)
    while a < fit.k:
        i = fit.parents[a]
        for h in range(k):
            if parents[h] == i:
                a += 1
                break
        else:
            touch(s, i)
            note_before(&s.journal, i, s.fits + i, s.children + i)
            take_out(s.children + i, j)
            drop_parent(S, j, fit, a, s.scratch)
    for h in range(k):
        i = parents[h]
        if find(fit, i) < 0:
            reserve(fit, fit.k + 1)
            touch(s, i)
            note_before(&s.journal, i, s.fits + i, s.children + i)
            if add_parent(S, i, j, fit, s.scratch):
                push(s.children + i, j)
    s.stale[j] = 1
    push(&s.touched, j)
    return 0


cdef inline Py_ssize_t steps_to(State* s, Py_ssize_t t, Py_ssize_t step) noexcept nogil:
    """The place t as marks count it: from the end of the order that a walk comes from, so that they are met ascending."""
    return t if step > 0 else s.d - 1 - t


cdef inline Py_ssize_t next_mark(State* s, Py_ssize_t m, Py_ssize_t end) noexcept nogil:
    """The first mark from m to `end`, or the place behind it. Byte by byte this took most of the search at 200,000 nodes."""
    cdef const uint8_t* found = <const uint8_t*> memchr(s.marks + m, 1, end - m + 1)
    return end + 1 if found == NULL else found - s.marks


cdef inline int mark_ancestors(State* s, Py_ssize_t low, Py_ssize_t high) except -1 nogil:
    """Mark the node at `high` and its ancestors as far as they stand from `low` on; their places, the last first, go aside.

    Marks are counted from the end of the order.
    """
    cdef Py_ssize_t m = steps_to(s, high, -1), end = steps_to(s, low, -1), a
    cdef Regression* fit
    s.aside.size = 0
    s.marks[m] = 1
    while m <= end:
        push(&s.aside, <int32_t> steps_to(s, m, -1))
        fit = s.fits + s.order[steps_to(s, m, -1)]
        for a in range(fit.k):
            if s.place[fit.parents[a]] >= low:
                s.marks[steps_to(s, s.place[fit.parents[a]], -1)] = 1
        m = next_mark(s, m + 1, end) if m < end else end + 1
    return 0


cdef inline bint may_pass(State* s, Py_ssize_t low, Py_ssize_t high) noexcept nogil:
    """Whether prior knowledge lets the marked nodes from `low` to `high` move before the others there."""
    cdef Py_ssize_t t, a, p
    cdef int32_t z, first_tier = 2147483647
    for t in range(low, high + 1 if s.rules.ordered else low):
        z = s.order[t]
        if not s.marks[steps_to(s, t, -1)]:
            if 0 <= s.rules.tier[z] < first_tier:
                first_tier = s.rules.tier[z]
            continue
        if s.rules.tier[z] > first_tier:
            return False
        for a in range(s.rules.required_start[z], s.rules.required_start[z + 1]):
            p = s.place[s.rules.required[a]]
            if p >= low and not s.marks[steps_to(s, p, -1)]:
                return False
    return True


cdef inline void bring_forward(State* s, Py_ssize_t low, Py_ssize_t high) noexcept nogil:
    """Put the nodes whose places are aside, the last first, before the others from `low` to `high`; both keep their order."""
    cdef Py_ssize_t k = s.aside.size, a, t, begin
    cdef int32_t* places = s.aside.items
    cdef int32_t z
    for a in range(k):
        t = places[a]
        places[a] = s.order[t]
        # What stands between this one and the one before it makes way for those behind it.
        begin = places[a + 1] + 1 if a + 1 < k else low
        memmove(s.order + begin + a + 1, s.order + begin, (t - begin) * sizeof(int32_t))
    for a in range(k):
        s.order[low + a] = places[k - 1 - a]
    for t in range(low, high + 1):
        s.place[s.order[t]] = <int32_t> t


cdef inline int move_before(State* s, int32_t i, int32_t j) except -1 nogil:
    """Reorder so that i, with its ancestors, stands before j; 0 when i descends from j or prior knowledge forbids it."""
    cdef Py_ssize_t low = s.place[j], high = s.place[i], a
    cdef bint possible
    if high < low:
        return 1
    mark_ancestors(s, low, high)
    possible = not s.marks[steps_to(s, low, -1)] and may_pass(s, low, high)
    for a in range(s.aside.size):
        s.marks[steps_to(s, s.aside.items[a], -1)] = 0
    if possible:
        bring_forward(s, low, high)
    return possible
