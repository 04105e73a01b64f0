"""The methods of all figures: how each is made, what counts as a gradient, and how it is drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from psidag.baselines import Dagma, EqVar, Golem, Notears, SortRegress
from psidag.engines.exact import Exact
from psidag.engines.sparse import Sparse
from psidag.engines.stochastic import Stochastic
from psidag.run.loop import Engine
from psidag.simulate import Problem
from psidag.stages.steps import SGD

#: Steps of a run within one order, in which the average is never begun anew, as in the theorem.
_STEPS_WITHIN_ORDER = 10_000
#: Steps between two looks at an iterate: in batches, and of one row each.
_LOOK_EVERY, _LOOK_EVERY_SAMPLE = 5, 100
#: Rounds of the algorithm as printed, 2,000 gradients each.
_PRINTED_ROUNDS = 20


@dataclass(frozen=True)
class Method:
    """A method as the experiments see it.

    Attributes
    ----------
    label : str
        What it is called in print.
    make : callable
        The engine for a problem and a seed.
    gradients : {"samples", "full", "none"}
        What it has computed: gradients of single rows, counted one by one; gradients over all n rows, counted as n
        each; or none.
    colour, marker, line : str
        How it is drawn, the same in every figure.
    cost : (float, float, float)
        Rough seconds on one thread at very few variables, those that 100 variables add, and the power of d that these
        grow with; for estimates only.
    stream : bool
        Whether it is fed fresh rows without end instead of the n rows of the problem.
    within_rounds : bool
        Whether its iterates within a round are judged too, not only those that close one.
    touch : bool
        Whether an iterate is in the units of the data only after the engine's last touch.
    intercept : bool
        Whether its loss has an intercept; the loss that the paper prints has none, and is judged as it is.
    """

    label: str
    make: Callable[[Problem, int], Engine]
    gradients: Literal["samples", "full", "none"]
    colour: str
    marker: str
    cost: tuple[float, float, float]
    line: Literal["-", "--", ":"] = "-"
    stream: bool = False
    within_rounds: bool = True
    touch: bool = False
    intercept: bool = True


def _ours(**options: Any) -> Callable[[Problem, int], Engine]:
    """The stochastic engine, looked at every few steps."""
    return lambda *_: Stochastic(look_every=_LOOK_EVERY, **options)


def _psi(ordering: str = "psi") -> Callable[[Problem, int], Engine]:
    """The same with a projection for the order and an average that weighs all steps of a stage alike."""
    return _ours(ordering=ordering, average="stage")


def _printed(**options: Any) -> Callable[[Problem, int], Engine]:
    """The algorithm as printed, for as many rounds as the criterion may take."""
    return lambda *_: Stochastic.paper(look_every=_LOOK_EVERY_SAMPLE, max_rounds=_PRINTED_ROUNDS, **options)


def _within(order: Callable[[Problem, int], np.ndarray], **options: Any) -> Callable[[Problem, int], Engine]:
    """The stochastic engine kept to an order, one long A2 whose average is never begun anew."""

    def make(problem: Problem, seed: int) -> Engine:
        return Stochastic(
            order=order(problem, seed),
            tau2=_STEPS_WITHIN_ORDER,
            average="stage",
            max_rounds=1,
            look_every=_LOOK_EVERY,
            **options,
        )

    return make


def _true_order(problem: Problem, seed: int) -> np.ndarray:
    return np.asarray(problem.dag.order)


def _random_order(problem: Problem, seed: int) -> np.ndarray:
    return np.random.default_rng([seed, problem.d]).permutation(problem.d)


#: Every method by its key, ψDAG first.
METHODS: dict[str, Method] = {
    "psidag-printed": Method(
        "ψDAG as printed", _printed(), "samples", "#004C7F", "X", (2.0, 6.0, 2.0), stream=True, intercept=False
    ),
    "psidag-stream": Method("ψDAG, fresh samples", _ours(), "samples", "#0072B2", "o", (0.2, 1.0, 2.0), stream=True),
    "psidag-rows": Method("ψDAG, same rows", _ours(), "samples", "#56B4E9", "s", (0.2, 0.6, 1.8)),
    "psi-stream": Method(
        "ψDAG in batches, fresh samples", _psi(), "samples", "#6A5ACD", "o", (0.1, 0.4, 2.0), "--",
        stream=True,
    ),
    "psi-rows": Method(
        "ψDAG in batches, same rows", _psi(), "samples", "#A79FE1", "s", (0.1, 0.35, 1.6), "--"
    ),
    "printed-rows": Method(
        "ψDAG as printed, same rows", _printed(), "samples", "#004C7F", "X", (2.0, 6.0, 2.0), "--", intercept=False
    ),
    "printed-centred": Method(
        "ψDAG as printed, same rows centred", _printed(intercept=True), "samples", "#4C9BC7", "X", (2.0, 6.0, 2.0), ":"
    ),
    "golem": Method("GOLEM", lambda *_: Golem(), "full", "#D55E00", "^", (6.0, 60.0, 2.5)),
    "dagma": Method("DAGMA", lambda *_: Dagma(), "full", "#E69F00", "v", (0.5, 9.0, 2.3)),
    "notears": Method("NOTEARS", lambda *_: Notears(), "full", "#CC79A7", "D", (0.2, 6.0, 2.6)),
    "exact": Method("exact", lambda *_: Exact(), "full", "#009E73", "P", (0.01, 0.03, 2.6), within_rounds=False),
    "sparse": Method(
        "sparse", lambda *_: Sparse(), "none", "#000000", "*", (0.01, 0.03, 1.25), within_rounds=False, touch=True
    ),
    "eqvar": Method("EqVar", lambda *_: EqVar(), "none", "#777777", "p", (0.01, 0.01, 1.6), within_rounds=False),
    "sort-regress": Method(
        "sort-and-regress", lambda *_: SortRegress(), "none", "#8C6D31", "d", (0.01, 0.01, 1.6), within_rounds=False
    ),
    "psidag-target": Method(
        "ψDAG, weighted as printed",
        _psi("psi-target"),
        "samples", "#882255", "h", (0.1, 0.4, 2.0), "--", stream=True,
    ),
    "psidag-source": Method(
        "ψDAG, weighted by curvature",
        _psi("psi-curvature"),
        "samples", "#999933", ">", (0.1, 0.4, 2.0), ":", stream=True,
    ),
    "order-true": Method(
        "true order", _within(_true_order), "samples", "#117733", "<", (0.5, 2.0, 1.5), stream=True,
    ),
    "order-true-sgd": Method(
        "true order, plain SGD",
        _within(_true_order, rule=SGD(schedule="sqrt")),
        "samples", "#332288", ">", (0.5, 2.0, 1.5), "--", stream=True,
    ),
    "order-random": Method(
        "random order", _within(_random_order), "samples", "#AA4499", "8", (0.5, 2.0, 1.5), stream=True,
    ),
}  # fmt: skip

PSIDAG = ("psidag-printed", "psidag-stream", "psidag-rows")
#: With ψ for the order and batches: what the recorded run of version 0.1 was made by.
IN_BATCHES = ("psi-stream", "psi-rows")
BASELINES = ("golem", "dagma")
#: What the figures of the paper compare; everything else has panels of its own.
OF_THE_PAPER = ("psidag-printed", "psidag-stream", "psi-stream", *BASELINES)
OURS_BEYOND = ("exact", "sparse", "eqvar", "sort-regress")
ALL = (*PSIDAG, *IN_BATCHES, *BASELINES, "notears", *OURS_BEYOND)
