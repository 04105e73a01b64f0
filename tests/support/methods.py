"""Every engine and baseline, for tests that all of them must pass."""

from psidag import Stochastic
from psidag.baselines import Dagma, EqVar, Golem, Notears, SortRegress
from psidag.learning.plan import ENGINES

#: With options that make it quick where it need not be good.
METHODS = {
    **{name: name for name in ENGINES},
    "stochastic": Stochastic(tau1=20, tau2=20, max_rounds=3),
    "eqvar": EqVar(),
    "sort by variance": SortRegress(),
    "notears": Notears(max_rounds=3),
    "golem": Golem(max_iter=300, checkpoint=100),
    "dagma": Dagma(stages=2, warm_iter=100, max_iter=200, checkpoint=50),
}
