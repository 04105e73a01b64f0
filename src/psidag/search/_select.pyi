import numpy as np
from numpy.typing import NDArray

from psidag.data._entries import Entries
from psidag.search._knowledge import Knowledge

_Ints = NDArray[np.int32]
_Floats = NDArray[np.float64]

def select(
    S: Entries,
    n: float,
    order: _Ints,
    first: int,
    last: int,
    penalty: float,
    sigma2: _Floats,
    max_parents: int,
    knowledge: Knowledge,
    ends: NDArray[np.int64],
    parents: _Ints,
    weights: _Floats,
    variances: _Floats,
) -> int: ...
