"""
What a direction can rest on
============================

Four variables, three connections, Gaussian noise of unknown strength. Which arrows can be read off the data? Of the
ways to join three others to the one in the middle, only one leaves a trace.
"""

# %%
# A chain, a fork and a collider, 2,000 rows each.

import matplotlib.pyplot as plt
import numpy as np

from psidag import Constraints, learn_dag
from psidag.view import plot_graph

rng = np.random.default_rng(0)
a, b, c, d = rng.normal(size=(4, 2000)) * [[1.0], [0.7], [1.5], [1.2]]
middle = a + b
tables = {
    "chain: a → b → c → d": np.c_[a, middle, middle + c, middle + c + d],
    "fork: b → a, c, d": np.c_[b + a, b, 1.5 * b + c, b + d],
    "collider: a, c, d → b": np.c_[a, a + b + c + d, c, d],
}

# %%
# In the chain and in the fork the outer ones are related, and unrelated once the one between them is known: many graphs
# imply the same. In the collider it is the other way round, and only one graph implies that. Prior knowledge settles
# the rest: one variable that has no causes says nothing about the others, and yet directs every edge.

first = {"chain": "a", "fork": "b", "collider": "a"}
fig, axes = plt.subplots(2, 3, figsize=(9.5, 5))
for column, (title, X) in enumerate(tables.items()):
    alone = learn_dag(X, noise="unequal", names=list("abcd"), random_state=0)
    source = first[title.split(":")[0]]
    known = Constraints(exogenous=[source])
    told = learn_dag(X, noise="unequal", names=list("abcd"), random_state=0, constraints=known)
    for row, solution in enumerate((alone, told)):
        plot_graph(solution, ax=axes[row, column])
    axes[0, column].set_title(title, fontsize=10)
    axes[1, column].set_title(f"and nothing causes {source}", fontsize=10)
    print(title)
    print(alone.edges())
