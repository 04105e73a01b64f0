"""
Rows that keep coming
=====================

``partial_fit`` takes rows as they arrive, and the graph of all rows so far is there whenever it is looked at. With
a half-life old rows fade, and a process that changes is followed.
"""

# %%
# A valve drives a pump. After 8,000 rows somebody exchanges the control: now the pump drives the valve.

import matplotlib.pyplot as plt
import numpy as np

from psidag import PsiDAG


def batches():
    rng = np.random.default_rng(0)
    for k in range(80):
        first, second = rng.normal(size=(2, 200))
        second = 0.8 * first + second
        yield np.c_[first, second] if k < 40 else np.c_[second, first]


# %%
# One model that forgets nothing, one for which a row of 2,000 rows ago weighs half.

keeps = PsiDAG(noise="equal", random_state=0)
forgets = PsiDAG(noise="equal", random_state=0, half_life=2000)
weights = {"forgets nothing": [], "half-life of 2,000 rows": []}
for batch in batches():
    for model, held in zip((keeps, forgets), weights.values(), strict=True):
        W = model.partial_fit(batch).adjacency_.toarray()
        held.append((W[0, 1], W[1, 0]))

# %%
# Without forgetting, the old rows outweigh the new ones for as long again; memory never grows in either.

fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True)
rows = 200 * np.arange(1, 81)
for ax, (title, held) in zip(axes, weights.items(), strict=True):
    ax.plot(rows, held, label=["valve → pump", "pump → valve"])
    ax.axvline(8000, color="0.6", linestyle=":")
    ax.set(xlabel="rows so far", title=title)
axes[0].set_ylabel("weight")
axes[1].legend(loc="center left")
