"""
The price of an edge
====================

Every edge has to pay for itself. psidag chooses the price; ``penalty_path`` shows what a higher or a lower one would
have given.
"""

# %%
# Forty variables, 400 rows.

import matplotlib.pyplot as plt

from psidag import penalty_path
from psidag.simulate import simulate

problem = simulate("ER2", d=40, n=400, seed=8)
path = penalty_path(problem.X, noise="equal", names=problem.names)
print(path)

# %%
# A high price misses edges, a low one lets in chance. The price that is chosen without knowing the truth is about where
# the errors are fewest.

missing, extra = [], []
for _, solution in path:
    found = problem.compare(solution.dag)
    missing.append(found["missing"])
    extra.append(found["extra"])

fig, ax = plt.subplots()
ax.plot(path.penalties, missing, "o-", label="missing")
ax.plot(path.penalties, extra, "s-", label="extra")
ax.axvline(path.penalties[path.chosen], color="0.6", linestyle=":", label="chosen")
ax.set(xscale="log", xlabel="price of an edge", ylabel="wrong connections")
ax.legend()
