"""
The same answer on another machine
==================================

The same seed gives the same bits on one machine, on any number of threads. Another processor rounds sums differently.
What can that change?
"""

# %%
# We imitate another processor by noise of the size of rounding, twenty times, on a table with little to go by: 80 rows
# of 40 variables.

import matplotlib.pyplot as plt
import numpy as np

from psidag import learn_dag
from psidag.simulate import simulate

problem = simulate("ER2", d=40, n=80, seed=6, standardise="data")
rng = np.random.default_rng(0)


def learn(X):
    return learn_dag(X, noise="unequal", names=problem.names, random_state=0, evidence=False)


first = learn(problem.X)
again = [learn(problem.X) for _ in range(3)]
others = [learn(problem.X * (1 + 1e-14 * rng.normal(size=problem.X.shape))) for _ in range(20)]

# %%
# On the same bits the answer is the same to the last one. Under another rounding the search, which is local, may settle
# at another optimum of equal standing: compare scores and connections, not arrows.


def pairs(solution):
    return {frozenset(edge[:2]) for edge in solution.dag.edges()}


shared = [len(pairs(first) & pairs(each)) / len(pairs(first) | pairs(each)) for each in others]
scores = [each.score(problem.X) for each in others]
print("the same bits again:", all((each.dag.to_dense() == first.dag.to_dense()).all() for each in again))
print(f"connections in common: {100 * min(shared):.0f} % at least")

fig, axes = plt.subplots(1, 2, figsize=(8.5, 3.4))
axes[0].hist(np.multiply(shared, 100), bins=np.linspace(80, 100, 21))
axes[0].set(xlabel="connections in common with the first run, %", ylabel="runs")
axes[1].plot(np.subtract(scores, first.score(problem.X)), "o")
axes[1].set(xlabel="run", ylabel="mean log-likelihood, difference", ylim=(-1, 1))
