"""Experiments on a model: rows in which some of its variables were set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from psidag.graph.dag import DAG
from psidag.simulate.graphs import Seed
from psidag.simulate.model import LinearSEM
from psidag.system.errors import InputError

Manner = Literal["knockdown", "knockout", "shift", "randomise"]

#: How far a knock-down or a shift moves a variable, and how much it still varies, in its standard deviations.
_MOVED, _LEFT = 2.0, 0.3


@dataclass(frozen=True, eq=False)
class Experiment:
    """Rows with what was set in them; ``learn_dag(experiment.X, interventions=experiment.labels)``.

    Attributes
    ----------
    X : array of shape (n, d)
        The rows, those in which nothing was set first.
    labels : list
        For each row None, or the names of what was set, as a tuple.
    names : tuple of str
        The variables.

    Examples
    --------
    >>> model = LinearSEM(DAG.from_edges([("gene", "protein", 2.0)]))
    >>> found = experiment(model, ["gene"], rows=2, control_rows=3, seed=0)
    >>> found.X.shape, found.labels
    ((5, 2), [None, None, None, ('gene',), ('gene',)])
    """

    X: NDArray[np.float64]
    labels: list[tuple[str, ...] | None]
    names: tuple[str, ...]


def experiment(
    model: LinearSEM,
    targets: Iterable[str | Sequence[str]] | None = None,
    rows: int = 20,
    *,
    control_rows: int = 1000,
    manner: Manner = "knockdown",
    seed: Seed,
) -> Experiment:
    """Draw rows from a model left alone, and from it with one target after another set.

    Parameters
    ----------
    model : LinearSEM
        What the rows come from.
    targets : iterable of str or of several names, optional
        What is set, one condition each; every variable for itself by default.
    rows : int
        Rows of each condition.
    control_rows : int
        Rows in which nothing is set.
    manner : {"knockdown", "knockout", "shift", "randomise"}
        ``"knockdown"`` moves a variable two standard deviations down, where it varies by 0.3 of them; ``"knockout"``
        sets it to zero; ``"randomise"`` cuts it off from its causes and leaves mean and variance as they are;
        ``"shift"`` adds two standard deviations and leaves its causes at work.
    seed : int or Generator
        Where the rows come from.

    Examples
    --------
    >>> from psidag.simulate import simulate
    >>> made = experiment(simulate("ER2", d=5, n=10, seed=0).model, ["x1", ("x2", "x3")], 3, control_rows=4, seed=0)
    >>> made.X.shape, made.labels[3:8]
    ((10, 5), [None, ('x1',), ('x1',), ('x1',), ('x2', 'x3')])
    """
    if manner not in get_args(Manner):
        raise InputError(f"manner must be one of {', '.join(map(repr, get_args(Manner)))}; got {manner!r}")
    rng = np.random.default_rng(seed)
    sets = [(each,) if isinstance(each, str) else tuple(each) for each in (model.names if targets is None else targets)]
    control = model.sample(control_rows, rng)
    mean, sd = model.mean, _deviations(model)
    parts = [control]
    labels: list[tuple[str, ...] | None] = [None] * control_rows
    for names in sets:
        chosen = np.array([model.dag.index(name) for name in names], dtype=np.intp)
        parts.append(_set(model, chosen, manner, mean[chosen], sd[chosen]).sample(rows, rng))
        labels += [names] * rows
    return Experiment(np.concatenate(parts), labels, model.names)


def cut(model: LinearSEM, chosen: NDArray[np.intp], mean: ArrayLike, sd: ArrayLike) -> LinearSEM:
    """The model in which nothing points at some variables, which have this mean and standard deviation instead."""
    keep = np.ones(model.d)
    keep[chosen] = 0.0
    weights = sp.csr_array(model.weights @ sp.diags_array(keep))
    weights.eliminate_zeros()
    scale, intercept = (np.array(given, dtype=np.float64) for given in (model.scale, model.intercept))
    one = LinearSEM(model.dag, model.noise)
    scale[chosen] = np.asarray(sd) / np.sqrt(one.noise_variance[chosen])
    intercept[chosen] = np.asarray(mean) - scale[chosen] * one.noise_mean[chosen]
    return LinearSEM(DAG(weights, model.order, model.names), model.noise, scale, intercept)


def _set(model: LinearSEM, chosen: NDArray[np.intp], manner: Manner, mean: Any, sd: Any) -> LinearSEM:
    if manner == "shift":
        intercept = np.array(model.intercept, dtype=np.float64)
        intercept[chosen] += _MOVED * sd
        return LinearSEM(model.dag, model.noise, model.scale, intercept)
    if manner == "knockout":
        return cut(model, chosen, np.zeros(len(chosen)), np.zeros(len(chosen)))
    moved = mean - _MOVED * sd if manner == "knockdown" else mean
    return cut(model, chosen, moved, _LEFT * sd if manner == "knockdown" else sd)


def _deviations(model: LinearSEM) -> NDArray[np.float64]:
    """Standard deviations of the variables: column norms of (I − W)⁻¹ with the deviations of the noise as rows."""
    through = np.diag(np.sqrt(model.noise_variance))
    W = sp.csc_array(model.weights)
    for v in model.order.tolist():
        part = slice(int(W.indptr[v]), int(W.indptr[v + 1]))
        through[:, v] += through[:, W.indices[part]] @ W.data[part]
    return np.asarray(np.linalg.norm(through, axis=0))
