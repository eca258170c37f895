"""Functions of JAX's library that carry a derivative rule for one awkward point.

The point is a kink of the formula or a removable singularity. Written out, they have the right
value everywhere but the wrong derivative at that point, which is often where an optimiser starts:
softplus(x) is max(x, 0) + log1p(exp(-|x|)), whose terms both have a kink at 0. Here each is written
so that plain differentiation gives JAX's derivative there too.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from codesign.tracing.elementwise import elementwise
from codesign.tracing.equation import Equation, Rule
from codesign.tracing.values import Value


def _logaddexp(equation: Equation, inputs: list[Value]) -> list[Value]:
    """log(eᵃ + eᵇ): two smooth branches, each clipped where the other holds against overflow."""

    def graph(a: Any, b: Any) -> ca.SX:
        difference = a - b
        above = a + ca.log1p(ca.exp(-ca.fmax(difference, -1)))
        below = b + ca.log1p(ca.exp(ca.fmin(difference, 1)))
        return ca.if_else(difference >= 0, above, below)

    return elementwise(equation, inputs, np.logaddexp, graph)


def _relu(equation: Equation, inputs: list[Value]) -> list[Value]:
    """max(x, 0) with slope 0 at 0."""
    return elementwise(
        equation, inputs, lambda x: np.maximum(x, 0), lambda x: ca.if_else(x > 0, x, 0)
    )


def _sinc_near_zero(equation: Equation, inputs: list[Value]) -> list[Value]:
    """sin(x)/x where x is 0, with the slopes of its series."""
    return elementwise(equation, inputs, np.ones_like, lambda x: 1 - x**2 / 6 + x**4 / 120)


RULES: dict[str, Rule] = {
    "_sinc_maclaurin": _sinc_near_zero,
    "logaddexp": _logaddexp,
    "relu": _relu,
}
