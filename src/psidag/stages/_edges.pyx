# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""A DAG whose edges come and go one at a time.

Not plain Python because every change asks whether another way leads from one node to another: at 10,000 nodes that
question alone takes a millisecond there and some microseconds here.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy, memmove


cdef struct Bag:
    # A list of nodes, ascending.
    Py_ssize_t size
    Py_ssize_t room
    int32_t* items


cdef inline Py_ssize_t where(Bag* bag, int32_t item) noexcept nogil:
    """The first place of an item that is not less."""
    cdef Py_ssize_t low = 0, high = bag.size, middle
    while low < high:
        middle = (low + high) // 2
        if bag.items[middle] < item:
            low = middle + 1
        else:
            high = middle
    return low


cdef inline int put(Bag* bag, int32_t item) noexcept nogil:
    cdef void* p
    cdef Py_ssize_t at
    if bag.size == bag.room:
        p = realloc(bag.items, (2 * bag.room + 4) * sizeof(int32_t))
        if p == NULL:
            return -1
        bag.items = <int32_t*> p
        bag.room = 2 * bag.room + 4
    at = where(bag, item)
    memmove(bag.items + at + 1, bag.items + at, (bag.size - at) * sizeof(int32_t))
    bag.items[at] = item
    bag.size += 1
    return 0


cdef inline bint holds(Bag* bag, int32_t item) noexcept nogil:
    cdef Py_ssize_t at = where(bag, item)
    return at < bag.size and bag.items[at] == item


cdef inline void take_out(Bag* bag, int32_t item) noexcept nogil:
    cdef Py_ssize_t at = where(bag, item)
    bag.size -= 1
    memmove(bag.items + at, bag.items + at + 1, (bag.size - at) * sizeof(int32_t))


cdef inline tuple listed(Bag* bag, Py_ssize_t d):
    """The items below d."""
    cdef Py_ssize_t a, size = bag.size
    while size and bag.items[size - 1] >= d:
        size -= 1
    return tuple([bag.items[a] for a in range(size)])


cdef class Edges:
    """A DAG with the parents and the children of each node, and an order in which every edge points forward.

    Parameters
    ----------
    d : int
        How many nodes there are to be seen. Further ones, numbered behind them, only take part in paths: with the edges
        that prior knowledge puts between them they rule out what it rules out.
    order : array of int
        An order of the graph.
    start, parents : arrays of int
        The parents of j are ``parents[start[j]:start[j + 1]]``.
    """

    cdef readonly Py_ssize_t d
    cdef Py_ssize_t size
    cdef Bag* up
    cdef Bag* down
    cdef int32_t* order
    cdef int32_t* place
    cdef int32_t* stack
    cdef uint8_t* mark

    def __cinit__(self, Py_ssize_t d, order, start, parents):
        self.d = d
        d = self.size = len(order)
        self.up = <Bag*> calloc(2 * d + 1, sizeof(Bag))
        self.order = <int32_t*> calloc(3 * d + 1, sizeof(int32_t))
        self.mark = <uint8_t*> calloc(d + 1, 1)
        if self.up == NULL or self.order == NULL or self.mark == NULL:
            raise MemoryError(f"no memory for a graph of {d} nodes")
        self.down = self.up + d
        self.place = self.order + d
        self.stack = self.order + 2 * d

    def __init__(self, Py_ssize_t d, const int32_t[::1] order, const int32_t[::1] start, const int32_t[::1] parents):
        cdef Py_ssize_t a, j
        for a in range(self.size):
            self.order[a] = order[a]
            self.place[order[a]] = <int32_t> a
        for j in range(self.size):
            for a in range(start[j], start[j + 1]):
                if self.place[parents[a]] >= self.place[j]:
                    raise ValueError(f"the edge {parents[a]} -> {j} points backwards in the order")
                if put(self.up + j, parents[a]) < 0 or put(self.down + parents[a], <int32_t> j) < 0:
                    raise MemoryError(f"no memory for a graph of {self.d} nodes")

    def __dealloc__(self):
        cdef Py_ssize_t a
        if self.up != NULL:
            for a in range(2 * self.size):
                free(self.up[a].items)
        free(self.up)
        free(self.order)
        free(self.mark)

    def parents(self, Py_ssize_t j):
        """The parents of a node, ascending."""
        return listed(self.up + j, self.d)

    def children(self, Py_ssize_t i):
        """The children of a node, ascending."""
        return listed(self.down + i, self.d)

    def has(self, int32_t i, int32_t j):
        """Whether i -> j is an edge."""
        return bool(holds(self.up + j, i))

    def leads(self, int32_t i, int32_t j, bint past_the_edge=False):
        """Whether a path goes from i to j; ``past_the_edge``: one of more than one edge."""
        return bool(self._leads(i, j, past_the_edge))

    def add(self, int32_t i, int32_t j):
        """Put in i -> j unless it closes a cycle; returns whether it is in now."""
        if i == j:
            return False
        if holds(self.up + j, i):
            return True
        if self.place[i] > self.place[j]:
            if self._leads(j, i, False):
                return False
            self._make_way(i, j)
        if put(self.up + j, i) < 0 or put(self.down + i, j) < 0:
            raise MemoryError(f"no memory for a graph of {self.d} nodes")
        return True

    def remove(self, int32_t i, int32_t j):
        """Take i -> j out if it is there."""
        if holds(self.up + j, i):
            take_out(self.up + j, i)
            take_out(self.down + i, j)

    def order_of(self):
        """The nodes in an order of the graph."""
        cdef Py_ssize_t a
        return [self.order[a] for a in range(self.size) if self.order[a] < self.d]

    cdef bint _leads(self, int32_t i, int32_t j, bint past_the_edge) noexcept nogil:
        cdef Py_ssize_t high = 1, seen = 1, a
        cdef int32_t v, w
        cdef bint found = False
        if self.place[i] >= self.place[j]:
            return False
        # Nodes that were seen stay in the stack's array below those that wait, to be unmarked.
        self.stack[0] = i
        self.mark[i] = 1
        seen = 0
        while seen < high and not found:
            v = self.stack[seen]
            seen += 1
            for a in range(self.down[v].size):
                w = self.down[v].items[a]
                if w == j:
                    if v != i or not past_the_edge:
                        found = True
                        break
                elif not self.mark[w] and self.place[w] < self.place[j]:
                    self.mark[w] = 1
                    self.stack[high] = w
                    high += 1
        for a in range(high):
            self.mark[self.stack[a]] = 0
        return found

    cdef void _make_way(self, int32_t i, int32_t j) noexcept nogil:
        """Move j and what descends from it behind i, which does not."""
        cdef Py_ssize_t low = self.place[j], high = self.place[i], a, b, kept = low, moved = 0
        cdef int32_t v
        self.mark[j] = 1
        for a in range(low, high + 1):
            v = self.order[a]
            if not self.mark[v]:
                for b in range(self.up[v].size):
                    if self.mark[self.up[v].items[b]]:
                        self.mark[v] = 1
                        break
            if self.mark[v]:
                self.stack[moved] = v
                moved += 1
            else:
                self.order[kept] = v
                kept += 1
        memcpy(self.order + kept, self.stack, moved * sizeof(int32_t))
        for a in range(low, high + 1):
            self.place[self.order[a]] = <int32_t> a
        for a in range(moved):
            self.mark[self.stack[a]] = 0
