"""What the stochastic engine keeps between two slices, and how it goes into a checkpoint and comes back."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from psidag.data.rows import RowFeed
from psidag.graph.order import Order, positions
from psidag.stages.descent import Descent, Mask, Matrix
from psidag.stages.steps import Measured
from psidag.system.tree import stored_array, stored_order

Array = TypeVar("Array", bound=NDArray[Any])

#: What is kept of the state itself, and of its descent.
_KEPT = ("radius", "order", "last_order", "left", "steps", "loss_projected", "squares", "residuals", "kept")
_ARRAYS, _OF_DESCENT = ("weights", "average", "gradient"), ("averaged", "here")


class Squares(NamedTuple):
    """Sums of squares by column, over this many rows."""

    rows: int
    total: NDArray[np.float64]

    def add(self, rows: Matrix) -> Squares:
        """These rows too."""
        return Squares(self.rows + len(rows), self.total + np.einsum("ij,ij->j", rows, rows, dtype=np.float64))

    @property
    def mean(self) -> NDArray[np.float64]:
        """The mean squares."""
        return self.total / max(1, self.rows)


class State(NamedTuple):
    """Where the run stands between two slices.

    ``order`` is the one A2 keeps, or None in A1; ``last_order`` that of the round before. ``kept`` are the weights
    that the last A2 ended with and ``residuals`` the squares that they leave of the rows of A1: together the model.
    """

    feed: RowFeed
    scale: NDArray[np.float64]
    radius: float
    descent: Descent
    order: Order | None
    last_order: Order | None
    left: int
    steps: int
    loss_projected: float
    squares: Squares
    residuals: Squares
    kept: Any = None


def noted(state: State, taken: list[Matrix]) -> State:
    """The state with the squares of these rows, and in A1 with what the model leaves of them."""
    if not taken:
        return state
    rows = np.concatenate(taken)
    state = state._replace(squares=state.squares.add(rows))
    if state.order is None and state.kept is not None:
        state = state._replace(residuals=state.residuals.add(rows - rows @ state.kept))
    return state


def laid_out(array: Array, sequence: Order | None) -> Array:
    """An array of targets and sources with both in this sequence; itself without one."""
    return array if sequence is None else cast("Array", array[np.ix_(sequence, sequence)])


def as_before(array: Array, sequence: Order | None) -> Array:
    """What was laid out in a sequence as it was before."""
    return laid_out(array, None if sequence is None else positions(sequence))


def dumped(state: State, sequence: Order | None) -> dict[str, Any]:
    """The state as plain values, arrays and tuples, from a descent that is laid out in a sequence."""
    rows: Any = state.feed
    return {
        "feed": rows.dump(),
        **{key: getattr(state, key) for key in _KEPT},
        **{key: as_before(getattr(state.descent, key), sequence) for key in _ARRAYS},
        **{key: getattr(state.descent, key) for key in _OF_DESCENT},
        "rule": state.descent.rule_state,
    }


def restored(new: State, held: dict[str, Any], free: Mask, sequence: Order | None) -> State:
    """The state that was dumped, from a new one of the same task and from what may have a weight, laid out."""
    d = len(free)
    rows: Any = new.feed
    rows.restore(held["feed"])
    order, last_order = (stored_order(held[key], d) for key in ("order", "last_order"))
    weights, average, gradient = (
        laid_out(stored_array(held[key], (d, d), new.descent.weights.dtype), sequence) for key in _ARRAYS
    )
    descent = new.descent._replace(
        weights=weights,
        average=average,
        gradient=gradient,
        spare=np.zeros_like(weights),
        free=free,
        averaged=int(held["averaged"]),
        here=Measured(*held["here"]),
        rule_state=_like(new.descent.rule_state, held["rule"]),
        ordered=sequence is not None,
    )
    if held["kept"] is not None and held["kept"].shape != (d, d):
        raise ValueError("a model that does not fit the data")
    squares, residuals = (
        Squares(int(held[key][0]), stored_array(held[key][1], (d,))) for key in ("squares", "residuals")
    )
    return new._replace(
        radius=float(held["radius"]),
        descent=descent,
        order=order,
        last_order=last_order,
        left=int(held["left"]),
        steps=int(held["steps"]),
        loss_projected=float(held["loss_projected"]),
        squares=squares,
        residuals=residuals,
        kept=held["kept"],
    )


def _like(state: Any, held: Any) -> Any:
    """What is held, as the kind of tuple that the state of a step rule is; anything else as it is."""
    return type(state)(*held) if isinstance(state, tuple) else held
