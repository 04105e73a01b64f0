"""
Time series: what came before
=============================

Rows that follow each other in time are not independent samples. With the past beside the present they can be, and
time directs most of the edges.
"""

# %%
# Outside temperature, heating and room temperature, hour by hour. The heating answers the room of the hour before;
# the room answers the heating at once.

import matplotlib.pyplot as plt
import numpy as np

from psidag import lagged, learn_dag
from psidag.view import plot_graph

rng = np.random.default_rng(3)
outside, heating, room = np.zeros((3, 1500))
for t in range(1, 1500):
    outside[t] = 0.9 * outside[t - 1] + rng.normal()
    heating[t] = 0.5 * heating[t - 1] - 0.6 * room[t - 1] + rng.normal()
    room[t] = 0.4 * room[t - 1] + 0.5 * heating[t] + 0.3 * outside[t] + rng.normal()
series = {"outside": outside, "heating": heating, "room": room}

# %%
# ``lagged`` puts the row before beside each row, and knows what time implies: nothing points at the past.

table = lagged(series, lags=1)
solution = learn_dag(table, noise="unequal", constraints=table.constraints, random_state=0)
print(solution.edges())

# %%
# The loop of the thermostat (room acts on heating, heating on room) is no cycle once time is told apart.

fig, ax = plt.subplots(figsize=(8, 4.2))
plot_graph(solution, ax=ax)
