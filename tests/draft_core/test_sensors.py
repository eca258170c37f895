"""Sensors: MuJoCo reads what tree.yaml lists, and measures what it says."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
import pytest

from draft_core.errors import DraftError
from draft_core.mjcf import robot_xml
from draft_core.parsing import parse_folder
from draft_core.quantities import quantities
from draft_core.sensors import SENSOR_TYPES, Sensor, add_sensors
from tests.draft_core.conftest import PARAMETERS, TREE, sample

Make = Callable[..., Path]

KINDS = {"site": "heel_left", "joint": "knee_left", "actuator": "fan_left", "body": "tail"}


def with_sensors(sensors: tuple[Sensor, ...]) -> mujoco.MjModel:
    """Return MuJoCo's model of a robot with sensors."""
    tree = sample("everything").robot.tree
    root = ET.fromstring(robot_xml(tree, quantities(tree, tree.resolve())))
    for block in root.findall("sensor"):
        root.remove(block)
    add_sensors(root, sensors)
    return mujoco.MjModel.from_xml_string(ET.tostring(root, encoding="unicode"))


def moving(model: mujoco.MjModel) -> mujoco.MjData:
    """Return a random state of the robot, its sensors read."""
    rng = np.random.default_rng(3)
    data = mujoco.MjData(model)
    mujoco.mj_integratePos(model, data.qpos, rng.normal(size=model.nv), 0.3)
    data.qvel[:] = rng.normal(size=model.nv)
    data.ctrl[:] = rng.uniform(0, 1, model.nu)
    mujoco.mj_forward(model, data)
    return data


def stated(word: str) -> list[Sensor]:
    """Return one sensor of a type for each thing it can be on."""
    kinds, joints = SENSOR_TYPES[word].kinds, SENSOR_TYPES[word].joints
    targets = {**KINDS, "joint": "tail" if joints == ("ball",) else "knee_left"}
    return [Sensor(f"{word}_{kind}", word, kind, targets[kind]) for kind in kinds]


def test_mujoco_knows_every_type_by_its_name():
    sensors = tuple(sensor for word in SENSOR_TYPES for sensor in stated(word))
    model = with_sensors(sensors)
    assert model.nsensor == len(sensors)
    objects = {
        "site": mujoco.mjtObj.mjOBJ_SITE,
        "joint": mujoco.mjtObj.mjOBJ_JOINT,
        "actuator": mujoco.mjtObj.mjOBJ_ACTUATOR,
    }
    for i, sensor in enumerate(sensors):
        kind = mujoco.mjtSensor(model.sensor_type[i]).name.removeprefix("mjSENS_").lower()
        word = {"jointactuatorfrc": "jointactfrc"}.get(sensor.type, sensor.type)
        assert kind == word
        assert model.sensor(i).name == sensor.name
        own = mujoco.mjtObj.mjOBJ_XBODY if "frame" in sensor.type else mujoco.mjtObj.mjOBJ_BODY
        assert model.sensor_objtype[i] == objects.get(sensor.kind, own)
        expected = mujoco.mj_name2id(model, model.sensor_objtype[i], sensor.target)
        assert model.sensor_objid[i] == expected


def test_sensors_measure_what_they_are_on():
    sensors = (
        Sensor("angle", "jointpos", "joint", "knee_left"),
        Sensor("rate", "jointvel", "joint", "knee_left"),
        Sensor("place", "framepos", "body", "tail"),
        Sensor("near", "framepos", "site", "heel_left", ("body", "tail")),
        Sensor("center", "subtreecom", "body", "trunk"),
        Sensor("thrust", "actuatorfrc", "actuator", "fan_left", cutoff=0.1),
        Sensor("turn", "framequat", "site", "heel_left", noise=0.5),
    )
    model = with_sensors(sensors)
    data = moving(model)
    tail, heel = data.body("tail"), data.site("heel_left")

    def read(name: str) -> np.ndarray:
        return data.sensor(name).data

    np.testing.assert_allclose(read("angle"), data.joint("knee_left").qpos)
    np.testing.assert_allclose(read("rate"), data.joint("knee_left").qvel)
    np.testing.assert_allclose(read("place"), tail.xpos)  # the node's frame, not its mass's
    assert np.linalg.norm(tail.xpos - tail.xipos) > 0.1
    expected = tail.xmat.reshape(3, 3).T @ (heel.xpos - tail.xpos)
    np.testing.assert_allclose(read("near"), expected, atol=1e-12)
    np.testing.assert_allclose(read("center"), data.subtree_com[model.body("trunk").id])
    assert data.actuator("fan_left").ctrl > 0.1
    np.testing.assert_allclose(read("thrust"), 0.1)
    assert model.sensor_noise[-1] == 0.5


def test_a_robot_without_sensors_has_no_sensor_block():
    root = ET.Element("mujoco")
    add_sensors(root, ())
    assert len(root) == 0


CART = (
    TREE
    + """
    sites: {tip: {pos: [0, 0, "${-length}"]}}
sensors:
"""
)


def sensors_of(folder: Path) -> tuple[Sensor, ...]:
    return parse_folder(folder).sensors


def test_the_file_states_sensors(make_robot: Make):
    text = """
  imu: {type: gyro, site: tip, noise: "${length / 10}"}
  hip: {type: jointpos, joint: leg, cutoff: 2}
  tip: {type: framequat, site: tip, ref_body: base}
  "push_${kind}": {for_each: {in: [force, torque], as: kind}, type: "${kind}", site: tip}
"""
    assert sensors_of(make_robot(tree=CART + text)) == (
        Sensor("imu", "gyro", "site", "tip", noise=0.03),
        Sensor("hip", "jointpos", "joint", "leg", cutoff=2.0),
        Sensor("tip", "framequat", "site", "tip", ("body", "base")),
        Sensor("push_force", "force", "site", "tip"),
        Sensor("push_torque", "torque", "site", "tip"),
    )
    assert sensors_of(make_robot()) == ()


def test_the_sensors_of_a_joint_that_is_switched_off_go_with_it(make_robot: Make):
    tree = """
robot: arm
nodes:
  base: {primitive: root, shape: sphere, size: [0.1], mass: 1}
  arm_l: {primitive: geom, parent: base, joint: {type: hinge, axis: [0, 1, 0]},
          motor: {limit: 1, name: drive_l}, shape: sphere, size: [0.1], mass: 1}
  arm_r: {mirror_of: arm_l}
  tail: {primitive: geom, parent: base, joint: {type: hinge, axis: [0, 1, 0]},
         motor: {limit: 1}, shape: sphere, size: [0.1], mass: 1}
sensors:
  a: {type: jointpos, joint: arm_l}
  b: {type: jointvel, joint: arm_r}
  c: {type: actuatorfrc, actuator: drive_r}
  d: {type: framepos, body: arm_r}
  e: {type: jointpos, joint: tail}
"""
    assert [s.name for s in sensors_of(make_robot("x: 1", tree))] == list("abcde")
    assert [s.name for s in sensors_of(make_robot("arm_dof: false", tree))] == ["d", "e"]


MISTAKES = {
    "a: {type: giro, site: tip}": "did you mean 'gyro'",
    "a: {site: tip}": "has no 'type'",
    "a: {type: gyro}": "names nothing to measure; a gyro measures one site",
    "a: {type: gyro, body: base}": "names a body; a gyro measures one site",
    "a: {type: framepos, body: base, site: tip}": "names a site and a body",
    "a: {type: gyro, site: tpi}": "names 'tpi', which is no site of this robot (did you mean 'tip'",
    "a: {type: gyro, site: [1]}": "names [1]",
    "a: {type: jointpos, joint: lag}": "no joint of this robot (did you mean 'leg'",
    "a: {type: jointpos, joint: [leg]}": "names ['leg']",
    "a: {type: ballquat, joint: leg}": "measures a ball; joint 'leg' is a hinge",
    "a: {type: actuatorfrc, actuator: arm}": "There are: leg",
    "a: {type: subtreecom, body: world}": "no body",
    "a: {type: gyro, site: tip, ref_body: base}": "may go with: ",
    "a: {type: framepos, site: tip, ref_body: base, ref_site: tip}": "ref_site and ref_body",
    "a: {type: framepos, site: tip, ref_body: bas}": "did you mean 'base'",
    "a: {type: framequat, site: tip, cutoff: 1}": "has unit length",
    "a: {type: gyro, site: tip, noise: -1}": "must be 0 or more",
    "a: {type: gyro, site: tip, noise: loud}": "must be a number",
    'a: {type: gyro, site: tip, noise: "${lenght}"}': "did you mean 'length'",
    "a: {type: gyro, site: tip, size: 1}": "unknown key 'size'",
    "a: 5": "must be a mapping",
    '"a b": {type: gyro, site: tip}': "cannot be a name",
    '"a_${x}": {for_each: {in: 2}, type: gyro}': "must hold ${item}",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_a_sensor_that_cannot_work_is_refused_in_one_line(make_robot: Make, text: str):
    with pytest.raises(DraftError) as caught:
        sensors_of(make_robot(PARAMETERS, f"{CART}  {text}\n"))
    assert str(caught.value).startswith("tree.yaml, sensor")
    assert MISTAKES[text] in str(caught.value)
    assert len(str(caught.value)) < 600


def test_sensors_that_are_no_mapping_are_refused(make_robot: Make):
    with pytest.raises(DraftError, match="sensors must be a mapping"):
        sensors_of(make_robot(tree=TREE + "sensors: [gyro]\n"))
