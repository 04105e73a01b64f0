import numpy as np
from numpy.typing import NDArray

from psidag.data._entries import Entries

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int32]

def measure(
    S: Entries,
    columns: NDArray[np.float32],
    scale: float,
    weight: NDArray[np.float32],
    nodes: _Ints,
    start: NDArray[np.int64],
    parents: _Ints,
    shaped: NDArray[np.uint8],
    variance: _Floats,
    even: _Floats,
    odd: _Floats,
) -> None: ...
def explained(S: Entries, j: int, parents: _Ints, candidates: _Ints, share: _Floats) -> None: ...
