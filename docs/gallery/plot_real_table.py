"""
A real table, end to end
========================

442 patients with diabetes: age, sex, body mass index, blood pressure, six blood values and how far the disease has
progressed a year later (Efron et al. 2004; the table comes with scikit-learn). From the file to an answer, and to what
should not be believed.
"""

# %%
# The table as such tables arrive
# -------------------------------
# A number for each patient, words for the sex, mixed units, a code for what is not known. The first and the last we put
# in ourselves: scikit-learn's copy has been cleaned.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

import psidag
from psidag.view import plot_graph

clinic = load_diabetes(as_frame=True, scaled=False).frame
clinic = clinic.rename(columns={"s1": "cholesterol", "s2": "ldl", "s3": "hdl", "s4": "ratio"})
clinic = clinic.rename(columns={"s5": "log_tg", "s6": "glucose", "target": "progress"})
clinic["sex"] = clinic["sex"].map({1.0: "male", 2.0: "female"})
clinic.insert(0, "patient", [f"P{k:03d}" for k in range(len(clinic))])
clinic.loc[::40, "bp"] = -999
folder = Path(tempfile.mkdtemp())
clinic.to_csv(folder / "clinic.csv", index=False)
print(clinic.head(3).to_string())

# %%
# From text to numbers
# --------------------
# ``prepare`` reports each thing that it does. Nothing is guessed silently.

table = psidag.prepare(folder / "clinic.csv")
print(table)

# %%
# Learn
# -----
# What we know goes in: nothing in the table causes age or sex, and the progress comes a year after everything else.
# Twelve rows have no blood pressure and are left out.

known = psidag.Constraints(exogenous=["age", "sex*"], sinks=["progress"])
solution = psidag.learn_dag(table, constraints=known, missing="drop", random_state=0)
print(solution)

# %%
# Edges without a head are connections whose direction nothing in the data tells.

fig, ax = plt.subplots(figsize=(8.5, 5))
plot_graph(solution, ax=ax)

# %%
# The question
# ------------
# By how much does the disease progress with the body mass index, along all paths? Where directions are open the effect
# is a range over all graphs that fit equally well.

effect = solution.effect("bmi", "progress")
print(f"{effect.value:.1f} points per unit of BMI, 95 % interval {effect.low:.1f} to {effect.high:.1f}")
print("over the graphs that fit:", " to ".join(f"{value:.1f}" for value in effect.range))

# %%
# What not to believe
# -------------------
# * ``ratio`` is cholesterol divided by HDL. It was computed, not caused: the edges around it are arithmetic, and a
#   product is not a sum.
# * No treatment, diet or income is in the table. Two effects of something that was not measured are joined by an edge,
#   whatever method is used.
# * The residual checks name the variables whose equation does not fit.

complete = table.X[~np.isnan(table.X).any(axis=1)]
print(solution.check_residuals(complete))
