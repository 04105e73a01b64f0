"""
Missing values
==============

Gaps are an error until you say what to do about them, because what is right depends on why they are there. Four ways,
measured on a table whose answer is known.
"""

# %%
# Every tenth value of 20 columns vanishes at random, and hardly one row in eight is complete.

import warnings

import matplotlib.pyplot as plt
import numpy as np

from psidag import DataWarning, InputError, learn_dag
from psidag.simulate import simulate


def with_gaps(problem, seed):
    X = problem.X.copy()
    X[np.random.default_rng(seed).random(X.shape) < 0.1] = np.nan
    return X


problems = [simulate("ER2", d=20, n=1000, seed=seed) for seed in range(5)]
try:
    learn_dag(with_gaps(problems[0], 0), noise="unequal")
except InputError as error:
    print(error)

# %%
# ``"drop"`` learns from the complete rows, ``"mean"`` fills in the mean of the column, ``"pairwise"`` takes each
# correlation from the rows that have both columns. Five tables, and what the same tables give without gaps:

found = {}
with warnings.catch_warnings():
    warnings.simplefilter("ignore", DataWarning)
    for way in ("drop", "mean", "pairwise", "no gaps"):
        counts = np.zeros(2)
        for seed, problem in enumerate(problems):
            X = problem.X if way == "no gaps" else with_gaps(problem, seed)
            options = {} if way == "no gaps" else {"missing": way}
            solution = learn_dag(X, noise="unequal", names=problem.names, random_state=0, evidence=False, **options)
            measures = problem.compare(solution.dag)
            counts += measures["missing"], measures["extra"]
        found[way] = counts / len(problems)
        print(f"{way}: {found[way][0]:.1f} connections missing, {found[way][1]:.1f} extra, in the mean")

# %%
# With gaps at random, dropping rows loses weak connections with the rows. Filling in the mean invents values that agree
# with nothing: relations look weaker, and others step in for them.

fig, ax = plt.subplots()
bottom = np.zeros(len(found))
for kind, height in zip(("missing", "extra"), np.transpose(list(found.values())), strict=True):
    ax.bar(list(found), height, bottom=bottom, label=f"{kind} connections")
    bottom += height
ax.set(ylabel="errors, mean of five tables", title="A tenth of all values missing")
ax.legend()
