"""Every engine and baseline with options that end soon: the rows of tables that all of them join."""

from psidag import Exact, Sparse, Stochastic
from psidag.baselines import Dagma, EqVar, Golem, Notears, SortRegress

METHODS = {
    "sparse": {"solver": Sparse()},
    "sparse unequal": {"solver": Sparse(), "noise": "unequal"},
    "exact": {"solver": Exact(gradient_steps=10, max_rounds=3)},
    "stochastic": {"solver": Stochastic(tau1=20, tau2=20, max_rounds=2)},
    "EqVar": {"solver": EqVar()},
    "sort-and-regress": {"solver": SortRegress()},
    "NOTEARS": {"solver": Notears(rho_max=1e6)},
    "GOLEM": {"solver": Golem(max_iter=300, checkpoint=100)},
    "GOLEM unequal": {"solver": Golem(max_iter=300, checkpoint=100), "noise": "unequal"},
    "DAGMA": {"solver": Dagma(warm_iter=200, max_iter=300, checkpoint=100)},
}
