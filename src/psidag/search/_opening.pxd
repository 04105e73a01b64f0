# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Openings: a neighbourhood loses its edges, finds others, and keeps them if the score is lower; else all is as it was.

A search that is stuck has a few nodes wrong and their neighbourhoods bent to fit: no move of single nodes undoes that.
An opening takes the edges of a node and of a few neighbours out, puts these nodes in another sequence, and lets the search
go on from there. It costs what it touches.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from psidag.data._entries cimport Matrix
from psidag.search._chance cimport draw, shuffle
from psidag.search._look cimport Looker, close_looker, look, looking, open_looker, take_found
from psidag.search._memory cimport Bag, push, zeros
from psidag.search._regression cimport Regression, find
from psidag.search._state cimport State, dequeue, enqueue, moves, node_cost, queue_touched, set_parents
from psidag.search._walk cimport sweep


cdef enum:
    SHARE = 4                   # in one round a node may gain one parent and this share of those that it has


cdef struct Found:
    # Additions to one node: where they begin among those of all nodes, how many there are, and what the best one gains.
    int32_t node
    Py_ssize_t first
    Py_ssize_t count
    double gain


cdef struct Trials:
    # Scratch of the openings of one call.
    Looker looker
    Bag opened                  # a node and neighbours of it, then children of theirs that lost a parent
    Py_ssize_t hood             # how many of these are no such children
    Bag parents                 # additions, node after node
    Found* found                # the largest gain first
    Bag contested               # tail, head of edges that a trial of nearly the same score has otherwise


cdef inline int open_trials(const Matrix* S, State* s, Trials* trials) except -1 nogil:
    """Get ready; `close_trials` is to follow, whatever comes of it."""
    memset(trials, 0, sizeof(Trials))
    open_looker(S, s, &trials.looker)
    trials.found = <Found*> zeros(s.d, sizeof(Found))
    return 0


cdef inline void close_trials(Trials* trials) noexcept nogil:
    close_looker(&trials.looker)
    free(trials.opened.items)
    free(trials.parents.items)
    free(trials.contested.items)
    free(trials.found)


cdef inline void begin_trial(State* s) noexcept nogil:
    s.journal.on = True
    s.journal.size = 0
    memcpy(s.journal.order, s.order, s.d * sizeof(int32_t))


cdef inline double trial_change(State* s) noexcept nogil:
    """By how much the score has changed since the trial began."""
    cdef Py_ssize_t a
    cdef double change = 0
    for a in range(s.journal.size):
        change += node_cost(s, s.journal.nodes[a].node, s.fits + s.journal.nodes[a].node)
        change -= node_cost(s, s.journal.nodes[a].node, &s.journal.nodes[a].fit)
    return change


cdef inline void end_trial(State* s, bint keep) noexcept nogil:
    """Keep what the trial has come to, or go back to what was before it."""
    cdef Py_ssize_t a, t
    cdef int32_t v
    cdef Regression fit
    cdef Bag children
    for a in range(s.journal.size):
        v = s.journal.nodes[a].node
        s.journal.noted[v] = 0
        if not keep:
            fit = s.fits[v]
            s.fits[v] = s.journal.nodes[a].fit
            s.journal.nodes[a].fit = fit
            children = s.children[v]
            s.children[v] = s.journal.nodes[a].children
            s.journal.nodes[a].children = children
    if not keep:
        memcpy(s.order, s.journal.order, s.d * sizeof(int32_t))
        for t in range(s.d):
            s.place[s.order[t]] = <int32_t> t
    s.journal.on = False
    s.journal.size = 0


cdef inline int choose_hood(State* s, Trials* trials, int32_t centre, Py_ssize_t most, uint64_t* seed) except -1 nogil:
    """The centre and some of its neighbours at random but hubs, up to `most`: the first `hood` of those that are opened."""
    cdef Py_ssize_t a
    trials.opened.size = 0
    push(&trials.opened, centre)
    for a in range(s.fits[centre].k):
        if moves(s, s.fits[centre].parents[a]):
            push(&trials.opened, s.fits[centre].parents[a])
    for a in range(s.children[centre].size):
        if moves(s, s.children[centre].items[a]):
            push(&trials.opened, s.children[centre].items[a])
    shuffle(trials.opened.items + 1, trials.opened.size - 1, seed)
    trials.hood = 1 + <Py_ssize_t> (draw(seed) % <uint64_t> (most + 1))
    if trials.hood > trials.opened.size:
        trials.hood = trials.opened.size
    trials.opened.size = trials.hood
    return 0


cdef inline bint in_hood(Trials* trials, int32_t v) noexcept nogil:
    cdef Py_ssize_t a
    for a in range(trials.hood):
        if trials.opened.items[a] == v:
            return True
    return False


cdef inline int take_edges_out(const Matrix* S, State* s, Trials* trials) except -1 nogil:
    """Take out all edges of the neighbourhood but the required ones, and queue it with those that lose a parent."""
    cdef Py_ssize_t a, h
    cdef int32_t v, child
    for a in range(trials.hood):
        enqueue(s, trials.opened.items[a])
    for a in range(trials.hood):
        v = trials.opened.items[a]
        for h in range(s.children[v].size):
            child = s.children[v].items[h]
            if not s.queued[child]:
                enqueue(s, child)
                push(&trials.opened, child)
    for a in range(trials.opened.size):
        v = trials.opened.items[a]
        s.candidates.size = 0
        if a >= trials.hood:
            for h in range(s.fits[v].k):
                if not in_hood(trials, s.fits[v].parents[h]):
                    push(&s.candidates, s.fits[v].parents[h])
        set_parents(S, s, v, s.candidates.items, s.candidates.size)
        s.stale[v] = 1
    return 0


cdef inline int mix_places(State* s, Trials* trials, uint64_t* seed) except -1 nogil:
    """Let the nodes of the neighbourhood, which have no edges, change places. Under tiers or required edges they stay."""
    cdef Py_ssize_t a
    if s.rules.ordered:
        return 0
    s.aside.size = 0
    for a in range(trials.hood):
        push(&s.aside, s.place[trials.opened.items[a]])
    shuffle(s.aside.items, s.aside.size, seed)
    for a in range(trials.hood):
        s.place[trials.opened.items[a]] = s.aside.items[a]
        s.order[s.aside.items[a]] = trials.opened.items[a]
    return 0


cdef inline Py_ssize_t add_where_stale(const Matrix* S, State* s, Trials* trials, const int64_t[::1] near_start,
                                       const int32_t[::1] near) except -1 nogil:
    """Give stale nodes the parents that pay, the largest gain first; returns how many gained."""
    cdef Py_ssize_t a, h, total = 0, gained = 0
    cdef int32_t j
    cdef Found one
    trials.parents.size = 0
    for a in range(s.d):
        j = s.order[a]
        if not s.stale[j]:
            continue
        s.work += looking(s, j)
        one.node = j
        one.first = trials.parents.size
        one.count = look(S, s, &trials.looker, j, 1 + s.fits[j].k // SHARE, near_start, near)
        s.stale[j] = 0
        if one.count == 0:
            continue
        one.gain = trials.looker.gains[0]
        for h in range(one.count):
            push(&trials.parents, trials.looker.found[h])
        h = total
        while h > 0 and trials.found[h - 1].gain < one.gain:
            trials.found[h] = trials.found[h - 1]
            h -= 1
        trials.found[h] = one
        total += 1
    s.touched.size = 0
    for a in range(total):
        one = trials.found[a]
        gained += take_found(S, s, one.node, trials.parents.items + one.first, one.count)
    queue_touched(s)
    return gained


cdef inline int settle(const Matrix* S, State* s, Trials* trials, int64_t most, const int64_t[::1] near_start,
                       const int32_t[::1] near) except -1 nogil:
    """Sweep who is queued and add to who is stale until there is nobody left; 0 when all work passes `most` before."""
    while True:
        while s.waiting:
            if s.work > most:
                return 0
            sweep(S, s, dequeue(s))
        if not add_where_stale(S, s, trials, near_start, near):
            return 1


cdef inline void forget(State* s) noexcept nogil:
    """Nobody is queued or stale any more."""
    while s.waiting:
        dequeue(s)
    memset(s.stale, 0, s.d)


cdef inline int note_contested(State* s, Trials* trials) except -1 nogil:
    """Note the edges that nodes have now and had not before the trial, and the other way round."""
    cdef Py_ssize_t a, h
    cdef int32_t v
    cdef Regression* old
    cdef Regression* new
    for a in range(s.journal.size):
        v = s.journal.nodes[a].node
        old, new = &s.journal.nodes[a].fit, s.fits + v
        for h in range(old.k):
            if find(new, old.parents[h]) < 0:
                push(&trials.contested, old.parents[h])
                push(&trials.contested, v)
        for h in range(new.k):
            if find(old, new.parents[h]) < 0:
                push(&trials.contested, new.parents[h])
                push(&trials.contested, v)
    return 0


cdef inline double open_around(const Matrix* S, State* s, Trials* trials, int32_t centre, Py_ssize_t neighbours,
                               uint64_t* seed, double near_miss, int64_t most, const int64_t[::1] near_start,
                               const int32_t[::1] near) except? -1 nogil:
    """Open the neighbourhood of a node; returns the change of the score that came of it, kept or not.

    A trial that takes more work than `most` is given up, with an infinite change.
    """
    cdef double change = INFINITY
    most += s.work
    begin_trial(s)
    choose_hood(s, trials, centre, neighbours, seed)
    take_edges_out(S, s, trials)
    mix_places(s, trials, seed)
    if settle(S, s, trials, most, near_start, near):
        change = trial_change(s)
    else:
        forget(s)
    if change < near_miss and change > -s.gain:
        note_contested(s, trials)
    # Where moves that change nothing are made, so are trials.
    end_trial(s, change < -s.tolerance)
    return change
