"""Every supported primitive against JAX: value, Jacobian and Hessian on random inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import casadi as ca
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.ad_checkpoint import checkpoint_name
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun, new_jaxpr_eqn, no_effects, primitives

from codesign.tracing import evaluate, to_casadi
from codesign.tracing.interpreter import SUPPORTED

jax.config.update("jax_enable_x64", True)


@dataclass(frozen=True)
class Case:
    """A function that uses one primitive, and where to try it.

    Attributes:
        primitive: name of the primitive that must occur in the function's jaxpr.
        f: function of float64 arrays.
        shapes: shapes of its arguments.
        interval: ends of the random inputs' range.
        label: what sets the case apart from others of the primitive.
    """

    primitive: str
    f: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    interval: tuple[float, float] = (-1.5, 1.5)
    label: str = ""

    def __str__(self) -> str:
        return f"{self.primitive}-{self.label}" if self.label else self.primitive


V, M = ((4,),), ((2, 3),)  # a vector, a matrix
TWO = ((3,), (3,))
POS, UNIT, ABOVE_ONE = (0.3, 2.0), (-0.9, 0.9), (1.2, 3.0)
PICK = np.array([2, 0, 2, -1])
SPD = np.array([[4.0, 1.0, 0.3], [1.0, 3.0, -0.4], [0.3, -0.4, 2.0]])


def spd(x: jax.Array) -> jax.Array:
    """A symmetric positive definite matrix that depends on x, shape (n, n)."""
    return x @ x.T + 3.0 * jnp.eye(x.shape[0])


def closed_call(x: jax.Array) -> jax.Array:
    """sin through `closed_call`, which no public function binds: the equation is made by hand."""
    inner = jax.make_jaxpr(jnp.sin)(x)
    outer = jax.make_jaxpr(jnp.cos)(x)
    eqn = outer.jaxpr.eqns[0]
    call = new_jaxpr_eqn(
        eqn.invars, eqn.outvars, primitives.closed_call_p, {"call_jaxpr": inner}, no_effects
    )
    return jaxpr_as_fun(ClosedJaxpr(outer.jaxpr.replace(eqns=[call]), []))(x)[0]


@jax.custom_jvp
def cubed(x: jax.Array) -> jax.Array:
    """x³ with a derivative rule."""
    return x * x * x


cubed.defjvp(lambda primals, tangents: (cubed(primals[0]), 3 * primals[0] ** 2 * tangents[0]))


@jax.custom_vjp
def doubled(x: jax.Array) -> jax.Array:
    """2 sin x with a reverse rule."""
    return 2.0 * jnp.sin(x)


doubled.defvjp(lambda x: (2.0 * jnp.sin(x), x), lambda x, g: (2.0 * jnp.cos(x) * g,))


def linear_solve(x: jax.Array, b: jax.Array) -> jax.Array:
    """Solve with a Cholesky factor, through JAX's implicit linear solve."""
    matrix = spd(x)

    def solve(_: Any, right: jax.Array) -> jax.Array:
        return jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(matrix), True), right)

    return lax.custom_linear_solve(lambda y: matrix @ y, b, solve, symmetric=True)


def count_up(x: jax.Array) -> jax.Array:
    """x multiplied three times by sin x, in a `while` whose count is a constant."""

    def step(state: tuple[Any, jax.Array]) -> tuple[Any, jax.Array]:
        return state[0] + 1, state[1] * jnp.sin(x)

    return lax.while_loop(lambda state: state[0] < 3, step, (0, x))[1]


def scatter(how: str) -> Callable[..., jax.Array]:
    """x.at[...].how(y) at positions with a repeat."""
    return lambda x, y: getattr(x.at[np.array([1, 3, 1])], how)(y)


def add_any(x: jax.Array) -> jax.Array:
    """A gradient in which two cotangents meet."""
    return jax.grad(lambda y: (y * jnp.sin(y)).sum())(x)


def bits(x: jax.Array) -> jax.Array:
    """Booleans from x, shape (4,)."""
    return x > 0.1


CASES = [
    Case("abs", jnp.abs, V),
    Case("acos", jnp.arccos, V, UNIT),
    Case("acosh", jnp.arccosh, V, ABOVE_ONE),
    Case("add", lambda x, y: x + y + 1.0, TWO),
    Case("add", lambda x, y: x + y, ((2, 1), (3,)), label="broadcast"),
    Case("add_any", add_any, V),
    Case("and", lambda x: x * (bits(x) & (x < 1.0)), V),
    Case("argmax", lambda x: jnp.argmax(x, 1) * x[:, 0], M),
    Case("argmin", lambda x: jnp.argmin(x, 0) * x[0], M),
    Case("asin", jnp.arcsin, V, UNIT),
    Case("asinh", jnp.arcsinh, V),
    Case("atan", jnp.arctan, V),
    Case("atan2", jnp.arctan2, TWO),
    Case("atanh", jnp.arctanh, V, UNIT),
    Case("broadcast_in_dim", lambda x: jnp.broadcast_to(x[:, None], (3, 4, 2)) * 2.0, V),
    Case("cbrt", jnp.cbrt, V),
    Case("ceil", lambda x: jnp.ceil(3 * x) * x, V),
    Case("cholesky", lambda x: jnp.linalg.cholesky(spd(x)), ((3, 3),)),
    Case("cholesky", lambda x: jnp.linalg.cholesky(SPD) @ x, ((3,),), label="constant"),
    Case("clamp", lambda x: lax.clamp(-0.5, x, 0.5) * x, V),
    Case("closed_call", closed_call, V),
    Case("concatenate", lambda x, y: jnp.concatenate([x, 2.0 * jnp.ones(2), y * y]), TWO),
    Case("cond", lambda x: lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x), V),
    Case("convert_element_type", lambda x: (3 * x).astype(int) * x, V, label="to int"),
    Case("convert_element_type", lambda x: x.astype(bool) * x, V, label="to bool"),
    Case("copy", lambda x: jnp.copy(x) * x, V),
    Case("cos", jnp.cos, V),
    Case("cosh", jnp.cosh, V),
    Case("cummax", lambda x: lax.cummax(x, 1) ** 2, M),
    Case("cummin", lambda x: lax.cummin(x, 0, reverse=True) ** 2, M),
    Case("cumprod", lambda x: jnp.cumprod(x, 1), M),
    Case("cumsum", lambda x: lax.cumsum(x * x, 0, reverse=True), M),
    Case("custom_jvp_call", cubed, V),
    Case("custom_jvp_call", jax.nn.softplus, V, label="softplus"),
    Case("custom_jvp_call", jax.nn.relu, V, label="relu"),
    Case("custom_jvp_call", jnp.sinc, V, label="sinc"),
    Case("custom_linear_solve", linear_solve, ((3, 3), (3,))),
    Case("custom_vjp_call", doubled, V),
    Case("device_put", lambda x: jax.device_put(x) * x, V),
    Case("div", lambda x, y: x / (2.0 + y), TWO),
    Case("div", lambda x: lax.div((9 * x).astype(int), 2) * x, V, label="integers"),
    Case("dot_general", lambda x, y: x @ y, ((2, 3), (3, 4))),
    Case("dot_general", lambda x, y: jnp.einsum("bij,bkj->bik", x, y), ((2, 3, 2), (2, 4, 2))),
    Case("dot_general", lambda x, y: jnp.tensordot(x, y, 0), ((2,), (3,)), label="outer"),
    Case("dynamic_slice", lambda x: lax.dynamic_slice(x, (1, 5), (1, 2)) ** 2, M),
    Case("dynamic_update_slice", lambda x: lax.dynamic_update_slice(x, x[:1, :2], (1, 1)) * x, M),
    Case("eq", lambda x: x * (jnp.round(x) == 1.0), V),
    Case("erf", jax.scipy.special.erf, V),
    Case("exp", jnp.exp, V),
    Case("exp2", jnp.exp2, V),
    Case("expm1", jnp.expm1, V),
    Case("floor", lambda x: jnp.floor(3 * x) * x, V),
    Case("gather", lambda x: x[PICK] ** 2, V),
    Case("gather", lambda x: x[:, PICK] * x[:, :1], M, label="columns"),
    Case(
        "gather", lambda x: jax.vmap(lambda row, i: row[i])(x, jnp.array([2, 0])), M, label="vmap"
    ),
    Case(
        "gather",
        lambda x: x.at[jnp.array([1, 9])].get(mode="fill", fill_value=7.0),
        V,
        label="fill",
    ),
    Case("gather", lambda x: x.at[jnp.array([1, 9])].get(mode="clip"), V, label="clip"),
    Case("ge", lambda x: x * (x >= 0.2), V),
    Case("gt", lambda x: x * (x > 0.2), V),
    Case("integer_pow", lambda x: x**3 + x**-2, V, POS),
    Case("iota", lambda x: x * lax.iota(float, 4), V),
    Case("is_finite", lambda x: jnp.where(jnp.isfinite(x), x * x, 0.0), V),
    Case("jit", jax.jit(lambda x: jnp.sin(x) * x), V),
    Case("le", lambda x: x * (x <= 0.2), V),
    Case("log", jnp.log, V, POS),
    Case("log1p", jnp.log1p, V, POS),
    Case("logistic", jax.nn.sigmoid, V),
    Case("lt", lambda x: x * (x < 0.2), V),
    Case("max", lambda x, y: jnp.maximum(x, y) ** 2, TWO),
    Case("min", lambda x, y: jnp.minimum(x, y) ** 2, TWO),
    Case("mul", lambda x, y: x * y, ((2, 1), (1, 3))),
    Case("name", lambda x: checkpoint_name(x * x, "squared"), V),
    Case("ne", lambda x: x * (jnp.round(x) != 1.0), V),
    Case("neg", lambda x: -x * x, V),
    Case("not", lambda x: x * ~bits(x), V),
    Case("optimization_barrier", lambda x: lax.optimization_barrier(x) * x, V),
    Case("or", lambda x: x * (bits(x) | (x < -1.0)), V),
    Case("pad", lambda x: lax.pad(x, 2.0, ((1, -1, 0), (-1, 2, 1))) ** 2, M),
    Case("pow", lambda x, y: x**y, TWO, POS),
    Case("pow", lambda x: x**1.7, V, POS, label="constant exponent"),
    Case("reduce_and", lambda x: jnp.all(x > -1.0, axis=1) * x[:, 0], M),
    Case("reduce_max", lambda x: jnp.max(x, axis=0) ** 2, M),
    Case("reduce_min", lambda x: jnp.min(x) ** 2, M),
    Case("reduce_or", lambda x: jnp.any(x > 1.0, axis=0) * x[0], M),
    Case("reduce_prod", lambda x: jnp.prod(x, axis=1), M),
    Case("reduce_sum", lambda x: jnp.sum(x * x, axis=(0, 2)), ((2, 3, 2),)),
    Case("reduce_xor", lambda x: lax.reduce_xor(x > 0, (1,)) * x[:, 0], M),
    Case("rem", lambda x, y: jnp.fmod(3 * x, y), TWO, POS),
    Case("remat2", jax.checkpoint(lambda x: jnp.sin(x) * x), V),
    Case("reshape", lambda x: (x * x).reshape(3, 2), M),
    Case("rev", lambda x: x[::-1] * x, V),
    Case("round", lambda x: jnp.round(3 * x) * x, V),
    Case("round", lambda x: lax.round(3 * x) * x, V, label="away from zero"),
    Case("rsqrt", lax.rsqrt, V, POS),
    Case("scan", lambda x: lax.scan(lambda c, a: (c * a, c + a), x[0], x), M),
    Case(
        "scan", lambda x: lax.scan(lambda c, a: (c * a, c), x[0], x, reverse=True), M, label="back"
    ),
    Case("scatter", lambda x, y: x.at[np.array([1, 3, 0])].set(y) ** 2, ((5,), (3,))),
    Case("scatter", lambda x, y: x.at[1:, 0].set(y) ** 2, ((3, 2), (2,)), label="slice"),
    Case("scatter-add", scatter("add"), ((5,), (3,))),
    Case("scatter-max", lambda x, y: x.at[np.array([1, 3])].max(y) ** 2, ((5,), (2,))),
    Case("scatter-min", lambda x, y: x.at[np.array([1, 3])].min(y) ** 2, ((5,), (2,))),
    Case(
        "scatter-mul", lambda x, y: x.at[np.array([1, 3])].mul(y, unique_indices=True), ((5,), (2,))
    ),
    Case("select_n", lambda x, y: jnp.where(x > y, x * y, x - y), TWO),
    Case("select_n", lambda x, y: jnp.where(np.arange(3) > 1, x * y, x - y), TWO, label="constant"),
    Case(
        "select_n",
        lambda x: lax.select_n(jnp.argmax(x).astype(jnp.int32), x, x * x, jnp.sin(x)),
        ((3,),),
        label="three cases",
    ),
    Case("sign", lambda x: jnp.sign(x) * x, V),
    Case("sin", jnp.sin, V),
    Case("sinh", jnp.sinh, V),
    Case("slice", lambda x: x[0, ::2] * x[1, 1:], M),
    Case("sort", lambda x: lax.sort_key_val(jnp.array([3, 1, 2, 1]), x * x)[1], V),
    Case("split", lambda x: jnp.multiply(*jnp.split(x, 2)), V),
    Case("sqrt", jnp.sqrt, V, POS),
    Case("square", jnp.square, V),
    Case("squeeze", lambda x: jnp.squeeze(x * x, 1), ((3, 1),)),
    Case("stack", lambda x, y: jnp.stack([x, y * y], 1), TWO),
    Case("stop_gradient", lambda x: lax.stop_gradient(x) * x, V),
    Case("sub", lambda x, y: x - y * y, TWO),
    Case("tan", jnp.tan, V, UNIT),
    Case("tanh", jnp.tanh, V),
    Case("tile", lambda x: jnp.tile(x * x, (2, 2)), M),
    Case("transpose", lambda x: (x * x).T, M),
    Case(
        "triangular_solve",
        lambda x, b: jax.scipy.linalg.solve_triangular(x + 3 * jnp.eye(3), b, lower=True, trans=1),
        ((3, 3), (3,)),
    ),
    Case(
        "triangular_solve",
        lambda x, b: lax.linalg.triangular_solve(x + 3 * jnp.eye(2), b, unit_diagonal=True),
        ((2, 2, 2), (2, 3, 2)),
        label="right, batched",
    ),
    Case("unstack", lambda x: jnp.multiply(*jnp.unstack(x)), M),
    Case("while", count_up, V),
    Case("xor", lambda x: x * (bits(x) ^ (x > 1.0)), V),
]


def inputs_of(case: Case) -> list[np.ndarray]:
    """Random inputs, the same ones every time."""
    rng = np.random.default_rng(7)
    return [rng.uniform(*case.interval, shape) for shape in case.shapes]


def flat(f: Callable[..., Any], shapes: tuple[tuple[int, ...], ...]) -> Callable[..., jax.Array]:
    """f as a function of one vector that returns one float vector."""
    sizes = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]

    def flattened(z: jax.Array) -> jax.Array:
        parts = jnp.split(z, sizes)
        out = f(*(part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)))
        return jnp.concatenate([jnp.ravel(leaf).astype(float) for leaf in jax.tree.leaves(out)])

    return flattened


def oracle(case: Case, z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Value, Jacobian, and Hessian of a weighted sum of the outputs, by JAX in one compilation."""
    f = flat(case.f, case.shapes)

    def weighted(z: jax.Array) -> jax.Array:
        out = f(z)
        return jnp.dot(jnp.arange(1.0, out.size + 1), out)

    d = jax.jacrev if case.primitive == "custom_vjp_call" else jax.jacfwd
    value, jacobian, hessian = jax.jit(lambda z: (f(z), d(f)(z), d(d(weighted))(z)))(z)
    return np.asarray(value), np.asarray(jacobian), np.asarray(hessian)


def assert_close(actual: Any, expected: np.ndarray) -> None:
    """Equal to 1e-12 relative to the largest entry: a few hundred roundings."""
    scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
    np.testing.assert_allclose(np.array(ca.DM(actual)), expected, rtol=1e-12, atol=1e-12 * scale)


def primitives_in(jaxpr: Any) -> set[str]:
    """Names of all primitives of a jaxpr, those inside others included."""
    names = set()
    for eqn in jaxpr.eqns:
        names.add(eqn.primitive.name)
        for parameter in jax.tree.leaves(eqn.params, is_leaf=lambda x: hasattr(x, "eqns")):
            inner = getattr(parameter, "jaxpr", parameter)
            if hasattr(inner, "eqns"):
                names |= primitives_in(inner)
    return names


@pytest.mark.parametrize("case", CASES, ids=str)
def test_primitive_equals_jax(case: Case) -> None:
    inputs = inputs_of(case)
    assert case.primitive in primitives_in(jax.make_jaxpr(case.f)(*inputs).jaxpr)
    vector = np.concatenate([x.ravel() for x in inputs])
    value, jacobian, hessian = oracle(case, vector)

    function = to_casadi(flat(case.f, case.shapes), vector)
    z = ca.SX.sym("z", vector.size)
    g = function(z)
    weights = ca.DM(np.arange(1.0, g.numel() + 1))
    derivatives = ca.Function(
        "d", [z], [g, ca.jacobian(g, z), ca.hessian(ca.dot(weights, g), z)[0]]
    )
    found = derivatives(vector)
    assert_close(found[0], value[:, None])
    assert_close(found[1], jacobian)
    assert_close(found[2], hessian)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_primitive_is_folded_by_numpy_as_jax_computes_it(case: Case) -> None:
    inputs = inputs_of(case)
    for mine, theirs in zip(
        jax.tree.leaves(evaluate(case.f, *inputs)),
        jax.tree.leaves(jax.jit(case.f)(*inputs)),
        strict=True,
    ):
        assert mine.dtype == theirs.dtype
        assert mine.shape == theirs.shape
        np.testing.assert_allclose(mine, theirs, rtol=1e-13, atol=1e-13)


def test_every_supported_primitive_has_a_case() -> None:
    assert {case.primitive for case in CASES} == set(SUPPORTED)


def test_documentation_lists_exactly_the_supported_primitives() -> None:
    page = (Path(__file__).parents[2] / "docs" / "tracing.md").read_text(encoding="utf-8")
    table = page.split("## Supported primitives")[1].split("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ") and "`" in line]
    listed = [name for row in rows for name in row.split("`")[1::2]]
    assert sorted(listed) == list(SUPPORTED)
