"""Primitives that hold other jaxprs: calls are entered, loops with a known count are unrolled.

A branch on a constant is taken; a branch on a traced value computes every branch and selects,
as `jax.vmap` does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca
import numpy as np

from codesign.tracing import smooth
from codesign.tracing.equation import Equation
from codesign.tracing.values import Value, as_constant, folded, rearranged

Interpret = Callable[[Any, Sequence[Any], Sequence[Value]], list[Value]]
ControlRule = Callable[[Equation, list[Value], Interpret], list[Value]]

MAX_ITERATIONS = 10_000


def _closed(jaxpr: Any, inputs: Sequence[Value], interpret: Interpret) -> list[Value]:
    """Run a closed jaxpr, or one without constants."""
    if hasattr(jaxpr, "consts"):
        return interpret(jaxpr.jaxpr, jaxpr.consts, inputs)
    return interpret(jaxpr, (), inputs)


def _call(parameter: str) -> ControlRule:
    """Rule for a primitive that runs the jaxpr in `parameter` on its inputs."""
    return lambda equation, inputs, interpret: _closed(
        equation.params[parameter], inputs, interpret
    )


def _custom_jvp(equation: Equation, inputs: list[Value], interpret: Interpret) -> list[Value]:
    """Enter the function itself; of its derivative rule only what `smooth.RULES` knows is kept."""
    call = equation.params["call_jaxpr"]
    name = getattr(call.jaxpr.debug_info, "func_name", "")
    constant = all(isinstance(value, np.ndarray) for value in inputs)
    if name in smooth.RULES and not constant:
        return smooth.RULES[name](equation, inputs)
    return _closed(call, inputs, interpret)


def _linear_solve(equation: Equation, inputs: list[Value], interpret: Interpret) -> list[Value]:
    """Run the given solver; CasADi differentiates through it."""
    lengths = equation.params["const_lengths"]
    first = lengths.matvec + lengths.vecmat
    total = first + lengths.solve + lengths.transpose_solve
    arguments = [*inputs[first : first + lengths.solve], *inputs[total:]]
    return _closed(equation.params["jaxprs"].solve, arguments, interpret)


def _scan(equation: Equation, inputs: list[Value], interpret: Interpret) -> list[Value]:
    """Unroll: carry from step to step, and stack what each step puts out."""
    count, carried = equation.params["num_consts"], equation.params["num_carry"]
    length = equation.params["length"]
    constants, carry = inputs[:count], inputs[count : count + carried]
    slices = [_steps(equation, value, length) for value in inputs[count + carried :]]
    collected: list[list[Value]] = [[] for _ in equation.eqn.outvars[carried:]]
    steps = range(length)
    for step in reversed(steps) if equation.params["reverse"] else steps:
        arguments = [*constants, *carry, *(pieces[step] for pieces in slices)]
        results = _closed(equation.params["jaxpr"], arguments, interpret)
        carry = results[:carried]
        for pieces, result in zip(collected, results[carried:], strict=True):
            pieces.append(result)
    if equation.params["reverse"]:
        collected = [pieces[::-1] for pieces in collected]
    stacked = [_stack(equation, carried + k, pieces) for k, pieces in enumerate(collected)]
    return [*carry, *stacked]


def _steps(equation: Equation, value: Value, length: int) -> list[Value]:
    if value.shape[0] != length:
        equation.refuse(f"scans {length} steps over an array of {value.shape[0]}; make them equal")
    return rearranged(list, value) if length else []


def _stack(equation: Equation, output: int, pieces: list[Value]) -> Value:
    if not pieces:
        return np.zeros(equation.shape(output), equation.dtype(output))
    return rearranged(lambda *arrays: np.stack(arrays), *pieces)[0]


def _while(equation: Equation, inputs: list[Value], interpret: Interpret) -> list[Value]:
    """Unroll a loop whose condition never depends on the inputs."""
    conditions, bodies = equation.params["cond_nconsts"], equation.params["body_nconsts"]
    condition_constants = inputs[:conditions]
    body_constants = inputs[conditions : conditions + bodies]
    state = inputs[conditions + bodies :]
    for _ in range(MAX_ITERATIONS):
        verdict = _closed(equation.params["cond_jaxpr"], [*condition_constants, *state], interpret)[
            0
        ]
        if not equation.constant(
            verdict, "the loop's condition", "use jax.lax.scan with a fixed count"
        ):
            return list(state)
        state = _closed(equation.params["body_jaxpr"], [*body_constants, *state], interpret)
    equation.refuse(f"the loop runs longer than {MAX_ITERATIONS} steps; shorten it")


def _cond(equation: Equation, inputs: list[Value], interpret: Interpret) -> list[Value]:
    """Take the branch a constant names, or merge all branches of a traced index."""
    index, arguments = inputs[0], inputs[1:]
    branches = equation.params["branches"]
    known = as_constant(index)
    if known is not None:
        chosen = min(max(int(known), 0), len(branches) - 1)
        return _closed(branches[chosen], arguments, interpret)
    results = [_closed(branch, arguments, interpret) for branch in branches]
    return [
        _merged(index, list(cases), equation.shape(k), equation.dtype(k))
        for k, cases in enumerate(zip(*results, strict=True))
    ]


def _merged(index: Any, cases: list[Value], shape: tuple[int, ...], dtype: np.dtype) -> Value:
    """Select one of `cases` by a traced scalar index."""
    columns = [_column(case) for case in cases]
    if 0 in shape:
        return cases[0]
    chosen = columns[-1]
    for number in range(len(columns) - 2, -1, -1):
        matches = index.column <= 0 if number == 0 else index.column == number
        chosen = ca.if_else(matches, columns[number], chosen)
    return folded(chosen, shape, dtype)


def _column(value: Value) -> ca.SX:
    return ca.SX(value.ravel().astype(float)) if isinstance(value, np.ndarray) else value.column


RULES: dict[str, ControlRule] = {
    "closed_call": _call("call_jaxpr"),
    "cond": _cond,
    "custom_jvp_call": _custom_jvp,
    "custom_linear_solve": _linear_solve,
    "custom_vjp_call": _call("call_jaxpr"),
    "jit": _call("jaxpr"),
    "remat2": _call("jaxpr"),
    "scan": _scan,
    "while": _while,
}
