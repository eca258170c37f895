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
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


class Equation:
    """A jaxpr equation: primitive name, parameters, and the types of what goes in and comes out.

    Attributes:
        eqn: the `jax.extend.core.JaxprEqn`.
        jaxpr: the jaxpr it stands in.
        caller: the equation that holds that jaxpr; None at the top.
        name: name of its primitive.
        params: parameters of its primitive.
    """

    __slots__ = ("caller", "eqn", "jaxpr", "name", "params")

    def __init__(self, eqn: Any, jaxpr: Any, caller: Equation | None = None):
        self.eqn = eqn
        self.jaxpr = jaxpr
        self.caller = caller
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
        raise TracingError(f"{self.name} at {source_line(self)}: {reason}")

    def constant(self, value: Value, what: str, remedy: str) -> np.ndarray:
        """Return a value that the graph's structure depends on, refusing it where it varies.

        Args:
            value: the value that must not depend on the inputs.
            what: its name in the message.
            remedy: what would work.
        """
        array = as_constant(value)
        if array is None:
            self.refuse(
                f"{what} depends on the function's inputs, so the graph would too; {remedy}"
            )
        return array


def source_line(equation: Equation) -> str:
    """Return 'file:line (function)' of the user's code that made an equation.

    JAX traces a jitted library function once and remembers where it was first called from, so what
    such a function holds is looked up at its call instead. A library's own line follows the user's
    where that is what the equation stands on.
    """
    frames = _frames(equation)
    inner = frames[0] if frames and _is_installed(frames[0]) else None
    level: Equation | None = equation
    outermost = equation
    while level is not None:
        outermost = level
        own = next((frame for frame in _frames(level) if not _is_installed(frame)), None)
        is_remembered = level.caller is not None and _is_installed(
            _definition(level.jaxpr, "func_filename")
        )
        if own is not None and not is_remembered:
            return own if inner is None else f"{own}, inside {inner}"
        level = level.caller
    name, _, place = _definition(outermost.jaxpr, "func_src_info").partition(" at ")
    return inner or (f"{place} ({name})" if place else "an unknown line")


def _frames(equation: Equation) -> list[str]:
    """'file:line (function)' of the calls that made an equation, innermost first, but JAX's."""
    from jax.extend import source_info_util

    summary = source_info_util.summarize(equation.eqn.source_info, num_frames=100)
    return [frame for frame in summary.splitlines()[::-1] if not frame.startswith(_HERE)]


def _definition(jaxpr: Any, what: str) -> str:
    """File (`func_filename`) or name and line (`func_src_info`) of a jaxpr's function, if known."""
    return getattr(jaxpr.debug_info, what, None) or ""


def _is_installed(frame: str) -> bool:
    return any(part in frame for part in _INSTALLED)
