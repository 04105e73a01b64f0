"""What two runs must have in common to the last bit."""

import numpy as np

#: What is counted over replicates.
REPLICATED = ("sources", "targets", "times", "weight_mean", "weight_scatter")


def same(a, b):
    """Two confidences over replicates."""
    assert a.replicates == b.replicates
    for key in REPLICATED:
        np.testing.assert_array_equal(getattr(a, key), getattr(b, key))


def essence(solution):
    """All of a solution that two runs must share, as bytes and text."""
    candidate = solution.candidate
    weights = [solution.dag.weights.toarray(), getattr(candidate.weights, "toarray", lambda: candidate.weights)()]
    arrays = [*weights, solution.order, candidate.order, solution.residual_variance, solution.standard_error]
    trace = [row._replace(seconds=0.0) for row in solution.trace]
    return [array.tobytes() for array in arrays], repr(trace), solution.status, repr(candidate.loss)
