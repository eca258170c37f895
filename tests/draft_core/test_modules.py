"""Modules: a robot with a file attached is the robot MuJoCo makes of the two by attaching them."""

from __future__ import annotations

import contextlib
import json
import random
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
import yaml

import draft_core
from draft_core.errors import DraftError
from draft_core.mjcf import robot_xml
from draft_core.modules import KEYS
from draft_core.parsing import parse_folder
from draft_core.quantities import quantities
from draft_core.sensors import Sensor
from draft_core.tree import Link, RobotTree
from tests.draft_core.test_bad_input import JUNK, changed, places
from tests.draft_core.test_mirror import Mirror

REACHER = Path(__file__).parent / "robots" / "reacher"
HAND = REACHER / "modules" / "hand.xml"
DESIGN = {"reach": 0.37}

Change = Callable[[dict[str, Any]], None]


def written(folder: Path, change: Change | None = None, texts: Mapping[str, str] = {}) -> Path:
    """Return a copy of the reacher with nodes changed and texts of its hand replaced."""
    target = folder / "reacher"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(REACHER, target)
    tree = yaml.safe_load((target / "tree.yaml").read_text())
    if change:
        change(tree["nodes"])
    (target / "tree.yaml").write_text(json.dumps(tree))  # which is YAML without aliases
    for name in ("hand.xml", "parts.xml"):
        path = target / "modules" / name
        text = path.read_text()
        for old, new in texts.items():
            text = text.replace(old, new)
        path.write_text(text)
    return target


def left_only(nodes: dict[str, Any]) -> None:
    del nodes["hand_r"]


def without_hands(nodes: dict[str, Any]) -> None:
    del nodes["hand_l"], nodes["hand_r"]


def document(tree: RobotTree, design: Mapping[str, float] = DESIGN) -> str:
    return robot_xml(tree, quantities(tree, tree.resolve(design)))


def model_of(tree: RobotTree, design: Mapping[str, float] = DESIGN) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(document(tree, design))


def attached_by_mujoco(folder: Path) -> mujoco.MjModel:
    """Return the reacher without hands, to which MuJoCo attaches the left one as the node says."""
    bare = document(parse_folder(written(folder / "bare", without_hands)))
    spec = mujoco.MjSpec.from_string(bare)
    reach, angles = DESIGN["reach"], np.array([0.1, 0.2, DESIGN["reach"]])
    quat = np.zeros(4)
    mujoco.mju_euler2Quat(quat, angles, "xyz")
    wrist = spec.body("arm_l").add_body(name="wrist", pos=[reach, 0.01, 0], quat=quat)
    wrist.add_joint(
        name="hand_l",
        type=mujoco.mjtJoint.mjJNT_HINGE,
        axis=[1, 0, 0.1],
        range=[-2, 2],
        limited=mujoco.mjtLimited.mjLIMITED_TRUE,
        damping=[0.1, 0, 0],
    )
    child = mujoco.MjSpec.from_file(str(HAND))
    child.option.gravity, child.option.timestep = spec.option.gravity, spec.option.timestep
    wrist.add_frame().attach_body(child.body("palm"), "hand_l_", "")
    return spec.compile()


def state(model: mujoco.MjModel, seed: int) -> mujoco.MjData:
    """Return a random state without contacts."""
    rng = np.random.default_rng(seed)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    data = mujoco.MjData(model)
    mujoco.mj_integratePos(model, data.qpos, rng.normal(size=model.nv), 1.0)
    data.qvel[:] = rng.normal(size=model.nv)
    mujoco.mj_forward(model, data)
    return data


def dynamics(model: mujoco.MjModel, data: mujoco.MjData) -> dict[str, np.ndarray]:
    full = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, full)
    return {
        "mass matrix": full,
        "gravity and velocity": np.array(data.qfrc_bias),
        "springs and dampers": np.array(data.qfrc_passive),
    }


def close(actual: np.ndarray, expected: np.ndarray, what: str) -> None:
    size = np.abs(expected).max()
    np.testing.assert_allclose(actual, expected, atol=1e-9 * size, rtol=0, err_msg=what)


@pytest.mark.parametrize("seed", range(5))
def test_a_module_moves_as_the_file_that_mujoco_attaches(tmp_path: Path, seed: int):
    ours = model_of(parse_folder(written(tmp_path / "ours", left_only)))
    theirs = attached_by_mujoco(tmp_path)
    assert (ours.nq, ours.nv) == (theirs.nq, theirs.nv)
    here, there = state(ours, seed), state(theirs, seed)
    np.testing.assert_array_equal(here.qpos, there.qpos)
    expected = dynamics(theirs, there)
    for what, value in dynamics(ours, here).items():
        close(value, expected[what], what)
    assert ours.body_subtreemass[0] == pytest.approx(theirs.body_subtreemass[0], rel=1e-12)
    for site in ("grip", "tool"):
        ours_at, theirs_at = here.site(f"hand_l_{site}"), there.site(f"hand_l_{site}")
        np.testing.assert_allclose(ours_at.xpos, theirs_at.xpos, atol=1e-12)
        np.testing.assert_allclose(ours_at.xmat, theirs_at.xmat, atol=1e-12)


SHADOW_HAND = Path(mujoco.__file__).parent / "mjx" / "test_data" / "shadow_hand"


@pytest.mark.skipif(not SHADOW_HAND.is_dir(), reason="mujoco-mjx came without its test data")
def test_a_real_hand_moves_as_mujoco_attaches_it(tmp_path: Path):
    shutil.copytree(SHADOW_HAND, tmp_path / "modules")
    (tmp_path / "parameters.yaml").write_text("side: 0.3\n")
    base = 'body: {primitive: root, joint: free, shape: box, size: [1, 1, "${side}"], mass: 2}'
    hand = "hand: {primitive: module, parent: body, module: modules/right_hand.xml}"
    drive = "drive: {limit: 1}"
    (tmp_path / "tree.yaml").write_text(f"robot: r\nnodes:\n  {base}\n  {hand}\n")
    ours = model_of(parse_folder(tmp_path), {})
    bare = f"{base[:-1]}, thrusters: {{{drive}}}}}"
    (tmp_path / "tree.yaml").write_text(f"robot: r\nnodes:\n  {bare}\n")
    spec = mujoco.MjSpec.from_string(document(parse_folder(tmp_path), {}))
    spec.delete(spec.actuator("drive"))
    child = mujoco.MjSpec.from_file(str(SHADOW_HAND / "right_hand.xml"))
    child.option = spec.option
    spec.body("body").add_frame().attach_body(child.worldbody.bodies[0], "hand_", "")
    theirs = spec.compile()
    assert (ours.nbody, ours.nv, ours.nu) == (theirs.nbody, theirs.nv, theirs.nu) == (27, 30, 24)
    here, there = state(ours, 0), state(theirs, 0)
    expected = dynamics(theirs, there)
    for what, value in dynamics(ours, here).items():
        close(value, expected[what], what)


def test_its_joints_geoms_and_limits_are_the_files(tmp_path: Path):
    ours = model_of(parse_folder(written(tmp_path / "ours", left_only)))
    theirs = attached_by_mujoco(tmp_path)
    here, there = state(ours, 1), state(theirs, 1)
    for name in ("hand_l_curl", "hand_l_slider"):
        own, other = ours.joint(name), theirs.joint(name)
        for key in ("range", "damping", "armature", "frictionloss", "stiffness", "qpos_spring"):
            np.testing.assert_array_equal(getattr(own, key), getattr(other, key), err_msg=key)
    np.testing.assert_allclose(ours.joint("hand_l_thumb").range, np.radians([0, 40]))
    for name in ("case", "shell", "pad"):
        own, other = ours.geom(f"hand_l_{name}"), theirs.geom(f"hand_l_{name}")
        assert own.type == other.type
        np.testing.assert_allclose(own.size, other.size, atol=1e-15)
        own, other = here.geom(f"hand_l_{name}"), there.geom(f"hand_l_{name}")
        np.testing.assert_allclose(own.xpos, other.xpos, atol=1e-12)
        np.testing.assert_allclose(own.xmat, other.xmat, atol=1e-12)


def test_its_actuators_become_motors_of_as_much_effort(tmp_path: Path):
    # A servo's force range times its gear, and a motor's controls where its force range lets them.
    model = model_of(parse_folder(written(tmp_path, left_only)))
    curl, slider = model.actuator("hand_l_curl_servo"), model.actuator("hand_l_slider")
    np.testing.assert_array_equal(curl.gear[0] * curl.ctrlrange, [-4, 6])
    np.testing.assert_array_equal(slider.gear[0] * slider.ctrlrange, [-10, 20])


def test_a_mirrored_module_moves_as_the_mirror_image():
    model = model_of(parse_folder(REACHER))
    mirror = Mirror(model)
    rng = np.random.default_rng(2)
    here = state(model, 2)
    there = mujoco.MjData(model)
    here.ctrl[:] = rng.normal(size=model.nu)
    mujoco.mj_forward(model, here)
    there.qpos[:] = mirror.pose(here.qpos)
    there.qvel[:] = mirror.velocity @ here.qvel
    there.ctrl[:] = mirror.effort @ here.ctrl
    mujoco.mj_forward(model, there)
    reflect = mirror.velocity
    values, expected = dynamics(model, there), dynamics(model, here)
    close(values["mass matrix"], reflect @ expected["mass matrix"] @ reflect.T, "mass matrix")
    for name in ("qfrc_bias", "qfrc_passive", "qfrc_actuator"):
        close(getattr(there, name), reflect @ getattr(here, name), name)


def link(tree: RobotTree, name: str) -> Link:
    return next(link for link in tree.links if link.name == name)


def test_names_begin_with_the_nodes(tmp_path: Path):
    tree = parse_folder(REACHER)
    assert [link.name for link in tree.links[2:6]] == [
        *("hand_l", "hand_l_finger", "hand_l_tip", "hand_l_thumb"),
    ]
    assert tree.actuator_names[1:4] == ("hand_l", "hand_l_curl_servo", "hand_l_slider")
    assert tree.site_names == ("hand_l_grip", "hand_l_tool", "hand_r_grip", "hand_r_tool")
    assert tree.sensors[:3] == (
        Sensor("hand_l_curl_angle", "jointpos", "joint", "hand_l_curl", noise=0.01),
        Sensor("hand_l_framepos1", "framepos", "site", "hand_l_grip", ("site", "hand_l_tool")),
        Sensor("hand_l_actuatorfrc2", "actuatorfrc", "actuator", "hand_l_curl_servo", cutoff=4.0),
    )
    assert tree.sensors[3].target == "hand_r_curl"
    assert {s.role for link in tree.links[2:6] for s in link.solids} == {"module"}


def test_other_nodes_hang_from_a_module_and_their_images_from_its_image(tmp_path: Path):
    def change(nodes: dict[str, Any]) -> None:
        tool = {"primitive": "geom", "shape": "sphere", "size": [0.01], "mass": 0.1}
        nodes["tool_l"] = {**tool, "parent": "hand_l_finger"}
        nodes["ring_l"] = {**tool, "parent": "hand_l"}
        nodes |= {"tool_r": {"mirror_of": "tool_l"}, "ring_r": {"mirror_of": "ring_l"}}

    tree = parse_folder(written(tmp_path, change))
    assert link(tree, "tool_r").parent == "hand_r_finger"
    assert link(tree, "ring_r").parent == "hand_r"


def overridden(tmp_path: Path, **stated: Any) -> RobotTree:
    def change(nodes: dict[str, Any]) -> None:
        nodes["hand_l"] |= stated

    return parse_folder(written(tmp_path, change))


def test_overridden_bodies_keep_their_shape_and_follow_the_design(tmp_path: Path):
    bodies = {"finger": {"mass": "${reach}", "role": "structure"}, "palm": {"mass": 0.8}}
    tree = overridden(tmp_path, bodies=bodies)
    before, after = model_of(parse_folder(REACHER)), model_of(tree)
    for name, mass in (("hand_l_finger", 0.37), ("hand_l", 0.8), ("hand_r_finger", 0.37)):
        old, new = before.body(name), after.body(name)
        assert new.mass[0] == mass
        np.testing.assert_allclose(new.inertia / mass, old.inertia / old.mass, rtol=1e-12)
        np.testing.assert_allclose(new.ipos, old.ipos, rtol=1e-12)
    assert link(tree, "hand_r_finger").solids[0].role == "structure"
    stated = overridden(tmp_path, bodies={"tip": {"inertia": [1e-6, 2e-6, 2.5e-6]}}, role="stated")
    np.testing.assert_allclose(model_of(stated).body("hand_l_tip").inertia, [1e-6, 2e-6, 2.5e-6])
    assert link(stated, "hand_l").solids[0].role == "stated"


def test_overridden_joints_take_numbers_and_motors(tmp_path: Path):
    joints = {
        "curl": {"range": [0, "${reach}"], "damping": 0.5, "motor": "S"},
        "slider": {"motor": {"limit": "${10 * reach}", "speed": 2}, "armature": 0.5},
    }
    tree = overridden(tmp_path, joints=joints)
    model = model_of(tree)
    curl, slider = model.joint("hand_l_curl"), model.joint("hand_l_slider")
    np.testing.assert_array_equal(curl.range, [0, 0.37])
    armature = tree.resolve()["motors.S.armature"]
    np.testing.assert_array_equal([*curl.armature, *curl.damping], [armature, 0.5])
    assert curl.stiffness[0] == 1.5
    np.testing.assert_array_equal(model.actuator("hand_l_curl_servo").ctrlrange, [-5, 5])
    np.testing.assert_array_equal(model.actuator("hand_l_slider").ctrlrange, [-3.7, 3.7])
    assert slider.armature[0] == 0.5
    # the class gives the joint its numbers; its mass is in the module's already
    before = model_of(parse_folder(REACHER))
    np.testing.assert_allclose(model.body_mass, before.body_mass, rtol=1e-12)
    carried = {"class": "S", "carried_by": "hand_l", "pos": [0, 0, 0]}
    heavier = model_of(overridden(tmp_path, joints={"curl": {"motor": carried}}))
    more = tree.resolve()["motors.S.mass"]
    assert heavier.body("hand_l").mass[0] == pytest.approx(before.body("hand_l").mass[0] + more)
    assert heavier.body("hand_r").mass[0] == pytest.approx(before.body("hand_r").mass[0] + more)


def test_gates_judge_the_class_of_a_modules_joint(tmp_path: Path):
    # A class that only a module's joint used was invisible: 1000 N m passed for a finger.
    def change(nodes: dict[str, Any]) -> None:
        nodes["hand_l"] |= {"joints": {"curl": {"motor": "S"}}}

    folder = written(tmp_path, change)
    assert draft_core.load(folder).check().is_feasible
    report = draft_core.load(folder, {"motors.S.peak_torque": 1000.0, "motors.S.gear": 2.0}).check()
    assert "motors.S" in report.refusal()
    assert report.motors[0].joints == ("hand_l_curl", "hand_r_curl")


def test_a_star_overrides_all_that_the_node_does_not_name(tmp_path: Path):
    every = {"motor": {"limit": 7}, "damping": 0.4}
    own = {"curl": {"damping": 0.6}, "slider": {"motor": {"limit": 9}}}
    model = model_of(overridden(tmp_path, joints={"*": every, **own}))
    limits = {
        name: model.actuator(f"hand_l_{name}").ctrlrange[1] for name in ("curl_servo", "slider")
    }
    assert limits == {"curl_servo": 7, "slider": 9}
    assert model.nu == 8  # the passive thumb got none
    dampings = [model.joint(f"hand_l_{n}").damping[0] for n in ("curl", "slider", "thumb")]
    assert dampings == [0.6, 0.4, 0.4]


def test_joints_motors_and_geoms_can_be_taken_out(tmp_path: Path):
    tree = overridden(tmp_path, joints={"curl": None, "slider": {"motor": None}})
    assert link(tree, "hand_l_finger").joint is None
    assert tree.actuator_names == ("arm_l", "hand_l", "arm_r", "hand_r")
    model, before = model_of(tree), model_of(parse_folder(REACHER))
    assert model.body_subtreemass[0] == pytest.approx(before.body_subtreemass[0], rel=1e-12)
    geoms = {"shell": None, "pad": {"rgba": [1, 0, 0], "may_enter_root": True}}
    tree = overridden(tmp_path, geoms=geoms)
    assert [s.name for s in link(tree, "hand_r_finger").solids[1:]] == ["hand_r_finger_geom0"]
    *_, pad = link(tree, "hand_l_tip").solids[1:]
    assert pad.may_enter_root
    assert pad.rgba is not None
    assert pad.rgba.items({}) == [1, 0, 0]


REFUSALS: dict[str, tuple[str, str, str]] = {
    # what: (a text of the hand, what replaces it, what the refusal says)
    "free joint": (
        '<inertial pos="0.01 0 0.02"',
        '<freejoint/><inertial pos="0.01 0 0.02"',
        "has a free joint in body 'palm', but a module is attached; leave the joint out",
    ),
    "equality": (
        "<contact>",
        '<equality><joint joint1="curl"/></equality><contact>',
        "has <equality>: a robot is an open tree",
    ),
    "tendon": (
        "<contact>",
        '<tendon><fixed><joint joint="curl" coef="1"/></fixed></tendon><contact>',
        "has <tendon>: a robot's actuators act on joints",
    ),
    "composite": ('<camera pos="0 0 1"/>', '<composite type="cable"/>', "write its bodies out"),
    "flexcomp": ('<camera pos="0 0 1"/>', '<flexcomp type="grid"/>', "a robot is rigid"),
    "replicate": ('<camera pos="0 0 1"/>', '<replicate count="1000000"/>', "with for_each"),
    "plugin": (
        "<contact>",
        '<extension><plugin plugin="x"/></extension><contact>',
        "has <extension>: the compiled robot is plain MJCF",
    ),
    "contact pair": (
        "<exclude body1",
        '<pair geom1="case" geom2="pad"/><exclude body1',
        "has <pair>",
    ),
    "height field": (
        "<worldbody>",
        '<asset><hfield name="h" file="h.png"/></asset><worldbody>',
        "has <hfield>",
    ),
    "attached model": (
        "<worldbody>",
        '<asset><model file="x.xml"/></asset><worldbody>',
        "a module node of its own",
    ),
    "mocap": ('<body name="thumb"', '<body name="thumb" mocap="true"', "mocap body 'thumb'"),
    "two joints": (
        '<geom name="nail"',
        '<joint name="more"/><geom name="nail"',
        "2 joints in body 'tip'; give each its own body",
    ),
    "ref": ('range="-10 80"', 'range="-10 80" ref="5"', "has ref in joint 'curl'"),
    "ellipsoid": (
        'type="sphere" size="0.01"',
        'type="ellipsoid" size="0.01 0.02 0.03"',
        "geom 'pad' that is a ellipsoid",
    ),
    "plane": ('type="sphere" size="0.01" mass="0.02"', 'type="plane" size="1 1 1"', "plane"),
    "world geom": ("<worldbody>", '<worldbody><geom size="1"/>', "1 geoms"),
    "two roots": ("<worldbody>", '<worldbody><body><geom size="1"/></body>', "has 2 bodies"),
    "gravity compensation": ('<body name="tip"', '<body name="tip" gravcomp="1"', "gravcomp"),
    "massless root": (
        'mass="0.4" fullinertia="4e-4 5e-4 6e-4 1e-5 2e-5 -3e-5"',
        'mass="0" diaginertia="0 0 0"',
        "bodies, palm: this body of the module has no",
    ),
    "unlimited motor": (
        ' ctrlrange="-1 1" gear="20" forcerange="-0.5 4"',
        "",
        "actuator 'slider' limits no force",
    ),
    "unlimited servo": (' forcerange="-2 3"', "", "state forcerange there, or 'joints: {"),
    "two actuators": (
        "</actuator>",
        '<motor joint="curl" ctrlrange="-1 1"/></actuator>',
        "two actuators on joint 'curl'",
    ),
    "muscle": (
        "</actuator>",
        '<muscle joint="slider" lengthrange="0 1"/></actuator>',
        "neither a motor nor a servo",
    ),
    "damper": (
        "</actuator>",
        '<damper joint="slider" kv="1" ctrlrange="0 1"/></actuator>',
        "neither a motor nor a servo",
    ),
    "site actuator": (
        "</actuator>",
        '<motor site="grip" gear="0 0 1 0 0 0"/></actuator>',
        "acts on no hinge or slide",
    ),
    "sensor type": ("</sensor>", '<clock name="t"/></sensor>', "sensor 't' is a clock"),
    "sensor of a geom": (
        "</sensor>",
        '<framepos objtype="geom" objname="pad"/></sensor>',
        "objtype 'geom'",
    ),
    "sensor of a moved frame": (
        "</sensor>",
        '<framepos objtype="xbody" objname="finger"/></sensor>',
        "put a site where it measures",
    ),
    "mesh in the document": (
        'file="nail.obj"',
        'name="nail" vertex="0 0 0 1 0 0 0 1 0 0 0 1"',
        "save it as an .obj or .stl file",
    ),
    "mesh reference frame": ('file="nail.obj"', 'file="nail.obj" refpos="1 0 0"', "refpos"),
    "broken xml": ("</worldbody>", "", "is not XML"),
    "entities": ("<!-- Every", '<!DOCTYPE x [<!ENTITY a "b">]><!-- Every', "defines entities"),
    "another root": ('<mujoco model="hand">', '<robot><mujoco model="hand">', "is not XML"),
    "unknown element": ("<sensor>", "<sensors/><sensor>", "MuJoCo refuses it"),
    "file elsewhere": (
        'name="case"',
        'name="case" file="/etc/passwd"',
        "<geom> may not name a file",
    ),
    "absolute mesh": ('file="nail.obj"', 'file="/etc/passwd"', "path relative to the robot folder"),
    "mesh above": (
        'file="nail.obj"',
        'file="../../../../../etc/passwd"',
        "outside the robot folder",
    ),
    "meshdir above": ('meshdir="meshes"', 'meshdir="../../.."', "outside the robot folder"),
    "absolute meshdir": ('meshdir="meshes"', 'meshdir="/etc"', "path relative"),
    "windows path": ('file="nail.obj"', 'file="C:\\\\nail.obj"', "path relative"),
    "missing mesh": ('file="nail.obj"', 'file="nall.obj"', "there is no such file"),
    "texture above": (
        "<material",
        '<texture name="t" type="2d" file="../../../t.png"/><material',
        "outside the robot folder",
    ),
    "cube texture": (
        "<material",
        '<texture name="t" type="cube" fileup="/etc/t.png"/><material',
        "path relative",
    ),
    "include above": ('file="parts.xml"', 'file="../../../parts.xml"', "outside the robot folder"),
    "include twice": (
        '<include file="parts.xml"/>',
        '<include file="parts.xml"/><include file="parts.xml"/>',
        "twice",
    ),
    "include of itself": ("<mujocoinclude>", '<mujocoinclude><include file="hand.xml"/>', "twice"),
    "include of nothing": ('<include file="parts.xml"/>', "<include/>", "path of a file"),
}


@pytest.mark.parametrize("what", REFUSALS)
def test_what_a_robot_cannot_have_is_refused_in_one_line(tmp_path: Path, what: str):
    old, new, says = REFUSALS[what]
    files = HAND.read_text() + HAND.with_name("parts.xml").read_text()
    assert files.count(old) == 1
    folder = written(tmp_path, texts={old: new})
    with pytest.raises(DraftError) as caught:
        parse_folder(folder)
    message = str(caught.value)
    assert message.startswith("tree.yaml, node 'hand_l' (module)")
    assert says in message
    assert "\n" not in message
    assert len(message) < 700


PATHS = {
    "../hand.xml": "outside the robot folder",
    "modules/../../hand.xml": "outside the robot folder",
    "/etc/passwd": "path relative to the robot folder",
    "modules/none.xml": "there is no such file",
    "modules": "there is no such file",
    "modules\\hand.xml": "path relative to the robot folder",
    "modules/\0": "cannot be read",
    "link.xml": "outside the robot folder",
    "links/hand.xml": "outside the robot folder",
    "loop.xml": "",
    "": "has no 'module'",
    5: "must be the path of a file",
}


@pytest.mark.parametrize("path", PATHS)
def test_a_module_is_in_the_robot_folder(tmp_path: Path, path: Any):
    def change(nodes: dict[str, Any]) -> None:
        nodes["hand_l"]["module"] = path or None

    folder = written(tmp_path, change)
    shutil.copytree(REACHER / "modules", tmp_path / "modules")
    shutil.copy(HAND, tmp_path / "hand.xml")
    (folder / "link.xml").symlink_to(tmp_path / "hand.xml")
    (folder / "links").symlink_to(tmp_path / "modules")
    (folder / "loop.xml").symlink_to(folder / "loop.xml")
    with pytest.raises(DraftError) as caught:
        parse_folder(folder)
    assert str(caught.value).startswith("tree.yaml, node 'hand_l' (module)")
    assert PATHS[path] in str(caught.value)


@pytest.mark.parametrize("name", ["modules/meshes/nail.obj", "modules/parts.xml"])
def test_what_a_module_reads_is_no_link_out_of_the_folder(tmp_path: Path, name: str):
    folder = written(tmp_path)
    (folder / name).rename(tmp_path / "elsewhere")
    (folder / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DraftError, match="outside the robot folder"):
        parse_folder(folder)


def test_a_module_may_use_files_anywhere_in_the_robot_folder(tmp_path: Path):
    folder = written(tmp_path, texts={'meshdir="meshes"': 'meshdir="../shared"'})
    (folder / "modules" / "meshes").rename(folder / "shared")
    (folder / "modules" / "real.xml").write_text(HAND.read_text().replace("meshes", "../shared"))
    (folder / "modules" / "hand.xml").unlink()
    (folder / "modules" / "hand.xml").symlink_to(folder / "modules" / "real.xml")
    assert parse_folder(folder) == parse_folder(folder)


OVERRIDES = {
    "bodies": ({"plam": {"mass": 1}}, "(did you mean 'palm'?). There are: finger, mount, palm"),
    "joints": ({"curls": {}}, "did you mean 'curl'"),
    "geoms": ({"pads": {}}, "did you mean 'pad'"),
    "bodies ": ({"palm": {"masss": 1}}, "unknown key 'masss'"),
    "bodies  ": ({"palm": 5}, "must be a mapping"),
    "bodies   ": ({"palm": {"mass": -1}}, "greater than 0"),
    "bodies    ": ({"palm": {"role": "arm"}}, "must be one of"),
    "bodies     ": ([1], "must be a mapping from the module's own names"),
    "joints ": ({"curl": {"axis": [1, 0, 0]}}, "unknown key 'axis'"),
    "joints  ": ({"curl": {"motor": "XL"}}, "names motor 'XL'"),
    "joints   ": ({"thumb": {"motor": {"limit": 1}}}, "a ball joint"),
    "geoms ": ({"pad": {"rgba": 1}}, "must be a list"),
    "geoms  ": ({"*": None}, "must be a mapping; it holds for all"),
    "role": ("arm", "must be one of: actuator, module"),
    "joint": ("hinge", "has no 'axis'"),
    "color": (1, "unknown key 'color'"),
}


@pytest.mark.parametrize("key", OVERRIDES)
def test_an_override_names_what_the_module_has(tmp_path: Path, key: str):
    value, says = OVERRIDES[key]
    with pytest.raises(DraftError) as caught:
        model_of(overridden(tmp_path, **{key.strip(): value}))
    assert says in str(caught.value)


def test_a_joint_of_the_root_is_where_the_node_is_attached(tmp_path: Path):
    joint = '<joint name="wrist" axis="0 0 1" pos="%s"/><inertial pos="0.01 0 0.02" mass="0.4"'
    at = '<inertial pos="0.01 0 0.02" mass="0.4"'

    def welded(nodes: dict[str, Any]) -> None:
        del nodes["hand_l"]["joint"], nodes["hand_l"]["motor"]

    # palm: pos 0.01 0.02 0.05, euler 10 20 30 degrees, whose inverse takes the origin to
    turn, quat = np.zeros(9), np.zeros(4)
    mujoco.mju_euler2Quat(quat, np.radians([10, 20, 30]), "xyz")
    mujoco.mju_quat2Mat(turn, quat)
    origin = -turn.reshape(3, 3).T @ [0.01, 0.02, 0.05]
    here = joint % " ".join(map(repr, map(float, origin)))
    tree = parse_folder(written(tmp_path, welded, {at: here}))
    wrist = link(tree, "hand_l").joint
    assert wrist is not None
    assert wrist.name == "hand_l_wrist"
    assert wrist.axis is not None
    np.testing.assert_allclose(wrist.axis.items({}), turn.reshape(3, 3)[:, 2], atol=1e-12)
    with pytest.raises(DraftError, match="has a joint of its own, 'wrist'"):
        parse_folder(written(tmp_path, None, {at: here}))
    with pytest.raises(DraftError, match="put it at the origin"):
        parse_folder(written(tmp_path, welded, {at: joint % "0 0 0"}))


def test_large_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = written(tmp_path)
    for limit, says in (
        ("MAX_XML_BYTES", "at most 90 are allowed"),
        ("MAX_MESH_BYTES", "at most 90 are allowed"),
        ("MAX_ASSET_BYTES", "more than 90 bytes in all"),
        ("MAX_ELEMENTS", "too many elements"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(f"draft_core.modules.source.{limit}", 20 if "ELEM" in limit else 90)
            with pytest.raises(DraftError, match=says):
                parse_folder(folder)
    deep = "<body>" * 5000 + "</body>" * 5000
    with pytest.raises(DraftError, match="too many elements"):
        parse_folder(written(tmp_path, None, {"<worldbody>": "<worldbody>" + deep}))


def test_a_module_is_compiled_once_for_its_content(tmp_path: Path):
    from draft_core.modules.compiled import compiled

    compiled.cache_clear()
    parse_folder(REACHER)
    parse_folder(written(tmp_path))
    assert compiled.cache_info().misses == 1
    parse_folder(written(tmp_path, None, {'mass="0.02"': 'mass="0.03"'}))
    assert compiled.cache_info().misses == 2


def test_a_module_can_be_repeated(tmp_path: Path):
    def change(nodes: dict[str, Any]) -> None:
        hand = nodes.pop("hand_l")
        del nodes["hand_r"], nodes["arm_r"]
        nodes["hand_${i}"] = {**hand, "for_each": {"in": 3, "as": "i"}, "pos": [0, 0, "${i / 10}"]}

    tree = parse_folder(written(tmp_path, change))
    names = [link.name for link in tree.links if link.name.endswith("_tip")]
    assert names == ["hand_0_tip", "hand_1_tip", "hand_2_tip"]
    assert model_of(tree).body("hand_2").pos[2] == 0.2


def test_every_key_has_a_use():
    assert {"primitive", "parent", "module", "role", "bodies", "joints", "geoms"} <= {*KEYS}


@pytest.mark.parametrize("seed", range(4))
def test_random_mistakes_never_end_in_another_error(tmp_path: Path, seed: int):
    # Attributes of the hand replaced by junk, and values of its node: refused in one line, or not.
    rng = random.Random(seed)
    text = HAND.read_text()
    attributes = [m[0] for m in re.finditer(r'\w+="[^"]*"', text)]
    stated = {"joints": {"*": {"damping": 1}}, "bodies": {"palm": {"mass": 1}}, "role": "stated"}
    for _ in range(25):
        old, new = rng.choice(attributes), str(rng.choice(JUNK)).replace('"', "")
        junk = f'{old.split("=")[0]}="{new}"' if rng.random() < 0.9 else ""
        target = written(tmp_path, lambda nodes: nodes["hand_l"].update(stated))
        hand = text.replace(old, junk, 1) if rng.random() < 0.5 else text
        (target / "modules" / "hand.xml").write_text(hand, encoding="utf-8")
        if hand == text:
            tree = yaml.safe_load((target / "tree.yaml").read_text())
            tree = changed(tree, rng.choice(list(places(tree))), rng.choice(JUNK))
            (target / "tree.yaml").write_text(yaml.safe_dump(tree, sort_keys=False))
        with contextlib.suppress(DraftError):
            model_of(parse_folder(target))


# --- the compiled robot: meshes, contacts and sensors ------------------------------------------


def corners(model: mujoco.MjModel, data: mujoco.MjData, geom: str) -> np.ndarray:
    """Return where the corners of a geom's mesh are in the world, (corners, 3), in file order."""
    mesh = model.mesh(model.geom(geom).dataid[0])
    first, count = mesh.vertadr[0], mesh.vertnum[0]
    place = data.geom(geom)
    return place.xpos + model.mesh_vert[first : first + count] @ place.xmat.reshape(3, 3).T


def test_its_meshes_are_where_mujoco_puts_them(tmp_path: Path):
    ours = draft_core.load(written(tmp_path / "ours", left_only)).compile(DESIGN, gates=False).model
    theirs = attached_by_mujoco(tmp_path)
    here, there = state(ours, 3), state(theirs, 3)
    # MuJoCo keeps corners in single precision
    np.testing.assert_allclose(
        corners(ours, here, "hand_l_nail"), corners(theirs, there, "hand_l_nail"), atol=1e-7
    )


def test_a_mirrored_mesh_is_the_mirror_image():
    model = draft_core.load(REACHER).compile(gates=False).model
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    left, right = (corners(model, data, f"hand_{side}_nail") for side in "lr")
    np.testing.assert_allclose(right, left * [1, -1, 1], atol=1e-7)
    # its faces still look outward
    volumes = []
    for side, points in (("l", left), ("r", right)):
        mesh = model.mesh(model.geom(f"hand_{side}_nail").dataid[0])
        faces = model.mesh_face[mesh.faceadr[0] : mesh.faceadr[0] + mesh.facenum[0]]
        volumes.append(np.linalg.det(points[faces]).sum() / 6)
    np.testing.assert_allclose(volumes, [0.01 * 0.02 * 0.03 / 6] * 2, rtol=1e-5)


def test_its_contacts_are_the_files(tmp_path: Path):
    ours = draft_core.load(written(tmp_path / "ours", left_only)).compile(DESIGN, gates=False).model
    theirs = attached_by_mujoco(tmp_path)
    for name in ("case", "shell", "pad", "nail"):
        own, other = ours.geom(f"hand_l_{name}"), theirs.geom(f"hand_l_{name}")
        for key in ("contype", "conaffinity", "condim", "group", "friction", "solref", "solimp"):
            np.testing.assert_array_equal(getattr(own, key), getattr(other, key), err_msg=key)
    excluded = [(int(s) >> 16, int(s) & 0xFFFF) for s in ours.exclude_signature]
    assert (ours.body("hand_l").id, ours.body("hand_l_finger").id) in excluded


def test_a_geoms_contacts_can_be_overridden(tmp_path: Path):
    geoms = {"pad": {"friction": [0.3, 0.02, 0.003]}, "case": {"collides": False}}
    tree = overridden(tmp_path, geoms=geoms)
    model = model_of(tree)
    for side in "lr":
        np.testing.assert_array_equal(model.geom(f"hand_{side}_pad").friction, [0.3, 0.02, 0.003])
        case = model.geom(f"hand_{side}_case")
        assert (case.contype[0], case.conaffinity[0]) == (0, 0)


def test_its_sensors_measure_what_the_files_do(tmp_path: Path):
    ours = draft_core.load(written(tmp_path / "ours", left_only)).compile(DESIGN, gates=False).model
    theirs = attached_by_mujoco(tmp_path)
    here, there = state(ours, 4), state(theirs, 4)
    assert ours.nsensor == 3
    np.testing.assert_allclose(
        here.sensor("hand_l_curl_angle").data, here.joint("hand_l_curl").qpos
    )
    grip, tool = there.site("hand_l_grip"), there.site("hand_l_tool")
    expected = tool.xmat.reshape(3, 3).T @ (grip.xpos - tool.xpos)
    np.testing.assert_allclose(here.sensor("hand_l_framepos1").data, expected, atol=1e-12)


def test_the_written_folder_holds_the_meshes(tmp_path: Path):
    def hinged(nodes: dict[str, Any]) -> None:
        nodes["hand_l"]["joints"] = {"thumb": None}  # URDF has no ball joints

    out = tmp_path / "out"
    robot = draft_core.load(written(tmp_path, hinged))
    robot.compile(out=out, gates=False)
    (asset,) = (out / "assets").iterdir()  # the image scales the same file by -1 in y
    assert asset.name == "hand_l_nail.obj"
    assert asset.read_bytes() == (HAND.parent / "meshes" / "nail.obj").read_bytes()
    models = [mujoco.MjModel.from_xml_path(str(out / name)) for name in ("robot.xml", "robot.urdf")]
    states = [mujoco.MjData(model) for model in models]
    for model, data in zip(models, states, strict=True):
        mujoco.mj_forward(model, data)
    base = states[0].body("body").xpos  # the URDF's root stands at the origin
    for side in "lr":
        mesh = corners(models[0], states[0], f"hand_{side}_nail") - base
        geoms = [
            g
            for g in range(models[1].ngeom)
            if models[1].geom_type[g] == mujoco.mjtGeom.mjGEOM_MESH
            and models[1].body(models[1].geom_bodyid[g]).name == f"hand_{side}_tip"
        ]
        assert geoms
        for g in geoms:
            vertices = models[1].mesh(models[1].geom_dataid[g])
            first, count = vertices.vertadr[0], vertices.vertnum[0]
            turn = states[1].geom_xmat[g].reshape(3, 3)
            urdf = states[1].geom_xpos[g] + models[1].mesh_vert[first : first + count] @ turn.T
            np.testing.assert_allclose(urdf, mesh, atol=1e-6)


def test_realize_is_the_compiled_module():
    robot = draft_core.load(REACHER)
    assert robot.compile(DESIGN, gates=False).drift < 1e-9
    realized = robot.realize(DESIGN)
    model = robot.compile(DESIGN, gates=False).model
    np.testing.assert_allclose(realized.body_mass, model.body_mass, rtol=1e-12)
