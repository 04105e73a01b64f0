"""What was taken to be true of the noise, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

from psidag.scores.gaussian import EQUAL, UNEQUAL
from psidag.scores.score import SearchScore
from psidag.system.errors import listing

#: Variances that are equal, that are close enough for a prior on their spread to help, and any.
Variances = Literal["equal", "nearly equal", "unequal"]


@dataclass(frozen=True)
class NoiseModel:
    """The assumptions on the noise behind a solution; ``print`` shows them in a sentence.

    Attributes
    ----------
    asked : str
        What ``noise=`` was.
    chosen : str
        The noise variances that the graph was learned with: ``"equal"``, ``"nearly equal"`` (a prior on their spread
        took part), ``"unequal"``, or the name of a score of one's own.
    reason : str
        Why, with figures.
    p_value : float, optional
        Of equal variances, where they were tested.
    ratio : float, optional
        The largest residual variance over the smallest at the graph that was tested.
    shape : tuple of str
        The columns whose noise is not Gaussian, and took part with its shape.
    lost : str
        What could not be looked at, such as shape where there are no rows.
    contradicted : bool
        Whether the data speak against what was asked for.

    Examples
    --------
    >>> print(NoiseModel("auto", "equal", "p = 0.4", 0.4, 1.1, ("dose",)))
    equal variances (p = 0.4); noise of 'dose' is not Gaussian
    """

    asked: str = "auto"
    chosen: str = "equal"
    reason: str = "not tested"
    p_value: float | None = None
    ratio: float | None = None
    shape: tuple[str, ...] = ()
    lost: str = ""
    contradicted: bool = False

    @property
    def equal(self) -> bool:
        """Whether equal variances, exactly or nearly, took part in the choice of directions."""
        return self.chosen in ("equal", "nearly equal")

    @property
    def score(self) -> SearchScore:
        """The score that stands for these variances."""
        return EQUAL if self.chosen == "equal" else UNEQUAL

    def because(self, reason: str, **changes: Any) -> NoiseModel:
        """The same with another reason, and what follows from it."""
        return replace(self, reason=reason, **changes)

    def __str__(self) -> str:
        parts = [f"{self.chosen} variances ({self.reason})"]
        if self.shape:
            parts.append(f"noise of {listing(self.shape)} is not Gaussian")
        return "; ".join([*parts, *([self.lost] if self.lost else [])])

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        return asdict(self) | {"shape": list(self.shape)}

    @classmethod
    def from_dict(cls, held: Mapping[str, Any]) -> NoiseModel:
        """What :meth:`as_dict` has written."""
        p_value, ratio = (None if held[key] is None else float(held[key]) for key in ("p_value", "ratio"))
        asked, chosen, reason, lost = (str(held[key]) for key in ("asked", "chosen", "reason", "lost"))
        shape, contradicted = tuple(map(str, held["shape"])), bool(held["contradicted"])
        return cls(asked, chosen, reason, p_value, ratio, shape, lost, contradicted)


def fold(ratio: float) -> str:
    """By how much two amounts differ of which one is this many times the other, as people say it.

    Examples
    --------
    >>> fold(2.73), fold(2950.0), fold(1e12)
    ('2.7-fold', '2,950-fold', 'more than a million-fold')
    >>> fold(1.0042), fold(1.31)
    ('by 0.42 %', 'by 31 %')
    """
    if ratio >= 1e6:
        return "more than a million-fold"
    if ratio < 1.95:
        return f"by {100 * (ratio - 1):.2g} %"
    return f"{ratio:.2g}-fold" if ratio < 10 else f"{ratio:,.0f}-fold"


def is_named(chosen: str) -> bool:
    """Whether this is one of the kinds of variances that are told apart here, rather than a score of one's own."""
    return chosen in get_args(Variances)
