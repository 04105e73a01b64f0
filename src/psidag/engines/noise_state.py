"""Where a search stands whose noise model the data choose, and how that comes back from a checkpoint."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import scipy.sparse as sp

from psidag.data.correlations import Correlations
from psidag.data.rows_behind import RowsBehind
from psidag.engines.sparse_state import State as Searched
from psidag.run.status import Candidate
from psidag.scores.nearly_equal import Prior
from psidag.solution.noise import NoiseModel
from psidag.stages.noise_facts import NoiseFacts
from psidag.stages.refinement import Climb
from psidag.system.tree import stored_array

#: The equal score, the unequal score, the equal one begun at the graph of the unequal one, a score of residuals.
Phase = Literal["equal", "unequal", "again", "refined"]


class State(NamedTuple):
    """Where the search stands.

    ``search`` is the state of the search below, which began at ``start`` if that was given; ``best`` is the best graph
    of this phase, ``equal`` and ``unequal`` the graphs that those phases have ended with. Each phase draws from a
    generator of its own, made from ``seed``: what the equal score does depends on units, and what follows must not.
    """

    phase: Phase
    search: Searched
    noise: NoiseModel
    seed: int
    draws: np.random.Generator
    start: sp.csr_array | None = None
    best: Candidate | None = None
    equal: Candidate | None = None
    unequal: Candidate | None = None
    facts: NoiseFacts | None = None
    prior: Prior | None = None
    priors: int = 0
    steps: int = 0
    climb: Climb | None = None
    rows: RowsBehind | None = None

    @property
    def data(self) -> Correlations:
        """The statistic of the search."""
        return self.search.data


#: What of it is kept in a checkpoint as it is.
KEPT = ("phase", "seed", "best", "equal", "unequal", "facts", "prior", "priors", "steps")


def draws_of(seed: int, phase: Phase) -> np.random.Generator:
    """The generator of one phase."""
    return np.random.default_rng([seed, get_args(Phase).index(phase)])


def stored_facts(held: Any, d: int) -> NoiseFacts | None:
    """What was known of the noise."""
    if held is None:
        return None
    return NoiseFacts(*(stored_array(part, (d,), kind) for part, kind in zip(held, (float, bool, bool), strict=True)))


def stored_prior(held: Any) -> Prior | None:
    """The prior on the spread of variances."""
    return None if held is None else Prior(*map(float, held))
