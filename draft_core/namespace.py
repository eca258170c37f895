"""One code path for numbers and for JAX arrays: NumPy for what is constant, JAX for what varies.

A robot's formulas are written once. What does not depend on a design variable stays a NumPy
constant, so that a trace holds only what varies and its structural zeros stay zeros.
"""

import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
from jaxtyping import Float

# NumPy or JAX arrays of a shape; jaxtyping checks them without importing JAX
Vector3 = Float[Any, " 3"]
Quaternion = Float[Any, " 4"]
Matrix3 = Float[Any, "3 3"]


def is_jax(value: Any) -> bool:
    """Tell whether a value is a JAX array or tracer, without importing JAX for it."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(value, jax.Array)


def is_traced(value: Any) -> bool:
    """Tell whether a value is a JAX tracer, whose number is not known."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(value, jax.core.Tracer)


def namespace(*values: Any) -> ModuleType:
    """Return ``jax.numpy`` when any value is a JAX array, and ``numpy`` otherwise."""
    return sys.modules["jax.numpy"] if any(map(is_jax, values)) else np


def stack(rows: Sequence[Any], shape: tuple[int, ...] = ()) -> Any:
    """Stack scalars or equally shaped arrays along a new first axis.

    Args:
        rows: numbers, NumPy arrays or JAX arrays, mixed as they come.
        shape: the shape of one row, needed where there are none.
    """
    if not rows:
        return np.zeros((0, *shape))
    xp = namespace(*rows)
    if xp is np:
        return np.array(rows, dtype=float)
    return xp.stack([xp.asarray(row, dtype=float) for row in rows])


def joined(*parts: Any) -> Any:
    """Return arrays one after the other along their first axis."""
    return parts[0] if len(parts) == 1 else namespace(*parts).concatenate(parts)


def replaced(base: Any, rows: np.ndarray, values: Any) -> Any:
    """Return an array with some of its rows replaced.

    Args:
        base: NumPy or JAX array (n, ...).
        rows: whole numbers (k,), each once.
        values: their new values (k, ...).
    """
    if is_jax(base) or is_jax(values):  # gathered: XLA makes loops of scatters
        order = np.arange(len(base))
        order[rows] = np.arange(len(base), len(base) + len(rows))
        return joined(base, values)[order]
    result = np.array(base, dtype=float)
    result[rows] = values
    return result
