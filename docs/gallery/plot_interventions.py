"""
Interventions: predicted against observed
=========================================

A graph of causes says what would happen if a variable were set. Rows in which that was done are the test.
"""

# %%
# Twenty variables of unequal Gaussian noise. Half of them are knocked down, one at a time, in 200 rows each; the
# learner sees only the rows in which nobody touched anything.

import matplotlib.pyplot as plt
import numpy as np

from psidag import learn_dag
from psidag.simulate import experiment, simulate

scale = np.random.default_rng(0).uniform(0.5, 2, size=20)
model = simulate("ER2", d=20, n=2, seed=1, scale=scale).model
targets = model.names[:10]
made = experiment(model, targets, rows=200, control_rows=2000, seed=0)
label = np.array([None if each is None else each[0] for each in made.labels])
control = made.X[label == None]  # noqa: E711 (compared element by element)

watched = learn_dag(control, noise="unequal", names=made.names, random_state=0)

# %%
# For every experiment: the mean of all other variables as the graph predicts it, and as it was observed.


def predicted_and_observed(solution):
    pairs = []
    for target in targets:
        rows = made.X[label == target]
        mean = solution.intervene({target: rows[:, made.names.index(target)].mean()}).mean
        others = np.array(made.names) != target
        pairs.append(np.c_[mean - control.mean(axis=0), rows.mean(axis=0) - control.mean(axis=0)][others])
    return np.concatenate(pairs)


pairs = predicted_and_observed(watched)
fig, ax = plt.subplots(figsize=(5, 4.6))
ax.plot(*pairs.T, "o", markersize=4, alpha=0.7)
ax.axline((0, 0), slope=1, color="0.6", linewidth=1)
ax.set(xlabel="predicted change of the mean", ylabel="observed change of the mean")
print(f"correlation {np.corrcoef(pairs.T)[0, 1]:.3f}")
