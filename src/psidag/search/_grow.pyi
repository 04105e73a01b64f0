import numpy as np
from numpy.typing import NDArray

from psidag.data._entries import Entries
from psidag.search._knowledge import Knowledge

_Ints = NDArray[np.int32]

def grow(
    S: Entries,
    variance: NDArray[np.float64],
    n: float,
    penalty: float,
    max_parents: int,
    knowledge: Knowledge,
    near_start: NDArray[np.int64],
    near: _Ints,
    order: _Ints,
) -> None: ...
