"""Arrays of directions and their lengths, for NumPy and JAX alike, with finite slopes everywhere.

Vectors are given by their components, each an array over the batch: NumPy then works on a few long
rows. The functions take the namespace they work in, so that it is decided once.
"""

from types import ModuleType
from typing import Any

import numpy as np

from draft_core.namespace import is_jax, stack

# squared lengths up to this count as zero [m²]
_NOTHING = 1e-24
# axes whose squared sine is below this count as parallel
PARALLEL = 1e-14


def as_array(value: Any) -> Any:
    """Return numbers, arrays, or nested sequences of them, as one array."""
    if isinstance(value, np.ndarray) or is_jax(value):
        return value
    return stack([as_array(item) if hasattr(item, "__len__") else item for item in value])


def pack(xp: ModuleType, rows: Any) -> Any:
    """Return equally shaped arrays along a new first axis (NumPy's own ``stack`` is slow)."""
    return np.array(rows) if xp is np else xp.stack(rows)


def root(xp: ModuleType, square: Any) -> Any:
    """Return the square root of a sum of squares, with slope 0 where there is nothing."""
    if xp is np:
        return np.sqrt(square)
    some = square > _NOTHING
    return xp.where(some, xp.sqrt(xp.where(some, square, 1.0)), 0.0)


def sign(xp: ModuleType, value: Any) -> Any:
    """Return 1 or −1."""
    return np.copysign(1.0, value) if xp is np else xp.where(value < 0, -1.0, 1.0)


def direction(xp: ModuleType, *vector: Any) -> list[Any]:
    """Return the components of unit vectors; a vector without length becomes the last axis."""
    square = sum(component * component for component in vector)
    nothing = square <= _NOTHING
    scale = 1 / xp.sqrt(xp.where(nothing, 1.0, square))
    parts = [component * scale for component in vector]
    return [*parts[:-1], xp.where(nothing, 1.0, parts[-1])]


def dot(a: Any, b: Any) -> Any:
    """Return a · b of vectors given by their components."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Any, b: Any) -> list[Any]:
    """Return a × b of vectors given by their components."""
    return [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
