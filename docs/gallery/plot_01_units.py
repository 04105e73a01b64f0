"""
Units, and why they matter
==========================

Learners that assume noise of equal variance read directions off the variances. They are right where the assumption
holds, and wrong with confidence as soon as one column is given in another unit.
"""

# %%
# A simulated table of 30 variables whose noise has the same variance everywhere.

from psidag import learn_dag
from psidag.simulate import simulate

problem = simulate("ER2", d=30, n=2000, seed=3)
in_metres = learn_dag(problem.X, noise="equal", names=problem.names, random_state=0)
print(problem.compare(in_metres.dag)["shd"], "errors")

# %%
# The same table with one column in millimetres. Nothing in the world has changed.
in_millimetres = problem.X.copy()
in_millimetres[:, 12] *= 1000
