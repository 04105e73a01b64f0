"""Plain values, arrays and square sparse matrices, nested in tuples and mappings, as JSON beside a list of arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]

_PARTS = ("data", "indices", "indptr")
_SPARSE = {"csr": sp.csr_array, "csc": sp.csc_array}


def flatten(value: Any, arrays: Arrays) -> Any:
    """The value as JSON; arrays in it are added to ``arrays`` and named in their place. Named tuples become tuples.

    Examples
    --------
    >>> arrays = {}
    >>> flatten((1.5, None, np.zeros(2)), arrays)
    {'tuple': [1.5, None, {'array': 'a0'}]}
    >>> unflatten({"tuple": [1.5, None, {"array": "a0"}]}, arrays)
    (1.5, None, array([0., 0.]))
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else {"float": str(float(value))}
    if isinstance(value, np.ndarray):
        key = f"a{len(arrays)}"
        arrays[key] = value
        return {"array": key}
    if isinstance(value, sp.csr_array | sp.csc_array):
        if value.shape[0] != value.shape[1]:
            raise TypeError("only square matrices are stored")
        return {"sparse": value.format, "parts": [flatten(getattr(value, part), arrays) for part in _PARTS]}
    if isinstance(value, tuple | list):
        return {"tuple": [flatten(item, arrays) for item in value]}
    if isinstance(value, frozenset):
        return {"set": [flatten(item, arrays) for item in sorted(value)]}
    if isinstance(value, Mapping):
        return {"mapping": {str(key): flatten(item, arrays) for key, item in value.items()}}
    raise TypeError(f"a {type(value).__name__} cannot be stored")


def unflatten(held: Any, arrays: Arrays) -> Any:
    """What :func:`flatten` was given. Raises ValueError, TypeError or KeyError over anything else."""
    if not isinstance(held, dict):
        if isinstance(held, list):
            raise ValueError("a bare list")
        return held
    if "array" in held:
        return arrays[held["array"]]
    if "float" in held:
        return float(held["float"])
    if "sparse" in held:
        parts = tuple(unflatten(part, arrays) for part in held["parts"])
        d = len(parts[2]) - 1
        matrix = _SPARSE[held["sparse"]](parts, shape=(d, d))
        matrix.check_format(full_check=True)
        return matrix
    if "tuple" in held:
        return tuple(unflatten(item, arrays) for item in held["tuple"])
    if "set" in held:
        return frozenset(unflatten(item, arrays) for item in held["set"])
    return {key: unflatten(item, arrays) for key, item in held["mapping"].items()}


def stored_array(value: Any, shape: tuple[int, ...], like: Any = np.float64) -> NDArray[Any]:
    """An array out of a file, if it is of this shape and type; else a ValueError."""
    if not isinstance(value, np.ndarray) or value.shape != shape or value.dtype != np.dtype(like):
        raise ValueError(f"an array that should be of shape {shape} and type {np.dtype(like)} is not")
    return value


def stored_order(value: Any, d: int) -> NDArray[np.intp] | None:
    """A permutation of d columns out of a file, or None if there is none; else a ValueError."""
    if value is None:
        return None
    order = stored_array(value, (d,), np.intp)
    if not np.array_equal(np.sort(order), np.arange(d)):
        raise ValueError("an order that is not a permutation")
    return order
