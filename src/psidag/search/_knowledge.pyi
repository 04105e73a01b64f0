import numpy as np
from numpy.typing import NDArray

_Ints = NDArray[np.int32]

class Knowledge:
    def __init__(
        self, tier: _Ints, required_start: _Ints, required: _Ints, forbidden_start: _Ints, forbidden: _Ints
    ) -> None: ...
