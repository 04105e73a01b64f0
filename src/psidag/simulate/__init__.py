"""Problems with a known answer: random graphs, weights, noise and samples, always from an explicit seed."""

from psidag.simulate.experiment import Experiment, experiment
from psidag.simulate.graphs import erdos_renyi, random_graph, random_weights, scale_free
from psidag.simulate.model import LinearSEM
from psidag.simulate.noise import NOISES, Noise, standard_noise
from psidag.simulate.problem import Problem, simulate

__all__ = [
    "NOISES",
    "Experiment",
    "LinearSEM",
    "Noise",
    "Problem",
    "erdos_renyi",
    "experiment",
    "random_graph",
    "random_weights",
    "scale_free",
    "simulate",
    "standard_noise",
]
