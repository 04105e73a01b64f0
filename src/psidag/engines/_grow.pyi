import numpy as np
from numpy.typing import NDArray

_Ints = NDArray[np.int32]

def grow(
    S: NDArray[np.floating],
    variance: NDArray[np.float64],
    n: float,
    penalty: float,
    max_parents: int,
    tier: _Ints,
    required_start: _Ints,
    required: _Ints,
    forbidden_start: _Ints,
    forbidden: _Ints,
    order: _Ints,
) -> None: ...
