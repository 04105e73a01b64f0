# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Re-insertion: one node is walked along the order, past its relatives, and put where the score is lowest.

Crossing is the same in both directions: of two nodes that stand side by side the *upper* comes first. If the lower one
has it as a parent it loses it, and reselects over the parents of the upper one; then the upper one takes the lower one
as a parent if that pays, and reselects over the parents that the lower one had before.
"""

from libc.stdint cimport int32_t
from libc.string cimport memset

from psidag.data._entries cimport Matrix, entries, entry
from psidag.scores._score cimport cost, least_gain, least_loss
from psidag.search._knowledge cimport may_point
from psidag.search._memory cimport Bag, push, refill
from psidag.search._regression cimport Regression, conditional_variance, copy, find, is_rounding, reserve
from psidag.search._exact cimport add_parent, drop_parent
from psidag.search._state cimport (
    Move, State, doubt, farthest, next_mark, node_cost, pays, queue_touched, reselect, set_parents, steps_to,
)


cdef enum:
    CROSSING = 30               # multiplications that passing a node is worth


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


cdef inline bint stays_without(const Matrix* S, State* s, int32_t z, int32_t v, Regression* me, double* after) noexcept nogil:
    """Whether z, when it loses its parent v, loses no other and takes none of v's parents; then its variance is in after.

    What reselection would find, in O(k) and O(k^2) without a copy of the regression.
    """
    cdef Regression* fit = s.fits + z
    cdef Py_ssize_t a, h, w = find(fit, v), k = fit.k
    cdef int32_t i
    cdef const double* mw = fit.M + w * fit.room
    cdef double m = mw[w], bw = fit.b[w], b, ma, c, delta, share, level
    cdef double* remaining = s.scratch + s.d
    cdef double* row = s.scratch + 2 * s.d
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
        c = entry(S, i, z)
        entries(S, i, fit.parents, k, row)
        for a in range(k):
            c -= remaining[a] * row[a]
        if c * c <= level * s.floor[i] or i == z or find(fit, i) >= 0:
            continue
        delta = conditional_variance(S, i, fit, s.scratch)
        share = 0
        for a in range(k):
            share += mw[a] * row[a]
        delta += share * share / m
        if c * c > level * delta and not is_rounding(S, delta, s.fits[i].variance) and may_point(&s.rules, i, z):
            return False
    return True


cdef inline int note(Bag* others, int32_t z, Regression* fit, int32_t without) except -1 nogil:
    """Remember as new parents of z those in the regression, but for one (-1: none)."""
    cdef Py_ssize_t a, at = others.size + 1
    push(others, z)
    push(others, 0)
    for a in range(fit.k):
        if fit.parents[a] != without:
            push(others, fit.parents[a])
            others.items[at] += 1
    return 0


cdef inline int lose_upper(const Matrix* S, State* s, int32_t v, int32_t z, Py_ssize_t step, double* change) except -1 nogil:
    """The lower of v and z loses the upper one; 0 if the walk ends here."""
    cdef Regression* me = &s.me
    cdef Regression* fit = s.fits + z
    cdef double after, before
    if step < 0:
        if change[0] + least_change(s, z, fit, v, me) > s.leeway:
            return 0
        before = node_cost(s, v, me)
        drop_parent(S, v, me, find(me, z), s.scratch)
        if not reselect(S, s, v, me, fit.parents, fit.k):
            return 0
        change[0] += node_cost(s, v, me) - before
        return 1
    if change[0] + least_change(s, v, me, z, fit) > s.leeway:
        return 0
    if stays_without(S, s, z, v, me, &after):
        change[0] += cost(&s.score, s.sigma2[z], after, fit.k - 1) - node_cost(s, z, fit)
        note(&s.right.others, z, fit, v)
        return 1
    copy(&s.other, fit)
    drop_parent(S, z, &s.other, find(&s.other, v), s.scratch)
    if not reselect(S, s, z, &s.other, me.parents, me.k):
        return 0
    change[0] += node_cost(s, z, &s.other) - node_cost(s, z, fit)
    note(&s.right.others, z, &s.other, -1)
    return 1


cdef inline int gain_lower(const Matrix* S, State* s, int32_t v, int32_t z, Py_ssize_t step, double* change) except -1 nogil:
    """The upper of v and z takes the lower one, and what pays of s.candidates; 0 if the walk ends here."""
    cdef Regression* me = &s.me
    cdef Regression* fit = s.fits + z
    cdef double before
    if step > 0:
        before = node_cost(s, v, me)
        reserve(me, me.k + 1)
        add_parent(S, z, v, me, s.scratch)
        if not reselect(S, s, v, me, s.candidates.items, s.candidates.size):
            return 0
        change[0] += node_cost(s, v, me) - before
        return 1
    copy(&s.other, fit)
    add_parent(S, v, z, &s.other, s.scratch)
    if not reselect(S, s, z, &s.other, s.candidates.items, s.candidates.size):
        return 0
    change[0] += node_cost(s, z, &s.other) - node_cost(s, z, fit)
    note(&s.left.others, z, &s.other, -1)
    return 1


cdef inline int cross(const Matrix* S, State* s, int32_t v, int32_t z, Py_ssize_t step, double* change) except -1 nogil:
    """Take v past z, to the left (step -1) or right (1), and add what that changes of the score; 0 ends the walk."""
    cdef int32_t upper = z if step < 0 else v, lower = v if step < 0 else z
    cdef Regression* tail = s.fits + z if step < 0 else &s.me
    cdef Regression* head = &s.me if step < 0 else s.fits + z
    cdef Py_ssize_t a
    cdef bint adjacent = False
    s.candidates.size = 0
    for a in range(head.k):
        if head.parents[a] == upper:
            adjacent = True
        else:
            push(&s.candidates, head.parents[a])
    if adjacent and not lose_upper(S, s, v, z, step, change):
        return 0
    if may_point(&s.rules, lower, upper) and pays(S, s, lower, upper, tail):
        return gain_lower(S, s, v, z, step, change)
    return 1


cdef inline Py_ssize_t mark_relatives(State* s, const int32_t* nodes, Py_ssize_t count, Py_ssize_t step,
                                      Py_ssize_t end) noexcept nogil:
    """Mark the places of these nodes; returns the farthest mark, `end` included."""
    cdef Py_ssize_t a, m
    for a in range(count):
        m = steps_to(s, s.place[nodes[a]], step)
        s.marks[m] = 1
        if m > end:
            end = m
    return end


cdef inline int walk(const Matrix* S, State* s, int32_t v, Py_ssize_t step, Move* move) except -1 nogil:
    """Walk v to the left past its ancestors (step -1), or to the right past its descendants (1).

    The move to the best place is in `move`; its target is the place of v if there is none.
    """
    cdef Py_ssize_t t = s.place[v], m = steps_to(s, t, step), last = steps_to(s, farthest(s, v, step), step)
    cdef Py_ssize_t end = m, noted = 0
    cdef int32_t z
    cdef double change = 0
    cdef Regression* me = &s.me
    copy(me, s.fits + v)
    move.change = -s.tolerance
    move.target = t
    move.others.size = 0
    if step < 0:
        end = mark_relatives(s, me.parents, me.k, step, end)
    else:
        end = mark_relatives(s, s.children[v].items, s.children[v].size, step, end)
    m += 1
    while m <= end and m <= last:
        m = next_mark(s, m, end)
        if m > last:
            break
        s.marks[m] = 0
        s.visits += 1
        t = steps_to(s, m, step)
        z = s.order[t]
        s.work += CROSSING + me.k + s.fits[z].k
        if step < 0:
            end = mark_relatives(s, s.fits[z].parents, s.fits[z].k, step, end)
        else:
            end = mark_relatives(s, s.children[z].items, s.children[z].size, step, end)
        if not cross(S, s, v, z, step, &change):
            break
        if change < move.change:
            move.change = change
            move.target = t
            noted = move.others.size
            refill(&move.parents, me.parents, me.k)
        if change > s.leeway:
            break
        m += 1
    move.others.size = noted
    if m <= end:
        memset(s.marks + m, 0, end - m + 1)
    return 0


cdef inline void shift(State* s, Py_ssize_t source, Py_ssize_t target) noexcept nogil:
    """Move the node at one place of the order to another; those between make way."""
    cdef Py_ssize_t t = source, step = 1 if target > source else -1
    cdef int32_t v = s.order[source]
    while t != target:
        s.order[t] = s.order[t + step]
        s.place[s.order[t]] = <int32_t> t
        t += step
    s.order[target] = v
    s.place[v] = <int32_t> target


cdef inline int make(const Matrix* S, State* s, int32_t v, Move* move, double* unsure) except -1 nogil:
    """Carry out a move, and say by how much rounding may move what it changes of the score."""
    cdef Py_ssize_t at = 0, k
    s.touched.size = 0
    unsure[0] = doubt(s, v)
    while at < move.others.size:
        k = move.others.items[at + 1]
        set_parents(S, s, move.others.items[at], move.others.items + at + 2, k)
        unsure[0] += doubt(s, move.others.items[at])
        at += k + 2
    set_parents(S, s, v, move.parents.items, move.parents.size)
    shift(s, s.place[v], move.target)
    s.moves += 1
    return 0


cdef inline int sweep(const Matrix* S, State* s, int32_t v) except -1 nogil:
    """Put v where the score is lowest, and queue whom that touches; 1 if it was a gain."""
    cdef Move* move
    cdef double unsure
    s.sweeps += 1
    walk(S, s, v, -1, &s.left)
    walk(S, s, v, 1, &s.right)
    move = &s.right if s.right.change < s.left.change else &s.left
    if move.target == s.place[v]:
        return 0
    make(S, s, v, move, &unsure)
    if move.change < -s.gain - unsure:
        queue_touched(s)
        return 1
    return 0
