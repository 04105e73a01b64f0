"""The protocol of a score: which data it needs, what a node costs given its parents, how it is searched with."""

from __future__ import annotations

from typing import Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from psidag.scores.policy import Policy

Floats = NDArray[np.float64]
Needs = Literal["moments", "rows"]
Data = TypeVar("Data", contravariant=True)


class BoundScore(Protocol):
    """A score with its data, its penalty and its shared parameters: what is left are a node and its parents."""

    def cost(self, node: int, parents: tuple[int, ...]) -> float:
        """What this node costs with these parents, which ascend; the cost of a graph is the sum over its nodes.

        In units of twice the log-likelihood, penalties included, up to a constant of the node.
        """
        ...


class Score(Protocol[Data]):
    """What a graph costs: a sum over nodes, each given its parents.

    ``Data`` is what it is bound to: :class:`~psidag.scores.statistics.Statistics` for a score of moments, rows for
    one that looks at the shape of residuals.
    """

    @property
    def name(self) -> str:
        """A short name, the one that ``learn_dag(noise=...)`` takes and files keep."""
        ...

    @property
    def title(self) -> str:
        """What texts call it."""
        ...

    @property
    def needs(self) -> Needs:
        """Which data it looks at."""
        ...

    def bind(self, data: Data, penalty: float, residual_variance: Floats) -> BoundScore:
        """The score on these data, at this price of a parent.

        Parameters that nodes share, such as a common noise variance, are those that suit a graph with these residual
        variances best, and stay as they are.
        """
        ...


class SearchScore(Protocol):
    """A score that the kernels can search with: it knows a node by its residual variance v alone.

    A node costs n v / σ² + penalty · parents where its noise variance σ² is given by :meth:`noise_variance`, and
    n log v + penalty · parents where every node has a variance of its own. The kernels' side of this is
    ``scores/_score.pxd``.
    """

    @property
    def name(self) -> str:
        """A short name, the one that ``learn_dag(noise=...)`` takes and files keep."""
        ...

    @property
    def title(self) -> str:
        """What texts call it."""
        ...

    @property
    def own_variances(self) -> bool:
        """Whether every node is judged by its own residual variance."""
        ...

    @property
    def equal_variances(self) -> bool:
        """Whether all noise variances are taken to be equal, so that directions rest on the units of the columns."""
        ...

    @property
    def policy(self) -> Policy:
        """How to search with it."""
        ...

    @property
    def misfit_text(self) -> str:
        """What :meth:`misfit` is, as a formula in words."""
        ...

    def noise_variance(self, residual_variance: Floats) -> Floats:
        """The most likely noise variance of each node, in the units of the data."""
        ...

    def typical_variance(self, residual_variance: Floats) -> float:
        """The mean of residual variances whose logarithm is the score of a graph, for each row and node."""
        ...

    def misfit(self, residual_variance: Floats) -> float:
        """What the search lowers, without the penalty, for one row."""
        ...
