"""
Interventions: predicted against observed
=========================================

Rows in which somebody set a variable tell its effects from its causes. Left out of the fit, they are the hardest test
that a graph of causes can be put to.
"""

# %%
# Twenty variables of unequal Gaussian noise: 1,000 rows in which nothing was touched, and 20 rows each in which one of
# them was knocked down.

import matplotlib.pyplot as plt
import numpy as np

from psidag import check_interventions, learn_dag, metrics
from psidag.simulate import experiment, simulate
from psidag.view import plot_shifts

scale = np.random.default_rng(0).uniform(0.5, 2, size=20)
model = simulate("ER2", d=20, n=2, seed=1, scale=scale).model
made = experiment(model, rows=20, control_rows=1000, seed=0)


def learn(**options):
    return learn_dag(made.X, names=made.names, noise="unequal", random_state=0, **options)


# %%
# The same rows with and without word of what was set in them.

for what, options in (("nothing said", {}), ("targets", {"interventions": made.labels})):
    solution = learn(**options)
    errors = metrics.edge_errors(model.dag, solution.dag)
    print(f"{what}: {solution.graph.n_directed} of {solution.graph.n_edges} edges directed, {errors.shd} errors")

# %%
# Now the test. Every target is left out of the fit once; the graph of the other rows then predicts what setting it does
# to all others. Points on the dotted line came as predicted; faint ones are variables that the graph says do not depend
# on the target, and they stay near zero.

checks = check_interventions(made.X, made.labels, names=made.names, noise="unequal", random_state=0)
print(checks)
fig, ax = plt.subplots(figsize=(6, 5))
ax = plot_shifts(checks, ax)

# %%
# To have something to find, let the knock-down of one variable hit another as well, of which nobody is told. Such an
# off-target moves without a cause in the graph, and is named.

target = "x3"
other = next(name for name in made.names if name not in (target, *model.dag.descendants(target)))
both = [(name, other) if name == target else (name,) for name in made.names]
made = experiment(model, both, rows=20, control_rows=1000, seed=0)
said = [None if label is None else label[:1] for label in made.labels]
checks = check_interventions(made.X, said, names=made.names, noise="unequal", random_state=0)
print(checks)
fig, ax = plt.subplots(figsize=(6, 5))
ax = plot_shifts(checks, ax)
