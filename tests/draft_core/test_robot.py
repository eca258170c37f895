"""`Robot`: names and ids as MuJoCo has them, parameters, limits, pickling."""

from __future__ import annotations

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import mujoco
import numpy as np
import pytest

import draft_core
from draft_core.primitives import PRIMITIVES, parts
from tests.draft_core.conftest import FOLDERS, Sample


def names(model: mujoco.MjModel, kind: mujoco.mjtObj, count: int) -> tuple[str, ...]:
    return tuple(mujoco.mj_id2name(model, kind, i) for i in range(count))


def test_names_are_in_mujocos_order(any_robot: Sample):
    robot, model = any_robot.robot, any_robot.robot.base_model
    assert robot.body_names == names(model, mujoco.mjtObj.mjOBJ_BODY, model.nbody)
    assert robot.joint_names == names(model, mujoco.mjtObj.mjOBJ_JOINT, model.njnt)
    assert robot.site_names == names(model, mujoco.mjtObj.mjOBJ_SITE, model.nsite)
    assert robot.actuator_names == names(model, mujoco.mjtObj.mjOBJ_ACTUATOR, model.nu)


def test_contacts_and_actuators_know_their_ids(any_robot: Sample):
    robot, model = any_robot.robot, any_robot.robot.base_model
    for contact in robot.contacts:
        assert robot.site_names[contact.site_id] == contact.name
        assert model.site_bodyid[contact.site_id] == contact.body_id
    for i, actuator in enumerate(robot.actuators):
        target = actuator.joint_id if actuator.kind == "motor" else actuator.site_id
        assert model.actuator_trnid[i, 0] == target


def test_limits_follow_the_design(hexapod: Sample, everything: Sample):
    np.testing.assert_array_equal(hexapod.robot.effort_limits(), [[-6.0, 6.0]] * 6)
    assert hexapod.robot.effort_limits({"motor_torque": 2.0})[0].tolist() == [-2.0, 2.0]
    assert hexapod.robot.speed_limits({"motor_speed": 3.0}) == [3.0] * 6
    assert [a.speed_limit for a in hexapod.robot.actuators] == [6.2832] * 6
    assert everything.robot.speed_limits().count(None) == 6
    friction = everything.robot.contact_friction({"leg.radius": 0.05})
    np.testing.assert_allclose(friction, [0.6, 0.55, 0.6, 0.55])


def test_the_robot_of_the_tests_has_every_feature(everything: Sample):
    links = everything.robot.tree.links
    assert {link.primitive for link in links} == set(PRIMITIVES)
    assert {link.joint.type for link in links if link.joint} == set(parts.JOINT_KEYS)
    shapes = {solid.shape for link in links for solid in link.solids}
    assert shapes == {*parts.SHAPES, None}
    assert {a.kind for a in everything.robot.actuators} == {"motor", "thruster"}
    assert any(link.mirrored for link in links)


def test_parameters_are_the_numbers_with_their_units(everything: Sample):
    parameters = everything.robot.parameters
    assert parameters["trunk.x"] == draft_core.Parameter("trunk.x", 0.4, "m")
    assert parameters["leg.density"].value == 1200.0
    assert parameters["hip.2"].value == -0.02
    assert parameters["torque"].value == 8.0
    assert not {"hip", "strong", "note", "trunk"} & set(parameters)


def test_the_hexapod_is_the_papers():
    robot = draft_core.load(FOLDERS["hexapod"])
    model = robot.base_model
    assert (model.nv, model.nu, len(robot.contacts)) == (12, 6, 6)
    assert model.body_mass.sum() == pytest.approx(0.4 + 6 * 0.1)


def test_the_quadcopter_hovers_at_equal_thrusts_and_turns_by_their_differences():
    robot = draft_core.load(FOLDERS["quadcopter"])
    model = robot.base_model
    data = mujoco.MjData(model)
    weight = 9.81 * model.body_mass.sum()
    assert (model.nv, model.nu) == (6, 4)
    assert robot.effort_limits().max() * 4 == pytest.approx(4 * weight, rel=0.05)
    data.ctrl[:] = weight / 4
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose(data.qacc, 0.0, atol=1e-12)
    forces = []
    for thrusts in np.eye(4):
        data.ctrl[:] = thrusts
        mujoco.mj_forward(model, data)
        forces.append(data.qfrc_actuator.copy())
    np.testing.assert_allclose(np.sum(forces, axis=0), [0, 0, 4, 0, 0, 0], atol=1e-12)
    assert np.linalg.matrix_rank(np.array(forces)) == 4


def test_it_pickles_as_its_folder(everything: Sample):
    copy = pickle.loads(pickle.dumps(everything.robot))
    assert copy.tree == everything.robot.tree
    assert hash(copy.tree) == hash(everything.robot.tree)
    assert len(pickle.dumps(everything.robot)) < 500


def test_trees_are_cached_by_value_and_threads_agree(hexapod: Sample):
    again = draft_core.load(hexapod.robot.folder)
    assert again.base_model is hexapod.robot.base_model
    with ThreadPoolExecutor(4) as pool:
        robots = [draft_core.load(FOLDERS["arm"]) for _ in range(8)]
        models = list(pool.map(lambda robot: robot.realize({"mass": 2.0}), robots))
    assert len({float(model.body_mass.sum()) for model in models}) == 1


def test_importing_and_compiling_need_no_jax():
    # `codesign compile` should answer at once; JAX takes a second to import.
    code = (
        "import sys, draft_core; "
        f"draft_core.load({str(FOLDERS['hexapod'])!r}).compile({{'leg_length': 0.15}}); "
        "sys.exit('jax' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_importing_mjx_prints_nothing():
    run = subprocess.run(
        [sys.executable, "-c", "import draft_core.backend"],
        check=True,
        capture_output=True,
        timeout=60,
    )
    assert (run.stdout, run.stderr) == (b"", b"")
