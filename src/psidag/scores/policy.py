"""How a score is searched with: the levels of the penalty, the length of walks, where to begin and how to close."""

from __future__ import annotations

import math
from dataclasses import dataclass

#: A score that falls by less than this has not fallen but for rounding. Scores are in units of twice the
#: log-likelihood, a penalty is about 10, and sums over 10,000 nodes and as many rows are exact to 1e-8.
SMALLEST_GAIN = 1e-6


@dataclass(frozen=True)
class Policy:
    """The plan of a search.

    Parameters
    ----------
    levels : tuple of float
        Multiples of the penalty, from the first level to the last, which is 1.
    reach : float
        A node is walked along the order until the score has risen by this many penalties.
    additions : int
        Or until one node would take this many new parents in one exchange. A node with more parents is a hub.
    far : (float, int)
        The same two in a search that begins at a given graph: where another search has ended, the way on is long.
    grown : bool
        Whether the search begins at the order grown by residual variance, with the parents selected in it; otherwise
        at the graph without edges.
    equivalent : bool
        Whether all members of an equivalence class cost the same. Then moves that change nothing are made, and the
        search closes with rounds from random members of the class.
    opened : (float, int)
        The same two while a neighbourhood is open.
    neighbours : int
        A neighbourhood that is opened has no more neighbours than this: few are enough, and cost little.
    """

    levels: tuple[float, ...]
    reach: float
    additions: int
    grown: bool
    equivalent: bool
    far: tuple[float, int] = (100.0, 30)
    opened: tuple[float, int] = (5.0, 8)
    neighbours: int = 2


def penalised_loss(typical_variance: float, edges: int, penalty: float, count: float, d: int) -> float:
    """½ d · v̄ · exp(c |E| / (n d)), up to the smallest gain: its logarithm is the score, for each row and node.

    Examples
    --------
    >>> round(penalised_loss(2.0, 0, 10.0, 100, 5), 6), penalised_loss(2.0, 3, 10.0, 100, 5) > 5
    (5.0, True)
    """
    return rounded_loss(0.5 * d * typical_variance * math.exp(penalty * edges / (count * d)), count * d)


def rounded_loss(loss: float, numbers: float) -> float:
    """The loss, whose logarithm is the score of each of that many numbers, up to the smallest gain.

    Graphs whose scores differ by rounding alone then have the same loss, whatever the units of the data.

    Examples
    --------
    >>> rounded_loss(0.1 + 0.2, 1000) == rounded_loss(0.3, 1000)
    True
    """
    steps = numbers / SMALLEST_GAIN
    return math.exp(round(math.log(loss) * steps) / steps) if 0 < loss < math.inf else loss
