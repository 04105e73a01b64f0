# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Prior knowledge as the kernels ask for it."""

from libc.stdint cimport int32_t


cdef struct Rules:
    # By node. Lists of j are items[start[j]] ... items[start[j + 1] - 1], ascending.
    bint ordered                    # whether there are tiers or required edges
    const int32_t* tier             # -1 for none
    const int32_t* required_start
    const int32_t* required
    const int32_t* forbidden_start
    const int32_t* forbidden


cdef inline bint is_listed(const int32_t* start, const int32_t* items, Py_ssize_t j, int32_t i) noexcept nogil:
    """Whether i is on the list of j: there may be thousands of forbidden parents."""
    cdef Py_ssize_t low = start[j], high = start[j + 1], middle
    while low < high:
        middle = (low + high) // 2
        if items[middle] < i:
            low = middle + 1
        else:
            high = middle
    return low < start[j + 1] and items[low] == i


cdef inline bint may_point(const Rules* rules, int32_t i, int32_t j) noexcept nogil:
    """Whether i -> j is not forbidden."""
    return not is_listed(rules.forbidden_start, rules.forbidden, j, i)


cdef inline bint must_precede(const Rules* rules, int32_t i, int32_t j) noexcept nogil:
    """Whether tiers or a required edge put i before j."""
    if rules.tier[i] >= 0 and rules.tier[j] >= 0 and rules.tier[i] < rules.tier[j]:
        return True
    return is_listed(rules.required_start, rules.required, j, i)


cdef class Knowledge:
    cdef Rules rules
    cdef object _held
