"""What single gates look at: pairs, solids, trunks and sizes, against MuJoCo and brute force."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from codesign.tracing import evaluate
from draft_core.anatomy import anatomy
from draft_core.backend import jnp
from draft_core.gates import chains, composition, double_charge, gate_margins, in_root, packing
from draft_core.gates.frontier import margins as frontier_margins
from draft_core.gates.masses import ROLES, owners, role_mass, trunk_mass, volumes
from draft_core.motors import MotorClass, motor_class
from draft_core.parameters import parse_parameters
from draft_core.separation import cylinders
from draft_core.tree import RobotTree
from draft_core.trends import catalog
from tests.draft_core.gates.robots import biped, shipped, swallowed

SHIPPED = ("quadruped", "cheetah", "bear", "giraffe", "humanoid", "hopper")


def pairs_of(tree: RobotTree) -> set[tuple[str, str]]:
    static = chains.actuators(tree)
    return {(static.joints[a], static.joints[b]) for a, b in static.consecutive.tolist()}


@pytest.mark.parametrize("name", catalog.catalogue())
def test_every_catalogued_module_is_within_its_own_frontier(name: str):
    part = catalog.module(name)
    stated = {"part": name, "gear": part.gear or 10.0}
    table = parse_parameters({"motors": {"x": stated}})
    env = table.resolve()
    kind: MotorClass = motor_class("motors.x", stated)[0]
    assert env["motors.x.mass"] == pytest.approx(part.mass)

    class Seen:
        """As much of an anatomy as the gate reads."""

        parts = type("Parts", (), {"motors": {"motors.x": kind}})

        @staticmethod
        def motor(key: str, field: str) -> float:
            return env[f"{key}.{field}"]

    found = {m.subject: m for m in frontier_margins(Seen)}  # pyright: ignore[reportArgumentType]
    assert found["motors.x, torque density"].passes
    assert found["motors.x, power density"].passes


def test_a_class_is_held_against_the_family_of_its_part():
    # 100 N m/kg is beyond every quasi-direct module (84.5), not beyond the catalogue (159).
    part = catalog.module("RS04")
    torque = part.peak_torque * (100 * part.mass / part.peak_torque) ** (1 / (1 - 0.6661855))
    for text, passes in (("", True), (", part: RS04", False)):
        hip = f"{{peak_torque: {torque}, no_load_speed: 2.0, gear: 9.0{text}}}"
        tree = biped({"{peak_torque: 20.0, no_load_speed: 20.0, gear: 9.0, aspect: 0.6}": hip})
        margin = gate_margins(tree, tree.resolve(), ["frontier"])[0]
        assert margin.subject == "motors.hip, torque density"
        if text:
            assert margin.measured == pytest.approx(100, rel=1e-6)
        assert margin.passes is passes


def test_a_strain_wave_class_is_not_held_to_a_radius():
    hip = "{part: eRob80H-80, gear: 80.0}"
    tree = biped({"{peak_torque: 20.0, no_load_speed: 20.0, gear: 9.0, aspect: 0.6}": hip})
    names = [m.subject for m in gate_margins(tree, tree.resolve(), ["radius"])]
    assert names == ["motors.knee, radius for its power"]


def test_a_class_that_states_no_gear_has_no_speed_to_judge():
    tree = biped({"no_load_speed: 20.0, gear: 9.0, aspect": "gear: 9.0, aspect"})
    names = [m.subject for m in gate_margins(tree, tree.resolve(), ["speed"])]
    assert names == ["motors.knee, speed at its gear"]


def test_a_robot_without_a_population_is_not_held_to_one():
    tree = biped(
        {
            "population: quadruped\n": "",
            "shape: mesh, segment: trunk": "shape: mesh, mass: 3",
            "segment: thigh": "mass: 0.3",
            "segment: shank": "mass: 0.3",
        }
    )
    gates = {m.gate for m in gate_margins(tree, tree.resolve())}
    assert gates.isdisjoint({"link_density", "member_density", "composition", "double_charge"})
    assert gates >= {"frontier", "packing", "in_root", "actuator_mass"}


def test_consecutive_actuators_are_those_of_one_leg():
    # The knee's motor sits at the hip; the four hips sit on one body and are not one chain.
    # Left and right legs are mirror images and share margins.
    assert pairs_of(shipped("quadruped").tree) == {
        *((f"hip_roll_{leg}", f"hip_pitch_{leg}") for leg in ("fl", "rl")),
        *((f"hip_pitch_{leg}", f"knee_{leg}") for leg in ("fl", "rl")),
    }


def test_consecutive_actuators_of_a_humanoid_follow_its_limbs():
    found = {tuple(sorted(pair)) for pair in pairs_of(shipped("humanoid").tree)}
    for limb in (
        ("torso_roll", "torso_pitch", "torso_yaw", "hip_pitch_l", "hip_roll_l", "hip_yaw_l"),
        ("hip_yaw_l", "knee_l", "ankle_pitch_l", "ankle_roll_l"),
        ("shoulder_pitch_l", "shoulder_roll_l", "shoulder_yaw_l", "elbow_l", "wrist_yaw_l"),
        ("wrist_yaw_l", "wrist_pitch_l", "wrist_roll_l"),
    ):
        assert {tuple(sorted(pair)) for pair in itertools.pairwise(limb)} <= found
    assert ("shoulder_pitch_l", "shoulder_pitch_r") not in found


def test_a_motor_moved_up_the_chain_is_consecutive_to_those_beside_it():
    # An ankle's motor on the thigh, beside the knee's: the hip's is on the next piece.
    tree = biped(
        {
            "  right_thigh:": """  left_foot:
    primitive: sphere
    parent: left_shank
    pos: [0, 0, "${-shank}"]
    joint: {type: hinge, axis: [0, 1, 0]}
    motor: {class: hip, carried_by: left_thigh, pos: [0.2, 0, "${-knee_at}"]}
    radius: 0.03
    mass: 0.1
  right_thigh:"""
        }
    )
    assert pairs_of(tree) == {
        ("left_thigh", "left_shank"),
        ("left_shank", "left_foot"),
        ("left_thigh", "left_foot"),
    }


def test_a_mirror_image_that_hangs_elsewhere_keeps_its_own_margin():
    moved = "right_shank: {mirror_of: left_shank, parent: left_thigh}"
    tree = biped({"right_shank: {mirror_of: left_shank}": moved})
    static = chains.actuators(tree)
    seen = anatomy(tree, tree.resolve())
    size = seen.fields["geom_size"][static.index]
    gaps = cylinders(
        seen.pos[static.index],
        seen.turn[static.index][:, :, 2],
        size[:, 0],
        size[:, 1],
        np.array(list(itertools.combinations(range(4), 2))),
    )
    margins = [m for m in gate_margins(tree, tree.resolve(), ["packing"]) if ", " in m.subject]
    assert len(margins) == len(pairs_of(tree))
    for margin in margins:
        assert np.abs(gaps - margin.measured).min() < 1e-12


@pytest.mark.parametrize("name", SHIPPED)
def test_the_closest_of_all_other_actuators_is_found_among_all(name: str):
    tree = shipped(name).tree
    static, seen = chains.actuators(tree), anatomy(tree, tree.resolve())
    size = seen.fields["geom_size"][static.index]
    radius = size[:, 0]
    if not len(static.apart):
        assert name == "hopper"
        return
    gaps = cylinders(
        seen.pos[static.index], seen.turn[static.index][:, :, 2], radius, size[:, 1], static.apart
    )
    mean = radius[static.apart].mean(axis=1)
    (margin,) = (m for m in packing.margins(seen) if m.level == "warning")
    expected = (gaps + np.maximum(0.0005, 0.02 * mean)) / mean
    assert margin.value == pytest.approx(expected.min(), abs=1e-12)
    overlapping = int((expected < 0).sum())
    if overlapping > 1:
        assert f"; {overlapping} pairs overlap: " in margin.message


@pytest.mark.parametrize("name", SHIPPED)
def test_congruent_pairs_have_the_same_gap(name: str):
    # Every consecutive pair, mirror images included, has the gap of one that is listed.
    tree = shipped(name).tree
    static, seen = chains.actuators(tree), anatomy(tree, tree.resolve())
    size = seen.fields["geom_size"][static.index]
    every = np.array(list(itertools.combinations(range(len(static.index)), 2)))
    others = {tuple(pair) for pair in static.apart.tolist()}
    close = np.array([pair for pair in every.tolist() if tuple(pair) not in others])
    gaps = cylinders(
        seen.pos[static.index], seen.turn[static.index][:, :, 2], size[:, 0], size[:, 1], close
    )
    listed = [m.measured for m in packing.margins(seen) if ", " in m.subject]
    assert all(min(abs(gap - one) for one in listed) < 1e-9 for gap in gaps.tolist())


def test_what_may_enter_the_root_is_not_judged_but_listed():
    tree = swallowed(drop=0.0)
    names = {m.subject for m in gate_margins(tree, tree.resolve(), ["in_root"])}
    judged = in_root.judged(tree)
    assert judged is not None
    exempt = {"left_thigh", "right_thigh", "left_thigh_actuator", "right_thigh_actuator"}
    assert set(judged.exempt) == exempt
    assert names.isdisjoint(exempt)


def test_a_solid_off_an_edge_is_not_taken_for_inside():
    # A ball of 50 mm, 40 mm above and 40 mm before the trunk's edge: along faces it reaches 10 mm
    # in, but from the edge it is √2 · 40 − 50 = 6.6 mm away.
    tree = biped(
        {
            """pos: [0, 0, "${trunk_z / 2 + 0.1}"]
    shape: box
    size: [0.1, 0.1, 0.1]""": """pos: ["${trunk_x / 2 + 0.04}", 0, "${trunk_z / 2 + 0.04}"]
    shape: sphere
    size: [0.05]"""
        }
    )
    env = tree.resolve()
    (found,) = (m for m in gate_margins(tree, env, ["in_root"]) if m.subject == "load")
    assert found.measured == pytest.approx(math.sqrt(2) * 0.04 - 0.05, abs=1e-12)
    # A constraint is on the safe side there.

    def safe(trunk_x: Any) -> Any:
        margins = gate_margins(tree, tree.resolve({"trunk_x": trunk_x}), ["in_root"])
        return next(m.measured for m in margins if m.subject == "load")

    assert evaluate(safe, jnp.asarray(0.3)) == pytest.approx(-0.01, abs=1e-12)


def test_a_solid_far_out_on_a_limb_is_found_in_the_root():
    # Shins as long as the thighs, folded up into the trunk by a motor at their ends.
    tree = biped({'pos: [0, 0, "${-thigh}"]': 'pos: [0, 0, "${drop + 0.25}"]'})
    (margin,) = (
        m
        for m in gate_margins(tree, tree.resolve(), ["in_root"])
        if m.subject == "all other solids"
    )
    assert not margin.passes
    assert "left_shank (and 1 more)" in margin.message
    # The shin, 20 mm thick, is 50 mm below the top and 30 mm from the middle: 45 mm to the side.
    assert margin.measured == pytest.approx(-0.045, abs=1e-12)


def test_a_root_without_a_mesh_has_no_inside():
    tree = shipped("hopper").tree
    assert in_root.judged(tree) is None
    assert not gate_margins(tree, tree.resolve(), ["in_root", "double_charge"])


def test_an_actuator_half_in_the_trunk_counts_half():
    tree = swallowed(drop=0.0)
    parts = double_charge.inside(anatomy(tree, tree.resolve()), chains.actuators(tree).index)
    assert sorted(parts.tolist()) == pytest.approx([0.0, 0.0, 0.5, 0.5], abs=1e-12)


@pytest.mark.parametrize("drop", [-0.05, 0.0, 0.03])
def test_the_part_of_a_turned_actuator_in_the_trunk_is_near_the_sampled_one(drop: float):
    # The estimate takes the extent's box for the cylinder; within a sixth of the volume here.
    tree = biped({"axis: [0, 1, 0]": "axis: [1, 1, 1]"}, drop=drop)
    seen, static = anatomy(tree, tree.resolve()), chains.actuators(tree)
    hip = static.index[[static.joints.index("left_thigh")]]
    rng, (radius, half, _) = np.random.default_rng(0), seen.fields["geom_size"][hip][0]
    angle, out = rng.uniform(0, 2 * np.pi, 20_000), radius * np.sqrt(rng.uniform(0, 1, 20_000))
    along = rng.uniform(-half, half, 20_000)
    points = np.stack([out * np.cos(angle), out * np.sin(angle), along], axis=1)
    points = seen.pos[hip[0]] + points @ seen.turn[hip[0]].T
    sampled = (np.abs(points) < [0.15, 0.075, 0.055]).all(axis=1).mean()
    assert double_charge.inside(seen, hip)[0] == pytest.approx(sampled, abs=1 / 6)


@pytest.mark.parametrize("name", SHIPPED)
def test_volumes_are_those_of_the_solids(name: str):
    tree = shipped(name).tree
    seen = anatomy(tree, tree.resolve())
    np.testing.assert_allclose(volumes(seen), seen.volume, rtol=1e-12)


@pytest.mark.parametrize("name", SHIPPED)
def test_roles_and_trunk_share_out_mujoco_s_masses(name: str):
    robot = shipped(name)
    model = robot.compile(gates=False).model
    seen = anatomy(robot.tree, robot.tree.resolve())
    total = float(model.body_mass.sum())
    assert sum(role_mass(seen, role) for role in ROLES) == pytest.approx(total, rel=1e-9)
    if name == "humanoid":
        names = ["torso", "pelvis"]
        welded = [x.name for x in robot.tree.links if x.joint is None and x.parent == "torso"]
        expected = sum(float(model.body(n).mass[0]) for n in (*names, *welded))
        assert trunk_mass(seen) == pytest.approx(expected, rel=1e-9)
    elif name != "hopper":
        assert trunk_mass(seen) == pytest.approx(float(model.body("torso").mass[0]), rel=1e-9)
    else:
        assert not owners(robot.tree).trunk.any()


def test_a_quadruped_s_size_is_its_thigh_and_shank():
    robot = shipped("quadruped")
    design = {"upper_leg": 0.3, "lower_leg": 0.27}
    env = robot.tree.resolve(design)
    assert composition.robot_size(anatomy(robot.tree, env)) == pytest.approx(0.57, abs=1e-15)


def test_a_humanoid_s_size_is_the_span_of_its_joints():
    import mujoco

    robot = shipped("humanoid")
    model = robot.compile(gates=False).model
    data = mujoco.MjData(model)
    data.qpos[:] = model.qpos0
    mujoco.mj_kinematics(model, data)
    heights = data.xanchor[1:, 2]  # but for the free joint's
    size = composition.robot_size(anatomy(robot.tree, robot.tree.resolve()))
    assert size == pytest.approx(float(np.ptp(heights)), abs=1e-12)
