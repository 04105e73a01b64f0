"""What directions may rest on in an experiment: rows in which known variables were set."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psidag.data.conditions import Conditions
from psidag.graph.interventional import Settings
from psidag.scores.gaussian import UNEQUAL
from psidag.scores.nearly_equal import Prior
from psidag.scores.targeted import FreeRows, TargetedScore


@dataclass(frozen=True, eq=False)
class Experiment:
    """The rows by what was set in them.

    Attributes
    ----------
    data : Conditions
        Their statistic.
    price : float
        Of one edge under the scores.
    rows : callable, optional
        The rows in which a node was left alone; see :class:`~psidag.scores.targeted.TargetedScore`.
    """

    data: Conditions
    price: float
    rows: FreeRows | None = None

    def score(self, prior: Prior | None = None, shaped: NDArray[np.bool_] | None = None) -> TargetedScore:
        """The score over the rows in which each node was left alone."""
        return TargetedScore(self.data, self.price, UNEQUAL, prior=prior, shaped=shaped, rows=self.rows)

    @property
    def settings(self) -> Settings:
        """Which directions the interventions can tell."""
        return settings_of(self.data)


def settings_of(data: Conditions) -> Settings:
    """Which variables were set together, and what that tells."""
    alone = [()] if data.has_controls else []
    return Settings([*alone, *data.settings], data.d, soft=data.kind == "shift")
