"""JAX function in, CasADi function out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import casadi as ca
import numpy as np

from codesign.tracing.errors import TracingError
from codesign.tracing.interpreter import interpret
from codesign.tracing.values import Value, lift, size_of, symbolic


def to_casadi(
    f: Callable[..., Any],
    *example_args: Any,
    name: str = "f",
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
) -> ca.Function:
    """Turn a jittable JAX function of arrays into a CasADi function of columns.

    The function is traced once, in float64, and its jaxpr is evaluated with CasADi scalars. What does not depend on the
    inputs is folded; an element that is zero whatever the inputs is left out of the output's sparsity.

    Args:
        f: function of pytrees of arrays that returns a pytree of real arrays.
        example_args: arguments that give structure, shapes and types; only those matter. `jax.ShapeDtypeStruct` leaves
            will do.
        name: name of the CasADi function.
        input_names: one for each leaf of the arguments; x0, x1, ... if absent.
        output_names: one for each leaf of the result; y0, y1, ... if absent.

    Returns:
        Function with one input for each leaf of `example_args`, and one output for each leaf of the result, in JAX's
        order. Each is a column, row-major; outputs are sparse.

    Raises:
        TracingError: if `f` uses a primitive, or a data-dependent shape or loop, that has no CasADi form.
    """
    traced = _trace(f, example_args)
    shapes = [variable.aval.shape for variable in traced.jaxpr.invars]
    inputs = [ca.SX.sym(f"x{k}", size_of(shape)) for k, shape in enumerate(shapes)]
    arguments = [symbolic(x, shape) for x, shape in zip(inputs, shapes, strict=True)]
    outputs = [ca.sparsify(lift(value).column) for value in traced.run(arguments)]
    return ca.Function(
        name,
        inputs,
        ca.cse(outputs),
        list(input_names or (f"x{k}" for k in range(len(inputs)))),
        list(output_names or (f"y{k}" for k in range(len(outputs)))),
    )


def evaluate(f: Callable[..., Any], *args: Any) -> Any:
    """Evaluate a JAX function in numpy, compiling nothing.

    Args:
        f: function of pytrees of arrays.
        args: its arguments.

    Returns:
        What `f(*args)` returns, with numpy arrays as leaves.

    Raises:
        TracingError: as in `to_casadi`.
    """
    import jax

    traced = _trace(f, args)
    leaves = zip(jax.tree_util.tree_leaves(args), traced.jaxpr.invars, strict=True)
    outputs = traced.run([np.asarray(leaf, variable.aval.dtype) for leaf, variable in leaves])
    return jax.tree_util.tree_unflatten(traced.structure, outputs)


class _Traced:
    """A jaxpr that holds only what its outputs need, with its constants and its output structure."""

    def __init__(self, jaxpr: Any, constants: Sequence[Any], used: Sequence[bool], structure: Any):
        self.jaxpr = jaxpr
        self.constants = constants
        self.structure = structure
        self._used = used
        self._needed: Any = None

    def run(self, arguments: Sequence[Value]) -> list[Value]:
        """Evaluate on one argument for each leaf."""
        import jax

        x64 = jax.config.jax_enable_x64  # pyright: ignore[reportAttributeAccessIssue]
        with np.errstate(all="ignore"), nullcontext() if x64 else jax.enable_x64(True):
            return interpret(self.jaxpr, self.constants, arguments)


def _trace(f: Callable[..., Any], args: Sequence[Any]) -> _Traced:
    """Trace in float64, check the types at both ends, and drop what no output needs."""
    import jax
    from jax.interpreters import partial_eval

    x64 = jax.config.jax_enable_x64  # pyright: ignore[reportAttributeAccessIssue]
    with nullcontext() if x64 else jax.enable_x64(True):
        closed, result = jax.make_jaxpr(f, return_shape=True)(*args)
    for kind, variables in (("input", closed.jaxpr.invars), ("output", closed.jaxpr.outvars)):
        for position, variable in enumerate(variables):
            _require_real(kind, position, variable.aval)
    structure = jax.tree_util.tree_structure(result)
    needed, used = partial_eval.dce_jaxpr(closed.jaxpr, [True] * len(closed.jaxpr.outvars), True)
    return _Traced(needed, closed.consts, used, structure)


def _require_real(kind: str, position: int, aval: Any) -> None:
    dtype = getattr(aval, "dtype", None)
    if dtype is None or not (np.issubdtype(dtype, np.number) or dtype == np.bool_):
        raise TracingError(f"{kind} {position} is {aval}, not an array of numbers; pass numbers only")
    if np.issubdtype(dtype, np.complexfloating):
        raise TracingError(
            f"{kind} {position} is complex ({aval}); carry real and imaginary parts apart"
        )
