"""What a learner returns: the DAG, why the run stopped, and the answers that a fitted model can give."""

from psidag.solution.confidence import Confidence
from psidag.solution.origin import Origin
from psidag.solution.solution import Solution

__all__ = ["Confidence", "Origin", "Solution"]
