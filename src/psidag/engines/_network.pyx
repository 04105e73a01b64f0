# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Search by re-insertion: one node is taken out of the order and put back where the score is lowest.

A :class:`Network` is a DAG with an order, the regression of every node on its parents, and a queue of nodes to
look at. It is compiled because a sweep is thousands of small, dependent O(k) and O(k^2) updates.
"""

from libc.math cimport log
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy, memset

from psidag.stages._regression cimport (
    WIDE, Regression, Score, add, clear, combine, conditional_variance, conditional_variances, copy, cost, drop, find, least_gain, least_loss,
    make_score, real, release, reserve, residual_covariance, rounding, weakest,
)


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


cdef Py_ssize_t farthest(State* s, int32_t v, Py_ssize_t step) noexcept nogil:
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


cdef inline double node_cost(State* s, int32_t j, Regression* fit) noexcept nogil:
    return cost(&s.score, s.sigma2[j], fit.v, fit.k)


cdef inline int reselect(const real* S, State* s, int32_t j, Regression* fit, const int32_t* candidates,
                         Py_ssize_t count) noexcept nogil:
    """Forward-backward selection for j, from the parents it has, over a short list of candidates.

    1 when it ends by itself, 0 when it would take more additions than a move is worth, -1 without memory.
    """
    cdef Py_ssize_t a, w, d = s.d, additions = 0, waiting
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
                c = residual_covariance(S + i * d, j, fit)
                if c * c > least * s.floor[i] and find(fit, i) < 0:
                    batch[waiting] = i
                    squares[waiting] = c * c
                    deltas[waiting] = s.fits[i].variance
                    waiting += 1
            if waiting:
                conditional_variances(S, d, batch, waiting, fit, deltas, s.scratch)
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
        if not add(S + best * d, best, j, fit, s.scratch):
            return 1


cdef inline bint pays(const real* row, State* s, int32_t i, int32_t j, Regression* fit) noexcept nogil:
    """Whether i is worth its penalty as one more parent of j; `row` is row i of S."""
    cdef double c, delta, least = least_gain(&s.score, s.sigma2[j], fit.v)
    if fit.k >= s.max_parents:
        return False
    c = residual_covariance(row, j, fit)
    if c * c <= least * s.floor[i]:
        return False
    delta = conditional_variance(row, i, fit, s.scratch)
    return delta > rounding(row) * row[i] and c * c > least * delta


cdef inline double least_change(State* s, int32_t i, Regression* tail, int32_t j, Regression* head) noexcept nogil:
    """About the least by which turning i -> j round changes a score of known noise variances.

    Exact where the edge is covered: with x = b^2 v_i the variances become v_i v_j / (v_j + x) and v_j + x. Under the
    other score such a turn changes nothing.
    """
    cdef double b, x
    if not (s.sigma2[i] > 0 and s.sigma2[j] > 0):
        return 0
    b = head.b[find(head, i)]
    x = b * b * tail.v
    return s.score.n * (x / s.sigma2[j] - tail.v * x / (head.v + x) / s.sigma2[i])


cdef inline int note(Bag* trial, int32_t z, Regression* fit) noexcept nogil:
    """Remember new parents of z: z, their number, they."""
    cdef Py_ssize_t a
    if push(trial, z) < 0 or push(trial, <int32_t> fit.k) < 0:
        return -1
    for a in range(fit.k):
        if push(trial, fit.parents[a]) < 0:
            return -1
    return 0


cdef inline int become(const real* S, State* s, int32_t j, const int32_t* parents, Py_ssize_t k) noexcept nogil:
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
    for h in range(k):
        i = parents[h]
        if find(fit, i) < 0:
            if reserve(fit, fit.k + 1) < 0 or push(&s.touched, i) < 0:
                return -1
            if add(S + i * s.d, i, j, fit, s.scratch):
                if push(s.children + i, j) < 0:
                    return -1
    s.stale[j] = 1
    return push(&s.touched, j)


cdef inline void shift(State* s, Py_ssize_t source, Py_ssize_t target) noexcept nogil:
    """Move the node at one place of the order to another; those between make way."""
    cdef Py_ssize_t t
    cdef int32_t v = s.order[source]
    cdef Py_ssize_t step = 1 if target > source else -1
    t = source
    while t != target:
        s.order[t] = s.order[t + step]
        s.place[s.order[t]] = <int32_t> t
        t += step
    s.order[target] = v
    s.place[v] = <int32_t> target


cdef inline bint stays_without(const real* S, State* s, int32_t z, int32_t v, Regression* me, double* after) noexcept nogil:
    """Whether z, when it loses its parent v, loses no other and takes none of v's parents; then its variance is in after.

    O(k) and O(k^2) without a copy of the regression.
    """
    cdef Regression* fit = s.fits + z
    cdef Py_ssize_t a, h, w = find(fit, v), k = fit.k, d = s.d
    cdef int32_t i
    cdef const double* mw = fit.M + w * fit.room
    cdef double m = mw[w], bw = fit.b[w], b, ma, c, delta, share, level, tiny = rounding(S)
    cdef double* remaining = s.scratch + d
    cdef const real* row
    after[0] = fit.v + bw * bw / m
    level = least_loss(&s.score, s.sigma2[z], after[0])
    for a in range(k):
        b = fit.b[a] - mw[a] * bw / m
        remaining[a] = b
        ma = fit.M[a * fit.room + a] - mw[a] * mw[a] / m
        if a != w and a >= fit.locked and b * b <= level * ma:
            return False
    remaining[w] = 0
    level = least_gain(&s.score, s.sigma2[z], after[0])
    for h in range(me.k):
        i = me.parents[h]
        row = S + i * d
        c = row[z]
        for a in range(k):
            c -= remaining[a] * row[fit.parents[a]]
        if c * c <= level * s.floor[i] or i == z or find(fit, i) >= 0:
            continue
        delta = conditional_variance(row, i, fit, s.scratch)
        share = 0
        for a in range(k):
            share += mw[a] * row[fit.parents[a]]
        delta += share * share / m
        if delta > tiny * row[i] and c * c > level * delta and may_point(s, i, z):
            return False
    return True


cdef int leftwards(const real* S, State* s, int32_t v, double* best, Py_ssize_t* target) noexcept nogil:
    """Walk v to the left past its ancestors; note in s.trial the parents that others get up to the best place."""
    cdef Py_ssize_t p = s.place[v], t, a, d = s.d, lowest = p, end = 0, last = farthest(s, v, -1)
    cdef int code = 1
    cdef int32_t z
    cdef double change = 0, now, before
    cdef Regression* me = &s.me
    cdef Regression* fit
    cdef const real* row = S + v * d
    if copy(me, s.fits + v) < 0:
        return -1
    before = node_cost(s, v, me)
    s.trial.size = 0
    s.chosen.size = 0
    for a in range(me.k):
        s.mark[s.place[me.parents[a]]] = 1
        if s.place[me.parents[a]] < lowest:
            lowest = s.place[me.parents[a]]
    t = p - 1
    while t >= lowest and t >= last:
        if not s.mark[t]:
            t -= 1
            continue
        s.mark[t] = 0
        s.visits += 1
        z = s.order[t]
        fit = s.fits + z
        s.candidates.size = 0
        for a in range(me.k):
            if me.parents[a] != z and push(&s.candidates, me.parents[a]) < 0:
                return -1
        for a in range(fit.k):
            s.mark[s.place[fit.parents[a]]] = 1
            if s.place[fit.parents[a]] < lowest:
                lowest = s.place[fit.parents[a]]
        a = find(me, z)
        if a >= 0:
            if change + least_change(s, z, fit, v, me) > s.patience:
                break
            drop(me, a, s.scratch)
            code = reselect(S, s, v, me, fit.parents, fit.k)
            if code <= 0:
                break
            now = node_cost(s, v, me)
            change += now - before
            before = now
        if may_point(s, v, z) and pays(row, s, v, z, fit):
            if copy(&s.other, fit) < 0:
                return -1
            add(row, v, z, &s.other, s.scratch)
            code = reselect(S, s, z, &s.other, s.candidates.items, s.candidates.size)
            if code <= 0:
                break
            change += node_cost(s, z, &s.other) - node_cost(s, z, fit)
            if note(&s.trial, z, &s.other) < 0:
                return -1
        if change < best[0]:
            best[0] = change
            target[0] = t
            end = s.trial.size
            s.chosen.size = 0
            for a in range(me.k):
                if push(&s.chosen, me.parents[a]) < 0:
                    return -1
        if change > s.patience:
            break
        t -= 1
    if t >= lowest:
        memset(s.mark + lowest, 0, t - lowest + 1)
    s.trial.size = end
    return -1 if code < 0 else 0


cdef int rightwards(const real* S, State* s, int32_t v, double* best, Py_ssize_t* target) noexcept nogil:
    """Walk v to the right past its descendants; as before."""
    cdef Py_ssize_t p = s.place[v], t, a, d = s.d, highest = p, end = 0, last = farthest(s, v, 1)
    cdef int code = 1
    cdef int32_t z
    cdef double change = 0, now, before, after
    cdef Regression* me = &s.me
    cdef Regression* fit
    cdef const real* row
    if copy(me, s.fits + v) < 0:
        return -1
    before = node_cost(s, v, me)
    s.trial.size = 0
    s.chosen.size = 0
    for a in range(s.children[v].size):
        z = s.children[v].items[a]
        s.mark[s.place[z]] = 1
        if s.place[z] > highest:
            highest = s.place[z]
    t = p + 1
    while t <= highest and t <= last:
        if not s.mark[t]:
            t += 1
            continue
        s.mark[t] = 0
        s.visits += 1
        z = s.order[t]
        fit = s.fits + z
        for a in range(s.children[z].size):
            s.mark[s.place[s.children[z].items[a]]] = 1
            if s.place[s.children[z].items[a]] > highest:
                highest = s.place[s.children[z].items[a]]
        if find(fit, v) >= 0:
            if change + least_change(s, v, me, z, fit) > s.patience:
                break
            if stays_without(S, s, z, v, me, &after):
                change += cost(&s.score, s.sigma2[z], after, fit.k - 1) - node_cost(s, z, fit)
                if push(&s.trial, z) < 0 or push(&s.trial, <int32_t> (fit.k - 1)) < 0:
                    return -1
                for a in range(fit.k):
                    if fit.parents[a] != v and push(&s.trial, fit.parents[a]) < 0:
                        return -1
            else:
                if copy(&s.other, fit) < 0:
                    return -1
                drop(&s.other, find(&s.other, v), s.scratch)
                code = reselect(S, s, z, &s.other, me.parents, me.k)
                if code <= 0:
                    break
                change += node_cost(s, z, &s.other) - node_cost(s, z, fit)
                if note(&s.trial, z, &s.other) < 0:
                    return -1
        row = S + z * d
        if may_point(s, z, v) and pays(row, s, z, v, me):
            if reserve(me, me.k + 1) < 0:
                return -1
            add(row, z, v, me, s.scratch)
            s.candidates.size = 0
            for a in range(fit.k):
                if fit.parents[a] != v and push(&s.candidates, fit.parents[a]) < 0:
                    return -1
            code = reselect(S, s, v, me, s.candidates.items, s.candidates.size)
            if code <= 0:
                break
            now = node_cost(s, v, me)
            change += now - before
            before = now
        if change < best[0]:
            best[0] = change
            target[0] = t
            end = s.trial.size
            s.chosen.size = 0
            for a in range(me.k):
                if push(&s.chosen, me.parents[a]) < 0:
                    return -1
        if change > s.patience:
            break
        t += 1
    if t <= highest:
        memset(s.mark + t, 0, highest - t + 1)
    s.trial.size = end
    return -1 if code < 0 else 0


cdef int commit(const real* S, State* s, int32_t v, Py_ssize_t target) noexcept nogil:
    """Carry out the move noted in s.trial and s.chosen, and queue everyone whose neighbourhood it changed."""
    cdef Py_ssize_t at = 0, k, a
    cdef int32_t z
    s.touched.size = 0
    while at < s.trial.size:
        k = s.trial.items[at + 1]
        if become(S, s, s.trial.items[at], s.trial.items + at + 2, k) < 0:
            return -1
        at += k + 2
    if become(S, s, v, s.chosen.items, s.chosen.size) < 0:
        return -1
    shift(s, s.place[v], target)
    return 0


cdef void requeue(State* s) noexcept nogil:
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


cdef int sweep(const real* S, State* s, int32_t v) noexcept nogil:
    """Put v where the score is lowest; 1 if that was a gain, 0 if not, -1 when memory is out."""
    cdef double best = -s.tolerance
    cdef Py_ssize_t target = s.place[v], right
    s.sweeps += 1
    # The right walk overwrites what the left one noted: walk left again if it was the better one.
    if leftwards(S, s, v, &best, &target) < 0:
        return -1
    right = target
    if rightwards(S, s, v, &best, &right) < 0:
        return -1
    if right == target:
        if target == s.place[v]:
            return 0
        best = -s.tolerance
        if leftwards(S, s, v, &best, &target) < 0:
            return -1
    else:
        target = right
    s.moves += 1
    if commit(S, s, v, target) < 0:
        return -1
    if best < -1e-7:
        requeue(s)
        return 1
    return 0


cdef class Network:
    """A DAG with an order and the regression of every node, to be searched in place."""

    cdef State s

    def __cinit__(self, Py_ssize_t d, *_):
        memset(&self.s, 0, sizeof(State))
        self.s.d = d

    def __init__(
        self, Py_ssize_t d, const int32_t[::1] order, const double[::1] variance, const int32_t[::1] tier,
        const int32_t[::1] required_start, const int32_t[::1] required,
        const int32_t[::1] forbidden_start, const int32_t[::1] forbidden,
    ):
        cdef State* s = &self.s
        cdef Py_ssize_t j
        s.sigma2 = <double*> calloc(2 * d, sizeof(double))
        s.floor = s.sigma2 + d
        s.fits = <Regression*> calloc(d, sizeof(Regression))
        s.children = <Bag*> calloc(d, sizeof(Bag))
        s.order = <int32_t*> calloc(d, sizeof(int32_t))
        s.place = <int32_t*> calloc(d, sizeof(int32_t))
        s.tier = <int32_t*> calloc(d, sizeof(int32_t))
        s.required_start = <int32_t*> calloc(d + 1, sizeof(int32_t))
        s.required = <int32_t*> calloc(required.shape[0] + 1, sizeof(int32_t))
        s.forbidden_start = <int32_t*> calloc(d + 1, sizeof(int32_t))
        s.forbidden = <int32_t*> calloc(forbidden.shape[0] + 1, sizeof(int32_t))
        s.queue = <int32_t*> calloc(d, sizeof(int32_t))
        s.queued = <uint8_t*> calloc(d, 1)
        s.mark = <uint8_t*> calloc(d, 1)
        s.stale = <uint8_t*> calloc(d, 1)
        s.scratch = <double*> calloc(WIDE * d, sizeof(double))
        if (s.sigma2 == NULL or s.fits == NULL or s.children == NULL or s.order == NULL or s.place == NULL
                or s.tier == NULL or s.required_start == NULL or s.required == NULL or s.forbidden_start == NULL
                or s.forbidden == NULL or s.queue == NULL or s.queued == NULL or s.mark == NULL
                or s.stale == NULL                 or s.scratch == NULL):
            raise MemoryError(f"no memory for a network of {d} nodes")
        for j in range(d):
            s.order[j] = order[j]
            s.place[order[j]] = <int32_t> j
            s.tier[j] = tier[j]
            s.constrained = s.constrained or tier[j] >= 0
            clear(s.fits + j, variance[j])
        for j in range(d + 1):
            s.required_start[j] = required_start[j]
            s.forbidden_start[j] = forbidden_start[j]
        s.constrained = s.constrained or required.shape[0] > 0
        for j in range(required.shape[0]):
            s.required[j] = required[j]
        for j in range(forbidden.shape[0]):
            s.forbidden[j] = forbidden[j]

    def __dealloc__(self):
        cdef State* s = &self.s
        cdef Py_ssize_t j
        for j in range(s.d):
            if s.fits != NULL:
                release(s.fits + j)
            if s.children != NULL:
                free(s.children[j].items)
        release(&s.me)
        release(&s.other)
        free(s.candidates.items)
        free(s.trial.items)
        free(s.chosen.items)
        free(s.touched.items)
        free(s.sigma2)
        free(s.fits)
        free(s.children)
        free(s.order)
        free(s.place)
        free(s.tier)
        free(s.required_start)
        free(s.required)
        free(s.forbidden_start)
        free(s.forbidden)
        free(s.queue)
        free(s.queued)
        free(s.mark)
        free(s.stale)
        free(s.scratch)

    @property
    def waiting(self):
        """How many nodes are queued."""
        return self.s.waiting

    @property
    def counters(self):
        """Sweeps, nodes passed in them, moves."""
        return self.s.sweeps, self.s.visits, self.s.moves

    def configure(self, double n, double penalty, const double[::1] sigma2, const double[::1] floor, Py_ssize_t max_parents,
                  double patience, Py_ssize_t max_additions, double tolerance):
        """Set the score and how far a sweep goes."""
        cdef Py_ssize_t j
        self.s.score = make_score(n, penalty)
        self.s.max_parents = max_parents
        self.s.patience = patience
        self.s.max_additions = max_additions
        self.s.tolerance = tolerance
        for j in range(self.s.d):
            self.s.sigma2[j] = sigma2[j]
            self.s.floor[j] = floor[j]

    def set_stale(self, bint value):
        """Look for additions to all nodes next time, or to none but those whose parents change from now on."""
        memset(self.s.stale, 1 if value else 0, self.s.d)

    def queue_all(self):
        """Queue every node, in the order."""
        cdef Py_ssize_t t
        for t in range(self.s.d):
            enqueue(&self.s, self.s.order[t])

    def read_order(self, int32_t[::1] order):
        """Fill the order."""
        cdef Py_ssize_t t
        for t in range(self.s.d):
            order[t] = self.s.order[t]

    def edge_count(self):
        """How many edges there are."""
        cdef Py_ssize_t j, total = 0
        for j in range(self.s.d):
            total += self.s.fits[j].k
        return total

    def read(self, int64_t[::1] ends, int32_t[::1] parents, double[::1] weights, double[::1] variances):
        """Fill the parents of node 0, 1, … with their weights, where each list ends, and the residual variances."""
        cdef Py_ssize_t j, a, at = 0
        cdef Regression* fit
        for j in range(self.s.d):
            fit = self.s.fits + j
            for a in range(fit.k):
                parents[at + a] = fit.parents[a]
                weights[at + a] = fit.b[a]
            at += fit.k
            ends[j] = at
            variances[j] = fit.v


cdef int descendants(State* s, int32_t j, uint8_t* below, Bag* found) noexcept nogil:
    """Mark j and its descendants in `below` and list them in `found`."""
    cdef Py_ssize_t at = 0, a
    cdef int32_t z
    found.size = 0
    below[j] = 1
    if push(found, j) < 0:
        return -1
    while at < found.size:
        z = found.items[at]
        at += 1
        for a in range(s.children[z].size):
            if not below[s.children[z].items[a]]:
                below[s.children[z].items[a]] = 1
                if push(found, s.children[z].items[a]) < 0:
                    return -1
    return 0


def additions(const real[:, ::1] S, Network net, Py_ssize_t first, Py_ssize_t last, const int64_t[::1] start,
              int32_t[::1] found, int32_t[::1] counts, double[::1] gains):
    """For stale nodes of first … last - 1 find new parents that pay and are no descendants, wherever they stand.

    The best ``start[j + 1] - start[j]`` of them for node j, by what each alone would gain, are written from
    ``found[start[j]]`` on with their gains; counts[j] is their number. The network is only read.
    """
    cdef State* s = &net.s
    cdef Py_ssize_t d = s.d, a, room
    cdef const real* base = &S[0, 0]
    cdef const real* row
    cdef Regression* fit
    cdef Bag family
    cdef int32_t i, j, batch[WIDE]
    cdef double least, gain, tiny = rounding(base)
    cdef double deltas[WIDE]
    # Where S is in single precision so is this sum.
    cdef real* r = <real*> calloc(d, sizeof(real))
    cdef real* bound = <real*> calloc(d, sizeof(real))
    cdef double* u = <double*> calloc(WIDE * d, sizeof(double))
    cdef real bar
    cdef double c
    cdef Py_ssize_t next, waiting, q
    cdef uint8_t* below = <uint8_t*> calloc(d, 1)
    cdef int code = 0
    memset(&family, 0, sizeof(Bag))
    if r == NULL or bound == NULL or u == NULL or below == NULL:
        code = -1
    with nogil:
        for i in range(d if code == 0 else 0):
            bound[i] = <real> s.floor[i]
        for j in range(first, last):
            if code < 0:
                break
            fit = s.fits + j
            counts[j] = 0
            if not s.stale[j] or fit.k >= s.max_parents or fit.v <= tiny * fit.variance:
                continue
            code = descendants(s, j, below, &family)
            row = base + j * d
            memcpy(r, row, d * sizeof(real))
            for a in range(fit.k):
                u[a] = -fit.b[a]
            combine(base, d, fit, u, fit.k, r)
            for a in range(fit.k):
                below[fit.parents[a]] = 1
            room = start[j + 1] - start[j]
            least = least_gain(&s.score, s.sigma2[j], fit.v)
            next = 0
            while next < d:
                waiting = 0
                bar = <real> least
                while next < d and waiting < WIDE:
                    if r[next] * r[next] > bar * bound[next] and not below[next]:
                        batch[waiting] = <int32_t> next
                        deltas[waiting] = s.fits[next].variance
                        waiting += 1
                    next += 1
                if waiting:
                    conditional_variances(base, d, batch, waiting, fit, deltas, u)
                for q in range(waiting):
                    i = batch[q]
                    c = r[i]
                    if not (deltas[q] > tiny * s.fits[i].variance and c * c > least * deltas[q]):
                        continue
                    if not may_point(s, i, j) or (s.tier[j] >= 0 and s.tier[i] > s.tier[j]):
                        continue
                    # Into its place among the best so far; the last of a full list falls out.
                    gain = c * c / deltas[q]
                    a = start[j] + counts[j]
                    if counts[j] < room:
                        counts[j] += 1
                    else:
                        a -= 1
                    while a > start[j] and gains[a - 1] < gain:
                        gains[a] = gains[a - 1]
                        found[a] = found[a - 1]
                        a -= 1
                    gains[a] = gain
                    found[a] = i
                    if counts[j] == room:
                        least = gains[start[j] + room - 1]
            for a in range(counts[j]):
                gain = gains[start[j] + a]
                gains[start[j] + a] = node_cost(s, j, fit) - cost(&s.score, s.sigma2[j], fit.v - gain, fit.k + 1)
            for a in range(fit.k):
                below[fit.parents[a]] = 0
            for a in range(family.size):
                below[family.items[a]] = 0
    free(r)
    free(bound)
    free(u)
    free(below)
    free(family.items)
    if code < 0:
        raise MemoryError("no memory for the search of additions")


cdef int make_way(State* s, int32_t i, int32_t j) noexcept nogil:
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


def apply_additions(const real[:, ::1] S, Network net, const int32_t[::1] nodes, const int64_t[::1] start,
                    const int32_t[::1] found, const int32_t[::1] counts):
    """Give the nodes the parents found for them where no cycle comes of it, in place; returns how many gained."""
    cdef State* s = &net.s
    cdef const real* base = &S[0, 0]
    cdef Py_ssize_t a, h, gained = 0
    cdef int32_t i, j
    cdef int code = 0
    cdef Regression* me = &s.me
    s.touched.size = 0
    with nogil:
        for a in range(nodes.shape[0]):
            j = nodes[a]
            if copy(me, s.fits + j) < 0 or reserve(me, me.k + counts[j]) < 0:
                code = -1
                break
            for h in range(start[j], start[j] + counts[j]):
                i = found[h]
                code = make_way(s, i, j)
                if code < 0:
                    break
                if code > 0 and pays(base + i * s.d, s, i, j, me):
                    add(base + i * s.d, i, j, me, s.scratch)
            if code < 0 or reselect(base, s, j, me, NULL, 0) < 0:
                code = -1
                break
            if node_cost(s, j, me) < node_cost(s, j, s.fits + j) - 1e-7:
                if become(base, s, j, me.parents, me.k) < 0:
                    code = -1
                    break
                gained += 1
        if code >= 0:
            requeue(s)
    if code < 0:
        raise MemoryError("no memory for a regression")
    return gained


cdef inline uint64_t draw(uint64_t* state) noexcept nogil:
    """The next number of the splitmix64 generator."""
    cdef uint64_t z
    state[0] += <uint64_t> 0x9E3779B97F4A7C15
    z = state[0]
    z = (z ^ (z >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * <uint64_t> 0x94D049BB133111EB
    return z ^ (z >> 31)


cdef void shuffle(int32_t* items, Py_ssize_t count, uint64_t* state) noexcept nogil:
    cdef Py_ssize_t a, h
    cdef int32_t item
    a = count - 1
    while a > 0:
        h = <Py_ssize_t> (draw(state) % <uint64_t> (a + 1))
        item = items[a]
        items[a] = items[h]
        items[h] = item
        a -= 1


cdef bint is_covered(State* s, int32_t i, int32_t j) noexcept nogil:
    """Whether i -> j is an edge and the other parents of j are those of i: then reversing it is score-equivalent."""
    cdef Regression* tail = s.fits + i
    cdef Regression* head = s.fits + j
    cdef Py_ssize_t a
    if head.k != tail.k + 1 or find(head, i) < 0:
        return False
    for a in range(tail.k):
        if find(head, tail.parents[a]) < 0:
            return False
    return True


cdef int reverse(const real* S, State* s, int32_t i, int32_t j) noexcept nogil:
    """Turn the covered edge i -> j round unless prior knowledge is against it; -1 when memory is out."""
    cdef Regression* fit = s.fits + i
    cdef Py_ssize_t a
    if must_precede(s, i, j) or not may_point(s, j, i) or fit.k >= s.max_parents:
        return 0
    s.candidates.size = 0
    for a in range(fit.k):
        if push(&s.candidates, fit.parents[a]) < 0:
            return -1
    if become(S, s, j, s.candidates.items, s.candidates.size) < 0:
        return -1
    if make_way(s, j, i) <= 0:
        # Tiers between them: back to what it was.
        if push(&s.candidates, i) < 0:
            return -1
        return become(S, s, j, s.candidates.items, s.candidates.size)
    if push(&s.candidates, j) < 0:
        return -1
    return become(S, s, i, s.candidates.items, s.candidates.size)


cdef int random_order(State* s, uint64_t* state) noexcept nogil:
    """Another order of the same DAG: nodes in random sequence, each after its ancestors.

    Under tiers or required edges the order stays as it is.
    """
    cdef Py_ssize_t a, t, done = 0
    cdef int32_t v
    cdef Regression* fit
    if s.constrained:
        return 0
    s.chosen.size = 0
    for t in range(s.d):
        if push(&s.chosen, <int32_t> t) < 0:
            return -1
    shuffle(s.chosen.items, s.d, state)
    memset(s.mark, 0, s.d)
    s.trial.size = 0
    for t in range(s.d):
        if push(&s.trial, s.chosen.items[t]) < 0:
            return -1
        while s.trial.size:
            v = s.trial.items[s.trial.size - 1]
            if s.mark[v] == 0:
                s.mark[v] = 1
                fit = s.fits + v
                for a in range(fit.k):
                    if s.mark[fit.parents[a]] == 0 and push(&s.trial, fit.parents[a]) < 0:
                        return -1
            else:
                s.trial.size -= 1
                if s.mark[v] == 1:
                    s.mark[v] = 2
                    s.order[done] = v
                    done += 1
    memset(s.mark, 0, s.d)
    for t in range(s.d):
        s.place[s.order[t]] = <int32_t> t
    return 0


def resample(const real[:, ::1] S, Network net, uint64_t seed):
    """Go to a random DAG of the same equivalence class, in a random order of it, and queue all nodes.

    Covered edges are visited in random sequence and turned round with probability one half.
    """
    cdef State* s = &net.s
    cdef const real* base = &S[0, 0]
    cdef Bag edges
    cdef Py_ssize_t a, h
    cdef int32_t i, j, item
    cdef int code = 0
    cdef uint64_t state = seed
    memset(&edges, 0, sizeof(Bag))
    with nogil:
        s.touched.size = 0
        for j in range(s.d):
            for a in range(s.fits[j].k):
                if push(&edges, s.fits[j].parents[a]) < 0 or push(&edges, j) < 0:
                    code = -1
        a = edges.size // 2 - 1
        while code == 0 and a >= 0:
            h = <Py_ssize_t> (draw(&state) % <uint64_t> (a + 1))
            i = edges.items[2 * h]
            j = edges.items[2 * h + 1]
            edges.items[2 * h] = edges.items[2 * a]
            edges.items[2 * h + 1] = edges.items[2 * a + 1]
            if draw(&state) & 1 and is_covered(s, i, j):
                if reverse(base, s, i, j) < 0:
                    code = -1
            a -= 1
        if code == 0:
            code = random_order(s, &state)
        for a in range(s.d):
            enqueue(s, s.order[a])
    free(edges.items)
    if code < 0:
        raise MemoryError("no memory for a regression")


def write(const real[:, ::1] S, Network net, const int32_t[::1] nodes, const int32_t[::1] start,
          const int32_t[::1] parents, bint lock=False):
    """Give the nodes the parents ``parents[start[a]:start[a + 1]]`` one after the other, in place, and queue who is near.

    The order makes way where it must; a parent that would close a cycle is left out.
    """
    cdef State* s = &net.s
    cdef const real* base = &S[0, 0]
    cdef Py_ssize_t a, h
    cdef int32_t i, j
    cdef int code = 0
    s.touched.size = 0
    with nogil:
        for a in range(nodes.shape[0]):
            j = nodes[a]
            # First what stays: parents that leave must not stand in the way of those that come.
            s.candidates.size = 0
            for h in range(start[a], start[a + 1]):
                if find(s.fits + j, parents[h]) >= 0 and push(&s.candidates, parents[h]) < 0:
                    code = -1
            if code < 0 or become(base, s, j, s.candidates.items, s.candidates.size) < 0:
                code = -1
                break
            for h in range(start[a], start[a + 1]):
                i = parents[h]
                if find(s.fits + j, i) < 0:
                    code = make_way(s, i, j)
                    if code < 0 or (code > 0 and push(&s.candidates, i) < 0):
                        code = -1
                        break
            if code < 0 or become(base, s, j, s.candidates.items, s.candidates.size) < 0:
                code = -1
                break
            if lock:
                s.fits[j].locked = s.fits[j].k
        if code >= 0:
            requeue(s)
    if code < 0:
        raise MemoryError("no memory for a regression")


def drain(const real[:, ::1] S, Network net, Py_ssize_t sweeps):
    """Sweep up to so many queued nodes, in place; returns how many of the sweeps gained."""
    cdef State* s = &net.s
    cdef const real* base = &S[0, 0]
    cdef Py_ssize_t gains = 0, a
    cdef int code = 0
    cdef int32_t v
    with nogil:
        for a in range(sweeps):
            if s.waiting == 0:
                break
            v = s.queue[s.head]
            s.head = 0 if s.head + 1 == s.d else s.head + 1
            s.waiting -= 1
            s.queued[v] = 0
            code = sweep(base, s, v)
            if code < 0:
                break
            gains += code
    if code < 0:
        raise MemoryError("no memory for a regression")
    return gains
