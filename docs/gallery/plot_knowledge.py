"""
What knowing a little is worth
==============================

Who comes first is often known: what was measured in spring is not caused by what was measured in autumn. Such tiers
hold in every result, and they direct edges that the data leave open.
"""

# %%
# Forty variables of unequal noise, measured in up to eight waves, without telling the learner more than the waves.

import matplotlib.pyplot as plt
import numpy as np

from psidag import learn_dag
from psidag.simulate import simulate

scale = np.random.default_rng(1).uniform(0.5, 2, size=40)
problem = simulate("ER2", d=40, n=1000, seed=1, scale=scale)
in_time = [problem.names[k] for k in problem.dag.order]

directed, wrong, waves = [], [], [1, 2, 4, 8]
truth = {(a, b) for a, b, _ in problem.dag.edges()}
for count in waves:
    tiers = [list(wave) for wave in np.array_split(in_time, count)] if count > 1 else []
    known = {"tiers": tiers}
    solution = learn_dag(problem.X, noise="unequal", names=problem.names, constraints=known, random_state=0)
    arrows = set(solution.graph.directed_edges())
    directed.append(100 * len(arrows & truth) / len(truth))
    wrong.append(100 * len({(b, a) for a, b in arrows} & truth) / len(truth))

# %%
# Nothing is told but the wave of each variable.

fig, ax = plt.subplots()
ax.plot(waves, directed, "o-", label="rightly directed")
ax.plot(waves, wrong, "s-", label="wrongly directed")
ax.set(xlabel="waves that are told apart", ylabel="of the true edges, %", ylim=(0, 100), xticks=waves)
ax.legend()
for count, right, bad in zip(waves, directed, wrong, strict=True):
    print(f"{count} waves: {right:.0f} % directed rightly, {bad:.0f} % wrongly")
