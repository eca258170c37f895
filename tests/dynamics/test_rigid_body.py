"""MuJoCo C on the compiled design is the oracle: an independent program, an independent model."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from codesign.dynamics import (
    actuator_force,
    inverse_dynamics,
    kinematics,
    site_force,
    site_velocity,
)
from codesign.plant import Plant
from codesign.tracing import evaluate
from tests.support import DESIGNS, named, plant, random_configuration, random_design


def compiled(plant: Plant, design: np.ndarray) -> tuple[mujoco.MjModel, mujoco.MjData]:
    model = plant.robot.compile(named(plant, design)).model
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    return model, mujoco.MjData(model)


@pytest.mark.parametrize("name", DESIGNS)
def test_inverse_dynamics_equals_mujoco_at_random_designs(name: str) -> None:
    p = plant(name)
    rng = np.random.default_rng(2)
    for _ in range(3):
        design = random_design(p, rng)
        model, data = compiled(p, design)
        q, v, a = (
            random_configuration(model, rng),
            rng.normal(size=model.nv),
            rng.normal(size=model.nv),
        )
        data.qpos[:], data.qvel[:], data.qacc[:] = q, v, a
        mujoco.mj_inverse(model, data)
        got = evaluate(
            lambda d, *m: inverse_dynamics(p.realize(d), p.template, *m)[0], design, q, v, a
        )
        np.testing.assert_allclose(got, data.qfrc_inverse, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("name", DESIGNS)
def test_actuators_act_as_in_mujoco(name: str) -> None:
    p = plant(name)
    rng = np.random.default_rng(3)
    design = random_design(p, rng)
    model, data = compiled(p, design)
    q, v = random_configuration(model, rng), rng.normal(size=model.nv)
    u = 0.1 * rng.uniform(size=model.nu)
    data.qpos[:], data.qvel[:], data.ctrl[:] = q, v, u
    mujoco.mj_forward(model, data)

    def force(design, q, v, u):
        realised = p.realize(design)
        _, moving = inverse_dynamics(realised, p.template, q, v, v)
        return actuator_force(p.robot, realised, moving, u)

    got = evaluate(force, design, q, v, u)
    np.testing.assert_allclose(got, data.qfrc_actuator, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", DESIGNS)
def test_sites_move_and_push_as_in_mujoco(name: str) -> None:
    p = plant(name)
    rng = np.random.default_rng(4)
    design = random_design(p, rng)
    model, data = compiled(p, design)
    q, v, f = random_configuration(model, rng), rng.normal(size=model.nv), rng.normal(size=3)
    data.qpos[:], data.qvel[:] = q, v
    mujoco.mj_forward(model, data)
    for site in range(model.nsite):
        jacobian = np.zeros((3, model.nv))
        mujoco.mj_jacSite(model, data, jacobian, None, site)

        def both(design, q, v, f, site=site):
            realised = p.realize(design)
            _, moving = inverse_dynamics(realised, p.template, q, v, v)
            position = moving.site_position(site)
            velocity = site_velocity(realised, moving, site)
            return position, velocity, site_force(realised, moving, site, f)

        position, velocity, force = evaluate(both, design, q, v, f)
        np.testing.assert_allclose(position, data.site_xpos[site], atol=1e-12)
        np.testing.assert_allclose(velocity, jacobian @ v, atol=1e-11)
        np.testing.assert_allclose(force, jacobian.T @ f, atol=1e-11)


@pytest.mark.parametrize("name", DESIGNS)
def test_world_kinematics_equals_mujoco(name: str) -> None:
    p = plant(name)
    rng = np.random.default_rng(5)
    design = random_design(p, rng)
    model, data = compiled(p, design)
    data.qpos[:] = q = random_configuration(model, rng)
    mujoco.mj_kinematics(model, data)
    got = evaluate(lambda d, q: kinematics(p.realize(d), p.template, q).xpos, design, q)
    np.testing.assert_allclose(got, data.xpos, atol=1e-12)
