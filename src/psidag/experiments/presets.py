"""How much is run: sizes, seeds and budgets for a check, an hour, the recorded run, and the whole of the paper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from psidag.experiments.methods import BASELINES, IN_BATCHES, METHODS

_SIZES = (10, 50, 100, 500, 1000, 3000, 5000, 10_000)
_PAPER_HOURS = 36
_STOCHASTIC = ("psidag-stream", "psidag-rows", "psi-stream", "psidag-target", "psidag-source")
_WEIGHTED = ("psi-stream", "psidag-target", "psidag-source")
_PRINTED = ("psidag-printed", "printed-rows", "printed-centred")
_WITHIN = ("order-true", "order-true-sgd", "order-random")
_DENSE = ("exact", "eqvar", "sort-regress")


@dataclass(frozen=True)
class Rule:
    """How cells of some methods, sizes, graphs and noises are run; nothing named means all of them."""

    seconds: float
    seeds: int
    methods: tuple[str, ...] = tuple(METHODS)
    up_to: int = 10_000
    above: int = 0
    graphs: tuple[str, ...] = ()
    gaussian_only: bool = False
    to_goal: bool = False

    def fits(self, method: str, graph: str, d: int, noise: str) -> bool:
        """Whether it is for this."""
        return (
            method in self.methods
            and self.above < d <= self.up_to
            and (not self.graphs or graph in self.graphs)
            and (noise in ("gaussian", "real") or not self.gaussian_only)
        )


@dataclass(frozen=True)
class Preset:
    """A size of the whole undertaking.

    Attributes
    ----------
    about : str
        What it is for.
    sizes : mapping
        The size that stands for each of the paper's; those not named are left out.
    rules : tuple of Rule
        The first that fits a cell says how it is run; a cell that none fits is left out.
    n, n_test : int
        Rows to learn from and to be judged on.
    memory : float
        Megabytes for a cell.
    reduced : mapping
        Experiments with sizes of their own.
    first_seed : int
        Seeds count from here.
    """

    name: str
    about: str
    sizes: Mapping[int, int]
    rules: tuple[Rule, ...]
    n: int = 5000
    n_test: int = 10_000
    memory: float = 6000.0
    first_seed: int = 500
    reduced: Mapping[str, Mapping[int, int]] = field(default_factory=dict)

    def rule(self, method: str, graph: str, d: int, noise: str) -> Rule | None:
        """How this is run, or None if it is not."""
        return next((rule for rule in self.rules if rule.fits(method, graph, d, noise)), None)


_SMOKE = Preset(
    "smoke",
    "every figure at a tiny size, in about five minutes on two cores",
    {10: 10, 100: 20, 1000: 30, 3000: 30, 10_000: 60},
    (
        Rule(0.5, 1, BASELINES, up_to=20, graphs=("ER2", "ER4", "ER6", "Sachs"), gaussian_only=True),
        Rule(0.5, 1, BASELINES, up_to=10),
        Rule(0.5, 1, _PRINTED, up_to=11, gaussian_only=True),
        Rule(0.5, 2, _STOCHASTIC[:2], up_to=10, gaussian_only=True),
        Rule(0.5, 1, (*_STOCHASTIC[:2], "sparse"), up_to=20),
        Rule(0.5, 1, (*_STOCHASTIC, "sparse"), up_to=30, gaussian_only=True),
        Rule(0.5, 1, ("psidag-stream", "sparse")),
        Rule(0.5, 1, (*_DENSE, "notears"), up_to=11, gaussian_only=True),
        Rule(0.5, 1, _DENSE[1:], up_to=20, gaussian_only=True),
        Rule(1, 1, _WITHIN),
    ),
    n=1000,
    n_test=2000,
    memory=2000.0,
)

_LAPTOP = Preset(
    "laptop",
    "most sizes with 60 s a cell, in about an hour on two cores",
    {10: 10, 50: 50, 100: 100, 500: 500, 1000: 1000, 3000: 3000, 5000: 3000, 10_000: 10_000},
    (
        Rule(60, 1, BASELINES, up_to=100),
        Rule(60, 1, BASELINES, up_to=500, gaussian_only=True, to_goal=True),
        Rule(60, 1, ("notears",), up_to=100),
        Rule(60, 5, ("printed-rows", "printed-centred"), up_to=11),
        Rule(60, 1, _PRINTED, up_to=500),
        Rule(60, 3, _STOCHASTIC, up_to=100),
        Rule(60, 1, _STOCHASTIC, up_to=1000),
        Rule(60, 1, _STOCHASTIC, up_to=3000, graphs=("ER2", "ER4", "SF2")),
        Rule(60, 3, ("sparse",), up_to=1000),
        Rule(60, 1, ("sparse",)),
        Rule(60, 3, _DENSE, up_to=100),
        Rule(60, 1, _DENSE, up_to=1000),
        Rule(60, 3, _WITHIN),
    ),
    reduced={"fig-projection-er4": {3000: 500, 5000: 1000}},
)

_RUNTIME_GRAPHS = ("ER2", "SF2", "ER6")

_RECORDED = Preset(
    "recorded",
    "what the table that comes with psidag is made by: the paper's sizes, GOLEM and DAGMA to the criterion up to 1,000",
    {size: size for size in _SIZES},
    (
        # Failures and steadiness are shares and spreads: three runs say nothing about them.
        Rule(3600, 30, BASELINES, up_to=50, graphs=("ER2",), gaussian_only=True),
        Rule(3600, 30, BASELINES, up_to=100, graphs=("ER6",), gaussian_only=True),
        Rule(3600, 3, ("golem",), up_to=10, gaussian_only=True),
        Rule(3600, 3, ("golem",), up_to=100, graphs=("ER2", "ER6"), gaussian_only=True),
        Rule(3600, 1, ("golem",), up_to=100),
        Rule(3600, 3, ("dagma",), up_to=100, gaussian_only=True),
        Rule(3600, 1, ("dagma", "notears"), up_to=100),
        # Several times as long as GOLEM takes on the graphs of this size where it meets the criterion. On others its
        # gap settles above it as soon: on ER4 with 500 nodes at 0.114 from 200 s on.
        Rule(900, 1, BASELINES, up_to=500, gaussian_only=True, to_goal=True),
        Rule(2700, 1, ("golem",), up_to=1000, graphs=("ER2", "ER4"), gaussian_only=True, to_goal=True),
        Rule(3600, 1, ("dagma",), up_to=1000, graphs=("ER2", "ER4"), gaussian_only=True, to_goal=True),
        Rule(120, 1, BASELINES, up_to=3000, graphs=("ER2",), gaussian_only=True, to_goal=True),
        Rule(600, 100, ("printed-rows", "printed-centred"), up_to=11),
        Rule(600, 30, ("psidag-printed", "psidag-stream"), up_to=50, graphs=("ER2",), gaussian_only=True),
        Rule(600, 3, ("psidag-printed",), up_to=100, gaussian_only=True),
        Rule(600, 1, ("psidag-printed",), up_to=100),
        Rule(3600, 1, ("psidag-printed",), up_to=500, gaussian_only=True, to_goal=True),
        Rule(900, 1, ("psidag-printed",), up_to=1000, gaussian_only=True, to_goal=True),
        Rule(60, 3, (*_STOCHASTIC, *IN_BATCHES), up_to=100, gaussian_only=True),
        Rule(60, 1, (*_STOCHASTIC, *IN_BATCHES), up_to=100),
        # Whether weighting helps is a share too; beyond 1,000 nodes a run ends at the criterion, as in the paper.
        Rule(600, 10, _WEIGHTED, above=100, up_to=500, graphs=("ER2", "ER4"), gaussian_only=True, to_goal=True),
        Rule(600, 3, _STOCHASTIC, up_to=500, gaussian_only=True),
        Rule(600, 1, _STOCHASTIC, up_to=1000),
        # From a fixed sample no iterate of these sizes can meet the criterion, only the graph that is returned, and the
        # first round has the best: it is judged after one round and more, not waited for.
        Rule(150, 1, ("psidag-rows",), above=1000, up_to=3000, gaussian_only=True),
        Rule(300, 1, ("psidag-rows",), above=3000, up_to=5000, gaussian_only=True),
        Rule(600, 1, ("psidag-rows",), above=5000, graphs=("ER2", "SF2", "ER4", "SF4"), gaussian_only=True),
        # Dense graphs of that size take more than ten minutes each: one seed, as for those that are larger still.
        Rule(
            3600,
            1,
            ("psidag-stream", "psi-stream"),
            above=1000,
            up_to=3000,
            graphs=("ER6", "SF6"),
            gaussian_only=True,
            to_goal=True,
        ),
        Rule(3600, 3, _STOCHASTIC[:3], up_to=3000, gaussian_only=True, to_goal=True),
        Rule(7200, 1, _STOCHASTIC, up_to=5000, gaussian_only=True, to_goal=True),
        Rule(8400, 1, ("psidag-stream",), graphs=("ER2", "SF2", "ER4", "SF4"), to_goal=True),
        Rule(120, 3, IN_BATCHES, up_to=500, graphs=_RUNTIME_GRAPHS, gaussian_only=True),
        Rule(120, 1, IN_BATCHES, up_to=500),
        Rule(120, 1, IN_BATCHES, up_to=1000, to_goal=True),
        Rule(300, 3, ("sparse",), up_to=1000, gaussian_only=True),
        Rule(300, 1, ("sparse",)),
        Rule(300, 1, _DENSE, up_to=500),
        Rule(300, 1, ("eqvar", "sort-regress"), up_to=1000),
        Rule(300, 1, ("eqvar", "sort-regress"), up_to=3000, graphs=("ER2", "SF2")),
        Rule(300, 30, ("order-random",)),
        Rule(300, 3, ("order-true",)),
        Rule(300, 1, _WITHIN),
    ),
    memory=12_000.0,
)

_PAPER = Preset(
    "paper",
    f"the full grid, three seeds, {_PAPER_HOURS} hours a cell as in the paper",
    {size: size for size in _SIZES},
    (
        Rule(3600 * _PAPER_HOURS, 3, ("notears",), up_to=100),
        Rule(3600 * _PAPER_HOURS, 3, tuple(method for method in METHODS if method != "notears")),
    ),
    memory=40_000.0,
)

#: By name, the quickest first.
PRESETS: dict[str, Preset] = {preset.name: preset for preset in (_SMOKE, _LAPTOP, _RECORDED, _PAPER)}
