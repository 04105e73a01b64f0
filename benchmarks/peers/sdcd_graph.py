"""SDCD on rows that another process has drawn: its packages (pandas 1, NumPy 1) do not go with those of psidag.

    python benchmarks/peers/sdcd_graph.py ROWS.npz GRAPH.npy

``ROWS.npz`` holds ``X`` and ``labels``, the number of the column that was set in each row or -1. The graph goes to
``GRAPH.npy``; processor seconds are printed.
"""

import sys
import time

import numpy as np
import pandas as pd
from sdcd.models import SDCD
from sdcd.utils import create_intervention_dataset

if __name__ == "__main__":
    rows, graph = sys.argv[1:]
    held = np.load(rows)
    table = pd.DataFrame(held["X"], columns=[str(j) for j in range(held["X"].shape[1])])
    table["perturbation_label"] = ["obs" if j < 0 else str(j) for j in held["labels"]]
    begun = time.process_time()
    model = SDCD(model_variance_flavor="parameter")
    model.train(create_intervention_dataset(table, perturbation_colname="perturbation_label"))
    np.save(graph, model.get_adjacency_matrix(threshold=True))
    print(time.process_time() - begun)
