# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""A symmetric matrix as the kernels of the search see it: by entries."""

from libc.stdlib cimport calloc, free
from libc.string cimport memset

from psidag.data._entries cimport Product, entry

#: Products remembered for each column, at least; 16 bytes each.
cdef enum:
    REMEMBERED = 128


cdef class Entries:
    """Entries of a d x d matrix that is given (``single`` or ``double``), or of the products of d ``columns``.

    Columns are rows of an array, of unit length or zero. Products that are asked for one after the other are
    remembered; that is for one thread at a time.
    """

    def __cinit__(self):
        memset(&self.matrix, 0, sizeof(self.matrix))

    def __init__(self, const float[:, ::1] single=None, const double[:, ::1] double=None,
                 const float[:, ::1] columns=None):
        cdef Py_ssize_t slots = 1
        cdef int bits = 0
        self._held = (single, double, columns)
        if single is not None:
            self.matrix.d = single.shape[0]
            self.matrix.single = &single[0, 0]
        elif double is not None:
            self.matrix.d = double.shape[0]
            self.matrix.precise = &double[0, 0]
        else:
            self.matrix.d = columns.shape[0]
            self.matrix.n = columns.shape[1]
            self.matrix.columns = &columns[0, 0]
            while slots < REMEMBERED * self.matrix.d:
                slots *= 2
                bits += 1
            self.matrix.shift = 64 - bits
            self.matrix.cache = <Product*> calloc(slots, sizeof(Product))
            if self.matrix.cache == NULL:
                raise MemoryError(f"no memory for the products of {self.matrix.d} columns")

    def __dealloc__(self):
        free(self.matrix.cache)

    def __getitem__(self, pair):
        """One entry."""
        cdef Py_ssize_t i, j
        i, j = pair
        if not (0 <= i < self.matrix.d and 0 <= j < self.matrix.d):
            raise IndexError(f"no entry {pair} in a matrix of {self.matrix.d} columns")
        return entry(&self.matrix, i, j)
