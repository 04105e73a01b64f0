"""
ψ: from weights to an order
===========================

The step that gave the method its name. ψ looks at the rows and columns of a matrix of weights with cycles in it, places
one variable after the other at the front or at the back, and what points forward in that order is a DAG.
"""

# %%
# Weights of a DAG with noise on every entry, in no particular order.

import matplotlib.pyplot as plt
import numpy as np

from psidag import project
from psidag.graph.order import order_mask
from psidag.simulate import simulate

truth = simulate("ER2", d=12, n=2, seed=3)
W = truth.dag.to_dense() + 0.1 * np.random.default_rng(0).normal(size=(12, 12))
np.fill_diagonal(W, 0)
order = project(W)

# %%
# In ψ's order nearly all weight lies above the diagonal; what lies below is left out.

fig, axes = plt.subplots(1, 3, figsize=(10, 3.6))
in_order = W[np.ix_(order, order)]
panels = {
    "weights with cycles": W,
    "the same, in ψ's order": in_order,
    "what points forward": np.triu(in_order),
}
for ax, (title, matrix) in zip(axes, panels.items(), strict=True):
    ax.imshow(matrix, cmap="RdBu", vmin=-1, vmax=1)
    ax.set(title=title, xlabel="target", ylabel="source", xticks=[], yticks=[])

kept = (W * order_mask(order)) ** 2
print(f"{100 * kept.sum() / (W**2).sum():.1f} % of the squared weight points forward")
