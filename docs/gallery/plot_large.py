"""
Ten thousand variables
======================

The default engine keeps lists, not d × d matrices of weights, and looks at what can have changed. Time grows a little
faster than in proportion to the number of columns, until the correlations themselves are what takes longest.
"""

# %%
# Sparse random graphs with about two edges per variable, 1,000 rows in single precision. Above 1,000 columns the
# evidence for each direction is measured only if it is asked for (``evidence=True``).

import time
import warnings

import matplotlib.pyplot as plt
import numpy as np

from psidag import DataWarning, learn_dag
from psidag.simulate import simulate
from psidag.view import plot_degrees

warnings.simplefilter("ignore", DataWarning)  # 1,000 rows for 10,000 columns: it says so
sizes = (1000, 3000, 10_000)
seconds = []
for d in sizes:
    problem = simulate("ER2", d=d, n=1000, seed=0, dtype=np.float32)
    start = time.perf_counter()
    solution = learn_dag(problem.X, noise="equal", evidence=False, random_state=0)
    seconds.append(time.perf_counter() - start)
    found = problem.compare(solution.dag)
    print(f"{d:,} columns: {found['true_edges']:,} true edges, {found['missing']:,} missing,", end=" ")
    print(f"{found['reversed']:,} reversed, {found['extra']:,} extra")

# %%
# Most of what is missing is weak: 1,000 rows do not show an effect of 0.05 among 10,000 candidates.

fig, axes = plt.subplots(1, 2, figsize=(9, 3.8))
axes[0].loglog(sizes, seconds, "o-")
axes[0].set(xlabel="columns", ylabel="seconds", title="time on the machine that built this page")
plot_degrees(solution, ax=axes[1])
