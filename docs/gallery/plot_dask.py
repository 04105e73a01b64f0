"""
Rows on a cluster: Dask
=======================

Dask arrays and DataFrames go in as they are. Moments are computed where the partitions are and merged, so that only
numbers in proportion to the columns travel.
"""

# %%
# 100,000 rows in 20 pieces. Without a cluster Dask's own threads do the work; with one,
# ``psidag.cluster("tcp://scheduler:8786")`` goes in as ``n_jobs``.

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np

from psidag import PsiDAG
from psidag.simulate import simulate
from psidag.view import plot_matrix

problem = simulate("ER2", d=25, n=100_000, seed=0)
pieces = da.from_array(problem.X, chunks=(5000, 25))
print(pieces.npartitions, "pieces of", pieces.chunksize)

far = PsiDAG(noise="equal", random_state=0).fit(pieces)
near = PsiDAG(noise="equal", random_state=0).fit(problem.X)
difference = np.abs((far.adjacency_ - near.adjacency_).toarray()).max()
print(f"{far.solution_.dag.n_edges} edges; the largest difference to the table in memory is {difference:.0e}")

# %%
# The weights in causal order: everything above the diagonal points forward.

fig, ax = plt.subplots(figsize=(5.4, 4.6))
plot_matrix(far.solution_, ax=ax)
