"""
Does the model fit? Residuals
=============================

The model is linear. Where a relation bends, the residuals show it, and ``check_residuals`` names the column.
"""

# %%
# Fuel grows with the square of the speed; the rest is linear.

import matplotlib.pyplot as plt
import numpy as np

from psidag import DAG, fit_dag

rng = np.random.default_rng(4)
speed = rng.normal(size=800)
load = rng.normal(size=800)
fuel = speed + 0.4 * speed**2 + 0.5 * load + 0.5 * rng.normal(size=800)
range_left = -fuel + rng.normal(size=800)
table = np.c_[speed, load, fuel, range_left]
names = ["speed", "load", "fuel", "range_left"]
graph = DAG.from_edges([("speed", "fuel"), ("load", "fuel"), ("fuel", "range_left")], names=names)

solution = fit_dag(table, graph, names=names)
checks = solution.check_residuals(table)
print(checks)

# %%
# The residual of a bent relation still depends on the cause. A transformed column (here the square of the speed) or a
# method for curves is the remedy.

residual = fuel - solution.predict(table, "fuel", given="parents")
other = range_left - solution.predict(table, "range_left", given="parents")
fig, axes = plt.subplots(1, 2, figsize=(8.5, 3.8))
for ax, x, y, title in (
    (axes[0], speed, residual, "fuel, given its causes"),
    (axes[1], fuel, other, "range_left, given its cause"),
):
    ax.plot(x, y, ".", markersize=3, alpha=0.6)
    ax.axhline(0, color="0.6", linewidth=1)
    ax.set(title=title, ylabel="residual")
axes[0].set(xlabel="speed")
axes[1].set(xlabel="fuel")
