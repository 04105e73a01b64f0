"""The scores that go by a name."""

from __future__ import annotations

from typing import Literal, TypeAlias, TypeGuard

from psidag.scores.gaussian import EQUAL, UNEQUAL
from psidag.scores.score import SearchScore
from psidag.system.errors import InputError, listing

#: The scores by their names.
SCORES: dict[str, SearchScore] = {score.name: score for score in (EQUAL, UNEQUAL)}
#: What is assumed of the noise: found out from the data, one variance for all, one for each, or any shape as well.
NoiseName: TypeAlias = Literal["auto", "equal", "unequal", "nongaussian"]
#: The score that a search under these assumptions begins with.
_FIRST: dict[str, SearchScore] = {"auto": EQUAL, "equal": EQUAL, "unequal": UNEQUAL, "nongaussian": UNEQUAL}
#: What the front doors take: a name, or a score of one's own.
Noise: TypeAlias = NoiseName | SearchScore


def as_score(noise: str | SearchScore) -> SearchScore:
    """The score that a search with this ``noise`` begins with, or ``noise`` itself if it is a score.

    Examples
    --------
    >>> as_score("unequal").title
    'unequal noise variances'
    """
    if isinstance(noise, str) and noise in _FIRST:
        return _FIRST[noise]
    if isinstance(noise, str) or not all(hasattr(noise, member) for member in ("name", "policy", "noise_variance")):
        raise InputError(f"noise must be one of {listing(list(_FIRST))}, or a score; got {noise!r}")
    return noise


def needs_shape(noise: Noise) -> bool:
    """Whether the shape of the noise is asked for, which only residuals of rows tell."""
    return noise == "nongaussian"


def leaves_open(noise: Noise) -> TypeGuard[NoiseName]:
    """Whether something about the noise is to be found out, or tested, in the search."""
    return isinstance(noise, str) and noise != "unequal"
