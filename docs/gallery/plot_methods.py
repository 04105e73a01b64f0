"""
All methods on one problem
==========================

The engines and the baselines of the field have one interface; ``compare`` runs each in a process of its own and judges
all by the same ruler.
"""

# %%
# Twenty variables, equal variances: the conditions under which these methods were published.

import matplotlib.pyplot as plt

from psidag import compare
from psidag.baselines import Dagma, EqVar, Golem, Notears, SortRegress
from psidag.simulate import simulate

problem = simulate("ER2", n=1000, d=20, seed=1, n_test=1000)
methods = {
    "sparse (the default)": {"solver": "sparse"},
    "exact": {"solver": "exact"},
    "stochastic (ψDAG)": {"solver": "stochastic"},
    "EqVar": {"solver": EqVar()},
    "NOTEARS": {"solver": Notears(), "threshold": 0.3},
    "GOLEM": {"solver": Golem(max_iter=3000), "threshold": 0.3},
    "DAGMA": {"solver": Dagma(), "threshold": 0.3},
    "sort by variance, regress": {"solver": SortRegress()},
}
# Directions are judged by the truth here, so that nobody has to measure the evidence for them.
methods = {name: options | {"noise": "equal", "evidence": False} for name, options in methods.items()}
scores = compare(problem, methods, random_state=0, max_time=30)
print(scores)

# %%
# A threshold of 0.3, with which the three methods in the middle were published, removes weak edges that the data show
# well. That is most of the difference; `the benchmarks <../benchmarks/index.html>`_ have more problems and seeds.

table = scores.to_pandas()
fig, axes = plt.subplots(1, 2, figsize=(9.5, 4), sharey=True)
axes[0].barh(table["method"], table["shd"])
axes[0].set(xlabel=f"wrong edges (of {problem.dag.n_edges} true ones)")
axes[1].barh(table["method"], table["seconds"], color="C1")
axes[1].set(xlabel="seconds, with the first call of the kernels in a new process")
axes[0].invert_yaxis()
