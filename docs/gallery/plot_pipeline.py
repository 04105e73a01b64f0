"""
In a pipeline
=============

``PsiDAG`` is a scikit-learn estimator: it can be cloned, put behind a transformer, searched over and pickled. Its
``score`` is the mean log-likelihood of new rows, which compares assumptions about the noise.
"""

# %%
# Two tables: one whose noise is equal in the units given, and the same with its columns in other units.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from psidag import DataWarning, PsiDAG
from psidag.simulate import simulate

problem = simulate("ER2", d=15, n=600, seed=0)
other_units = problem.X * np.random.default_rng(0).uniform(0.2, 5, size=15)

# %%
# A search by cross-validation: which assumption predicts rows that it has not seen?

pipeline = make_pipeline(FunctionTransformer(), PsiDAG(random_state=0, evidence=False))
grid = {"psidag__noise": ["equal", "unequal"], "psidag__threshold": [None, 0.3]}
results = {}
with warnings.catch_warnings():
    warnings.simplefilter("ignore", DataWarning)
    for name, X in (("units given", problem.X), ("other units", other_units)):
        search = GridSearchCV(pipeline, grid, cv=3).fit(X)
        results[name] = search.cv_results_
        print(f"{name}: best is {search.best_params_}")

# %%
# In the units given both assumptions predict new rows alike; in other units equal variances fall far behind. The
# threshold of the paper costs something in either.

fig, axes = plt.subplots(1, 2, figsize=(9, 3.6))
labels = [f"{p['psidag__noise']}, {p['psidag__threshold']}" for p in results["units given"]["params"]]
for ax, (name, found) in zip(axes, results.items(), strict=True):
    mean = found["mean_test_score"]
    ax.barh(labels, mean.max() - mean, xerr=found["std_test_score"] / np.sqrt(3))
    ax.set(title=name, xlabel="behind the best, log-likelihood a row")
    ax.set_xlim(left=0)
axes[0].set_ylabel("noise, threshold")
