# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The elementwise half of a stochastic gradient step, fused into two passes over the d x d arrays.

As NumPy expressions it is some fifteen passes and takes eleven times as long at d = 500.
"""

ctypedef fused real:
    float
    double


def advance(real[:, ::1] W, real[:, ::1] average, real[:, ::1] G, double step, double shrink, double share):
    """W <- shrink (W - step G); average <- average + share (W - average); G <- the move of W. Overwrites all.

    Returns <move, G before>, |move|² and |W|² after.
    """
    cdef Py_ssize_t rows = W.shape[0], cols = W.shape[1], i, j
    cdef double along = 0, length = 0, size = 0
    cdef real row_along, row_length, row_size, new, move
    cdef real s = <real>step, f = <real>shrink, t = <real>share
    cdef real *w
    cdef real *a
    cdef real *g
    with nogil:
        for i in range(rows):
            w = &W[i, 0]
            a = &average[i, 0]
            g = &G[i, 0]
            row_along = row_length = row_size = 0
            for j in range(cols):
                new = f * (w[j] - s * g[j])
                move = new - w[j]
                row_along += move * g[j]
                row_length += move * move
                row_size += new * new
                w[j] = new
                a[j] += t * (new - a[j])
                g[j] = move
            along += row_along
            length += row_length
            size += row_size
    return along, length, size


def measure(real[:, ::1] G, const unsigned char[:, ::1] free, const real[:, ::1] move, const real[:, ::1] W):
    """G <- G where free, else 0. Returns <move, G>, |G|² and <W, G>."""
    cdef Py_ssize_t rows = G.shape[0], cols = G.shape[1], i, j
    cdef double along = 0, length = 0, inner = 0
    cdef real row_along, row_length, row_inner, open_gradient
    cdef real *g
    cdef const real *m
    cdef const real *w
    cdef const unsigned char *open
    with nogil:
        for i in range(rows):
            g = &G[i, 0]
            m = &move[i, 0]
            w = &W[i, 0]
            open = &free[i, 0]
            row_along = row_length = row_inner = 0
            for j in range(cols):
                open_gradient = g[j] * <real>open[j]
                g[j] = open_gradient
                row_along += m[j] * open_gradient
                row_length += open_gradient * open_gradient
                row_inner += w[j] * open_gradient
            along += row_along
            length += row_length
            inner += row_inner
    return along, length, inner
