# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What the search holds: a DAG with an order, the regression of every node, and a queue; and its smallest changes."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport realloc
from libc.string cimport memcpy, memset

from psidag.data._entries cimport Matrix, entry, rounding
from psidag.stages._regression cimport (
    WIDE, Regression, Score, add, conditional_variance, conditional_variances, cost, drop, find, least_gain,
    least_loss, reserve, residual_covariance, weakest,
)
from psidag.stages._settle cimport settle


cdef struct Bag:
    # A list of nodes that grows.
    Py_ssize_t size
    Py_ssize_t room
    int32_t* items


cdef inline int push(Bag* bag, int32_t item) noexcept nogil:
    cdef void* p
    if bag.size == bag.room:
        p = realloc(bag.items, (2 * bag.room + 4) * sizeof(int32_t))
        if p == NULL:
            return -1
        bag.items = <int32_t*> p
        bag.room = 2 * bag.room + 4
    bag.items[bag.size] = item
    bag.size += 1
    return 0


cdef inline void take_out(Bag* bag, int32_t item) noexcept nogil:
    cdef Py_ssize_t a
    for a in range(bag.size):
        if bag.items[a] == item:
            bag.size -= 1
            bag.items[a] = bag.items[bag.size]
            return


cdef struct State:
    Py_ssize_t d
    Score score
    double* floor               # about the least variance a node can have given any others
    double* sigma2              # known noise variance of each node, 0 where it is the node's own
    Regression* fits
    Bag* children
    int32_t* order
    int32_t* place
    Py_ssize_t max_parents
    double patience             # a direction is left when the score is so much worse
    Py_ssize_t max_additions    # a direction is left when one node would take more new parents
    double tolerance            # a move must lower the score by more than this; negative: may raise it so much
    # prior knowledge
    bint constrained            # whether there are tiers or required edges
    int32_t* tier
    int32_t* required_start
    int32_t* required
    int32_t* forbidden_start
    int32_t* forbidden
    # nodes to sweep, first in first out
    int32_t* queue
    uint8_t* queued
    Py_ssize_t head
    Py_ssize_t waiting
    # scratch
    uint8_t* mark
    double* scratch
    Regression me
    Regression other
    Bag candidates
    Bag trial
    Bag chosen
    Bag touched
    uint8_t* stale              # nodes whose parents have changed since additions to them were looked for
    # counters
    int64_t sweeps
    int64_t visits
    int64_t moves


cdef inline bint listed(const int32_t* start, const int32_t* items, Py_ssize_t j, int32_t i) noexcept nogil:
    cdef Py_ssize_t a
    for a in range(start[j], start[j + 1]):
        if items[a] == i:
            return True
    return False


cdef inline bint may_point(State* s, int32_t i, int32_t j) noexcept nogil:
    """Whether i -> j is not forbidden."""
    return not listed(s.forbidden_start, s.forbidden, j, i)


cdef inline bint must_precede(State* s, int32_t i, int32_t j) noexcept nogil:
    """Whether i stands before j in every order that respects the prior knowledge and may be reached by one swap."""
    if s.tier[i] >= 0 and s.tier[j] >= 0 and s.tier[i] < s.tier[j]:
        return True
    return listed(s.required_start, s.required, j, i)


cdef inline Py_ssize_t farthest(State* s, int32_t v, Py_ssize_t step) noexcept nogil:
    """The last place to the left (step -1) or right (step 1) that v may reach without passing whom it must not."""
    cdef Py_ssize_t t = s.place[v]
    if not s.constrained:
        return 0 if step < 0 else s.d - 1
    while 0 <= t + step < s.d:
        if step < 0 and must_precede(s, s.order[t + step], v):
            break
        if step > 0 and must_precede(s, v, s.order[t + step]):
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


cdef inline void requeue(State* s) noexcept nogil:
    """Queue the nodes that were touched and their neighbours.

    Neighbours across an edge into a hub are left out: one edge of many hardly moves the other end.
    """
    cdef Py_ssize_t a, h
    cdef int32_t z, child
    for a in range(s.touched.size):
        z = s.touched.items[a]
        enqueue(s, z)
        if s.fits[z].k <= 2 * s.max_additions:
            for h in range(s.fits[z].k):
                enqueue(s, s.fits[z].parents[h])
        for h in range(s.children[z].size):
            child = s.children[z].items[h]
            if s.fits[child].k <= 2 * s.max_additions:
                enqueue(s, child)


cdef inline double node_cost(State* s, int32_t j, Regression* fit) noexcept nogil:
    return cost(&s.score, s.sigma2[j], fit.v, fit.k)


cdef inline int reselect(const Matrix* S, State* s, int32_t j, Regression* fit, const int32_t* candidates,
                         Py_ssize_t count) noexcept nogil:
    """Forward-backward selection for j, from the parents it has, over a short list of candidates.

    1 when it ends by itself, 0 when it would take more additions than a move is worth, -1 without memory.
    """
    cdef Py_ssize_t a, w, additions = 0, waiting
    cdef int32_t i, best, batch[WIDE]
    cdef double loss, least, c, tiny = rounding(S)
    cdef double deltas[WIDE]
    cdef double squares[WIDE]
    while True:
        while fit.k > fit.locked:
            w = weakest(fit, fit.k, &loss)
            if loss > least_loss(&s.score, s.sigma2[j], fit.v):
                break
            drop(fit, w, s.scratch)
            settle(S, j, fit, s.scratch)
        if fit.k >= s.max_parents or fit.v <= tiny * fit.variance:
            return 1
        best = -1
        least = least_gain(&s.score, s.sigma2[j], fit.v)
        a = 0
        while a < count:
            waiting = 0
            while a < count and waiting < WIDE:
                i = candidates[a]
                a += 1
                if i == j:
                    continue
                c = residual_covariance(S, i, j, fit)
                if c * c > least * s.floor[i] and find(fit, i) < 0:
                    batch[waiting] = i
                    squares[waiting] = c * c
                    deltas[waiting] = s.fits[i].variance
                    waiting += 1
            if waiting:
                conditional_variances(S, batch, waiting, fit, deltas, s.scratch)
            for w in range(waiting):
                i = batch[w]
                if deltas[w] > tiny * s.fits[i].variance and squares[w] > least * deltas[w] and may_point(s, i, j):
                    best = i
                    least = squares[w] / deltas[w]
        if best < 0:
            return 1
        if additions == s.max_additions:
            return 0
        additions += 1
        if reserve(fit, fit.k + 1) < 0:
            return -1
        if not add(S, best, j, fit, s.scratch):
            return 1
        settle(S, j, fit, s.scratch)


cdef inline bint pays(const Matrix* S, State* s, int32_t i, int32_t j, Regression* fit) noexcept nogil:
    """Whether i is worth its penalty as one more parent of j."""
    cdef double c, delta, least = least_gain(&s.score, s.sigma2[j], fit.v)
    if fit.k >= s.max_parents:
        return False
    c = residual_covariance(S, i, j, fit)
    if c * c <= least * s.floor[i]:
        return False
    delta = conditional_variance(S, i, fit, s.scratch)
    return delta > rounding(S) * s.fits[i].variance and c * c > least * delta


cdef inline int become(const Matrix* S, State* s, int32_t j, const int32_t* parents, Py_ssize_t k) noexcept nogil:
    """Give j these parents, in place; those that it has and keeps stay. Collinear ones stay out."""
    cdef Regression* fit = s.fits + j
    cdef Py_ssize_t a = fit.locked, h
    cdef int32_t i
    while a < fit.k:
        i = fit.parents[a]
        for h in range(k):
            if parents[h] == i:
                a += 1
                break
        else:
            if push(&s.touched, i) < 0:
                return -1
            take_out(s.children + i, j)
            drop(fit, a, s.scratch)
            settle(S, j, fit, s.scratch)
    for h in range(k):
        i = parents[h]
        if find(fit, i) < 0:
            if reserve(fit, fit.k + 1) < 0 or push(&s.touched, i) < 0:
                return -1
            if add(S, i, j, fit, s.scratch):
                settle(S, j, fit, s.scratch)
                if push(s.children + i, j) < 0:
                    return -1
    s.stale[j] = 1
    return push(&s.touched, j)


cdef inline int make_way(State* s, int32_t i, int32_t j) noexcept nogil:
    """Reorder so that i stands before j; 0 when i is a descendant of j or prior knowledge forbids it."""
    cdef Py_ssize_t low = s.place[j], high = s.place[i], t, a, h, size
    cdef int32_t z, first_tier = 2147483647
    cdef Regression* fit
    if high < low:
        return 1
    # Ancestors of i from j on, in s.chosen; they move before j as they stand.
    s.chosen.size = 0
    s.mark[high] = 1
    t = high
    size = 0
    while t >= low:
        if s.mark[t]:
            z = s.order[t]
            size += 1
            fit = s.fits + z
            for a in range(fit.k):
                if s.place[fit.parents[a]] >= low:
                    s.mark[s.place[fit.parents[a]]] = 1
        t -= 1
    t = 0 if s.mark[low] else 1
    for a in range(low, high + 1):
        z = s.order[a]
        if s.tier[z] >= 0:
            if s.mark[a]:
                if s.tier[z] > first_tier:
                    t = 0
            elif s.tier[z] < first_tier:
                first_tier = s.tier[z]
        if s.mark[a]:
            for h in range(s.required_start[z], s.required_start[z + 1]):
                if s.place[s.required[h]] >= low and not s.mark[s.place[s.required[h]]]:
                    t = 0
    if t:
        for a in range(low, high + 1):
            if not s.mark[a]:
                if push(&s.chosen, s.order[a]) < 0:
                    t = -1
                    break
        if t > 0:
            size = low
            for a in range(low, high + 1):
                if s.mark[a]:
                    s.order[size] = s.order[a]
                    size += 1
            memcpy(s.order + size, s.chosen.items, s.chosen.size * sizeof(int32_t))
            for a in range(low, high + 1):
                s.place[s.order[a]] = <int32_t> a
    memset(s.mark + low, 0, high - low + 1)
    return <int> t
