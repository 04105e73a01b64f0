# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What nodes were before a trial, to go back to the last bit: each is copied when it is first changed."""

from libc.stdint cimport int32_t, uint8_t
from libc.stdlib cimport free
from libc.string cimport memset

from psidag.search._memory cimport Bag, refill, resized, zeros
from psidag.search._regression cimport Regression, copy, release


cdef struct Before:
    int32_t node
    Regression fit
    Bag children


cdef struct Journal:
    bint on                     # whether a trial is under way
    uint8_t* noted              # by node: whether it is in the journal
    int32_t* order              # before the trial
    Before* nodes               # the first `size`; room that has been used before stays allocated
    Py_ssize_t size
    Py_ssize_t room


cdef inline int open_journal(Journal* journal, Py_ssize_t d) except -1 nogil:
    """Make room in a new journal."""
    journal.noted = <uint8_t*> zeros(d, 1)
    journal.order = <int32_t*> zeros(d, sizeof(int32_t))
    return 0


cdef inline void close_journal(Journal* journal) noexcept nogil:
    cdef Py_ssize_t a
    for a in range(journal.room):
        release(&journal.nodes[a].fit)
        free(journal.nodes[a].children.items)
    free(journal.nodes)
    free(journal.noted)
    free(journal.order)


cdef inline int note_before(Journal* journal, int32_t v, Regression* fit, Bag* children) except -1 nogil:
    """Remember a node as it is, unless no trial is under way or it has been remembered already."""
    cdef Py_ssize_t room
    cdef Before* before
    if not journal.on or journal.noted[v]:
        return 0
    if journal.size == journal.room:
        room = 2 * journal.room + 16
        journal.nodes = <Before*> resized(journal.nodes, room * sizeof(Before))
        memset(journal.nodes + journal.room, 0, (room - journal.room) * sizeof(Before))
        journal.room = room
    before = journal.nodes + journal.size
    before.node = v
    copy(&before.fit, fit)
    refill(&before.children, children.items, children.size)
    journal.noted[v] = 1
    journal.size += 1
    return 0
