"""
How sure: the bootstrap
=======================

Would the edge be there with other rows? Draw the rows again, learn again, and count.
"""

# %%
# A small table: 200 rows of 20 variables.

import matplotlib.pyplot as plt
import numpy as np

from psidag import bootstrap, learn_dag
from psidag.simulate import simulate
from psidag.view import plot_confidence

problem = simulate("ER2", d=20, n=200, seed=2)
confidence = bootstrap(problem.X, noise="unequal", replicates=60, names=problem.names, random_state=0)
solution = learn_dag(problem.X, noise="unequal", names=problem.names, random_state=0).with_confidence(confidence)
print(confidence.edges(at_least=0.5).to_text(8))

# %%
# Each edge of the graph with the share of the draws that join the pair, and that direct it this way.

fig, ax = plt.subplots(figsize=(7, 5.5))
plot_confidence(solution, ax=ax)

# %%
# Is the share worth anything? Here the truth is known: connections that nearly all draws have are true, those that few
# draws have mostly are not.

truth = {frozenset(edge[:2]) for edge in problem.dag.edges()}
rows = list(confidence.edges())
shares = np.array([row.connection for row in rows])
right = np.array([frozenset((row.source, row.target)) in truth for row in rows])
bins = np.array([0.0, 0.2, 0.5, 0.9, 1.01])
labels = ["below 0.2", "0.2 to 0.5", "0.5 to 0.9", "above 0.9"]
fig, ax = plt.subplots()
for k, label in enumerate(labels):
    within = (shares >= bins[k]) & (shares < bins[k + 1])
    ax.bar(label, 100 * right[within].mean(), color="C0")
    ax.annotate(f"{within.sum()} pairs", (k, 100 * right[within].mean()), ha="center", va="bottom")
ax.set(xlabel="share of the draws that join the pair", ylabel="truly joined, %", ylim=(0, 110))
