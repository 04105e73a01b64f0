"""
A run with a budget
===================

A run that ends before its time has an answer all the same: the best graph so far, with a status that says what was cut
short and what to do about it.
"""

# %%
# The stochastic engine on 100 variables. It reports after each round.

import matplotlib.pyplot as plt

from psidag import Stochastic, learn_dag
from psidag.simulate import simulate

problem = simulate("ER4", d=100, n=3000, seed=0)
engine = Stochastic(ordering="psi", max_rounds=12, patience=12)
whole = learn_dag(problem.X, engine, noise="equal", random_state=0, evidence=False)
print(whole.status)

# %%
# The same run, ended after three rounds. ``max_time=`` does this by the clock, Ctrl-C by hand.

short = learn_dag(
    problem.X,
    Stochastic(ordering="psi", max_rounds=3, patience=12),
    noise="equal",
    random_state=0,
    evidence=False,
)
print(short.status)

# %%
# The loss of each round, and of the best until then.

fig, ax = plt.subplots()
loss = [each.loss for each in whole.trace]
rounds = range(1, len(loss) + 1)
ax.plot(rounds, loss, "o", color="0.7", label="round")
ax.step(rounds, [min(loss[:k]) for k in rounds], where="post", label="best so far")
ax.plot(len(short.trace), min(each.loss for each in short.trace), "s", color="C1", label="ended after three rounds")
ax.set(xlabel="round", ylabel="loss", xticks=rounds)
ax.legend()
