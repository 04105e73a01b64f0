# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Random members of an equivalence class, and random orders of a DAG."""

from libc.stdint cimport int32_t, uint64_t
from libc.string cimport memset

from psidag.data._entries cimport Matrix
from psidag.search._knowledge cimport may_point, must_precede
from psidag.search._memory cimport Bag, push, refill
from psidag.search._regression cimport Regression, find
from psidag.search._state cimport State, move_before, set_parents


cdef inline uint64_t draw(uint64_t* state) noexcept nogil:
    """The next number of the splitmix64 generator."""
    cdef uint64_t z
    state[0] += <uint64_t> 0x9E3779B97F4A7C15
    z = state[0]
    z = (z ^ (z >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * <uint64_t> 0x94D049BB133111EB
    return z ^ (z >> 31)


cdef inline void shuffle(int32_t* items, Py_ssize_t count, uint64_t* state) noexcept nogil:
    cdef Py_ssize_t a, h
    cdef int32_t item
    a = count - 1
    while a > 0:
        h = <Py_ssize_t> (draw(state) % <uint64_t> (a + 1))
        item = items[a]
        items[a] = items[h]
        items[h] = item
        a -= 1


cdef inline bint is_covered(State* s, int32_t i, int32_t j) noexcept nogil:
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


cdef inline int reverse(const Matrix* S, State* s, int32_t i, int32_t j) except -1 nogil:
    """Turn the covered edge i -> j round unless prior knowledge is against it."""
    cdef Regression* fit = s.fits + i
    if must_precede(&s.rules, i, j) or not may_point(&s.rules, j, i) or fit.k >= s.limits.max_parents:
        return 0
    refill(&s.candidates, fit.parents, fit.k)
    set_parents(S, s, j, s.candidates.items, s.candidates.size)
    if move_before(s, j, i):
        push(&s.candidates, j)
        return set_parents(S, s, i, s.candidates.items, s.candidates.size)
    # Tiers between them: back to what it was.
    push(&s.candidates, i)
    return set_parents(S, s, j, s.candidates.items, s.candidates.size)


cdef inline int reverse_at_random(const Matrix* S, State* s, Bag* edges, uint64_t* state) except -1 nogil:
    """Visit all edges in random sequence and turn covered ones round with probability one half; overwrites `edges`."""
    cdef Py_ssize_t a, h
    cdef int32_t i, j
    edges.size = 0
    for h in range(s.d):
        j = s.order[h]
        for a in range(s.fits[j].k):
            push(edges, s.fits[j].parents[a])
            push(edges, j)
    a = edges.size // 2 - 1
    while a >= 0:
        h = <Py_ssize_t> (draw(state) % <uint64_t> (a + 1))
        i = edges.items[2 * h]
        j = edges.items[2 * h + 1]
        edges.items[2 * h] = edges.items[2 * a]
        edges.items[2 * h + 1] = edges.items[2 * a + 1]
        if draw(state) & 1 and is_covered(s, i, j):
            reverse(S, s, i, j)
        a -= 1
    return 0


cdef inline int random_order(State* s, uint64_t* state) except -1 nogil:
    """Another order of the same DAG: nodes in random sequence, each after its ancestors.

    Under tiers or required edges the order stays as it is. Depth first: a node waits until its parents are placed.
    """
    cdef Py_ssize_t a, t, done = 0
    cdef int32_t v
    cdef bint ready
    cdef Regression* fit
    cdef Bag* sequence = &s.candidates
    cdef Bag* stack = &s.aside
    if s.rules.ordered:
        return 0
    sequence.size = 0
    for t in range(s.d):
        push(sequence, s.order[t])
    shuffle(sequence.items, s.d, state)
    # The place of a node that is not placed yet is -1.
    memset(s.place, 255, s.d * sizeof(int32_t))
    stack.size = 0
    for t in range(s.d):
        push(stack, sequence.items[t])
        while stack.size:
            v = stack.items[stack.size - 1]
            fit = s.fits + v
            ready = True
            if s.place[v] < 0:
                for a in range(fit.k):
                    if s.place[fit.parents[a]] < 0:
                        ready = False
                        push(stack, fit.parents[a])
            if ready:
                stack.size -= 1
                if s.place[v] < 0:
                    s.order[done] = v
                    s.place[v] = <int32_t> done
                    done += 1
    return 0
