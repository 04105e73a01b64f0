"""What a learner returns: the DAG, why the run stopped, and the answers that a fitted model can give."""

from psidag.solution.solution import Solution
from psidag.solution.status import Candidate, Fitted, Round, Status, StatusCode

__all__ = ["Candidate", "Fitted", "Round", "Solution", "Status", "StatusCode"]
