"""Every experiment of the paper by the name of its figure or table, and how much of it each preset runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from psidag.experiments.cells import SACHS, Cell, ProblemSpec
from psidag.experiments.methods import ALL, BASELINES, IN_BATCHES, METHODS, OURS_BEYOND, PSIDAG
from psidag.experiments.presets import PRESETS, Preset
from psidag.system.errors import InputError, listing

NOISES = ("gaussian", "exponential", "gumbel")
_GAUSSIAN = ("gaussian",)

Kind = Literal["story", "loss", "runtime", "curves", "orders", "rate", "table"]


@dataclass(frozen=True)
class Block:
    """Problems times methods."""

    graphs: tuple[str, ...]
    sizes: tuple[int, ...]
    noises: tuple[str, ...] = _GAUSSIAN
    methods: tuple[str, ...] = ALL


@dataclass(frozen=True)
class Experiment:
    """A figure or table of the paper.

    Attributes
    ----------
    name : str
        After the paper's label.
    kind : str
        How it is drawn: time, loss and errors against d; loss against time and against gradients; run time against d;
        curves of one problem each; the same with random orders; the rate of the theorem; or a table.
    title, claim : str
        What it shows, and what the paper says about it, in one sentence.
    blocks : tuple of Block
        What is run.
    """

    name: str
    kind: Kind
    title: str
    claim: str
    blocks: tuple[Block, ...]

    @property
    def methods(self) -> tuple[str, ...]:
        """All of its methods, in the order of the legend."""
        used = {method for block in self.blocks for method in block.methods}
        return tuple(method for method in METHODS if method in used)


def _small(graph: str) -> Experiment:
    return Experiment(
        f"fig-{graph.lower()}-small",
        "loss",
        f"{graph}, small graphs: loss against time and against stochastic gradients",
        "Below 100 nodes DAGMA is fast but needs more gradients; GOLEM is steadier than DAGMA, ψDAG the steadiest.",
        (Block((graph,), (10, 50, 100), NOISES),),
    )


def _medium(graph: str) -> Experiment:
    return Experiment(
        f"fig-{graph.lower()}-medium",
        "loss",
        f"{graph}, medium graphs: loss against time and against stochastic gradients",
        "From 500 nodes on ψDAG converges fastest, and DAGMA takes many more gradients than ψDAG and GOLEM.",
        (Block((graph,), (500, 1000), NOISES), Block((graph,), (3000,))),
    )


def _dense(graph: str) -> Experiment:
    return Experiment(
        f"fig-{graph.lower()}",
        "loss",
        f"{graph}, dense graphs: loss against time and against stochastic gradients",
        "On dense graphs ψDAG beats GOLEM and DAGMA in time and in gradients, the more so the larger the graph.",
        (Block((graph,), (10, 50, 100, 500, 1000, 3000)),),
    )


_WEIGHTED = ("psi-stream", "psidag-target", "psidag-source")

#: By name, in the order of the page.
EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        Experiment(
            "fig-story",
            "story",
            "Time to the criterion, loss and wrong edges as graphs grow, all methods",
            "ψDAG scales to 10,000 nodes, and outperforms GOLEM, NOTEARS and DAGMA in loss and time.",
            (
                Block(("ER2", "ER4"), (10, 50, 100, 500, 1000)),
                Block(("ER2", "ER4"), (3000, 5000, 10_000), _GAUSSIAN, (*PSIDAG, *OURS_BEYOND)),
            ),
        ),
        Experiment(
            "fig-orders",
            "orders",
            "Fixed orders on ER4 (100 nodes in the paper): the true one, random ones, and ψDAG's own",
            "Minimising within a random order does not approach the solution; within the true order it does.",
            (Block(("ER4",), (100,), _GAUSSIAN, (*PSIDAG, *IN_BATCHES, *OURS_BEYOND, "order-true", "order-random")),),
        ),
        Experiment(
            "fig-er4-main",
            "loss",
            "ER4 under three noises (1,000 nodes in the paper)",
            "ψDAG converges faster than GOLEM and DAGMA whatever the noise.",
            (Block(("ER4",), (1000,), NOISES),),
        ),
        Experiment(
            "fig-small",
            "runtime",
            "Time to the criterion on small ER2 and ER4 graphs under three noises",
            "ψDAG is faster than GOLEM and DAGMA; on sparse graphs below 100 nodes DAGMA is marginally faster.",
            (Block(("ER2", "ER4"), (10, 50, 100, 500, 1000), NOISES),),
        ),
        Experiment(
            "fig-runtime",
            "runtime",
            "Time to the criterion as graphs grow",
            "ψDAG takes hours at 10,000 nodes, where GOLEM (from 3,000) and DAGMA (from 5,000) take over 36 hours.",
            (
                Block(("ER2", "SF2", "ER6"), (10, 50, 100, 500, 1000, 3000)),
                Block(("ER2", "SF2"), (5000, 10_000), _GAUSSIAN, (*PSIDAG, "psi-stream", *OURS_BEYOND)),
            ),
        ),
        *(figure(graph) for graph in ("ER2", "ER4", "SF2", "SF4") for figure in (_small, _medium)),
        _dense("ER6"),
        _dense("SF6"),
        Experiment(
            "fig-large",
            "loss",
            "The largest graphs, 5,000 and 10,000 nodes in the paper: the engines, and ψDAG where it was run",
            "ψDAG runs at 10,000 nodes; the others crash or would take more than 350 hours.",
            (Block(("ER2", "ER4", "SF2", "SF4"), (5000, 10_000), _GAUSSIAN, (*PSIDAG, "psi-stream", *OURS_BEYOND)),),
        ),
        Experiment(
            "fig-projection-er2",
            "curves",
            "The weighted projection, the plain one and DAGMA on ER2: 3,000 nodes as in the paper, and 500",
            "Weighting the projection can converge slightly faster, to a slightly lower loss, but not consistently.",
            (
                Block(("ER2",), (500,), _GAUSSIAN, _WEIGHTED),
                Block(("ER2",), (3000,), _GAUSSIAN, (*_WEIGHTED, "psidag-stream", "dagma", *OURS_BEYOND)),
            ),
        ),
        Experiment(
            "fig-projection-er4",
            "curves",
            "The weighted projection and the plain one on ER4: 3,000 and 5,000 nodes as in the paper, and 500",
            "Weighting the projection can converge slightly faster, to a slightly lower loss, but not consistently.",
            (
                Block(("ER4",), (500,), _GAUSSIAN, _WEIGHTED),
                Block(("ER4",), (3000, 5000), _GAUSSIAN, (*_WEIGHTED, *OURS_BEYOND)),
            ),
        ),
        Experiment(
            "fig-rate",
            "rate",
            "The rate of the theorem within the true order, its constants, and rounds of Algorithm 1 as they settle",
            "Within a fixed order the expected gap falls as O(σR/√T + LR²/T), and Algorithm 1 ends in a local minimum.",
            (Block(("ER2", "ER4"), (100,), _GAUSSIAN, ("order-true", "order-true-sgd")),),
        ),
        Experiment(
            "table-sachs",
            "table",
            "Sachs: 853 cells, 11 proteins, 17 edges, threshold 0.3",
            "ψDAG has 14 errors with 14 edges, NOTEARS 15 with 15, GOLEM 26 with 23, and DAGMA diverges.",
            (
                Block(
                    ("Sachs",), (11,), ("real",), (
                        "printed-rows", "printed-centred", "psidag-rows", "psi-rows", *BASELINES, "notears",
                        *OURS_BEYOND,
                    ),
                ),
            ),
        ),
    )
}  # fmt: skip


def choose(names: Sequence[str] = ()) -> list[Experiment]:
    """The experiments of these names, or of names that begin so; all if none is given.

    Examples
    --------
    >>> [experiment.name for experiment in choose(["fig-er2", "table-sachs"])]
    ['fig-er2-small', 'fig-er2-medium', 'table-sachs']
    """
    if not names:
        return list(EXPERIMENTS.values())
    for name in names:
        if not any(known.startswith(name) for known in EXPERIMENTS):
            known = listing(list(EXPERIMENTS), limit=len(EXPERIMENTS))
            raise InputError(f"no figure or table is called {name!r}; there are {known}")
    return [e for e in EXPERIMENTS.values() if any(e.name == name or e.name.startswith(f"{name}-") for name in names)]


def preset_named(name: str) -> Preset:
    """The preset of this name."""
    if name not in PRESETS:
        raise InputError(f"the presets are {listing(list(PRESETS))}; got {name!r}")
    return PRESETS[name]


def cells_of(experiment: Experiment, preset: Preset) -> list[Cell]:
    """What a preset runs of an experiment."""
    return [
        Cell(problem, method, preset.first_seed + k, rule.seconds, preset.memory, rule.to_goal)
        for problem, method in _pairs(experiment, preset)
        if (rule := preset.rule(method, problem.graph, problem.d, problem.noise)) is not None
        for k in range(rule.seeds)
    ]


def plan(experiments: Sequence[Experiment], preset: Preset) -> list[Cell]:
    """All cells of several experiments, each once, quick ones first."""
    once = {cell.key: cell for experiment in experiments for cell in cells_of(experiment, preset)}
    return sorted(once.values(), key=lambda cell: (expected_seconds(cell), cell.id))


def like(cells: Sequence[Cell], patterns: Sequence[str]) -> list[Cell]:
    """The cells that fit patterns of graph, size and method, such as ``ER2/500/psidag-*``, in the patterns' order.

    Examples
    --------
    >>> cells = plan(choose(["fig-small"]), preset_named("smoke"))
    >>> sorted({cell.method for cell in like(cells, ["ER4/10/dagma", "ER2/10/psidag-*"])})
    ['dagma', 'psidag-printed', 'psidag-rows', 'psidag-stream']
    """
    found: dict[str, Cell] = {}
    for pattern in patterns:
        fitting = [c for c in cells if fnmatchcase(f"{c.problem.graph}/{c.problem.d}/{c.method}", pattern)]
        if not fitting:
            known = listing(sorted({cell.method for cell in cells}), limit=len(METHODS))
            raise InputError(f"no cell of these figures is like {pattern!r}: graph/size/method, with methods {known}")
        found |= {cell.id: cell for cell in fitting if cell.id not in found}
    return list(found.values())


def expected_seconds(cell: Cell) -> float:
    """Roughly how long a cell takes, its start and the drawing of its problem included."""
    at_least, at_hundred, power = METHODS[cell.method].cost
    d = cell.problem.d
    setup = 0.7 + 2e-7 * d * (cell.problem.n + cell.problem.n_test)
    return setup + 1.2 * min(cell.seconds, at_least + at_hundred * math.pow(d / 100, power))


def _pairs(experiment: Experiment, preset: Preset) -> Iterator[tuple[ProblemSpec, str]]:
    seen = set()
    sizes = preset.reduced.get(experiment.name, preset.sizes)
    for block in experiment.blocks:
        for graph in block.graphs:
            for size in block.sizes:
                for noise in block.noises:
                    if graph == SACHS.graph:
                        problem = SACHS
                    elif size in sizes:
                        problem = ProblemSpec(graph, sizes[size], noise, preset.n, preset.n_test)
                    else:
                        continue
                    for method in block.methods:
                        if (problem, method) not in seen:
                            seen.add((problem, method))
                            yield problem, method
