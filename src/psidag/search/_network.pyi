import numpy as np
from numpy.typing import NDArray

from psidag.data._entries import Entries
from psidag.search._knowledge import Knowledge

_Ints = NDArray[np.int32]
_Longs = NDArray[np.int64]
_Floats = NDArray[np.float64]

class Network:
    def __init__(self, d: int, order: _Ints, variance: _Floats, knowledge: Knowledge) -> None: ...
    @property
    def waiting(self) -> int: ...
    @property
    def counters(self) -> tuple[int, int, int, int]: ...
    def configure(
        self,
        n: float,
        penalty: float,
        sigma2: _Floats,
        floor: _Floats,
        max_parents: int,
        leeway: float,
        max_additions: int,
        gain: float,
        neutral: bool,
    ) -> None: ...
    def check(self, S: Entries) -> None: ...
    def set_stale(self) -> None: ...
    def looked(self) -> None: ...
    def stale_hubs(self, nodes: _Longs, least: _Floats) -> int: ...
    def mark_stale(self, nodes: _Longs) -> None: ...
    def queue_all(self) -> None: ...
    def edge_count(self) -> int: ...
    def read(self, ends: _Longs, parents: _Ints, weights: _Floats, variances: _Floats) -> None: ...
    def read_order(self, order: _Ints) -> None: ...
    def outline(self, counts: _Ints, variances: _Floats, precisions: _Floats) -> None: ...
    def sizes(self) -> tuple[int, int, int]: ...
    def dump(
        self,
        order: _Ints,
        nodes: _Ints,
        parents: _Ints,
        children: _Ints,
        levels: _Floats,
        weights: _Floats,
        inverses: _Floats,
        queue: _Ints,
        numbers: _Floats,
        counts: _Longs,
    ) -> None: ...
    def restore(
        self,
        nodes: _Ints,
        parents: _Ints,
        children: _Ints,
        levels: _Floats,
        weights: _Floats,
        inverses: _Floats,
        queue: _Ints,
        numbers: _Floats,
        counts: _Longs,
    ) -> None: ...

def additions(
    S: Entries, net: Network, first: int, last: int, start: _Longs, found: _Ints, counts: _Ints, gains: _Floats
) -> None: ...
def additions_among(
    S: Entries,
    net: Network,
    first: int,
    last: int,
    near_start: _Longs,
    near: _Ints,
    start: _Longs,
    found: _Ints,
    counts: _Ints,
    gains: _Floats,
    hub_start: _Longs | None = None,
    hub_near: _Ints | None = None,
) -> None: ...
def select_among(S: Entries, net: Network, near_start: _Longs, near: _Ints) -> None: ...
def apply_additions(S: Entries, net: Network, nodes: _Ints, start: _Longs, found: _Ints, counts: _Ints) -> int: ...
def drain(S: Entries, net: Network, sweeps: int) -> int: ...
def open_neighbourhoods(
    S: Entries,
    net: Network,
    centres: _Ints,
    neighbours: int,
    seed: int,
    near_miss: float,
    most: int,
    in_all: int,
    near_start: _Longs,
    near: _Ints,
    changes: _Floats,
) -> list[int]: ...
def change_pairs(S: Entries, net: Network, nodes: _Ints, most: int, again: bool) -> int: ...
def resample(S: Entries, net: Network, seed: int) -> None: ...
def write(S: Entries, net: Network, nodes: _Ints, start: _Ints, parents: _Ints, lock: bool = False) -> None: ...
