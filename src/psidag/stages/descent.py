"""Stochastic gradient steps on the least-squares loss, with or without an order: A1 and A2 of Algorithm 3."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from psidag.stages import _steps
from psidag.stages.steps import Measured, Step, StepRule
from psidag.system.parallel import Workers, tiles

Matrix = NDArray[np.floating]
Mask = NDArray[np.uint8]

#: Targets per piece of work: wide enough for BLAS, narrow enough that two cores have work from d = 300 on.
TILE = 256


class Batch(NamedTuple):
    """Centred rows as targets, and the same rows as sources, each column divided by its scale."""

    targets: Matrix
    sources: Matrix


class Descent(NamedTuple):
    """Where a descent stands. The arrays are overwritten by every step.

    Row j of each array belongs to target j (the transpose of W), so that a piece of work is a block of
    contiguous rows; column i is multiplied by the scale of source i. Where targets and sources stand in an order that
    ``free`` keeps to (``ordered``), no target needs sources beyond itself, and products are taken of the others alone.
    """

    weights: Matrix
    average: Matrix
    gradient: Matrix
    spare: Matrix
    free: Mask
    averaged: int
    here: Measured
    rule_state: Any
    ordered: bool = False


def start(
    weights: Matrix,
    free: Mask,
    batch: Batch,
    workers: Workers,
    rule: StepRule,
    radius: float,
    rule_state: Any = None,
    trial_batch: Batch | None = None,
    ordered: bool = False,
) -> Descent:
    """Begin at ``weights`` (cut to ``free``, overwritten from here on) with a new average.

    Without a ``rule_state`` to go on from, the rule is given a trial step of length ``radius``. It is on the same
    batch, so that the difference of the two gradients is due to curvature alone, unless it has one of its own.
    """
    weights *= free
    gradient, spare = np.zeros_like(weights), np.zeros_like(weights)
    _, steepness, slope = _gradient(weights, gradient, spare, free, batch, workers, ordered)
    here = Measured(float(np.vdot(weights, weights)), slope, steepness)
    if rule_state is None:
        length = radius / math.sqrt(steepness) if steepness > 0 else 0.0
        trial = weights - weights.dtype.type(length) * gradient
        np.subtract(trial, weights, out=spare)
        before = float(np.vdot(spare, gradient))
        there = np.zeros_like(weights)
        along, _, _ = _gradient(trial, there, spare, free, trial_batch or batch, workers, ordered)
        rule_state = rule.init(here._replace(moved=float(np.vdot(spare, spare)), bend=along - before), radius)
    return Descent(weights, np.zeros_like(weights), gradient, spare, free, 0, here, rule_state, ordered)


def resume(state: Descent, free: Mask, batch: Batch, workers: Workers) -> Descent:
    """Go on under another mask, to which iterate and average are cut, with all that was learned so far."""
    state.weights[:] *= free
    state.average[:] *= free
    _, steepness, slope = _gradient(state.weights, state.gradient, state.spare, free, batch, workers)
    here = Measured(float(np.vdot(state.weights, state.weights)), slope, steepness)
    return state._replace(free=free, here=here)


def step(state: Descent, batch: Batch, workers: Workers, rule: StepRule, lean: float = 0.0) -> Descent:
    """One stochastic gradient step; the average takes in the new point.

    Iterate t has a weight in proportion to t^lean, about: 0 weighs all alike, more leans on the later ones.
    """
    move: Step = rule.step(state.rule_state, state.here)
    share = (1.0 + lean) / (state.averaged + 1.0 + lean)

    def advance(rows: slice) -> tuple[float, float, float]:
        return _steps.advance(
            state.weights[rows], state.average[rows], state.gradient[rows], move.length, move.shrink, share
        )

    before, moved, size = _sums(workers.map(advance, _tiles(state.weights)))
    along, steepness, slope = _gradient(
        state.weights, state.spare, state.gradient, state.free, batch, workers, state.ordered
    )
    here = Measured(size, slope, steepness, moved, along - before)
    return state._replace(
        gradient=state.spare,
        spare=state.gradient,
        averaged=state.averaged + 1,
        here=here,
        rule_state=rule.update(state.rule_state, here),
    )


def _gradient(
    weights: Matrix, out: Matrix, move: Matrix, free: Mask, batch: Batch, workers: Workers, ordered: bool = False
) -> tuple[float, float, float]:
    """The free part of the gradient of ½ mean |x − Wᵀx|² into ``out``; returns <move, out>, |out|², <W, out>.

    Where targets and sources are ``ordered``, what lies beyond the last target of a piece must be zero already.
    """
    n = len(batch.targets)

    def piece(rows: slice) -> tuple[float, float, float]:
        end = rows.stop if ordered else None
        sources = batch.sources[:, :end]
        residual = weights[rows, :end] @ sources.T
        residual -= batch.targets.T[rows]
        residual /= n
        np.matmul(residual, sources, out=out[rows, :end])
        return _steps.measure(out[rows], free[rows], move[rows], weights[rows])

    return _sums(workers.map(piece, _tiles(weights)))


def _tiles(matrix: Matrix) -> list[slice]:
    """Blocks of rows of about equal size; the cut depends on d alone."""
    d = len(matrix)
    return tiles(d, math.ceil(d / math.ceil(d / TILE)))


def _sums(parts: list[tuple[float, float, float]]) -> tuple[float, float, float]:
    return tuple(map(sum, zip(*parts, strict=True)))  # type: ignore[return-value]
