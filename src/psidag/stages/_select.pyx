# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Forward-backward selection of parents within an order.

Not plain NumPy because every node takes its own path through O(k d) updates with k of a few: at d = 1,000 the
interpreter's overhead alone is some 30 times this kernel's whole time.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from psidag.data._entries cimport Matrix, rounding
from psidag.stages._regression cimport (
    Regression, Score, add, clear, combine, drop, find, hold, least_gain, least_loss, make_score, real, release, reserve,
    weakest,
)
from psidag.stages._settle cimport settle


cdef struct Candidates:
    # For every node of the graph, given the parents of j so far.
    double* r               # covariance with the residual of j
    double* delta           # conditional variance
    double* q               # scratch
    double* u               # scratch of the regression
    uint8_t* open           # whether it may become a parent


cdef inline int take(const real* S, Py_ssize_t d, Py_ssize_t j, Py_ssize_t i, Regression* fit,
                     Candidates* all) noexcept nogil:
    """Make i a parent and bring the candidates up to date; 0 when it is collinear, -1 when memory is out."""
    cdef Py_ssize_t a, k = fit.k
    cdef double beta, precision
    cdef double* q = all.q
    cdef const real* row = S + i * d
    cdef Matrix matrix
    hold(&matrix, S, d)
    all.open[i] = 0
    if reserve(fit, k + 1) < 0:
        return -1
    if not add(&matrix, i, j, fit, all.u):
        return 0
    for a in range(k):
        all.u[a] = -all.u[a]
    for a in range(d):
        q[a] = row[a]
    combine(S, d, fit, all.u, k, q)
    beta = fit.b[k]
    precision = fit.M[k * fit.room + k]
    for a in range(d):
        all.r[a] -= q[a] * beta
        all.delta[a] -= q[a] * q[a] * precision
    settle(&matrix, j, fit, all.u)
    return 1


cdef inline void give_up(const real* S, Py_ssize_t d, Py_ssize_t j, Regression* fit, Py_ssize_t w,
                         Candidates* all) noexcept nogil:
    """Take parent number w out and bring the candidates up to date."""
    cdef Py_ssize_t a
    cdef double m = fit.M[w * fit.room + w], bw = fit.b[w]
    cdef double* q = all.q
    cdef Matrix matrix
    hold(&matrix, S, d)
    for a in range(fit.k):
        all.u[a] = fit.M[w * fit.room + a] / m
    memset(q, 0, d * sizeof(double))
    combine(S, d, fit, all.u, fit.k, q)
    for a in range(d):
        all.r[a] += q[a] * bw
        all.delta[a] += q[a] * q[a] * m
    all.open[fit.parents[w]] = 1
    drop(fit, w, all.u)
    settle(&matrix, j, fit, all.u)


cdef inline int forward_backward(const real* S, Py_ssize_t d, Py_ssize_t j, double sigma2, Score* score,
                                 Py_ssize_t max_parents, Regression* fit, Candidates* all) noexcept nogil:
    """Add the best candidate while it pays, and after each addition drop what no longer pays."""
    cdef Py_ssize_t i, w, best
    cdef double least, loss, tiny
    cdef Matrix matrix
    hold(&matrix, S, d)
    tiny = rounding(&matrix)
    while True:
        # The newest parent has just paid for itself: it is not looked at again before another one comes.
        while fit.k > 1:
            w = weakest(fit, fit.k - 1, &loss)
            if w < 0 or loss > least_loss(score, sigma2, fit.v):
                break
            give_up(S, d, j, fit, w, all)
        if fit.k >= max_parents or fit.v <= tiny * fit.variance:
            return 0
        best = -1
        least = least_gain(score, sigma2, fit.v)
        for i in range(d):
            if all.r[i] * all.r[i] > least * all.delta[i]:
                if all.open[i] and all.delta[i] > tiny * S[i * d + i]:
                    best = i
                    least = all.r[i] * all.r[i] / all.delta[i]
        if best < 0:
            return 0
        if take(S, d, j, best, fit, all) < 0:
            return -1


def select(
    const real[:, ::1] S, double n, const int32_t[::1] order, Py_ssize_t first, Py_ssize_t last, double penalty,
    const double[::1] sigma2, Py_ssize_t max_parents,
    const int32_t[::1] required_start, const int32_t[::1] required,
    const int32_t[::1] forbidden_start, const int32_t[::1] forbidden,
    int64_t[::1] ends, int32_t[::1] parents, double[::1] weights, double[::1] variances,
):
    """Fill ends, parents, weights and variances for order[first:last], one node after the other.

    Parents and weights are written without gaps, those of a node up to its end. Returns how many nodes fitted into the room they have;
    the caller goes on from there with more. Lists of required and forbidden parents of j are ``list[start[j]:start[j + 1]]``.
    """
    cdef Py_ssize_t d = S.shape[0], t, a, j, i, used = 0, done = 0, code = 0
    cdef const real* base = &S[0, 0]
    cdef Score score = make_score(n, penalty)
    cdef Regression fit
    cdef Candidates all
    cdef uint8_t* before
    memset(&fit, 0, sizeof(Regression))
    all.r = <double*> malloc(5 * d * sizeof(double))
    all.open = <uint8_t*> malloc(2 * d)
    if all.r == NULL or all.open == NULL or reserve(&fit, 16) < 0:
        code = -1
    all.delta = all.r + d
    all.q = all.r + 2 * d
    all.u = all.r + 3 * d
    with nogil:
        before = all.open + d
        if code == 0:
            memset(before, 0, d)
            for t in range(first):
                before[order[t]] = 1
        for t in range(first, last):
            if code < 0:
                break
            j = order[t]
            clear(&fit, base[j * d + j])
            for i in range(d):
                all.r[i] = base[j * d + i]
                all.delta[i] = base[i * d + i] if before[i] else INFINITY
                all.open[i] = before[i]
            for a in range(required_start[j], required_start[j + 1]):
                if take(base, d, j, required[a], &fit, &all) < 0:
                    code = -1
            fit.locked = fit.k
            for a in range(forbidden_start[j], forbidden_start[j + 1]):
                all.open[forbidden[a]] = 0
            if fit.variance > 0 and forward_backward(base, d, j, sigma2[j], &score, max_parents, &fit, &all) < 0:
                code = -1
            before[j] = 1
            if code < 0 or used + fit.k + required_start[j + 1] - required_start[j] > parents.shape[0]:
                break
            for a in range(fit.k):
                parents[used + a] = fit.parents[a]
                weights[used + a] = fit.b[a]
            used += fit.k
            # A required parent that is collinear with others is an edge of weight zero.
            for a in range(required_start[j], required_start[j + 1]):
                if find(&fit, required[a]) < 0:
                    parents[used] = required[a]
                    weights[used] = 0
                    used += 1
            ends[done] = used
            variances[done] = fit.v
            done += 1
    free(all.r)
    free(all.open)
    release(&fit)
    if code < 0:
        raise MemoryError("no memory for the regressions of one node")
    return done
