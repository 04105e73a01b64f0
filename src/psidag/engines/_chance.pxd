# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Random members of an equivalence class, and random orders of a DAG."""

from libc.stdint cimport int32_t, uint64_t
from libc.string cimport memset

from psidag.data._entries cimport Matrix
from psidag.engines._state cimport State, become, make_way, may_point, must_precede, push
from psidag.stages._regression cimport Regression, find


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


cdef inline int reverse(const Matrix* S, State* s, int32_t i, int32_t j) noexcept nogil:
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


cdef inline int random_order(State* s, uint64_t* state) noexcept nogil:
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
