"""Data sets that come with the package: real rows, fitted networks and real topologies."""

from psidag.datasets.networks import NETWORKS, TOPOLOGIES, load_network, load_topology, network_model
from psidag.datasets.sachs import load_sachs, load_sachs_experiments, sachs_conditions

__all__ = [
    "NETWORKS",
    "TOPOLOGIES",
    "load_network",
    "load_sachs",
    "load_sachs_experiments",
    "load_topology",
    "network_model",
    "sachs_conditions",
]
