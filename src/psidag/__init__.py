"""psidag learns directed acyclic graphs from data.

``PsiDAG`` is the estimator, ``learn_dag`` the function beneath it, ``bootstrap`` says how sure they can be;
``psidag.exchange`` takes graphs to other tools and back; ``psidag.simulate``, ``psidag.metrics`` and
``psidag.datasets`` are the field around them. What is named here is the API.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from psidag import exchange
    from psidag.data.cluster import cluster
    from psidag.data.interventions import Interventions
    from psidag.data.moments import Moments
    from psidag.engines.exact import Exact
    from psidag.engines.sparse import Sparse
    from psidag.engines.stochastic import Stochastic
    from psidag.estimator import PsiDAG
    from psidag.graph import metrics
    from psidag.graph.constraints import Constraints
    from psidag.graph.dag import DAG
    from psidag.learning.bootstrap import BootstrapInterrupted, bootstrap
    from psidag.learning.check_interventions import check_interventions
    from psidag.learning.compare import compare
    from psidag.learning.given import fit_dag, fit_order
    from psidag.learning.learn import Interrupted, learn_dag
    from psidag.learning.path import PenaltyPath, penalty_path
    from psidag.solution import Confidence, Solution
    from psidag.stages.projection import project
    from psidag.stages.steps import SGD, Universal
    from psidag.system.errors import DataWarning, InputError
    from psidag.tables.lagged import lagged
    from psidag.tables.prepare import prepare

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
    "Interventions",
    "Moments",
    "PenaltyPath",
    "PsiDAG",
    "Solution",
    "Sparse",
    "Stochastic",
    "Universal",
    "bootstrap",
    "check_interventions",
    "cluster",
    "compare",
    "exchange",
    "fit_dag",
    "fit_order",
    "lagged",
    "learn_dag",
    "metrics",
    "penalty_path",
    "prepare",
    "project",
]

#: Where each name lives. Looked up when it is first asked for: NumPy, SciPy and scikit-learn take a second to import,
#: which ``psidag --version`` does not need, and during which the command line could not answer Ctrl-C.
_HOMES = {
    "cluster": "psidag.data.cluster",
    "Moments": "psidag.data.moments",
    "Exact": "psidag.engines.exact",
    "Sparse": "psidag.engines.sparse",
    "Stochastic": "psidag.engines.stochastic",
    "PsiDAG": "psidag.estimator",
    "Interventions": "psidag.data.interventions",
    "Constraints": "psidag.graph.constraints",
    "DAG": "psidag.graph.dag",
    "BootstrapInterrupted": "psidag.learning.bootstrap",
    "bootstrap": "psidag.learning.bootstrap",
    "check_interventions": "psidag.learning.check_interventions",
    "compare": "psidag.learning.compare",
    "Interrupted": "psidag.learning.learn",
    "fit_dag": "psidag.learning.given",
    "fit_order": "psidag.learning.given",
    "learn_dag": "psidag.learning.learn",
    "PenaltyPath": "psidag.learning.path",
    "penalty_path": "psidag.learning.path",
    "Confidence": "psidag.solution",
    "Solution": "psidag.solution",
    "project": "psidag.stages.projection",
    "SGD": "psidag.stages.steps",
    "Universal": "psidag.stages.steps",
    "lagged": "psidag.tables.lagged",
    "prepare": "psidag.tables.prepare",
    "DataWarning": "psidag.system.errors",
    "InputError": "psidag.system.errors",
}
_MODULES = {"exchange": "psidag.exchange", "metrics": "psidag.graph.metrics"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif name.startswith("_"):
        raise AttributeError(f"module 'psidag' has no attribute {name!r}")
    else:
        home = _MODULES.get(name, f"psidag.{name}")
        try:
            value = import_module(home)
        except ModuleNotFoundError as error:
            if error.name != home:
                raise
            raise AttributeError(f"module 'psidag' has no attribute {name!r}") from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
