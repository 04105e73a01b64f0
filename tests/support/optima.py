"""What may be asked of two searches that round differently.

Two numerical routes to a local optimum need not end in the same one, on one processor or on two. What rounding cannot
change is that both end at graphs of equal standing: scores no further apart than the price of an edge, and nearly all
edges in common.
"""

import math

from psidag.graph.equivalence import cpdag
from psidag.graph.metrics import shd
from psidag.stages.within_order import search_penalty


def score_gap(one, other, n, d):
    """By how many units of twice the log-likelihood the penalised losses of two candidates differ."""
    return n * d * abs(math.log(one.loss / other.loss))


def assert_equal_standing(one, other, n, d, noise, share=0.02):
    """The scores are within one penalty and the graphs (or their classes) differ in few edges."""
    assert score_gap(one, other, n, d) < search_penalty(n, d)
    graphs = one.weights, other.weights
    if noise == "unequal":
        graphs = tuple(map(cpdag, graphs))
    assert shd(*graphs) <= share * one.weights.nnz
