import numpy as np
from numpy.typing import NDArray

_Ints = NDArray[np.int32]
_Floats = NDArray[np.float64]

def select(
    S: NDArray[np.floating],
    n: float,
    order: _Ints,
    first: int,
    last: int,
    penalty: float,
    sigma2: _Floats,
    max_parents: int,
    required_start: _Ints,
    required: _Ints,
    forbidden_start: _Ints,
    forbidden: _Ints,
    ends: NDArray[np.int64],
    parents: _Ints,
    weights: _Floats,
    variances: _Floats,
) -> int: ...
