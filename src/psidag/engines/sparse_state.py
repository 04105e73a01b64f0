"""Where the sparse search stands between two slices, and how that goes into a checkpoint and comes back."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from psidag.data.correlations import Correlations
from psidag.engines.candidates import Candidates, Scan, stored_candidates, stored_scan
from psidag.engines.comparison import Compared
from psidag.engines.moves import Fits
from psidag.engines.network_state import dump_network, restore_network, stored_fits
from psidag.engines.openings import Openings, stored_openings
from psidag.engines.polishing import Tried
from psidag.engines.starts import Starts, dump_starts, stored_starts
from psidag.graph.constraints import BoundConstraints
from psidag.search._network import Network


class State(NamedTuple):
    """Where the search stands between two slices.

    ``confirmed`` says that no node is left to which additions have not been looked for at this level; ``best`` is
    the lowest score of the closing rounds and ``quiet`` how many of them have passed without a lower one;
    ``openings`` are there once a search has ended, and ``opening`` says that more are to come. ``starts`` are those
    before the one under way. Where correlations are not held, ``near`` are the candidates listed so far, ``scan`` is
    the comparison under way that will add to them, and ``compared`` are the columns as scans compare them.
    """

    data: Correlations
    penalty: float
    levels: tuple[float, ...]
    net: Network | None = None
    level: int = 0
    confirmed: bool = False
    best: float = math.inf
    quiet: int = 0
    tried: Tried = frozenset()
    closed: Fits | None = None
    openings: Openings | None = None
    opening: bool = False
    steps: int = 0
    starts: Starts = Starts()
    near: Candidates | None = None
    scan: Scan | None = None
    compared: Compared | None = None


def dump_state(state: State) -> dict[str, Any]:
    """What :func:`restored_state` needs."""
    kept = state._asdict()
    for found_again in ("data", "penalty", "compared"):
        del kept[found_again]
    net = None if state.net is None else dump_network(state.net, state.data.d)
    return kept | {"net": net, "starts": dump_starts(state.starts, state.data.d)}


def restored_state(first: State, held: dict[str, Any], known: BoundConstraints) -> State:
    """The state that was dumped, over the data of the first one; ValueError if it is none."""
    data, d = first.data, first.data.d
    net = None if held["net"] is None else restore_network(data, known, held["net"])
    level, levels = int(held["level"]), tuple(map(float, held["levels"]))
    if not 0 <= level < len(levels) or not all(0 <= price < math.inf for price in levels):
        raise ValueError("a level of the penalty that does not exist")
    tried = frozenset(tuple(map(int, trial)) for trial in held["tried"])
    return first._replace(
        net=net, level=level, levels=levels, confirmed=bool(held["confirmed"]), tried=tried,
        closed=stored_fits(held["closed"], d), best=float(held["best"]), quiet=int(held["quiet"]),
        openings=stored_openings(held["openings"], d), opening=bool(held["opening"]), steps=int(held["steps"]),
        starts=stored_starts(held["starts"], data, known),
        near=stored_candidates(held["near"], d), scan=stored_scan(held["scan"], d),
    )  # fmt: skip
