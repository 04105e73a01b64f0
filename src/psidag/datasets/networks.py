"""Networks fitted to real data, as simulators, and topologies of real networks, to put data on."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from psidag.datasets.tables import read_table
from psidag.graph.dag import DAG
from psidag.simulate.graphs import Seed
from psidag.simulate.model import LinearSEM
from psidag.simulate.problem import Problem, Standardise
from psidag.system.errors import InputError

#: Linear-Gaussian networks: genes of E. coli, and yield and disease of wheat with its markers.
NETWORKS = ("ecoli70", "magic_niab")
#: Topologies: an alarm system for patients, a diagnosis of nerves, the regulation of genes in E. coli.
TOPOLOGIES = ("alarm", "munin", "ecoli_grn")


def load_network(
    name: str,
    n: int,
    *,
    seed: Seed,
    n_test: int = 0,
    standardise: Standardise | None = None,
    dtype: DTypeLike = np.float64,
) -> Problem:
    """Rows drawn from a Gaussian network that was fitted to real data.

    Noise differs from variable to variable, means are not zero, many coefficients are small: what simulated
    benchmarks leave out. The other parameters are those of :func:`psidag.simulate.simulate`.

    Examples
    --------
    >>> load_network("ecoli70", n=1000, seed=0)
    Problem('ecoli70': 1000 rows of 46 variables, 70 true edges)
    """
    return Problem.from_model(
        network_model(name), n, seed=seed, n_test=n_test, standardise=standardise, dtype=dtype, name=name
    )


def network_model(name: str) -> LinearSEM:
    """The model behind :func:`load_network`: weights, intercepts and noise of each variable.

    Examples
    --------
    >>> model = network_model("magic_niab")
    >>> model.d, bool(model.noise_variance.max() > 10 * model.noise_variance.min())
    (44, True)
    """
    if name not in NETWORKS:
        raise InputError(f"there is no Gaussian network named {name!r}; there are {' and '.join(NETWORKS)}")
    _, nodes = read_table(f"{name}_nodes")
    _, edges = read_table(f"{name}_edges")
    names, intercept, sd = zip(*nodes, strict=True)
    return LinearSEM(
        DAG.from_edges(edges, names=names),
        noise="gaussian",
        scale=np.array(sd, dtype=np.float64),
        intercept=np.array(intercept, dtype=np.float64),
    )


def load_topology(name: str) -> DAG:
    """The graph of a real network, with unit weights, to simulate data on.

    ``alarm`` has 37 vertices, ``munin`` 1,041, and ``ecoli_grn`` 1,564 genes: it is the regulatory network of
    E. coli without the 34 edges that lie on feedback loops.

    Examples
    --------
    >>> from psidag.simulate import simulate
    >>> simulate(load_topology("alarm"), n=100, seed=0, name="alarm")
    Problem('alarm': 100 rows of 37 variables, 46 true edges)
    """
    if name not in TOPOLOGIES:
        raise InputError(f"there is no topology named {name!r}; there are {', '.join(TOPOLOGIES)}")
    header, rows = read_table(f"{name}_edges")
    names = tuple(dict.fromkeys(vertex for row in rows for vertex in row[:2]))
    if "in_cycle" in header:
        flag = header.index("in_cycle")
        rows = [row for row in rows if row[flag] == "0"]
    return DAG.from_edges((row[:2] for row in rows), names=names)
