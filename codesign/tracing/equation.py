"""One equation of a jaxpr as the rules see it, and how a rule refuses it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from codesign.tracing.errors import TracingError
from codesign.tracing.values import Value, as_constant

Rule = Callable[["Equation", list[Value]], list[Value]]

_HERE = os.path.dirname(os.path.abspath(__file__))


class Equation:
    """A jaxpr equation: primitive name, parameters, and the types of what goes in and comes out."""

    __slots__ = ("eqn", "name", "params")

    def __init__(self, eqn: Any):
        """Wrap a `jax.extend.core.JaxprEqn`."""
        self.eqn = eqn
        self.name: str = eqn.primitive.name
        self.params: dict[str, Any] = eqn.params

    def shape(self, output: int = 0) -> tuple[int, ...]:
        """Shape of an output."""
        return self.eqn.outvars[output].aval.shape

    def dtype(self, output: int = 0) -> np.dtype:
        """Type of an output's elements."""
        return self.eqn.outvars[output].aval.dtype

    def input_dtype(self, position: int = 0) -> np.dtype:
        """Type of an input's elements."""
        return self.eqn.invars[position].aval.dtype

    def refuse(self, reason: str) -> NoReturn:
        """Raise a TracingError that names the primitive and the user's source line.

        Args:
            reason: why it cannot be traced and what would work, as the rest of a sentence.
        """
        raise TracingError(f"{self.name} at {source_line(self.eqn.source_info)}: {reason}")

    def constant(self, value: Value, what: str, remedy: str) -> np.ndarray:
        """Return a value that the graph's structure depends on, refusing it where it varies.

        Args:
            value: the value that must not depend on the inputs.
            what: its name in the message.
            remedy: what would work.
        """
        array = as_constant(value)
        if array is None:
            self.refuse(f"{what} depends on the function's inputs, so the graph would too; {remedy}")
        return array


def source_line(source_info: Any) -> str:
    """Return 'file:line (function)' of the user's code that made an equation.

    The innermost frame outside installed packages is the user's; a library's own line follows where it differs.
    """
    from jax.extend import source_info_util

    frames = source_info_util.summarize(source_info, num_frames=100).splitlines()[::-1]
    frames = [frame for frame in frames if frame and not frame.startswith(_HERE)]
    if not frames:
        return "an unknown line"
    own = next((frame for frame in frames if "site-packages" not in frame), frames[0])
    return own if own == frames[0] else f"{own}, inside {frames[0]}"
