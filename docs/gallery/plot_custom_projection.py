"""
A projection of your own
========================

Where the order comes from is an object with one method. Yours needs no change to the library.
"""

# %%
# Two of our own, from the weights after A1: by what a variable has on others, and (as a floor) any at all.

import warnings
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np

from psidag import DataWarning, Exact, learn_dag
from psidag.simulate import simulate


@dataclass(frozen=True)
class ByEffect:
    """Variables in descending sum of what they have on others."""

    def order(self, seen):
        return seen.constraints.nearest_order(np.argsort(-np.abs(seen.weights).sum(axis=1)))


@dataclass(frozen=True)
class AtRandom:
    """Any order."""

    seed: int

    def order(self, seen):
        rng = np.random.default_rng(self.seed)
        return seen.constraints.nearest_order(rng.permutation(len(seen.weights)))


# %%
# Each is given to the exact engine on five problems, beside ψ and the order from the model that the engine ended with
# in the round before. What is counted are true edges that point backwards in the order. An order that is wrong leaves
# residual variances that differ, of which the engine warns; the warning is silenced here.

warnings.simplefilter("ignore", DataWarning)
seeds = range(5)
backwards = {"ψ": [], "by effect": [], "at random": [], "from the model": []}
for seed in seeds:
    problem = simulate("ER2", d=30, n=2000, seed=seed)
    orderings = ("psi", ByEffect(), AtRandom(seed), "model")
    for ordering, found in zip(orderings, backwards.values(), strict=True):
        solution = learn_dag(problem.X, Exact(ordering=ordering), noise="equal", random_state=0, evidence=False)
        found.append(problem.compare(solution.dag)["order_errors"])

fig, ax = plt.subplots()
for k, (name, found) in enumerate(backwards.items()):
    ax.plot(found, np.full(len(found), k), "o", color=f"C{k}")
    print(f"{name}: {found}")
ax.set(yticks=range(4), yticklabels=list(backwards), xlabel="true edges that point backwards, five problems")
