"""A two-legged robot whose margins have closed forms: a box, and cylinders with parallel axes."""

from __future__ import annotations

import dataclasses
import functools
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import draft_core
from draft_core.expressions import Expression
from draft_core.tree import RobotTree, Scalar, Solid

PARAMETERS = """
trunk_x: 0.3
trunk_y: 0.15
trunk_z: 0.11
hip_x: 0.0
hip_y: 0.05          # of the legs, from the middle
drop: 0.1            # of the hip joints' axes, below the trunk
knee_at: 0.15        # of the knee motors, down the thigh
thigh: 0.19
thigh_radius: 0.03
shank: 0.19
payload: 0.05
tail_density: 600.0
doubt: 1.0           # factor that `miscounted` puts on the left hip motor's mass
allow_hypothetical: false
allow_link_density: false
allow_motor_overlap: false
allow_actuator_in_structure: false
motors:
  hip: {peak_torque: 20.0, no_load_speed: 20.0, gear: 9.0, aspect: 0.6}
  knee: {peak_torque: 100.0, no_load_speed: 20.0, gear: 9.0}
"""
TREE = """
robot: biped
population: quadruped
nodes:
  trunk: {primitive: root, joint: free, shape: mesh, segment: trunk}
  tail:
    primitive: basic
    parent: trunk
    pos: ["${-trunk_x / 2}", 0, 0]
    direction: [-1, 0, 0]
    length: 0.1
    radius: 0.02
    density: "${tail_density}"
  load:
    primitive: geom
    parent: trunk
    pos: [0, 0, "${trunk_z / 2 + 0.1}"]
    shape: box
    size: [0.1, 0.1, 0.1]
    mass: "${payload}"
  left_thigh:
    primitive: basic
    parent: trunk
    pos: ["${hip_x}", "${hip_y}", "${-trunk_z / 2 - drop}"]
    joint: {type: hinge, axis: [0, 1, 0]}
    motor: {class: hip}
    length: "${thigh}"
    radius: "${thigh_radius}"
    segment: thigh
  left_shank:
    primitive: basic
    parent: left_thigh
    pos: [0, 0, "${-thigh}"]
    joint: {type: hinge, axis: [0, 1, 0]}
    motor: {class: knee, carried_by: left_thigh, pos: [0, 0, "${-knee_at}"]}
    length: "${shank}"
    radius: 0.02
    segment: shank
  right_thigh: {mirror_of: left_thigh}
  right_shank: {mirror_of: left_shank}
"""
MESH = """
axis: x
sections:
  - {at: "${-trunk_x / 2}", size: ["${trunk_y}", "${trunk_z}"], chamfer: 0}
  - {at: "${trunk_x / 2}"}
"""


@functools.cache
def _folder(replaced: tuple[tuple[str, str], ...]) -> str:
    files = {"parameters.yaml": PARAMETERS, "tree.yaml": TREE, "mesh.yaml": MESH}
    for old, new in replaced:
        assert any(old in text for text in files.values()), old
        files = {name: text.replace(old, new) for name, text in files.items()}
    folder = Path(tempfile.mkdtemp(dir=_scratch().name))
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return str(folder)


@functools.cache
def _scratch() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


def biped(replace: Mapping[str, str] | None = None, **parameters: Any) -> RobotTree:
    """Return the robot with texts of its files replaced and with some parameters said otherwise."""
    return _tree(tuple((replace or {}).items()), tuple(parameters.items()))


@functools.cache
def _tree(
    replaced: tuple[tuple[str, str], ...], parameters: tuple[tuple[str, Any], ...]
) -> RobotTree:
    return draft_core.Robot(_folder(replaced), dict(parameters)).tree


@functools.cache
def shipped(name: str) -> draft_core.Robot:
    """Return a robot that comes with the package."""
    return draft_core.load(name)


def swallowed(**parameters: Any) -> RobotTree:
    """Return the robot with hips that may lie in the trunk."""
    return biped(
        {
            "motor: {class: hip}": "motor: {class: hip, may_enter_root: true}",
            "segment: thigh": "segment: thigh\n    may_enter_root: true",
        },
        **parameters,
    )


def miscounted(**parameters: Any) -> RobotTree:
    """Return the robot with one actuator's mass multiplied, as no folder can state it."""
    tree = biped(**parameters)
    mass = Scalar(Expression("${motors.hip.mass * doubt}", "test"), "test")

    def changed(solid: Solid) -> Solid:
        return dataclasses.replace(solid, mass=mass) if solid.name == wrong else solid

    wrong = "left_thigh_actuator"
    links = tuple(
        dataclasses.replace(link, solids=tuple(map(changed, link.solids))) for link in tree.links
    )
    return dataclasses.replace(tree, links=links)
