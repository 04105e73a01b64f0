import numpy as np
from numpy.typing import NDArray

def advance(
    W: NDArray[np.floating],
    average: NDArray[np.floating],
    G: NDArray[np.floating],
    step: float,
    shrink: float,
    share: float,
) -> tuple[float, float, float]: ...
def measure(
    G: NDArray[np.floating],
    free: NDArray[np.uint8],
    move: NDArray[np.floating],
    W: NDArray[np.floating],
) -> tuple[float, float, float]: ...
