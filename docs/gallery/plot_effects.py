"""
Effects, and what an open direction does to them
================================================

An effect follows from a graph. Where the data leave directions open, several graphs fit equally well, and the effect
is a range.
"""

# %%
# A dose acts on a level, both act on the outcome. Gaussian noise: no direction can be told from these three columns.

import matplotlib.pyplot as plt
import numpy as np

from psidag import Constraints, learn_dag

rng = np.random.default_rng(0)
dose = rng.normal(size=1000)
level = 2 * dose + rng.normal(size=1000)
outcome = level - dose + 0.5 * rng.normal(size=1000)
table = np.c_[dose, level, outcome]
names = ["dose", "level", "outcome"]

# %%
# The more you know, the narrower the answer. The truth is 2 · 1 through the level and −1 directly: 1 in all.

knowledge = {
    "nothing": Constraints(),
    "the outcome is last": Constraints(sinks=["outcome"]),
    "the dose is first": Constraints(exogenous=["dose"]),
    "both": Constraints(exogenous=["dose"], sinks=["outcome"]),
}
fig, ax = plt.subplots()
for k, (what, known) in enumerate(knowledge.items()):
    solution = learn_dag(table, noise="unequal", names=names, constraints=known, random_state=0)
    found = solution.effect("dose", "outcome")
    ax.plot(found.members, np.full(len(found.members), k), "o", color="C0")
    ax.plot(found.range, [k, k], "-", color="C0")
    print(f"{what}: {', '.join(f'{value:.2f}' for value in found.members)}")
ax.axvline(1.0, color="C1", linestyle=":", label="truth")
ax.set(yticks=range(len(knowledge)), yticklabels=list(knowledge), ylim=(-0.5, 3.5))
ax.set(xlabel="total effect of the dose on the outcome", title="What is known, and the effects that fit")
ax.legend()

# %%
# With a graph that is settled, effects have standard errors and intervals, and other questions can be asked.

print(f"{found.value:.2f}, standard error {found.standard_error:.3f}, 95 % from {found.low:.2f}", end=" ")
print(f"to {found.high:.2f}")
print("to adjust for, level on outcome:", solution.adjustment_set("level", "outcome"))
print("with the level held:", round(solution.total_effect("dose", "outcome", holding=["level"]), 2))
