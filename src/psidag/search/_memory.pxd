# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Memory of the kernels: what cannot be had is a MemoryError, wherever it is found out."""

from libc.stdint cimport int32_t
from libc.stdlib cimport calloc, free, malloc, realloc


cdef inline int no_memory() except -1 nogil:
    with gil:
        raise MemoryError("no memory for the regressions of the search")


cdef inline void* zeros(Py_ssize_t count, size_t size) except NULL nogil:
    """Room for this many zeros; at least one."""
    cdef void* p = calloc(count if count > 0 else 1, size)
    if p == NULL:
        no_memory()
    return p


cdef inline void* resized(void* p, size_t size) except NULL nogil:
    """The same memory with another size; what is there stays."""
    cdef void* q = realloc(p, size)
    if q == NULL:
        no_memory()
    return q


cdef struct Bag:
    # A list of nodes that grows.
    Py_ssize_t size
    Py_ssize_t room
    int32_t* items


cdef inline int push(Bag* bag, int32_t item) except -1 nogil:
    if bag.size == bag.room:
        bag.items = <int32_t*> resized(bag.items, (2 * bag.room + 4) * sizeof(int32_t))
        bag.room = 2 * bag.room + 4
    bag.items[bag.size] = item
    bag.size += 1
    return 0


cdef inline int refill(Bag* bag, const int32_t* items, Py_ssize_t count) except -1 nogil:
    """Make the list these nodes."""
    cdef Py_ssize_t a
    bag.size = 0
    for a in range(count):
        push(bag, items[a])
    return 0


cdef inline void take_out(Bag* bag, int32_t item) noexcept nogil:
    """Take a node out; the last one moves into its place."""
    cdef Py_ssize_t a
    for a in range(bag.size):
        if bag.items[a] == item:
            bag.size -= 1
            bag.items[a] = bag.items[bag.size]
            return
