# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Re-insertion: one node is walked along the order, past its relatives, and put where the score is lowest."""

from libc.stdint cimport int32_t
from libc.string cimport memset

from psidag.engines._state cimport (
    Bag, State, become, farthest, may_point, node_cost, pays, push, requeue, reselect,
)
from psidag.data._entries cimport Matrix, entry, rounding
from psidag.stages._regression cimport (
    Regression, add, conditional_variance, copy, cost, drop, find, least_gain, least_loss, reserve,
)
from psidag.stages._settle cimport settle


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


cdef inline bint stays_without(const Matrix* S, State* s, int32_t z, int32_t v, Regression* me, double* after) noexcept nogil:
    """Whether z, when it loses its parent v, loses no other and takes none of v's parents; then its variance is in after.

    O(k) and O(k^2) without a copy of the regression.
    """
    cdef Regression* fit = s.fits + z
    cdef Py_ssize_t a, h, w = find(fit, v), k = fit.k
    cdef int32_t i
    cdef const double* mw = fit.M + w * fit.room
    cdef double m = mw[w], bw = fit.b[w], b, ma, c, delta, share, level, tiny = rounding(S)
    cdef double* remaining = s.scratch + s.d
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
        for a in range(k):
            c -= remaining[a] * entry(S, i, fit.parents[a])
        if c * c <= level * s.floor[i] or i == z or find(fit, i) >= 0:
            continue
        delta = conditional_variance(S, i, fit, s.scratch)
        share = 0
        for a in range(k):
            share += mw[a] * entry(S, i, fit.parents[a])
        delta += share * share / m
        if delta > tiny * s.fits[i].variance and c * c > level * delta and may_point(s, i, z):
            return False
    return True


cdef inline int leftwards(const Matrix* S, State* s, int32_t v, double* best, Py_ssize_t* target) noexcept nogil:
    """Walk v to the left past its ancestors; note in s.trial the parents that others get up to the best place."""
    cdef Py_ssize_t p = s.place[v], t, a, lowest = p, end = 0, last = farthest(s, v, -1)
    cdef int code = 1
    cdef int32_t z
    cdef double change = 0, now, before
    cdef Regression* me = &s.me
    cdef Regression* fit
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
            settle(S, v, me, s.scratch)
            code = reselect(S, s, v, me, fit.parents, fit.k)
            if code <= 0:
                break
            now = node_cost(s, v, me)
            change += now - before
            before = now
        if may_point(s, v, z) and pays(S, s, v, z, fit):
            if copy(&s.other, fit) < 0:
                return -1
            add(S, v, z, &s.other, s.scratch)
            settle(S, z, &s.other, s.scratch)
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


cdef inline int rightwards(const Matrix* S, State* s, int32_t v, double* best, Py_ssize_t* target) noexcept nogil:
    """Walk v to the right past its descendants; as before."""
    cdef Py_ssize_t p = s.place[v], t, a, highest = p, end = 0, last = farthest(s, v, 1)
    cdef int code = 1
    cdef int32_t z
    cdef double change = 0, now, before, after
    cdef Regression* me = &s.me
    cdef Regression* fit
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
                settle(S, z, &s.other, s.scratch)
                code = reselect(S, s, z, &s.other, me.parents, me.k)
                if code <= 0:
                    break
                change += node_cost(s, z, &s.other) - node_cost(s, z, fit)
                if note(&s.trial, z, &s.other) < 0:
                    return -1
        if may_point(s, z, v) and pays(S, s, z, v, me):
            if reserve(me, me.k + 1) < 0:
                return -1
            add(S, z, v, me, s.scratch)
            settle(S, v, me, s.scratch)
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


cdef inline int commit(const Matrix* S, State* s, int32_t v, Py_ssize_t target) noexcept nogil:
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


cdef inline int sweep(const Matrix* S, State* s, int32_t v) noexcept nogil:
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
