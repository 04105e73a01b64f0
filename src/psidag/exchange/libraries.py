"""Graphs as the objects of other libraries, and back; each is imported only when it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from psidag.exchange.content import as_content, build, number
from psidag.graph.dag import DAG
from psidag.system.errors import InputError


def to_networkx(graph: Any) -> Any:
    """A ``networkx.DiGraph`` whose nodes are the names, with ``weight`` (and what else is known) on the edges.

    That of a solution has ``directed``: where it is false, the edge could as well point the other way.

    Examples
    --------
    >>> to_networkx(DAG.from_edges([("dose", "effect", 2.0)]))["dose"]["effect"]["weight"]
    2.0
    """
    import networkx as nx

    content = as_content(graph)
    made = nx.DiGraph()
    for record in content.nodes():
        made.add_node(record.pop("name"), **record)
    for record in content.edges():
        made.add_edge(record.pop("source"), record.pop("target"), **record)
    return made


def from_networkx(graph: Any) -> DAG:
    """The DAG of a ``networkx.DiGraph``, or of anything derived from it; edges without a weight have 1.

    Examples
    --------
    >>> import networkx
    >>> list(from_networkx(networkx.DiGraph([("dose", "level")])).edges())
    [('dose', 'level', 1.0)]
    """
    if not graph.is_directed():
        raise InputError("the networkx graph is undirected; a DAG has directions")
    edges = [
        (str(i), str(j), number(values.get("weight"), "the networkx graph", i, j))
        for i, j, values in graph.edges(data=True)
    ]
    return build(map(str, graph.nodes), edges, "the networkx graph")


def to_pandas(graph: Any) -> Any:
    """The weights as a pandas DataFrame: the row causes, the column is caused.

    Examples
    --------
    >>> to_pandas(DAG.from_edges([("dose", "effect", 2.0)])).loc["dose", "effect"]
    np.float64(2.0)
    """
    import pandas as pd

    dag = as_content(graph).dag
    return pd.DataFrame(dag.to_dense(), index=list(dag.names), columns=list(dag.names))


def from_pandas(frame: Any) -> DAG:
    """The DAG of a square DataFrame of weights with the same names on both sides.

    Examples
    --------
    >>> import pandas as pd
    >>> names = ["dose", "level"]
    >>> list(from_pandas(pd.DataFrame([[0.0, 2.0], [0.0, 0.0]], index=names, columns=names)).edges())
    [('dose', 'level', 2.0)]
    """
    names = [str(name) for name in frame.columns]
    if [str(name) for name in frame.index] != names:
        raise InputError("the rows and columns of the frame do not have the same names in the same order")
    return DAG.from_weights(frame.to_numpy(dtype=np.float64), names=names)


def to_lingam(graph: Any) -> NDArray[np.float64]:
    """The matrix of the lingam package, which is transposed: ``B[j, i]`` is the weight of i → j.

    Examples
    --------
    >>> to_lingam(DAG.from_edges([("dose", "effect", 2.0)])).tolist()
    [[0.0, 0.0], [2.0, 0.0]]
    """
    return as_content(graph).dag.to_dense().T.copy()


def from_lingam(matrix: ArrayLike, names: Sequence[str] | None = None) -> DAG:
    """The DAG of lingam's ``adjacency_matrix_``; what is not a number (not identified) is taken as no edge.

    Examples
    --------
    >>> from_lingam([[0, 0], [2.0, 0]], names=["dose", "level"]).children("dose")
    ['level']
    """
    B = np.nan_to_num(np.asarray(matrix, dtype=np.float64))
    return DAG.from_weights(B.T, names=names)


def to_causal_learn(graph: Any) -> Any:
    """A causal-learn ``GeneralGraph``; it has no weights.

    That of a solution has undirected edges where directions are open; that of ``solution.dag`` has none.

    Examples
    --------
    >>> import causallearn
    >>> [node.get_name() for node in to_causal_learn(DAG.from_edges([("dose", "effect")])).get_nodes()]
    ['dose', 'effect']
    """
    from causallearn.graph.Edge import Edge
    from causallearn.graph.Endpoint import Endpoint
    from causallearn.graph.GeneralGraph import GeneralGraph
    from causallearn.graph.GraphNode import GraphNode

    content = as_content(graph)
    nodes = {name: GraphNode(name) for name in content.dag.names}
    made = GeneralGraph(list(nodes.values()))
    for (source, target, _), directed in zip(content.dag.edges(), content.directed, strict=True):
        end = Endpoint.ARROW if directed else Endpoint.TAIL
        made.add_edge(Edge(nodes[source], nodes[target], Endpoint.TAIL, end))
    return made


def from_causal_learn(graph: Any) -> DAG:
    """The DAG of a causal-learn graph (or of what has one as ``G``); an edge without a direction is an error.

    Examples
    --------
    >>> import causallearn
    >>> from_causal_learn(to_causal_learn(DAG.from_edges([("dose", "effect")]))).children("dose")
    ['effect']
    """
    held = getattr(graph, "G", graph)
    names = [node.get_name() for node in held.get_nodes()]
    # causal-learn marks the end at row i, column j: -1 a tail and 1 an arrowhead at i of the edge i, j.
    ends = np.asarray(held.graph)
    undirected = np.argwhere((ends != 0) & (ends == ends.T))
    if len(undirected):
        i, j = undirected[0]
        raise InputError(f"the edge between {names[i]!r} and {names[j]!r} has no direction: this is not a DAG")
    return DAG.from_weights(sp.csr_array(((ends == -1) & (ends.T == 1)).astype(np.float64)), names=names)


def to_pgmpy(graph: Any) -> Any:
    """A pgmpy ``LinearGaussianBayesianNetwork``; with its parameters where the graph comes from a Solution.

    The parameters are the equations as they were learned: intercept, weights and standard deviation.

    Examples
    --------
    >>> import pgmpy
    >>> list(to_pgmpy(DAG.from_edges([("dose", "effect")])).edges())
    [('dose', 'effect')]
    """
    from pgmpy.factors.continuous import LinearGaussianCPD
    from pgmpy.models import LinearGaussianBayesianNetwork

    content = as_content(graph)
    dag = content.dag
    made = LinearGaussianBayesianNetwork()
    made.add_nodes_from(dag.names)
    made.add_edges_from([(source, target) for source, target, _ in dag.edges()])
    if "intercept" in content.node_values and "residual_variance" in content.node_values:
        for j, name in enumerate(dag.names):
            parents = dag.parents(name)
            weights = [float(dag.weights[dag.index(parent), j]) for parent in parents]
            sd = float(np.sqrt(content.node_values["residual_variance"][j]))
            made.add_cpds(LinearGaussianCPD(name, [content.node_values["intercept"][j], *weights], sd, parents))
    return made


def to_pgmpy_pdag(graph: Any) -> Any:
    """A pgmpy ``PDAG``, in which edges have a direction only where it is known.

    Examples
    --------
    >>> import pgmpy
    >>> to_pgmpy_pdag(DAG.from_edges([("dose", "effect")])).directed_edges
    {('dose', 'effect')}
    """
    from pgmpy.base import PDAG

    content = as_content(graph)
    ends: dict[bool, list[tuple[str, str]]] = {True: [], False: []}
    for (source, target, _), directed in zip(content.dag.edges(), content.directed, strict=True):
        ends[bool(directed)].append((source, target))
    made = PDAG(directed_ebunch=ends[True], undirected_ebunch=ends[False])
    made.add_nodes_from(content.dag.names)
    return made


def from_pgmpy(network: Any) -> DAG:
    """The DAG of any pgmpy network; weights are those of its linear Gaussian parameters, else 1.

    Examples
    --------
    >>> import pgmpy
    >>> from_pgmpy(to_pgmpy(DAG.from_edges([("dose", "effect")]))).children("dose")
    ['effect']
    """
    cpds = {cpd.variable: cpd for cpd in getattr(network, "cpds", [])}
    edges = []
    for source, target in network.edges():
        cpd = cpds.get(target)
        weight = 1.0
        if cpd is not None and hasattr(cpd, "beta"):
            weight = float(cpd.beta[1 + list(cpd.evidence).index(source)])
        edges.append((str(source), str(target), weight))
    return build(map(str, network.nodes()), edges, "the pgmpy network")


def to_dowhy(graph: Any) -> str:
    """GML that DoWhy takes: ``CausalModel(data, treatment, outcome, graph=to_dowhy(solution))``.

    DoWhy matches vertices with columns by name, and takes columns that are not in the graph as unobserved.

    Examples
    --------
    >>> to_dowhy(DAG.from_edges([("a", "b")]))
    'graph[directed 1 node[id "a" label "a"] node[id "b" label "b"] edge[source "a" target "b"]]'
    """
    dag = as_content(graph).dag
    awkward = [name for name in dag.names if '"' in name]
    if awkward:
        raise InputError(f"DoWhy cannot hold quotation marks in names: rename {awkward[0]!r}")
    nodes = " ".join(f'node[id "{name}" label "{name}"]' for name in dag.names)
    edges = " ".join(f'edge[source "{i}" target "{j}"]' for i, j, _ in dag.edges())
    return f"graph[directed 1 {nodes} {edges}]".replace(" ]", "]")
