"""What one compares with: NOTEARS, GOLEM, DAGMA, EqVar, sort-and-regress; each is an engine on moments."""

from psidag.baselines.dagma import Dagma
from psidag.baselines.eqvar import EqVar
from psidag.baselines.golem import Golem
from psidag.baselines.notears import Notears
from psidag.baselines.sort_regress import SortRegress

#: The baselines by the names that users know them by.
BASELINES = {
    "eqvar": EqVar,
    "sort-regress": SortRegress,
    "notears": Notears,
    "golem": Golem,
    "dagma": Dagma,
}

__all__ = ["BASELINES", "Dagma", "EqVar", "Golem", "Notears", "SortRegress"]
