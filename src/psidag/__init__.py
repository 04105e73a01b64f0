"""psidag learns directed acyclic graphs from data.

``PsiDAG`` is the estimator, ``learn_dag`` the function beneath it, ``bootstrap`` says how sure they can be;
``psidag.exchange`` takes graphs to other tools and back; ``psidag.simulate``, ``psidag.metrics`` and
``psidag.datasets`` are the field around them. What is named here is the API.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from psidag import exchange
from psidag.data.cluster import cluster
from psidag.data.moments import Moments
from psidag.engines.exact import Exact
from psidag.engines.sparse import Sparse
from psidag.engines.stochastic import Stochastic
from psidag.graph import metrics
from psidag.graph.constraints import Constraints
from psidag.graph.dag import DAG
from psidag.learning.bootstrap import BootstrapInterrupted, bootstrap
from psidag.learning.compare import compare
from psidag.learning.given import fit_dag, fit_order
from psidag.learning.learn import Interrupted, learn_dag
from psidag.learning.path import PenaltyPath, penalty_path
from psidag.solution import Confidence, Solution
from psidag.stages.projection import project
from psidag.stages.steps import SGD, Universal
from psidag.system.errors import DataWarning, InputError

if TYPE_CHECKING:
    from psidag.estimator import PsiDAG

__version__ = "0.1.0"

__all__ = [
    "DAG",
    "SGD",
    "BootstrapInterrupted",
    "Confidence",
    "Constraints",
    "DataWarning",
    "Exact",
    "InputError",
    "Interrupted",
    "Moments",
    "PenaltyPath",
    "PsiDAG",
    "Solution",
    "Sparse",
    "Stochastic",
    "Universal",
    "bootstrap",
    "cluster",
    "compare",
    "exchange",
    "fit_dag",
    "fit_order",
    "learn_dag",
    "metrics",
    "penalty_path",
    "project",
]


def __getattr__(name: str) -> Any:
    # scikit-learn takes a second to import and brings pandas along where that is installed.
    if name == "PsiDAG":
        from psidag.estimator import PsiDAG

        return PsiDAG
    raise AttributeError(f"module 'psidag' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
