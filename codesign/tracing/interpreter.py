"""Run a jaxpr on numpy arrays, on CasADi scalars, or on a mixture: one rule for each primitive."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from codesign.tracing import control, elementwise, factorisations, indexing, movement, reductions
from codesign.tracing.equation import Equation, Rule
from codesign.tracing.values import Value

PLAIN_RULES: dict[str, Rule] = {
    **elementwise.RULES,
    **movement.RULES,
    **indexing.RULES,
    **reductions.RULES,
    **factorisations.RULES,
}
SUPPORTED: tuple[str, ...] = tuple(sorted({*PLAIN_RULES, *control.RULES}))

_REMEDIES = {
    "debug_callback": "remove jax.debug.print and its kin",
    "debug_print": "remove jax.debug.print and its kin",
    "eigh": "carry the full matrix instead of its principal axes",
    "erfc": "use 1 - erf(x)",
    "io_callback": "compute what it returns before tracing",
    "lt_to": "jnp.interp and jnp.searchsorted look up a traced place; use jnp.where",
    "lu": "use jax.scipy.linalg.cho_factor and cho_solve on a symmetric positive definite matrix",
    "pure_callback": "write it in JAX",
    "qr": "use a Cholesky factor of AᵀA",
    "svd": "use a Cholesky factor of AᵀA",
}


def interpret(
    jaxpr: Any,
    constants: Sequence[Any],
    arguments: Sequence[Value],
    caller: Equation | None = None,
) -> list[Value]:
    """Evaluate a jaxpr.

    Args:
        jaxpr: a `jax.extend.core.Jaxpr` with nothing in it that its outputs do not need.
        constants: values of its constant variables.
        arguments: values of its inputs, numpy or symbolic.
        caller: the equation that holds the jaxpr, if any.

    Returns:
        Its outputs, each numpy where it depends on no symbolic input.

    Raises:
        TracingError: if an equation cannot be evaluated.
    """
    environment: dict[Any, Value] = dict(zip(jaxpr.invars, arguments, strict=True))
    environment.update(zip(jaxpr.constvars, map(_as_value, constants), strict=True))

    def read(atom: Any) -> Value:
        return np.asarray(atom.val, atom.aval.dtype) if hasattr(atom, "val") else environment[atom]

    for eqn in jaxpr.eqns:
        outputs = _apply(Equation(eqn, jaxpr, caller), [read(atom) for atom in eqn.invars])
        environment.update(zip(eqn.outvars, outputs, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _apply(equation: Equation, inputs: list[Value]) -> list[Value]:
    rule = PLAIN_RULES.get(equation.name)
    if rule is not None:
        return rule(equation, inputs)
    if equation.name in control.RULES:
        return control.RULES[equation.name](equation, inputs, partial(interpret, caller=equation))
    if equation.name.startswith(("random_", "rng_", "threefry")):
        equation.refuse("random numbers cannot be traced; draw them before and pass them in")
    if all(isinstance(value, np.ndarray) for value in inputs) and not equation.eqn.effects:
        return _run_in_jax(equation, inputs)
    remedy = _REMEDIES.get(equation.name, "write it with arithmetic, or compute it before tracing")
    equation.refuse(f"this primitive has no CasADi form; {remedy}")


def _run_in_jax(equation: Equation, inputs: list[Value]) -> list[Value]:
    """Evaluate a primitive that has no rule on constants, once and slowly, in JAX itself."""
    import jax.numpy as jnp

    primitive = equation.eqn.primitive
    try:
        outputs = primitive.bind(*map(jnp.asarray, inputs), **equation.params)
        return [np.asarray(x) for x in (outputs if primitive.multiple_results else [outputs])]
    except (TypeError, ValueError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        equation.refuse(f"its constants cannot be evaluated ({reason}); compute it before tracing")


def _as_value(constant: Any) -> Value:
    """Return a constant as numpy; what numpy cannot hold (a random key) is left as it is."""
    try:
        return np.asarray(constant)
    except TypeError:
        return constant
