"""Rigid-body dynamics written with MuJoCo MJX, traced: against MuJoCo's own C and against JAX."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import casadi as ca
import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

from codesign.tracing import evaluate, to_casadi

jax.config.update("jax_enable_x64", True)
with contextlib.redirect_stdout(io.StringIO()):  # MJX says that warp is missing
    from mujoco import mjx
    from mujoco.mjx._src import smooth

HOPPER = """
<mujoco>
  <worldbody>
    <body name="base">
      <freejoint/>
      <inertial pos="0.01 0 0.02" mass="0.4" diaginertia="1e-3 2e-3 3e-3"/>
      <body name="leg" pos="0.05 0.02 0">
        <joint type="hinge" axis="0 1 0"/>
        <inertial pos="0 0 -0.1" mass="0.2" diaginertia="1e-3 1e-3 1e-4"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""
MODEL = mujoco.MjModel.from_xml_string(HOPPER)
POINTS = [np.random.default_rng(seed).normal(size=2 * MODEL.nv + MODEL.nq + 1) for seed in (1, 2)]


def inverse_dynamics(z: Any) -> Any:
    """Generalised force of the motion z = (q, v, a, scale of all masses), shape (nv,)."""
    q, v, a, scale = jnp.split(z, np.cumsum([MODEL.nq, MODEL.nv, MODEL.nv]))
    model = mjx.put_model(MODEL)
    model = model.replace(
        body_mass=model.body_mass * scale[0], body_inertia=model.body_inertia * scale[0]
    )
    data = mjx.make_data(model).replace(qpos=q, qvel=v, qacc=a)
    data = smooth.com_vel(model, smooth.com_pos(model, smooth.kinematics(model, data)))
    return smooth.rne(model, data, flg_acc=True).qfrc_bias


def in_c(z: np.ndarray) -> np.ndarray:
    """The same by MuJoCo C: rne with accelerations, which is linear in the masses."""
    data = mujoco.MjData(MODEL)
    data.qpos, data.qvel, data.qacc = np.split(z[:-1], np.cumsum([MODEL.nq, MODEL.nv]))
    mujoco.mj_normalizeQuat(MODEL, data.qpos)
    mujoco.mj_kinematics(MODEL, data)
    mujoco.mj_comPos(MODEL, data)
    mujoco.mj_comVel(MODEL, data)
    force = np.zeros(MODEL.nv)
    mujoco.mj_rne(MODEL, data, 1, force)
    return force * z[-1]


@pytest.mark.parametrize("z", POINTS)
def test_traced_inverse_dynamics_equals_mujoco(z: np.ndarray) -> None:
    traced = to_casadi(inverse_dynamics, z)
    np.testing.assert_allclose(np.array(traced(z)).ravel(), in_c(z), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(evaluate(inverse_dynamics, z), in_c(z), rtol=1e-12, atol=1e-12)


def second_order(z: Any, first: Any, second: Any) -> tuple[Any, Any]:
    """J·first and its change along `second`: a small compilation where J and H take a minute."""

    def along_first(z: Any) -> Any:
        return jax.jvp(inverse_dynamics, (z,), (first,))[1]

    return jax.jvp(along_first, (z,), (second,))


@pytest.mark.slow
def test_traced_derivatives_of_inverse_dynamics_equal_those_of_jax() -> None:
    n = POINTS[0].size
    z, weights = ca.SX.sym("z", n), np.arange(1.0, MODEL.nv + 1)
    g = to_casadi(inverse_dynamics, POINTS[0])(z)
    derivatives = ca.Function("d", [z], [ca.jacobian(g, z), ca.hessian(ca.dot(weights, g), z)[0]])
    oracle, unit = jax.jit(second_order), np.eye(n)
    for point in POINTS:
        jacobian, hessian = np.zeros((MODEL.nv, n)), np.zeros((n, n))
        for i in range(n):
            for j in range(n):
                jacobian[:, i], change = oracle(point, unit[i], unit[j])
                hessian[i, j] = weights @ change
        for mine, theirs in zip(derivatives(point), (jacobian, hessian), strict=True):
            scale = np.abs(theirs).max()  # rounding grows with the largest term of a sum
            np.testing.assert_allclose(np.array(mine), theirs, rtol=1e-12, atol=1e-12 * scale)
