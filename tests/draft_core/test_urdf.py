"""The URDF is the MJCF's robot: MuJoCo reads both, and their dynamics are the same."""

from __future__ import annotations

import dataclasses
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import draft_core
from draft_core import DraftError, Robot, rotations
from draft_core.quantities import quantities
from draft_core.urdf import mesh_files, robot_urdf, roll_pitch_yaw, urdf, why_no_urdf
from tests.draft_core.conftest import PROJECT, TREE

FOLDERS = sorted(
    path.parent
    for pattern in ("tests/robots/*", "tests/draft_core/robots/*", "problems/*/robot")
    for path in PROJECT.glob(f"{pattern}/tree.yaml")
)
BALL = "{type: ball, range: [0, 1.2], damping: 0.05, armature: 0.001, stiffness: 0.4}"
HINGE = "{type: hinge, axis: [0.3, 1, -0.2], damping: 0.05, armature: 0.001, stiffness: 0.4}"


def has_ball(folder: Path) -> bool:
    return any(joint.type == "ball" for joint in draft_core.load(folder).tree.joints)


def unballed(make_robot: Callable[..., Path], name: str) -> Robot:
    """Return a robot whose ball joints, which URDF has none of, are turned into hinges."""
    folder = PROJECT / "tests" / name
    parameters, tree = (
        (folder / f"{file}.yaml").read_text(encoding="utf-8") for file in ("parameters", "tree")
    )
    tree = tree.replace(BALL, HINGE).replace("{type: ball, damping: 0.02}", HINGE)
    return draft_core.load(make_robot(parameters, tree))


def read(document: str, floating: str | None = None) -> mujoco.MjModel:
    """Return MuJoCo's model of a URDF; the root that floats is told to."""
    spec = mujoco.MjSpec.from_string(document)
    if floating:
        spec.body(floating).add_freejoint(name="floating")
    return spec.compile()


class Pair:
    """A robot read from both formats, with states that are the same in both."""

    def __init__(self, robot: Robot, design: dict[str, float] | None = None):
        self.robot = robot
        self.ours = robot.compile(design).model
        self.ours.dof_armature[:] = 0  # URDF has none
        self.document = urdf(robot.tree, design)
        root = robot.tree.links[0]
        floats = root.joint is not None and root.joint.type == "free"
        self.theirs = read(self.document, root.name if floats else None)
        self.dofs, self.coordinates = self._map(floats)

    def _map(self, floats: bool) -> tuple[list[int], list[int]]:
        """Return where our degrees of freedom and coordinates are in the URDF's model."""
        dofs, coordinates = [], []
        for i, joint in enumerate(self.robot.tree.joints):
            name = "floating" if floats and i == 0 else joint.name
            found = self.theirs.joint(name)
            dofs += range(found.dofadr[0], found.dofadr[0] + joint.dofs)
            size = 7 if joint.type == "free" else 1
            coordinates += range(found.qposadr[0], found.qposadr[0] + size)
        return dofs, coordinates

    def states(self, rng: np.random.Generator) -> tuple[mujoco.MjData, mujoco.MjData]:
        q, v = self.ours.qpos0.copy(), rng.normal(size=self.ours.nv)
        mujoco.mj_integratePos(self.ours, q, rng.normal(size=self.ours.nv), 1.0)
        data = mujoco.MjData(self.ours), mujoco.MjData(self.theirs)
        data[0].qpos[:], data[0].qvel[:] = q, v
        data[1].qpos[self.coordinates], data[1].qvel[self.dofs] = q, v
        for model, state in zip((self.ours, self.theirs), data, strict=True):
            mujoco.mj_forward(model, state)
        return data


def assert_same(found: Any, expected: Any, tolerance: float = 1e-9) -> None:
    """Compare relative to the largest entry; 1e-9 is what the MJCF itself is held to."""
    scale = max(float(np.abs(expected).max(initial=0)), 1e-12)
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * scale)


def full_mass(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    full = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, full)
    return full


def check_dynamics(pair: Pair) -> None:
    rng = np.random.default_rng(0)
    dofs = np.array(pair.dofs)
    assert pair.ours.nv == pair.theirs.nv
    assert_same(pair.theirs.body_mass.sum(), pair.ours.body_mass.sum(), 1e-14)
    for _ in range(10):
        ours, theirs = pair.states(rng)
        mass = full_mass(pair.theirs, theirs)[np.ix_(dofs, dofs)]
        assert_same(mass, full_mass(pair.ours, ours))
        assert_same(theirs.qfrc_bias[dofs], ours.qfrc_bias)  # gravity and gyroscopic forces
        for state, model in ((ours, pair.ours), (theirs, pair.theirs)):
            state.qvel[:] = 0
            mujoco.mj_forward(model, state)
        assert_same(theirs.qfrc_bias[dofs], ours.qfrc_bias)  # gravity alone
        for i, name in enumerate(pair.robot.site_names):
            frame = pair.theirs.body(name if name not in pair.robot.body_names else f"{name}_frame")
            assert_same(theirs.xpos[frame.id], ours.site_xpos[i])
            assert_same(theirs.xmat[frame.id], ours.site_xmat[i])


def check_joints(pair: Pair) -> None:
    speeds = dict(zip(pair.robot.actuator_names, pair.robot.speed_limits(), strict=True))
    limits = {
        element.get("name"): element.find("limit")
        for element in ET.fromstring(pair.document).iter("joint")
    }
    motors = {link.joint.name: link.motor for link in pair.robot.tree.links if link.joint}
    for i, joint in enumerate(pair.robot.tree.joints):
        if joint.type == "free":
            continue
        found = pair.theirs.joint(joint.name)
        assert_same(found.axis, pair.ours.jnt_axis[i], 1e-15)
        assert found.damping[0] == pair.ours.dof_damping[pair.ours.jnt_dofadr[i]]
        assert found.frictionloss[0] == pair.ours.dof_frictionloss[pair.ours.jnt_dofadr[i]]
        if joint.range is not None:
            np.testing.assert_array_equal(found.range, pair.ours.jnt_range[i])
        motor, limit = motors[joint.name], limits[joint.name]
        if motor is None:
            assert limit is None or limit.get("effort") == "0.0"
            continue
        actuator = pair.ours.actuator(motor.name)
        most = np.abs(actuator.gear[0] * actuator.ctrlrange).max()
        model_range = pair.theirs.jnt_actfrcrange[found.id]
        np.testing.assert_array_equal(model_range, [-most, most])
        assert limit is not None
        stated = speeds[motor.name]
        assert float(limit.get("velocity", "")) == (1e9 if stated is None else stated)


def check_geometry(pair: Pair) -> None:
    for i in range(pair.ours.ngeom):
        ours = pair.ours.geom(i)
        theirs = pair.theirs.geom(ours.name)
        capsule = ours.type[0] == mujoco.mjtGeom.mjGEOM_CAPSULE
        kind = mujoco.mjtGeom.mjGEOM_CYLINDER if capsule else ours.type[0]
        assert theirs.type[0] == kind
        assert_same(theirs.size[:2], ours.size[:2], 1e-15)
        assert_same(theirs.pos, ours.pos, 1e-12)
        assert abs(theirs.quat @ ours.quat) == pytest.approx(1, abs=1e-12)
        if capsule:
            turn = rotations.rotation(ours.quat)
            for cap, sign in (("top", 1), ("bottom", -1)):
                ball = pair.theirs.geom(f"{ours.name}_{cap}")
                assert ball.size[0] == ours.size[0]
                assert_same(ball.pos, ours.pos + sign * ours.size[1] * turn[:, 2], 1e-12)


CHECKS = [check_dynamics, check_joints, check_geometry]


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: str(f.relative_to(PROJECT)))
def test_the_urdf_is_the_same_robot(folder: Path, check: Callable[[Pair], None]):
    robot = draft_core.load(folder)
    if has_ball(folder):
        refusal = why_no_urdf(robot.tree)
        assert refusal
        with pytest.raises(DraftError) as caught:
            urdf(robot.tree)
        assert str(caught.value) == refusal
        assert "\n" not in refusal
        assert "ball" in refusal
        assert "robot.xml" in refusal
        return
    check(Pair(robot))


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("name", ["draft_core/robots/everything", "robots/acrobat"])
def test_it_is_so_with_every_shape_and_mirrored_and_tilted_links(
    make_robot, name: str, check: Callable[[Pair], None]
):
    robot = unballed(make_robot, name)
    check(Pair(robot))
    values = {k: p.value for k, p in robot.parameters.items() if p.value is not None}
    free = {e.name for e in robot.tree.parameters.entries if isinstance(e.stated, float)}
    lists = {name.rstrip("0123456789") for name in free if name[-1].isdigit()}
    design = {k: 1.1 * values[k] for k in free if k.rstrip("0123456789") not in lists}
    document = Pair(robot, design)
    check_dynamics(document)


def matrix(angles: tuple[float, float, float]) -> np.ndarray:
    """Return Rz(yaw) Ry(pitch) Rx(roll), as URDF defines them."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(angles), np.sin(angles)
    rx = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    ry = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    rz = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
    return rz @ ry @ rx


def test_roll_pitch_yaw_turn_like_the_quaternion():
    quats = np.random.default_rng(0).normal(size=(500, 4))
    for quat in quats / np.linalg.norm(quats, axis=1, keepdims=True):
        angles = roll_pitch_yaw(quat)
        assert_same(matrix(angles), rotations.rotation(quat), 1e-14)
        assert abs(angles[1]) <= np.pi / 2


@pytest.mark.parametrize("off", [0.0, 1e-300, 1e-16, 1e-12, 1e-9, 1e-8, 1e-6, 1e-3])
@pytest.mark.parametrize("sign", [1, -1])
def test_roll_pitch_yaw_are_exact_at_gimbal_poses(off: float, sign: int):
    # Near pitch ±π/2 the two angles that remain are badly determined apart, but not together:
    # taking each from its own entries would be wrong by 1e-16 / cos(pitch).
    rng = np.random.default_rng(1)
    for roll, yaw in rng.uniform(-np.pi, np.pi, (50, 2)):
        turns = [
            np.array([np.cos(a / 2), *(np.sin(a / 2) * np.eye(3)[i])])
            for a, i in ((yaw, 2), (sign * (np.pi / 2 - off), 1), (roll, 0))
        ]
        quat = rotations.multiply(rotations.multiply(turns[0], turns[1]), turns[2])
        assert_same(matrix(roll_pitch_yaw(quat)), rotations.rotation(quat), 1e-14)


@pytest.mark.parametrize("turn", ["[0.5, 0.5, 0.5, 0.5]", "[1, 0, 1, 0]", "[0, 1, 0, 1]"])
def test_a_link_turned_to_a_gimbal_pose_keeps_its_dynamics(make_robot, turn: str):
    folder = make_robot(
        replace={"    joint: {type: hinge": f"    quat: {turn}\n    joint: {{type: hinge"}
    )
    check_dynamics(Pair(draft_core.load(folder)))


def test_a_free_root_is_the_root_link_and_any_other_stands_on_the_world():
    free = ET.fromstring(urdf(draft_core.load(PROJECT / "problems/hexapod/robot").tree))
    children = {child.get("link") for child in free.iter("child")}
    roots = {link.get("name") for link in free.iter("link")} - children
    assert roots == {"body"}
    fixed = ET.fromstring(urdf(draft_core.load(PROJECT / "tests/robots/pendulum").tree))
    joint = fixed.find("joint")
    assert joint is not None
    assert joint.get("type") == "fixed"
    assert [end.get("link") for tag in ("parent", "child") for end in joint.iter(tag)] == [
        "world",
        "stand",
    ]


def test_joint_types_are_those_of_the_joints(make_robot):
    robot = unballed(make_robot, "draft_core/robots/everything")
    kinds = {j.get("name"): j.get("type") for j in ET.fromstring(urdf(robot.tree)).iter("joint")}
    assert kinds["hip_left"] == "revolute"
    assert kinds["tail"] == "continuous"
    assert kinds["piston_l"] == "prismatic"
    assert kinds["fin_left_fixed"] == "fixed"
    assert "floating" not in kinds.values()
    assert "mimic" not in urdf(robot.tree)


def test_names_are_unique_and_clean(make_robot):
    folder = make_robot(
        tree="""
        robot: two.legs
        nodes:
          base: {primitive: root, shape: box, size: [0.2, 0.1, 0.1], mass: 2, joint: free}
          world_frame: {primitive: geom, parent: base, shape: sphere, size: [0.1], mass: 1}
          leg.a:
            primitive: geom
            parent: base
            joint: {type: hinge, axis: [0, 1, 0], name: leg.a_fixed}
            motor: {limit: 2}
            shape: capsule
            size: [0.02, 0.1]
            mass: 1
            sites: {leg.a: {}, leg_a: {pos: [0, 0, 1]}, base: {}, base_frame: {}}
          leg_a: {primitive: geom, parent: leg.a, shape: box, size: [0.1, 0.1, 0.1], mass: 1}
          leg_a_top: {primitive: geom, parent: leg.a, shape: box, size: [0.1, 0.1, 0.1], mass: 1}
        """
    )
    document = urdf(draft_core.load(folder).tree)
    root = ET.fromstring(document)
    assert root.get("name") == "two_legs"
    for tag, owner in (("link", root), ("joint", root)):
        names = [element.get("name", "") for element in owner.iter(tag) if element.get("name")]
        assert len(set(names)) == len(names)
        assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyz_-0123456789") for name in names)
    solids = [e.get("name") for e in root.iter("collision")]
    assert len(set(solids)) == len(solids) == 7
    assert "leg.a is leg_a" in document.split("-->")[0]
    read(document, "base")


def test_what_urdf_cannot_hold_is_told_at_the_top(make_robot):
    document = urdf(unballed(make_robot, "draft_core/robots/everything").tree)
    comment = " ".join(document.split("-->")[0].split())
    for part in (
        "armature [kg m^2] or [kg]: hip_left",
        "springs [N m/rad] or [N/m]: knee_left",
        "tail 0.4 about 0.0",
        "efforts that differ by direction: knee_motor_left",
        "thrusters: fan_left, fan_right",
        "motors without a top speed: hip_left",
        "start of the root, which floats: trunk xyz 0.1 0.0",
        "sensors",
    ):
        assert part in comment, part


def test_a_slide_without_a_range_may_go_anywhere_and_says_so():
    document = urdf(draft_core.load(PROJECT / "tests/robots/spring").tree)
    (joint,) = (j for j in ET.fromstring(document).iter("joint") if j.get("type") == "prismatic")
    limit = joint.find("limit")
    assert limit is not None
    assert (limit.get("lower"), limit.get("upper")) == (
        "-1000000000.0",
        "1000000000.0",
    )
    assert "slides without a range: block" in document


def test_hyphens_in_names_do_not_end_the_comment(make_robot):
    name = "leg---x-"
    document = urdf(draft_core.load(make_robot(replace={"  leg:": f"  {name}:"})).tree)
    assert name in {link.get("name") for link in ET.fromstring(document).iter("link")}


def test_sites_can_be_left_out():
    tree = draft_core.load(PROJECT / "problems/hexapod/robot").tree
    assert len(ET.fromstring(urdf(tree)).findall("link")) == 7 + 7
    assert len(ET.fromstring(urdf(tree, frames=False)).findall("link")) == 7


def test_a_mesh_is_named_by_its_file(make_robot):
    tree = draft_core.load(make_robot()).tree
    fields = quantities(tree, tree.resolve())
    # a mesh has no place among the geom_* fields
    fields |= {name: fields[name][1:] for name in ("geom_pos", "geom_quat", "geom_size")}
    root = tree.links[0]
    solid = dataclasses.replace(root.solids[0], shape="mesh")
    tree = dataclasses.replace(
        tree, links=(dataclasses.replace(root, solids=(solid,)), *tree.links[1:])
    )
    assert mesh_files(tree) == {solid.name: f"assets/{solid.name}.obj"}

    def files(**options: Any) -> set[str | None]:
        document = ET.fromstring(robot_urdf(tree, fields, [None], **options))
        assert [box.get("size") for box in document.iter("box")] == ["0.02 0.02 0.3"] * 2
        return {mesh.get("filename") for mesh in document.iter("mesh")}

    assert files() == {f"assets/{solid.name}.obj"}
    assert files(mesh_prefix="package://cart/") == {f"package://cart/assets/{solid.name}.obj"}
    assert files(meshes={solid.name: "assets/hull.stl"}) == {"assets/hull.stl"}


def test_numbers_keep_all_their_digits(make_robot):
    third = 1 / 3
    robot = draft_core.load(make_robot(f"length: {third!r}\nmass: 0.1\n", TREE))
    boxes = [box.get("size", "") for box in ET.fromstring(urdf(robot.tree)).iter("box")]
    assert any(float(box.split()[2]) == third for box in boxes)
    assert 'mass value="0.1"' in urdf(robot.tree)
    assert "-0.0 " not in urdf(robot.tree)
