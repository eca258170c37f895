"""Element-wise primitives: each is one numpy function and one CasADi function.

Inputs broadcast as in numpy. At kinks the slopes are CasADi's: a tie in max or min splits the slope
in half, as in JAX; |x| has slope 0 at 0, where JAX has 1.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

from codesign.tracing.equation import Equation, Rule
from codesign.tracing.values import Symbolic, Value, as_constant, folded, rearranged

_LARGEST = float(np.finfo(np.float64).max)
# Shifting by 2^500 puts every bit of an ordinary number left of the point, where floor changes
# nothing but the slope.
_SHIFT = 2.0**500
# exp(230)^3 is still a finite number, so that the logistic function's second derivative is too.
_LOGISTIC_FLOOR = -230.0


def elementwise(
    equation: Equation, inputs: list[Value], numeric: Callable, graph: Callable
) -> list[Value]:
    """Apply one function to every element of the broadcast inputs.

    Args:
        equation: where the call comes from; gives the output's shape and type.
        inputs: arrays that broadcast to the output's shape.
        numeric: the function in numpy, used when every input is a constant.
        graph: the same function on CasADi columns and Python numbers.
    """
    shape, dtype = equation.shape(), equation.dtype()
    if all(isinstance(value, np.ndarray) for value in inputs):
        result = np.asarray(numeric(*inputs)).astype(dtype)
        return [result if result.shape == shape else np.broadcast_to(result, shape)]
    if math.prod(shape) == 0:
        return [np.zeros(shape, dtype)]
    column = graph(*(_operand(value, shape) for value in inputs))
    return [folded(column, shape, dtype)]


def _operand(value: Value, shape: tuple[int, ...]) -> Any:
    """Return a value as CasADi takes it: a number, a scalar or a column of the output's size."""
    if isinstance(value, Symbolic):
        return value.column if value.index.size == 1 else value.broadcast_column(shape)
    if value.size == 1:
        return float(value.item())
    return ca.SX(np.broadcast_to(value, shape).ravel().astype(float))


def _plain(numeric: Callable, graph: Callable) -> Rule:
    return lambda equation, inputs: elementwise(equation, inputs, numeric, graph)


def _truncate(x: Any) -> Any:
    return ca.if_else(x < 0, ca.ceil(x), ca.floor(x))


def _integer_quotient(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    quotient = np.floor_divide(np.abs(a), np.abs(b))
    return np.where((a < 0) != (b < 0), -quotient, quotient)


def _divide(equation: Equation, inputs: list[Value]) -> list[Value]:
    """Divide; integers towards zero, as JAX does."""
    if np.issubdtype(equation.dtype(), np.integer):
        return elementwise(equation, inputs, _integer_quotient, lambda a, b: _truncate(a / b))
    return elementwise(equation, inputs, np.divide, operator.truediv)


def _logical(numeric: Callable, graph: Callable) -> Rule:
    """Rule for a bitwise primitive, which as a graph is known on booleans (0 or 1) only."""

    def rule(equation: Equation, inputs: list[Value]) -> list[Value]:
        symbolic = any(isinstance(value, Symbolic) for value in inputs)
        if symbolic and equation.dtype() != np.bool_:
            equation.refuse("bits of a traced integer are not known; use booleans or arithmetic")
        return elementwise(equation, inputs, numeric, graph)

    return rule


def _convert(equation: Equation, inputs: list[Value]) -> list[Value]:
    """Change type: to bool by x != 0, float to integer by truncation; float32 stays float64."""
    source, target = np.dtype(equation.input_dtype()), np.dtype(equation.dtype())
    if np.issubdtype(target, np.complexfloating):
        equation.refuse("complex numbers cannot be traced; carry real and imaginary parts apart")
    if isinstance(inputs[0], np.ndarray):
        return [inputs[0].astype(target)]
    if target == np.bool_ and source != np.bool_:
        return elementwise(equation, inputs, np.asarray, lambda x: x != 0)
    if np.issubdtype(target, np.integer) and np.issubdtype(source, np.floating):
        return elementwise(equation, inputs, np.trunc, _truncate)
    return inputs


def _integer_power(equation: Equation, inputs: list[Value]) -> list[Value]:
    exponent = equation.params["y"]
    return elementwise(
        equation,
        inputs,
        lambda x: np.power(x, np.asarray(exponent, x.dtype)),
        lambda x: x**exponent,
    )


def _round(equation: Equation, inputs: list[Value]) -> list[Value]:
    """Round halves away from zero or to even, as the equation says."""
    if int(equation.params["rounding_method"]) == 1:
        return elementwise(equation, inputs, np.rint, lambda x: x - ca.remainder(x, 1))
    return elementwise(equation, inputs, _round_away, _graph_round_away)


def _round_away(x: np.ndarray) -> np.ndarray:
    magnitude = np.abs(x)
    whole = np.floor(magnitude)
    return np.copysign(whole + (magnitude - whole >= 0.5), x)


def _graph_round_away(x: ca.SX) -> ca.SX:
    magnitude = ca.fabs(x)
    whole = ca.floor(magnitude)
    return ca.sign(x) * (whole + (magnitude - whole >= 0.5))


def _clamp(equation: Equation, inputs: list[Value]) -> list[Value]:
    """Inputs are (lower, x, upper)."""
    return elementwise(
        equation,
        inputs,
        lambda lower, x, upper: np.minimum(np.maximum(x, lower), upper),
        lambda lower, x, upper: ca.fmin(ca.fmax(x, lower), upper),
    )


def _select(equation: Equation, inputs: list[Value]) -> list[Value]:
    """Choose between cases, element by element; a constant choice only moves data."""
    which, cases = inputs[0], inputs[1:]
    known = as_constant(which)
    if known is not None:
        choice = np.broadcast_to(known, equation.shape()).astype(np.intp)

        def move(*arrays: np.ndarray) -> np.ndarray:
            return np.take_along_axis(np.stack(arrays), choice[None], 0)[0]

        return rearranged(move, *cases)
    return elementwise(equation, inputs, np.asarray, _graph_select)


def _graph_select(which: ca.SX, *cases: Any) -> ca.SX:
    if len(cases) == 2:
        return ca.if_else(which, cases[1], cases[0])
    chosen = cases[-1]
    for number in range(len(cases) - 2, -1, -1):
        chosen = ca.if_else(which == number, cases[number], chosen)
    return chosen


def _graph_logistic(x: ca.SX) -> ca.SX:
    return 1 / (1 + ca.exp(-ca.fmax(x, _LOGISTIC_FLOOR)))


def _logistic(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _stop_gradient(equation: Equation, inputs: list[Value]) -> list[Value]:
    """Keep the value (exact above 2^-447) and drop the slope."""
    return elementwise(equation, inputs, np.asarray, lambda x: ca.floor(x * _SHIFT) / _SHIFT)


def _identity(equation: Equation, inputs: list[Value]) -> list[Value]:
    return list(inputs)


def _not(equation: Equation, inputs: list[Value]) -> list[Value]:
    return _logical(np.invert, lambda x: 1 - x)(equation, inputs)


_ERF = np.vectorize(math.erf, otypes=[float])

RULES: dict[str, Rule] = {
    "abs": _plain(np.abs, ca.fabs),
    "acos": _plain(np.arccos, ca.acos),
    "acosh": _plain(np.arccosh, ca.acosh),
    "add": _plain(np.add, operator.add),
    "add_any": _plain(np.add, operator.add),
    "and": _logical(np.bitwise_and, operator.mul),
    "asin": _plain(np.arcsin, ca.asin),
    "asinh": _plain(np.arcsinh, ca.asinh),
    "atan": _plain(np.arctan, ca.atan),
    "atan2": _plain(np.arctan2, ca.atan2),
    "atanh": _plain(np.arctanh, ca.atanh),
    "cbrt": _plain(np.cbrt, lambda x: ca.sign(x) * ca.fabs(x) ** (1 / 3)),
    "ceil": _plain(np.ceil, ca.ceil),
    "clamp": _clamp,
    "convert_element_type": _convert,
    "copy": _identity,
    "cos": _plain(np.cos, ca.cos),
    "cosh": _plain(np.cosh, ca.cosh),
    "device_put": _identity,
    "div": _divide,
    "eq": _plain(np.equal, ca.eq),
    "erf": _plain(_ERF, ca.erf),
    "exp": _plain(np.exp, ca.exp),
    "exp2": _plain(np.exp2, lambda x: 2.0**x),
    "expm1": _plain(np.expm1, ca.expm1),
    "floor": _plain(np.floor, ca.floor),
    "ge": _plain(np.greater_equal, ca.ge),
    "gt": _plain(np.greater, ca.gt),
    "integer_pow": _integer_power,
    "is_finite": _plain(np.isfinite, lambda x: ca.fabs(x) <= _LARGEST),
    "le": _plain(np.less_equal, ca.le),
    "log": _plain(np.log, ca.log),
    "log1p": _plain(np.log1p, ca.log1p),
    "logistic": _plain(_logistic, _graph_logistic),
    "lt": _plain(np.less, ca.lt),
    "max": _plain(np.maximum, ca.fmax),
    "min": _plain(np.minimum, ca.fmin),
    "mul": _plain(np.multiply, operator.mul),
    "name": _identity,
    "ne": _plain(np.not_equal, ca.ne),
    "neg": _plain(np.negative, operator.neg),
    "not": _not,
    "optimization_barrier": _identity,
    "or": _logical(np.bitwise_or, lambda a, b: 1 - (1 - a) * (1 - b)),
    "pow": _plain(np.power, operator.pow),
    "rem": _plain(np.fmod, ca.fmod),
    "round": _round,
    "rsqrt": _plain(lambda x: 1 / np.sqrt(x), lambda x: 1 / ca.sqrt(x)),
    "select_n": _select,
    "sign": _plain(np.sign, ca.sign),
    "sin": _plain(np.sin, ca.sin),
    "sinh": _plain(np.sinh, ca.sinh),
    "sqrt": _plain(np.sqrt, ca.sqrt),
    "square": _plain(np.square, lambda x: x**2),
    "stop_gradient": _stop_gradient,
    "sub": _plain(np.subtract, operator.sub),
    "tan": _plain(np.tan, ca.tan),
    "tanh": _plain(np.tanh, ca.tanh),
    "xor": _logical(np.bitwise_xor, ca.ne),
}
