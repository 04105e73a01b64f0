import numpy as np
from numpy.typing import NDArray

from psidag.data._entries import Entries

_Ints = NDArray[np.int32]

def grow(
    S: Entries,
    variance: NDArray[np.float64],
    n: float,
    penalty: float,
    max_parents: int,
    tier: _Ints,
    required_start: _Ints,
    required: _Ints,
    forbidden_start: _Ints,
    forbidden: _Ints,
    near_start: NDArray[np.int64],
    near: _Ints,
    order: _Ints,
) -> None: ...
