import numpy as np
from numpy.typing import NDArray

def transpose(source: NDArray[np.floating], target: NDArray[np.floating]) -> None: ...
def closest_order(
    W: NDArray[np.floating],
    Wt: NDArray[np.floating],
    row_factor: NDArray[np.float64],
    col_factor: NDArray[np.float64],
    after_ptr: NDArray[np.intc],
    after: NDArray[np.intc],
    before_ptr: NDArray[np.intc],
    before: NDArray[np.intc],
    row: NDArray[np.float64],
    col: NDArray[np.float64],
    order: NDArray[np.intp],
) -> bool: ...
