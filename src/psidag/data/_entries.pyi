import numpy as np
from numpy.typing import NDArray

class Entries:
    def __init__(
        self,
        single: NDArray[np.float32] | None = None,
        double: NDArray[np.float64] | None = None,
        columns: NDArray[np.float32] | None = None,
    ) -> None: ...
    def __getitem__(self, pair: tuple[int, int]) -> float: ...
