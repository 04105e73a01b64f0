# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The kernels' side of a score (psidag.scores.score.SearchScore): what a node costs, by its residual variance v.

n v / sigma2 + penalty k for a node whose noise variance sigma2 > 0 is known; n log v + penalty k for one that has its
own (sigma2 = 0). A score that the kernels are to search with is a choice of sigma2 for each node; any other cost of a
node is a function here, and a field of the struct that says which.
"""

from libc.math cimport expm1, log


cdef struct Score:
    double n
    double penalty
    double add_share        # 1 - exp(-penalty / n)
    double drop_share       # exp(penalty / n) - 1, less a billionth (see least_loss)


cdef inline Score make_score(double n, double penalty) noexcept nogil:
    cdef Score score
    score.n = n
    score.penalty = penalty
    score.add_share = -expm1(-penalty / n)
    score.drop_share = expm1(penalty / n) * (1 - 1e-9)
    return score


cdef inline double cost(Score* score, double sigma2, double v, Py_ssize_t k) noexcept nogil:
    """What a node costs that has k parents, which leave v of it."""
    if sigma2 > 0:
        return score.n * v / sigma2 + score.penalty * k
    return score.n * log(v) + score.penalty * k


cdef inline double least_gain(Score* score, double sigma2, double v) noexcept nogil:
    """One more parent pays if v falls by more than this."""
    if sigma2 > 0:
        return score.penalty * sigma2 / score.n
    return v * score.add_share


cdef inline double least_loss(Score* score, double sigma2, double v) noexcept nogil:
    """A parent has to go if v rises by no more than this without it.

    A billionth less than what it costs: a parent that has just come in because it pays must not leave by rounding,
    or selection would never end.
    """
    if sigma2 > 0:
        return score.penalty * sigma2 / score.n * (1 - 1e-9)
    return v * score.drop_share
