"""
Shape against equal variances
=============================

Two things can tell a direction where colliders do not: noise of equal variance, which is lost with the units, and the
shape of noise that is not Gaussian, which no unit can take away.
"""

# %%
# Fifty variables with noise of different strength. In one table the noise is Gaussian, in the other it is Gumbel's,
# which is skewed, as waiting times, incomes and maxima are.

import warnings

import matplotlib.pyplot as plt
import numpy as np

from psidag import DataWarning, learn_dag
from psidag.simulate import simulate

scale = np.random.default_rng(0).uniform(0.5, 2, size=50)
tables = {
    kind: simulate("ER2", d=50, n=2000, seed=2, noise=kind, scale=scale, ranges=[(-1, -0.2), (0.2, 1)])
    for kind in ("gaussian", "gumbel")
}

# %%
# Of the true edges, how many does ``solution.graph`` direct rightly, how many wrongly, how many does it leave open?

counts = {}
for kind, problem in tables.items():
    truth = {edge[:2] for edge in problem.dag.edges()}
    for noise in ("equal", "unequal", "auto"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            graph = learn_dag(problem.X, noise=noise, names=problem.names, random_state=0).graph
        arrows = set(graph.directed_edges())
        reasons = sorted({graph.because(*arrow) for arrow in arrows})
        right, wrong = len(arrows & truth), len({(b, a) for a, b in arrows} & truth)
        extra = len(arrows) - right - wrong
        counts[f'{kind}\n"{noise}"'] = right, wrong, extra
        print(f"{kind}, noise={noise!r}: {right} right, {wrong} wrong, {extra} not there; because of {reasons}")

fig, ax = plt.subplots(figsize=(8, 4))
bottom = np.zeros(len(counts))
labels = ("rightly directed", "wrongly directed", "directed, but not there")
for label, height in zip(labels, np.transpose(list(counts.values())), strict=True):
    ax.bar(list(counts), height, bottom=bottom, label=label)
    bottom += height
ax.axhline(tables["gumbel"].dag.n_edges, color="0.6", linestyle=":", label="true edges")
ax.set(ylabel="edges")
ax.legend(loc="upper left", bbox_to_anchor=(1, 1))
