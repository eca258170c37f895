"""Sparse Jacobian and Hessian functions against closed forms and JAX."""

from __future__ import annotations

from typing import Any

import casadi as ca
import jax
import jax.numpy as jnp
import numpy as np

from codesign.tracing import to_casadi
from codesign.tracing.derivatives import derivatives

jax.config.update("jax_enable_x64", True)


def test_quadratic_form_has_its_matrix_as_hessian() -> None:
    # g = ½ zᵀ A z with symmetric A has ∂g/∂z = A z and Hessian A.
    a = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 0.0], [0.0, 0.0, 5.0]])
    z, p = ca.SX.sym("z", 3), ca.SX.sym("p", 0)
    d = derivatives(ca.mtimes([z.T, ca.sparsify(ca.DM(a)), z]) / 2, z, p)
    at = np.array([1.0, -2.0, 0.5])
    np.testing.assert_allclose(np.array(d.jacobian(at, [])), (a @ at)[None])
    np.testing.assert_allclose(np.array(d.hessian(at, [], 3.0)), 3 * np.triu(a))
    assert d.hessian.nnz_out(0) == 4


def test_derivatives_equal_those_of_jax() -> None:
    def f(z: Any, p: Any) -> jax.Array:
        return jnp.concatenate([jnp.sin(z[:2] * z[1:]) * p[0], jnp.array([2.0]), p, z[:1] ** 3])

    rng = np.random.default_rng(3)
    at, parameters, weights = rng.normal(size=3), rng.normal(size=2), rng.normal(size=6)
    z, p = ca.SX.sym("z", 3), ca.SX.sym("p", 2)
    d = derivatives(to_casadi(f, at, parameters)(z, p), z, p, "f")
    assert d.hessian.name_in() == ["z", "p", "lam"]
    value = np.array(d.value(at, parameters)).ravel()
    np.testing.assert_allclose(value, f(at, parameters), rtol=1e-14)
    np.testing.assert_allclose(
        np.array(d.jacobian(at, parameters)),
        jax.jit(jax.jacfwd(f))(at, parameters),
        rtol=1e-12,
        atol=1e-15,
    )
    hessian = jax.jit(jax.hessian(lambda z: weights @ f(z, parameters)))(at)
    np.testing.assert_allclose(
        np.array(d.hessian(at, parameters, weights)), np.triu(hessian), rtol=1e-12, atol=1e-15
    )


def test_only_entries_that_can_differ_from_zero_are_kept() -> None:
    # The first row is linear, the second depends on z[1] through a comparison only.
    z, p = ca.SX.sym("z", 3), ca.SX.sym("p", 1)
    g = ca.vertcat(2 * z[0] + p, ca.if_else(z[1] > 0, z[2] ** 2, 0))
    d = derivatives(g, z, p)
    assert d.jacobian.sparsity_out(0).get_triplet() == ([0, 1], [0, 2])
    assert d.hessian.sparsity_out(0).get_triplet() == ([2], [2])
    assert d.value.nnz_out(0) == 2


def test_rows_that_do_not_depend_on_z_have_no_entries() -> None:
    z, p = ca.SX.sym("z", 2), ca.SX.sym("p", 1)
    d = derivatives(ca.vertcat(p, 1.0), z, p)
    assert d.jacobian.nnz_out(0) == d.hessian.nnz_out(0) == 0
    assert d.jacobian.size_out(0) == (2, 2)
