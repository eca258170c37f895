"""`mirror_of`: the right half of a robot is the left half seen in a mirror."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from draft_core.mirror import mirrored_name
from tests.draft_core.conftest import Sample

VECTOR, AXIAL = np.array([1.0, -1.0, 1.0]), np.array([-1.0, 1.0, -1.0])


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("hip_left", "hip_right"),
        ("right", "left"),
        ("leg_fl", "leg_fr"),
        ("rr_foot", "rl_foot"),
        ("foot_ml_2", "foot_mr_2"),
        ("Left_Arm", "Right_Arm"),
        ("LEFT-arm", "RIGHT-arm"),
        ("arm_L", "arm_R"),
        ("left_and_right", "right_and_left"),
        ("tail", "tail"),
        ("bright_fly", "bright_fly"),
        ("upright", "upright"),
    ],
)
def test_names_change_sides(name: str, other: str):
    assert mirrored_name(name) == other
    assert mirrored_name(other) == name


class Mirror:
    """The reflection y → −y of the robot's coordinates, velocities and efforts."""

    def __init__(self, model: mujoco.MjModel):
        self.model = model
        self.velocity = np.zeros((model.nv, model.nv))
        self.effort = np.zeros((model.nu, model.nu))
        for joint in range(model.njnt):
            other = model.joint(mirrored_name(model.joint(joint).name))
            kind = model.jnt_type[joint]
            signs = {0: [*VECTOR, *AXIAL], 1: AXIAL}.get(kind, [1.0])
            for i, sign in enumerate(signs):
                self.velocity[other.dofadr[0] + i, model.jnt_dofadr[joint] + i] = sign
        for actuator in range(model.nu):
            other = model.actuator(mirrored_name(model.actuator(actuator).name))
            self.effort[other.id, actuator] = 1.0

    def pose(self, q: np.ndarray) -> np.ndarray:
        result = q.copy()
        for joint in range(self.model.njnt):
            start = self.model.jnt_qposadr[joint]
            kind = self.model.jnt_type[joint]
            target = self.model.joint(mirrored_name(self.model.joint(joint).name)).qposadr[0]
            if kind == 0:
                result[target : target + 3] = q[start : start + 3] * VECTOR
                start, target = start + 3, target + 3
            if kind in (0, 1):
                result[target] = q[start]
                result[target + 1 : target + 4] = q[start + 1 : start + 4] * AXIAL
            else:
                result[target] = q[start]
        return result


def state(model: mujoco.MjModel, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> mujoco.MjData:
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.ctrl[:] = q, v, u
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    mujoco.mj_forward(model, data)
    return data


@pytest.mark.parametrize("seed", range(5))
def test_a_mirrored_robot_moves_as_the_mirror_image(everything: Sample, seed: int):
    # The trunk, its payload and tail lie in the plane y = 0 (and are made to), so that the whole
    # robot is its own mirror image: M, gravity, Coriolis, springs, efforts and limits follow.
    rng = np.random.default_rng(seed)
    model = everything.robot.compile(everything.designs(1, seed)[0]).model
    mirror = Mirror(model)
    q, v = everything.pose(rng), rng.normal(size=model.nv)
    u = rng.uniform(0, 1, model.nu)
    image = mirror.pose(q)
    here = state(model, q, v, u)
    there = state(model, image, mirror.velocity @ v, mirror.effort @ u)
    full = [np.zeros((model.nv, model.nv)) for _ in range(2)]
    mujoco.mj_fullM(model, here, full[0])
    mujoco.mj_fullM(model, there, full[1])
    reflect = mirror.velocity
    np.testing.assert_allclose(full[1], reflect @ full[0] @ reflect.T, atol=1e-12)
    for name in ("qfrc_bias", "qfrc_passive", "qfrc_actuator"):
        expected = reflect @ getattr(here, name)
        np.testing.assert_allclose(getattr(there, name), expected, atol=1e-11, err_msg=name)
    for site in range(model.nsite):
        name = model.site(site).name
        other = there.site(mirrored_name(name)).xpos
        np.testing.assert_allclose(other, here.site(name).xpos * VECTOR, atol=1e-12)
    for joint in range(model.njnt):
        other = model.joint(mirrored_name(model.joint(joint).name))
        np.testing.assert_array_equal(other.range, model.jnt_range[joint])


def test_a_mirror_image_keeps_limits_and_hangs_from_the_image_of_its_parent(everything: Sample):
    model = everything.robot.base_model
    shank, thigh = model.body("shank_right"), model.body("thigh_right")
    assert shank.parentid[0] == thigh.id
    assert model.body("thigh_right").parentid[0] == model.body("trunk").id
    np.testing.assert_array_equal(
        model.actuator("knee_motor_right").ctrlrange, model.actuator("knee_motor_left").ctrlrange
    )


def test_a_mirrored_thruster_spins_the_other_way(everything: Sample):
    model = everything.robot.base_model
    left, right = model.actuator("fan_left").gear, model.actuator("fan_right").gear
    np.testing.assert_array_equal(right, left * [1, 1, 1, 1, 1, -1])
