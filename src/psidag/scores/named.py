"""The scores that go by a name."""

from __future__ import annotations

from typing import Literal, TypeAlias

from psidag.scores.gaussian import EQUAL, UNEQUAL
from psidag.scores.score import SearchScore
from psidag.system.errors import InputError

#: The scores by their names.
SCORES: dict[str, SearchScore] = {score.name: score for score in (EQUAL, UNEQUAL)}
#: What the command line and files call them.
NoiseName: TypeAlias = Literal["equal", "unequal"]
#: What the front doors take: a name, or a score of one's own.
Noise: TypeAlias = NoiseName | SearchScore


def as_score(noise: str | SearchScore) -> SearchScore:
    """The score that ``noise`` names, or ``noise`` itself if it is a score.

    Examples
    --------
    >>> as_score("unequal").title
    'unequal noise variances'
    """
    if isinstance(noise, str):
        if noise not in SCORES:
            raise InputError(f"noise must be {' or '.join(map(repr, SCORES))}, or a score; got {noise!r}")
        return SCORES[noise]
    if not all(hasattr(noise, member) for member in ("name", "policy", "noise_variance")):
        raise InputError(f"noise must be {' or '.join(map(repr, SCORES))}, or a score; got {noise!r}")
    return noise
