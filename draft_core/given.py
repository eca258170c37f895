"""Designs as callers give them: mappings from names to numbers of any kind."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from draft_core.errors import DraftError
from draft_core.expressions import as_number, shorten
from draft_core.namespace import is_jax, is_traced


def as_design(design: Any) -> Mapping[str, Any]:
    """Return a design, the empty one for None.

    Raises:
        DraftError: it is no mapping.
    """
    if design is None:
        return {}
    if not isinstance(design, Mapping):
        raise DraftError(
            f"a design is {shorten(repr(design))}; give a mapping from names to numbers."
        )
    return design


def concrete(design: Any) -> dict[str, float]:
    """Return a design in numbers, those of JAX arrays included.

    Raises:
        DraftError: it is no mapping, or a value is no finite number or not known under a trace.
    """
    result = {}
    for name, value in as_design(design).items():
        if is_traced(value):
            raise DraftError(
                f"design variable {name!r} is traced by JAX, so that its value is not known; "
                "differentiate `realize` or `feasible_vector` instead."
            )
        result[name] = design_value(name, float(value) if _is_jax_number(name, value) else value)
    return result


def _is_jax_number(name: str, value: Any) -> bool:
    """Tell whether a value is a JAX array.

    Raises:
        DraftError: it is one, but not of one real number.
    """
    if not is_jax(value):
        return False
    if value.shape != () or value.dtype.kind in "bc":
        raise DraftError(
            f"design variable {name!r} is a {value.dtype} of shape {value.shape}; "
            "it must be one number."
        )
    return True


def design_value(name: str, value: Any) -> Any:
    """Return a design value as a float, or as an array of float64 if it is a JAX array.

    Raises:
        DraftError: it is not one finite number.
    """
    if _is_jax_number(name, value):
        if not is_traced(value) and not math.isfinite(value):
            raise DraftError(f"design variable {name!r} is {value}; it must be a finite number.")
        if value.dtype == np.float64:
            return value
        from draft_core.backend import jnp  # float64 from here on

        return jnp.asarray(value, dtype=float)
    number = as_number(
        value.item() if isinstance(value, np.generic | np.ndarray) and value.size == 1 else value
    )
    if number is None or not math.isfinite(number):
        raise DraftError(
            f"design variable {name!r} is {shorten(repr(value))}; it must be a finite number."
        )
    return number
