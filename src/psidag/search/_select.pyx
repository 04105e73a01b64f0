# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Forward-backward selection of parents within an order.

Not plain NumPy because every node takes its own path through O(k d) updates with k of a few: at d = 1,000 the
interpreter's overhead alone is some 30 times this kernel's whole time.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free
from libc.string cimport memset

from psidag.data._entries cimport Entries, Matrix, entry
from psidag.scores._score cimport Score, make_score
from psidag.search._knowledge cimport Knowledge, Rules
from psidag.search._memory cimport zeros
from psidag.search._regression cimport WIDE, Regression, clear, find, release
from psidag.search._selection cimport All, Limits, forward_backward, read_row, take


cdef inline int select_for(const Matrix* S, int32_t j, Score* score, double sigma2, Limits* limits, const Rules* rules,
                           const uint8_t* before, Regression* fit, All* all, double* scratch) except -1 nogil:
    """The regression of j on required parents and on those that pay among the nodes before it."""
    cdef Py_ssize_t i, a
    clear(fit, entry(S, j, j))
    read_row(S, j, all.r)
    for i in range(S.d):
        all.delta[i] = entry(S, i, i) if before[i] else INFINITY
        all.open[i] = before[i]
    for a in range(rules.required_start[j], rules.required_start[j + 1]):
        take(S, rules.required[a], j, fit, all, scratch)
    fit.locked = fit.k
    for a in range(rules.forbidden_start[j], rules.forbidden_start[j + 1]):
        all.open[rules.forbidden[a]] = 0
    if fit.variance > 0:
        forward_backward(S, j, score, sigma2, limits, fit, all, scratch)
    return 0


def select(
    Entries S, double n, const int32_t[::1] order, Py_ssize_t first, Py_ssize_t last, double penalty,
    const double[::1] sigma2, Py_ssize_t max_parents, Knowledge knowledge, int64_t[::1] ends, int32_t[::1] parents,
    double[::1] weights, double[::1] variances,
):
    """Select parents of the nodes order[first] … order[last - 1] from those before them, one node after the other.

    The matrix is held whole. Parents and weights are written without gaps, those of a node up to its end. Returns how
    many nodes fitted into the room they have; the caller goes on from there with more.
    """
    cdef Matrix* base = &S.matrix
    cdef Py_ssize_t d = base.d, t, a, used = 0, done = 0
    cdef int32_t j, i
    cdef Score score = make_score(n, penalty)
    cdef Rules* rules = &knowledge.rules
    cdef Limits limits
    cdef Regression fit
    cdef All all
    cdef double* numbers = NULL
    cdef double* scratch
    cdef uint8_t* before
    limits.max_parents = max_parents
    # Each addition and each drop lowers the score; this is for where rounding makes it go round in circles.
    limits.max_additions = 4 * d
    memset(&fit, 0, sizeof(Regression))
    all.open = NULL
    try:
        numbers = <double*> zeros((3 + WIDE) * d, sizeof(double))
        all.open = <uint8_t*> zeros(2 * d, 1)
        all.r = numbers
        all.delta = numbers + d
        all.q = numbers + 2 * d
        scratch = numbers + 3 * d
        before = all.open + d
        with nogil:
            for t in range(first):
                before[order[t]] = 1
            for t in range(first, last):
                j = order[t]
                select_for(base, j, &score, sigma2[j], &limits, rules, before, &fit, &all, scratch)
                before[j] = 1
                if used + fit.k + rules.required_start[j + 1] - rules.required_start[j] > parents.shape[0]:
                    break
                for a in range(fit.k):
                    parents[used + a] = fit.parents[a]
                    weights[used + a] = fit.b[a]
                used += fit.k
                # A required parent that is collinear with others is an edge of weight zero.
                for a in range(rules.required_start[j], rules.required_start[j + 1]):
                    i = rules.required[a]
                    if find(&fit, i) < 0:
                        parents[used] = i
                        weights[used] = 0
                        used += 1
                ends[done] = used
                variances[done] = fit.v
                done += 1
    finally:
        free(numbers)
        free(all.open)
        release(&fit)
    return done
