"""
A score of your own
===================

What a graph costs is an object: how the noise variances follow from the residual variances of a graph, and how to
search with it. Yours goes in as ``noise=``.
"""

# %%
# Instruments of two makes: the second half of the variables is measured with twice the standard deviation. Neither
# "equal" nor "unequal" says that; a score with one variance for each make does.

import warnings
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np

from psidag import DataWarning, learn_dag
from psidag.scores.gaussian import EQUAL, GaussianScore
from psidag.simulate import simulate


@dataclass(frozen=True)
class TwoMakes(GaussianScore):
    """One noise variance for each of two groups of variables."""

    first: int
    name = "two makes"
    title = "one noise variance for each make"
    own_variances = False
    policy = EQUAL.policy

    def noise_variance(self, residual_variance):
        groups = np.split(residual_variance, [self.first])
        return np.concatenate([np.full(len(v), v[v > 0].mean() if (v > 0).any() else 1.0) for v in groups])


# %%
# Five problems of 30 variables.

scale = np.repeat([1.0, 2.0], 15)
errors = {"equal": [], "unequal": [], "two makes": []}
with warnings.catch_warnings():
    warnings.simplefilter("ignore", DataWarning)
    for seed in range(5):
        problem = simulate("ER2", d=30, n=1000, seed=seed, scale=scale)
        for name, noise in (("equal", "equal"), ("unequal", "unequal"), ("two makes", TwoMakes(15))):
            solution = learn_dag(problem.X, noise=noise, names=problem.names, random_state=0, evidence=False)
            errors[name].append(problem.compare(solution.dag)["shd"])

fig, ax = plt.subplots()
for k, (name, found) in enumerate(errors.items()):
    ax.plot(found, np.full(len(found), k), "o", color=f"C{k}")
    print(f"{name}: {found}")
ax.set(yticks=range(3), yticklabels=list(errors), ylim=(-0.5, 2.5), xlabel="wrong edges, five problems")
