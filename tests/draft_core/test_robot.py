"""`Robot`: names and ids as MuJoCo has them, parameters, limits, pickling."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from jax.extend.core import jaxpr_as_fun

import draft_core
from draft_core.backend import jax, jnp
from draft_core.errors import DraftError
from draft_core.primitives import PRIMITIVES, parts
from tests.draft_core.conftest import FOLDERS, PROJECT, Sample


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


LIMITS_PARAMETERS = """
torque: 2.0
swing: 1.0
strong: true
table: [1.0, 2.0]
"""
LIMITS_TREE = """
robot: limits
nodes:
  base:
    {primitive: root, joint: free, BALL, thrusters: {fan: {limit: "${max(torque, swing)}"}}}
  conditional:
    primitive: geom
    parent: base
    joint: {type: hinge, axis: [0, 1, 0], range: ["${-abs(swing)}", "${1 if torque > 1 else 2}"]}
    motor: {limit: "${torque if torque > swing else swing}", speed: "${min(torque, 3)}"}
    contacts: {foot: {friction: "${0.5 + abs(swing - 2)}"}}
    BALL
  listed:
    primitive: geom
    parent: base
    joint: {type: slide, axis: [1, 0, 0], range: "${[-1, 2] if torque > 1 else [-torque, swing]}"}
    motor: {limit: [-1, "${torque ** 2}"], speed: "${table[0] + (torque > 1 and not swing > 5)}"}
    BALL
  constant:
    primitive: geom
    parent: base
    joint: {type: hinge, axis: [0, 0, 1], range: [-1, 2]}
    motor: {limit: "${2 if strong else 3}", speed: 4}
    BALL
  round:
    primitive: geom
    parent: base
    joint: {type: ball, range: [0, "${swing // 2 + torque % 3 + round(torque, 1)}"]}
    BALL
"""


def limits_robot(make_robot: Callable[..., Path]) -> draft_core.Robot:
    tree = LIMITS_TREE.replace("    BALL", "    shape: sphere\n    size: [0.1]\n    mass: 1")
    tree = tree.replace("BALL", "shape: sphere, size: [0.1], mass: 1")
    return draft_core.load(make_robot(LIMITS_PARAMETERS, tree))


def all_limits(robot: draft_core.Robot, rho: Any) -> Any:
    """Return every limit of a robot at a design (torque, swing)."""
    design = {"torque": rho[0], "swing": rho[1]}
    ranges = robot.realize(design).jnt_range
    friction = robot.contact_friction(design)
    return robot.effort_limits(design), robot.speed_limits(design), friction, ranges


def test_traced_limits_are_those_of_numbers(make_robot: Callable[..., Path]):
    robot = limits_robot(make_robot)
    trace = jaxpr_as_fun(jax.make_jaxpr(lambda rho: all_limits(robot, rho))(jnp.ones(2)))
    for rho in ((2.0, 1.0), (0.5, 1.5), (1.2, 0.3)):  # both sides of every condition
        numbers = jax.tree.leaves(all_limits(robot, rho))
        for value, expected in zip(trace(jnp.array(rho)), numbers, strict=True):
            np.testing.assert_allclose(value, expected, rtol=1e-15)


def test_a_trace_shows_which_limits_depend_on_the_design(make_robot: Callable[..., Path]):
    robot = limits_robot(make_robot)
    speeds = jax.make_jaxpr(lambda rho: all_limits(robot, rho)[1])(jnp.ones(2)).jaxpr.outvars
    assert [hasattr(speed, "val") for speed in speeds] == [False, False, True]
    fixed = jax.make_jaxpr(lambda mass: robot.effort_limits({"table.0": mass}))(1.0)
    assert not fixed.jaxpr.eqns


def test_a_design_that_cannot_be_is_refused_before_a_search(hexapod: Sample):
    robot = hexapod.robot
    for name in robot.parameters:
        if "inertia" not in name:
            robot.check_design({name: 1.1 * hexapod.nominal[name]})
    for name, says in {
        "leg_length": r"node 'leg_fl' \(geom\), size\[2\] is -1 .*must be greater than 0",
        "body_mass": r"node 'body' \(root\), mass is -1 .*must be greater than 0",
        "motor_speed": r"motor, speed is -1 .*must be greater than 0",
        "motor_torque": r"motor, limit is -1 .*must be greater than 0",
        "ground_friction": r"friction is -1 .*must be 0 or more",
        "leg_lenght": r"did you mean 'leg_length'",
    }.items():
        with pytest.raises(DraftError, match=says) as caught:
            robot.check_design({name: -1.0})
        assert "\n" not in str(caught.value)


def test_a_size_that_vanishes_within_the_bounds_is_found(make_robot: Callable[..., Path]):
    sizes = {"size: [0.2, 0.1, 0.1]": 'size: [0.2, 0.1, "${length - 0.2}"]'}
    robot = draft_core.load(make_robot(replace=sizes))
    robot.check_design({"length": 0.21})
    with pytest.raises(DraftError, match=r"size\[2\] is -0.1 \(from '\$\{length - 0.2\}'\)"):
        robot.check_design({"length": 0.1})


def test_checking_a_design_takes_milliseconds():
    # Three on an idle core, with JAX imported; in a process of its own, where shapes go unchecked.
    code = (
        "import timeit, draft_core.backend; "
        f"robot = draft_core.load({str(FOLDERS['hexapod'])!r}); "
        "print(min(timeit.repeat(robot.check_design, number=1, repeat=50)))"
    )
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=60)
    assert float(run.stdout) < 0.010


def test_the_robots_of_the_tests_have_every_feature(everything: Sample):
    folders = {**FOLDERS, "reacher": PROJECT / "tests" / "draft_core" / "robots" / "reacher"}
    robots = [draft_core.load(folder) for folder in folders.values()]
    used = {link.primitive for robot in robots for link in robot.tree.links}
    assert set(PRIMITIVES) <= used
    links = everything.robot.tree.links
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
        [sys.executable, "-c", "import draft_core.backend\nfrom mujoco import mjx"],
        check=True,
        capture_output=True,
        timeout=60,
    )
    assert (run.stdout, run.stderr) == (b"", b"")
