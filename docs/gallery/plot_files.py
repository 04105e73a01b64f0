"""
A table that stays on disk
==========================

A folder of files is a table like any other. What is larger than memory is read in batches; the graph needs one pass.
"""

# %%
# Three Parquet files, written as a process would leave them.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from psidag import learn_dag
from psidag.data.files import read_table
from psidag.simulate import simulate

problem = simulate("ER2", d=30, n=6000, seed=0)
folder = Path(tempfile.mkdtemp())
frame = pd.DataFrame(problem.X, columns=problem.names)
for part in range(3):
    frame[part * 2000 : (part + 1) * 2000].to_parquet(folder / f"part-{part}.parquet")

# %%
# A pattern, the folder, or one file. Small tables are held in memory; ``read_table(..., hold=1)`` insists on the way
# of large ones.

held = learn_dag(frame, noise="equal", random_state=0)
streamed = learn_dag(read_table(f"{folder}/*.parquet", hold=1), noise="equal", random_state=0)
print(held)

# %%
# Both ways give the same weights up to the rounding of sums.

a, b = held.dag.to_dense(), streamed.dag.to_dense()
fig, ax = plt.subplots(figsize=(4.6, 4.2))
ax.plot(a[a != 0], b[a != 0], "o", markersize=4)
ax.plot([-1, 1], [-1, 1], color="0.6", linewidth=1)
ax.set(xlabel="weights, table in memory", ylabel="weights, from files in batches")
print(f"largest difference: {np.abs(a - b).max():.1e}")
