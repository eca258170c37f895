"""JAX function in, CasADi function out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from codesign.tracing.errors import TracingError
from codesign.tracing.interpreter import interpret
from codesign.tracing.values import Value, lift, merged, size_of, symbolic


def to_casadi(
    f: Callable[..., Any],
    *example_args: Any,
    name: str = "f",
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
) -> ca.Function:
    """Turn a jittable JAX function of arrays into a CasADi function of columns.

    The function is traced once, in float64, and its jaxpr is evaluated with CasADi scalars. What
    does not depend on the inputs is folded; an element that is zero whatever the inputs is left out
    of the output's sparsity.

    Args:
        f: function of pytrees of arrays that returns a pytree of real arrays.
        example_args: arguments that give structure, shapes and types; only those matter.
            `jax.ShapeDtypeStruct` leaves will do.
        name: name of the CasADi function; what CasADi does not allow in one is left out.
        input_names: one for each leaf of the arguments; x0, x1, ... if absent.
        output_names: one for each leaf of the result; y0, y1, ... if absent.

    Returns:
        Function with one input for each leaf of `example_args`, and one output for each leaf of the
        result, in JAX's order. Each is a column, row-major; outputs are sparse.

    Raises:
        TracingError: if `f` uses a primitive, or a data-dependent shape or loop, that has no CasADi
            form.
    """
    traced = _trace(f, example_args)
    shapes = [variable.aval.shape for variable in traced.jaxpr.invars]
    inputs = [ca.SX.sym(f"x{k}", size_of(shape)) for k, shape in enumerate(shapes)]
    arguments = [symbolic(x, shape) for x, shape in zip(inputs, shapes, strict=True)]
    outputs = [ca.sparsify(lift(value).column) for value in traced.run(arguments)]
    return ca.Function(
        ca.Function.fix_name(name),
        inputs,
        merged(outputs),
        _names(input_names, "x", len(inputs), "input"),
        _names(output_names, "y", len(outputs), "output"),
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
    return evaluator(f, *args)(*args)


def evaluator(f: Callable[..., Any], *example_args: Any) -> Callable[..., Any]:
    """Trace a JAX function once, to evaluate it in numpy many times.

    Args:
        f: function of pytrees of arrays.
        example_args: arguments that give structure, shapes and types, as in `to_casadi`.

    Returns:
        Function of arguments alike, which returns what `f` does with numpy arrays as leaves.

    Raises:
        TracingError: as in `to_casadi`.
    """
    import jax

    traced = _trace(f, example_args)

    def run(*args: Any) -> Any:
        leaves = zip(jax.tree_util.tree_leaves(args), traced.jaxpr.invars, strict=True)
        outputs = traced.run([np.asarray(leaf, variable.aval.dtype) for leaf, variable in leaves])
        return jax.tree_util.tree_unflatten(traced.structure, outputs)

    return run


@dataclass(frozen=True)
class _Traced:
    """A jaxpr with nothing in it that its outputs do not need.

    Attributes:
        jaxpr: the jaxpr, its inputs all kept.
        constants: values of its constant variables.
        structure: pytree structure of the function's result.
    """

    jaxpr: Any
    constants: Sequence[Any]
    structure: Any

    def run(self, arguments: Sequence[Value]) -> list[Value]:
        """Evaluate on one argument for each leaf, without a word about NaN or overflow."""
        with np.errstate(all="ignore"), _double_precision():
            return interpret(self.jaxpr, self.constants, arguments)


def _trace(f: Callable[..., Any], args: Sequence[Any]) -> _Traced:
    """Trace in float64, check the types at both ends, and drop what no output needs."""
    import jax
    from jax.interpreters import partial_eval

    for path, leaf in jax.tree_util.tree_leaves_with_path(args):
        if not (hasattr(leaf, "shape") or isinstance(leaf, bool | int | float)):
            where = jax.tree_util.keystr(path)
            raise TracingError(
                f"argument {where} is {leaf!r}, not an array; pass arrays of numbers"
            )
    with _double_precision():
        closed, result = jax.make_jaxpr(f, return_shape=True)(*args)
    _require_real("input", closed.in_avals)
    _require_real("output", closed.out_avals)
    used = [True] * len(closed.jaxpr.outvars)
    needed, _ = partial_eval.dce_jaxpr(closed.jaxpr, used, instantiate=True)
    return _Traced(needed, closed.consts, jax.tree_util.tree_structure(result))


def _double_precision() -> AbstractContextManager[Any]:
    """Context in which JAX makes float64 arrays; nothing changes where it does already."""
    import jax

    already = jax.dtypes.canonicalize_dtype(np.float64) == np.float64
    return nullcontext() if already else jax.enable_x64(True)


def _require_real(kind: str, avals: Sequence[Any]) -> None:
    for position, aval in enumerate(avals):
        if not isinstance(aval.dtype, np.dtype):  # a random key
            raise TracingError(f"{kind} {position} is {aval}, not numbers; pass arrays of numbers")
        if np.issubdtype(aval.dtype, np.complexfloating):
            raise TracingError(
                f"{kind} {position} is complex ({aval}); carry real and imaginary parts apart"
            )


def _names(given: Sequence[str] | None, prefix: str, count: int, kind: str) -> list[str]:
    names = [f"{prefix}{k}" for k in range(count)] if given is None else list(given)
    if len(names) != count:
        raise TracingError(f"{len(names)} {kind} names for {count} {kind}s; give one for each leaf")
    return names
