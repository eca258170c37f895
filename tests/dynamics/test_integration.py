from __future__ import annotations

import mujoco
import numpy as np
import pytest

from codesign.dynamics import halfway, integrate_position
from codesign.dynamics.integration import rotation_quaternion
from codesign.tracing import evaluate
from draft_core.backend import jax, jnp
from tests.support import DESIGNS, plant, random_configuration


@pytest.mark.parametrize("name", DESIGNS)
def test_step_equals_mujocos_own(name: str) -> None:
    model = plant(name).nominal
    rng = np.random.default_rng(0)
    for dt in (0.0, 1e-5, 0.1, 0.5):
        q, v = random_configuration(model, rng), rng.normal(size=model.nv)
        expected = q.copy()
        mujoco.mj_integratePos(model, expected, v, dt)
        kinds = [int(kind) for kind in model.jnt_type]
        got = evaluate(lambda q, v, h, kinds=kinds: integrate_position(kinds, q, v, h), q, v, dt)
        np.testing.assert_allclose(got, expected, atol=1e-14)


@pytest.mark.parametrize("name", DESIGNS)
def test_halfway_is_half_a_step(name: str) -> None:
    model = plant(name).nominal
    rng = np.random.default_rng(1)
    kinds = [int(kind) for kind in model.jnt_type]
    for turn in (0.0, 1e-6, 1.0, 3.1):  # of one joint; of a quaternion twice that is a half turn
        q, v = random_configuration(model, rng), rng.normal(size=model.nv)
        end, middle = q.copy(), q.copy()
        mujoco.mj_integratePos(model, end, v, turn / np.linalg.norm(v))
        mujoco.mj_integratePos(model, middle, v, turn / np.linalg.norm(v) / 2)
        got = evaluate(lambda a, b, kinds=kinds: halfway(kinds, a, b), q, end)
        np.testing.assert_allclose(got, middle, atol=1e-12)


def test_quaternion_keeps_its_norm_over_a_thousand_steps() -> None:
    rng = np.random.default_rng(1)
    q = np.array([0.0, 0, 0, 1, 0, 0, 0])
    free = [int(mujoco.mjtJoint.mjJNT_FREE)]
    for _ in range(1000):
        q = np.asarray(
            evaluate(
                lambda q, v, h: integrate_position(free, q, v, h), q, rng.normal(size=6) * 5, 0.3
            )
        )
    # each step rounds at 1e-16 and nothing pulls the norm either way
    assert abs(np.linalg.norm(q[3:]) - 1.0) < 1e-12


def test_derivatives_are_finite_and_right_at_zero_rotation() -> None:
    # |w| has no derivative at 0; the exponential map does: ∂sin = I/2, ∂²cos = −I/4
    zero = np.zeros(3)
    jacobian = np.asarray(jax.jacfwd(rotation_quaternion)(zero))
    np.testing.assert_allclose(jacobian, np.vstack([np.zeros(3), 0.5 * np.eye(3)]), atol=1e-15)
    hessian = np.asarray(jax.hessian(rotation_quaternion)(zero))
    np.testing.assert_allclose(hessian[0], -0.25 * np.eye(3), atol=1e-15)
    assert np.isfinite(hessian).all()


def test_derivatives_join_at_the_switch_to_the_series() -> None:
    # the series takes over at |w| = 1e-4; value, gradient and Hessian may not jump there
    axis = np.array([0.6, 0.0, 0.8])
    below, above = 0.9999e-4 * axis, 1.0001e-4 * axis
    for function in (
        rotation_quaternion,
        jax.jacfwd(rotation_quaternion),
        jax.hessian(rotation_quaternion),
    ):
        # what is left is the change of the function itself over 2e-8 rad, and √ε of the direct form
        np.testing.assert_allclose(
            function(jnp.array(below)), function(jnp.array(above)), atol=1e-7
        )
