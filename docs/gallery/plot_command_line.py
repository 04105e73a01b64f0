"""
From the command line
=====================

Everything can be done without Python: look a table over, learn, ask how sure, and get one page to send.
"""

# %%
# What one would type, run here from Python so that the page shows what comes back.

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.image as mpimg
import matplotlib.pyplot as plt

folder = Path(tempfile.mkdtemp())


def terminal(command):
    print("$", command)
    arguments = [sys.executable, "-m", *shlex.split(command)]
    quiet = os.environ | {"COLUMNS": "100", "NO_COLOR": "1"}
    done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, env=quiet)
    print(done.stdout + done.stderr)


# %%
# A table to play with, and what the doctor says about it.

terminal("psidag simulate ER1 --nodes 8 --rows 500 --seed 4 -o table.csv --truth truth.json")
terminal("psidag info table.csv")

# %%
# Learn, write the graph, and judge it.

terminal("psidag fit table.csv --noise equal --seed 0 -o graph.json -o model.psidag --report report.html")
terminal("psidag evaluate truth.json graph.json")

# %%
# Pictures have a command of their own.

terminal("psidag plot model.psidag graph -o graph.png")
fig, ax = plt.subplots(figsize=(8, 5))
ax.imshow(mpimg.imread(folder / "graph.png"))
ax.axis("off")
print(sorted(path.name for path in folder.iterdir()))
