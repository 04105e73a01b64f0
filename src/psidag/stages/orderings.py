"""Where an order comes from, between A1 and A2: ψ and what can take its place, each an object."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from psidag.graph.constraints import BoundConstraints
from psidag.graph.order import Order, check_order
from psidag.stages.model import Floats, Model, implied_covariance
from psidag.stages.projection import project, source_weights, target_weights
from psidag.stages.residual_order import residual_variance_order
from psidag.system.errors import InputError, listing


class Seen(NamedTuple):
    """What an engine has to show when it asks for an order; nothing in it may be changed."""

    weights: NDArray[np.floating]
    """W after A1, ``W[i, j]`` for i → j."""
    constraints: BoundConstraints
    """Prior knowledge, which the order must respect."""
    second_moment: Callable[[], Floats]
    """The mean square of each variable over the rows so far."""
    covariance: Callable[[], Floats]
    """The covariance of the rows so far."""
    model: Model | None = None
    """What A2 ended with in the round before, for orderings that read it; None in the first round."""


class Ordering(Protocol):
    """From what a run has seen to an order.

    An ordering of one's own needs ``order`` alone; a class that is derived from this one has the rest.
    """

    from_data_alone: ClassVar[bool] = False
    """Whether neither weights nor model matter, so that one round without A1 is enough."""
    reads_model: ClassVar[bool] = False
    """Whether the model of the round before is wanted."""

    def order(self, seen: Seen) -> Order:
        """All variables, causes first; it respects the constraints."""
        ...


@dataclass(frozen=True)
class Psi(Ordering):
    """ψ of the weights after A1: Algorithm 2 of the paper."""

    def order(self, seen: Seen) -> Order:
        """ψ(W)."""
        return project(seen.weights, constraints=seen.constraints)


@dataclass(frozen=True)
class WeightedPsi(Ordering):
    """ψ of W ∘ L, with L from the second moments m of the rows so far.

    Parameters
    ----------
    by : {"target", "source", "curvature"}
        L[i, j] = m_j, as the appendix of the paper prints it; m_i, the second derivative of the loss that it defines
        L by; or the root of m_i, with which Algorithm 2 weights squared entries by curvature.
    """

    by: Literal["target", "source", "curvature"] = "target"

    def __post_init__(self) -> None:
        if self.by not in ("target", "source", "curvature"):
            raise InputError(f"by must be 'target', 'source' or 'curvature'; got {self.by!r}")

    def order(self, seen: Seen) -> Order:
        """ψ(W ∘ L)."""
        m = seen.second_moment()
        forms = {
            "target": lambda: target_weights(m),
            "source": lambda: source_weights(m**2),
            "curvature": lambda: source_weights(m),
        }
        return project(seen.weights, weights=forms[self.by](), constraints=seen.constraints)


@dataclass(frozen=True)
class ByVariance(Ordering):
    """Next is the variable of lowest variance given those already placed, in the covariance of the rows (EqVar)."""

    from_data_alone: ClassVar[bool] = True

    def order(self, seen: Seen) -> Order:
        """A Cholesky factorisation that pivots on the smallest diagonal."""
        return residual_variance_order(seen.covariance(), seen.constraints)


@dataclass(frozen=True)
class FromModel(Ordering):
    """Next is the variable of lowest variance given those already placed, in the model that A2 ended with.

    Where noise variances are equal this order is consistent: a model whose order is wrong has a variable that varies
    less, given the right ones, than those placed before it. ψ's order is not, however many rows there are. No
    covariance of the rows enters: weights and residual variances imply one.

    Parameters
    ----------
    first : Ordering
        Where the order of the first round comes from, before there is a model.
    """

    reads_model: ClassVar[bool] = True

    first: Ordering = field(default_factory=Psi)

    def order(self, seen: Seen) -> Order:
        """The order of lowest residual variance under the model."""
        if seen.model is None:
            return self.first.order(seen)
        return residual_variance_order(implied_covariance(seen.model), seen.constraints)


#: The orderings that go by a name.
ORDERINGS: dict[str, Ordering] = {
    "model": FromModel(),
    "psi": Psi(),
    "psi-target": WeightedPsi("target"),
    "psi-source": WeightedPsi("source"),
    "psi-curvature": WeightedPsi("curvature"),
    "variance": ByVariance(),
}


def as_ordering(given: str | Ordering) -> Ordering:
    """The ordering of this name, or the one that was given.

    Examples
    --------
    >>> as_ordering("psi-target")
    WeightedPsi(by='target')
    """
    if isinstance(given, str) and given in ORDERINGS:
        return ORDERINGS[given]
    if isinstance(given, str | type) or not callable(getattr(given, "order", None)):
        raise InputError(
            f"ordering must be one of {listing(list(ORDERINGS))}, or an object with a method order(seen); got {given!r}"
        )
    return given


def order_by(ordering: Ordering, seen: Seen) -> Order:
    """The order, if it is one and respects the constraints; else an error that names the ordering."""
    order = check_order(ordering.order(seen), seen.constraints.d)
    if not seen.constraints.respects(order):
        raise InputError(
            f"the order of {ordering!r} contradicts the constraints; seen.constraints.nearest_order finds one near it "
            "that does not"
        )
    return order


def reads_model(ordering: Any) -> bool:
    """Whether the ordering wants the model of the round before."""
    return bool(getattr(ordering, "reads_model", False))


def from_data_alone(ordering: Any) -> bool:
    """Whether one round without A1 is enough for it."""
    return bool(getattr(ordering, "from_data_alone", False))
