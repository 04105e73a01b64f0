"""What a learner returns: the DAG, why the run stopped, and the answers that a fitted model can give."""

from psidag.solution.confidence import Confidence
from psidag.solution.origin import Origin
from psidag.solution.solution import Solution
from psidag.solution.status import Candidate, Fitted, Round, Status, StatusCode

__all__ = ["Candidate", "Confidence", "Fitted", "Origin", "Round", "Solution", "Status", "StatusCode"]
