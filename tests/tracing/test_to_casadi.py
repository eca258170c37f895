"""Shapes, types, structure, control flow: what `to_casadi` and `evaluate` promise beside values."""

from __future__ import annotations

import subprocess
import sys
from typing import Any, NamedTuple

import casadi as ca
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from codesign.tracing import evaluate, evaluator, to_casadi

jax.config.update("jax_enable_x64", True)


def run(function: ca.Function, *args: Any) -> list[np.ndarray]:
    """Outputs of a CasADi function as flat arrays."""
    outputs = function.call([ca.DM(np.ravel(x).astype(float)) for x in args])
    return [np.array(output).ravel() for output in outputs]


def jacobian_of(function: ca.Function) -> ca.SX:
    """Jacobian of the first output with respect to the first input, as a graph."""
    x = ca.SX.sym("x", function.numel_in(0))
    return ca.sparsify(ca.jacobian(function(x), x))


def test_arrays_are_raveled_row_by_row() -> None:
    x = np.arange(6.0).reshape(2, 3)
    function = to_casadi(lambda x: x.T, x)
    np.testing.assert_array_equal(run(function, x)[0], x.T.ravel())


def test_one_input_and_one_output_for_each_leaf() -> None:
    class State(NamedTuple):
        q: Any
        v: Any

    state = State(np.arange(2.0), {"a": np.arange(3.0), "b": 2.0})

    def f(state: State, scale: float) -> dict[str, Any]:
        return {"sum": state.q.sum() * scale, "state": State(state.v["a"], [state.v["b"]])}

    function = to_casadi(f, state, 3.0, name="f", input_names=["q", "va", "vb", "s"])
    assert function.name_in() == ["q", "va", "vb", "s"]
    assert function.name_out() == ["y0", "y1", "y2"]
    assert [function.numel_in(k) for k in range(4)] == [2, 3, 1, 1]
    outputs = run(function, *jax.tree.leaves((state, 3.0)))
    for mine, theirs in zip(outputs, jax.tree.leaves(f(state, 3.0)), strict=True):
        np.testing.assert_array_equal(mine, np.ravel(theirs))
    result = evaluate(f, state, 3.0)
    assert jax.tree.structure(result) == jax.tree.structure(f(state, 3.0))
    assert result["sum"] == 3.0


def test_shapes_alone_are_enough_to_trace() -> None:
    function = to_casadi(jnp.sum, jax.ShapeDtypeStruct((2, 2), jnp.float64))
    assert run(function, np.ones((2, 2)))[0] == 4.0


def test_scalars_are_columns_of_one() -> None:
    function = to_casadi(lambda x, y: x * y, 2.0, np.float64(3.0))
    assert function.size_in(0) == function.size_out(0) == (1, 1)


def test_zero_size_arrays_pass_through() -> None:
    def f(x: Any, e: Any) -> Any:
        return (
            jnp.concatenate([e, x[None]]),
            jnp.sin(e) * x,
            e.sum(0),
            e @ x,
            jnp.cumsum(e, 0),
            x[:0],
            e.max(1),
            e.prod(0),
            jnp.outer(x, e[:, 0]),
            jnp.where(e > 0, e, x),
            x.at[jnp.zeros(0, int)].add(1.0),
            lax.scan(lambda c, a: (c + a.sum(), a * c), x.sum(), e),
        )

    x, empty = jnp.arange(3.0), jnp.zeros((0, 3))
    outputs = run(to_casadi(f, x, empty), x, empty)
    for mine, theirs in zip(outputs, jax.tree.leaves(f(x, empty)), strict=True):
        np.testing.assert_array_equal(mine, np.ravel(theirs))


def test_integers_and_booleans_come_in_as_inputs() -> None:
    flags, counts = np.array([True, False, True]), np.array([7, -7, 4])

    def f(flags: Any, counts: Any) -> Any:
        return (
            jnp.where(flags, counts // 2, counts % 3),
            lax.div(counts, 2),
            flags.sum(),
            ~flags & (counts > 0) | flags,
            counts / 2,
            jnp.sign(counts) * counts**2,
        )

    outputs = run(to_casadi(f, flags, counts), flags, counts)
    for mine, theirs in zip(outputs, f(jnp.asarray(flags), jnp.asarray(counts)), strict=True):
        np.testing.assert_array_equal(mine, np.ravel(theirs))


def test_float32_is_computed_in_float64() -> None:
    third = np.float32(1) / np.float32(3)
    result = run(to_casadi(lambda x: x * x, third), third)[0]
    assert result == float(third) ** 2  # float32 would have rounded the square


def test_float64_without_asking_jax_for_it() -> None:
    with jax.enable_x64(False):
        function = to_casadi(lambda x: x * jnp.pi + jnp.array(0.1), 1.0)
        assert run(function, 1.0)[0] == np.pi + 0.1
        assert evaluate(lambda x: x + 0.1, 1.0).dtype == np.float64


def test_unused_and_repeated_arguments() -> None:
    x = np.arange(3.0)
    function = to_casadi(lambda x, unused, y: (x + y, x, x), x, x, x)
    outputs = run(function, x, x, x + 1)
    np.testing.assert_array_equal(outputs[0], 2 * x + 1)
    np.testing.assert_array_equal(outputs[1], outputs[2])


def test_any_name_will_do() -> None:
    assert to_casadi(jnp.sin, 1.0, name="press-the button").name() == "press_the_button"


def test_constant_outputs_are_constants() -> None:
    function = to_casadi(lambda x: (jnp.eye(2), 3.0, x * 0.0), np.ones(2))
    outputs = run(function, np.ones(2))
    np.testing.assert_array_equal(outputs[0], np.eye(2).ravel())
    assert outputs[1] == 3.0
    assert function.nnz_out(0) == 2
    assert function.nnz_out(2) == 0


def test_infinite_and_undefined_constants_stay() -> None:
    limits = jnp.array([jnp.inf, jnp.nan, -jnp.inf])
    outputs = run(to_casadi(lambda x: jnp.where(x > 0, limits, x), np.ones(3)), np.ones(3))
    np.testing.assert_array_equal(outputs[0], limits)


def test_structural_zeros_survive_every_kind_of_operation() -> None:
    # A selection matrix with constant zeros, a masked sum and a scatter: y_k depends on x_k only.
    selection = jnp.diag(jnp.array([1.0, 2.0, 3.0]))

    def f(x: Any) -> Any:
        scattered = jnp.zeros((3, 3)).at[jnp.arange(3), jnp.arange(3)].set(jnp.sin(x))
        return selection @ x + scattered.sum(1) + jnp.eye(3) @ (x * x)

    jacobian = jacobian_of(to_casadi(f, np.ones(3)))
    assert jacobian.nnz() == 3
    assert jacobian.sparsity() == ca.Sparsity.diag(3)


def test_a_comparison_leaves_no_derivative() -> None:
    jacobian = jacobian_of(to_casadi(lambda x: jnp.where(x[0] > 0, x[1], x[2]), np.ones(3)))
    assert jacobian.nnz() == 2  # x[0] decides but has no slope


def test_mixed_arrays_keep_their_constants() -> None:
    # The rotation about z has five constant entries; a constant index may come out of it.
    def f(x: Any) -> Any:
        c, s, zero, one = jnp.cos(x[0]), jnp.sin(x[0]), jnp.zeros(()), jnp.ones(())
        rotation = jnp.array([[c, -s, zero], [s, c, zero], [zero, zero, one]])
        place = rotation[2, 2].astype(int)
        return (rotation @ rotation.T)[2], x[place]

    function = to_casadi(f, np.ones(2))
    assert function.nnz_out(0) == 1
    assert run(function, np.array([0.3, 5.0]))[1] == 5.0


def sinc_of_norm(x: Any) -> Any:
    """sin|x|/|x| by the double-where pattern, finite at 0."""
    squared = x @ x
    is_small = squared < 1e-12
    norm = jnp.sqrt(jnp.where(is_small, 1.0, squared))
    return jnp.where(is_small, 1.0 - squared / 6.0, jnp.sin(norm) / norm)


@pytest.mark.parametrize("at", [np.zeros(3), np.array([0.3, -0.2, 0.9])])
def test_double_where_has_finite_derivatives_at_its_singularity(at: np.ndarray) -> None:
    x = ca.SX.sym("x", 3)
    value = to_casadi(sinc_of_norm, at)(x)
    hessian, gradient = ca.hessian(value, x)
    found = ca.Function("d", [x], [value, gradient, hessian])(at)
    np.testing.assert_allclose(float(found[0]), sinc_of_norm(at), rtol=1e-14)
    np.testing.assert_allclose(
        np.array(found[1]).ravel(), jax.jit(jax.grad(sinc_of_norm))(at), rtol=1e-12, atol=1e-15
    )
    np.testing.assert_allclose(
        np.array(found[2]), jax.jit(jax.hessian(sinc_of_norm))(at), rtol=1e-12, atol=1e-15
    )


@pytest.mark.parametrize(
    "f",
    [
        lambda x: jnp.maximum(x, 0.0),
        lambda x: jnp.minimum(x, 0.0),
        lambda x: jnp.maximum(x, -x),
        jax.nn.relu,
        jax.nn.softplus,
        jnp.sinc,
        jnp.sign,
        lambda x: jnp.clip(x, -1.0, 1.0),
        lambda x: jnp.logaddexp(x, 2 * x),
    ],
)
def test_slopes_at_kinks_are_those_of_jax(f: Any) -> None:
    x = ca.SX.sym("x")
    value = to_casadi(f, 0.0)(x)
    found = ca.Function("d", [x], [value, ca.jacobian(value, x)])(0.0)
    np.testing.assert_allclose(float(found[0]), f(0.0), atol=1e-16)
    np.testing.assert_allclose(float(found[1]), jax.grad(f)(0.0), atol=1e-15)


def test_absolute_value_has_no_slope_at_zero() -> None:
    # JAX says 1 there; 0 is the subgradient that favours no side.
    jacobian = jacobian_of(to_casadi(jnp.abs, 0.0))
    x = ca.symvar(jacobian)
    assert float(ca.Function("d", x, [jacobian])(0.0)) == 0.0


def test_smooth_library_functions_have_smooth_second_derivatives_at_zero() -> None:
    x = ca.SX.sym("x")
    for f, curvature in (
        (jax.nn.softplus, 0.25),
        (jax.nn.sigmoid, 0.0),
        (jnp.sinc, -(np.pi**2) / 3),
    ):
        hessian = ca.Function("h", [x], [ca.hessian(to_casadi(f, 0.0)(x), x)[0]])
        np.testing.assert_allclose(float(hessian(0.0)), curvature, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("f", [jax.nn.sigmoid, jax.nn.softplus, lambda x: jnp.logaddexp(x, 0.5)])
@pytest.mark.parametrize("at", [-800.0, -300.0, 300.0, 800.0])
def test_saturated_functions_do_not_overflow(f: Any, at: float) -> None:
    x = ca.SX.sym("x")
    value = to_casadi(f, 0.0)(x)
    hessian, gradient = ca.hessian(value, x)
    found = ca.Function("d", [x], [value, gradient, hessian])(at)
    expected = (f(at), jax.grad(f)(at), jax.grad(jax.grad(f))(at))
    np.testing.assert_allclose([float(v) for v in found], expected, rtol=1e-14, atol=1e-99)


def test_values_that_no_output_needs_are_not_traced() -> None:
    def f(x: Any) -> Any:
        unused = jnp.linalg.eigh(jnp.outer(x, x))[0]
        inside = jax.jit(lambda x: (x * 2, jnp.linalg.svd(jnp.outer(x, x))[1]))(x)
        return inside[0], jax.tree.map(jnp.sin, {"kept": x, "also": unused})["kept"]

    x = np.arange(3.0)
    np.testing.assert_array_equal(run(to_casadi(f, x), x)[0], 2 * x)


def test_constants_may_use_any_primitive() -> None:
    # Nothing here depends on x, so JAX itself evaluates what has no rule.
    def f(x: Any) -> Any:
        stretch = jnp.linalg.eigh(jnp.diag(jnp.array([3.0, 1.0])))[0]
        return x * stretch + jnp.sort(jnp.array([2.0, 1.0]))

    np.testing.assert_allclose(run(to_casadi(f, np.ones(2)), np.ones(2))[0], [2.0, 5.0])


def test_branch_on_a_constant_is_taken_alone() -> None:
    # The branch not taken could not be traced: it holds a singular value decomposition.
    bad = lambda x: jnp.linalg.svd(jnp.outer(x, x))[1]  # noqa: E731
    function = to_casadi(lambda x: lax.switch(1, [bad, jnp.sin, bad], x), np.ones(2))
    np.testing.assert_allclose(run(function, np.ones(2))[0], np.sin(1.0))


@pytest.mark.parametrize("number", [-3, 0, 1, 2, 9])
def test_switch_on_a_traced_index_merges_its_branches(number: int) -> None:
    branches = [jnp.sin, jnp.cos, lambda x: x * 0.0 + 2.0]
    function = to_casadi(lambda i, x: lax.switch(i, branches, x), 0, np.ones(2))
    expected = lax.switch(number, branches, np.array([0.3, 0.4]))
    np.testing.assert_allclose(run(function, number, [0.3, 0.4])[0], expected, rtol=1e-15)


def test_fori_loop_with_a_constant_count_is_unrolled() -> None:
    f = lambda x: lax.fori_loop(0, 5, lambda i, c: c * jnp.cos(x) + i, x)  # noqa: E731
    function = to_casadi(f, np.ones(2))
    np.testing.assert_allclose(run(function, [0.3, 0.7])[0], f(np.array([0.3, 0.7])), rtol=1e-14)


def test_scan_over_nothing_gives_empty_outputs() -> None:
    f = lambda x: lax.scan(lambda c, a: (c + a, c * a), x, jnp.zeros((0,)))  # noqa: E731
    outputs = run(to_casadi(f, 2.0), 2.0)
    assert outputs[0] == 2.0
    assert outputs[1].size == 0


def test_scan_carries_pytrees_and_constants() -> None:
    gains = jnp.arange(3.0)

    def f(x: Any) -> Any:
        def step(carry: Any, gain: Any) -> Any:
            position, count = carry
            return (position + gain * x.sum(), count + 1), {"p": position * x}

        return lax.scan(step, (x[0], 0), gains)

    x = np.array([0.5, -0.2])
    for mine, theirs in zip(run(to_casadi(f, x), x), jax.tree.leaves(f(x)), strict=True):
        np.testing.assert_allclose(mine, np.ravel(theirs), rtol=1e-14)


def test_importing_the_package_does_not_import_jax() -> None:
    code = "import sys, codesign.tracing; sys.exit('jax' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_evaluator_traces_once_and_evaluates_often():
    calls = []

    def f(x, y):
        calls.append(1)
        return {"sum": x + y, "product": jnp.dot(x, x) * y}

    again = evaluator(f, np.zeros(3), 0.0)
    for seed in range(3):
        x, y = np.random.default_rng(seed).normal(size=3), float(seed)
        got = again(x, y)
        np.testing.assert_allclose(got["sum"], x + y)
        np.testing.assert_allclose(got["product"], x @ x * y)
    assert len(calls) == 1
