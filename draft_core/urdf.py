"""A robot at one design as URDF, from the same numbers as its MJCF.

A URDF link is our body, and a joint's frame is its child link's frame: both formats agree there, so
origins, axes and tensors are copied, every number as the shortest text that reads back as the
same one. Orientations become roll, pitch and yaw: R = Rz(yaw) Ry(pitch) Rx(roll).

URDF has no capsule, which becomes a cylinder between two spheres, and no ball joint, which is
refused. What else it cannot hold is told in a comment at the top of the document.
"""

import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from draft_core.errors import DraftError, known_names
from draft_core.mjcf import GENERATOR
from draft_core.quantities import mesh_frames, quantities, speed_limits
from draft_core.tree import MAX_MAGNITUDE, Joint, Link, RobotTree, Solid

ASSETS = "assets"  # folder of the meshes, beside the document
WORLD = "world"  # the link that a robot without a free root stands on
_JOINTS = {"hinge": "revolute", "slide": "prismatic"}
# read by MuJoCo alone: keep every link, and the folder in a mesh's file name
_COMPILER = {"strippath": "false", "fusestatic": "false"}
_ZERO = "0.0 0.0 0.0"
_CAPS = ("top", "bottom")
_HOME = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))
_ANYWHERE = (-MAX_MAGNITUDE, MAX_MAGNITUDE)
_UPPER = [(a, b) for a in enumerate("xyz") for b in enumerate("xyz") if a <= b]
_FIELDS = (
    *("body_pos", "body_quat", "body_ipos", "body_mass", "body_fullinertia"),
    *("jnt_axis", "jnt_range", "jnt_stiffness", "dof_armature", "dof_damping", "dof_frictionloss"),
    *("geom_pos", "geom_quat", "geom_size", "site_pos", "site_quat"),
    *("actuator_gear", "actuator_ctrlrange", "qpos_spring"),
)


def urdf(
    tree: RobotTree,
    design: Mapping[str, Any] | None = None,
    *,
    mesh_prefix: str = "",
    frames: bool = True,
) -> str:
    """Return a robot's URDF document at a design; see `robot_urdf`.

    Raises:
        DraftError: the design cannot work, or URDF cannot hold the robot.
    """
    env = tree.resolve(design)
    fields, speeds, poses = quantities(tree, env), speed_limits(tree, env), mesh_frames(tree, env)
    return robot_urdf(tree, fields, speeds, poses=poses, mesh_prefix=mesh_prefix, frames=frames)


def robot_urdf(
    tree: RobotTree,
    fields: Mapping[str, Any],
    speeds: Sequence[float | None],
    *,
    meshes: Mapping[str, str] | None = None,
    poses: Mapping[str, tuple[Any, Any]] | None = None,
    mesh_prefix: str = "",
    frames: bool = True,
) -> str:
    """Return the robot's URDF document.

    Args:
        tree: the robot.
        fields: what `quantities` gives, as numbers.
        speeds: what `speed_limits` gives: each actuator's top joint speed, None for none.
        meshes: file of each mesh by its solid's name, relative to the document, its corners
            in the link's frame; what is not among them is as in `mesh_files`.
        poses: position and quaternion of each module's mesh in its link, by its solid's name.
        mesh_prefix: put before every mesh file, such as ``package://name/``.
        frames: whether sites become empty links.

    Raises:
        DraftError: URDF cannot hold the robot.
    """
    refusal = why_no_urdf(tree)
    if refusal:
        raise DraftError(refusal)
    files = {
        name: mesh_prefix + file for name, file in {**mesh_files(tree), **(meshes or {})}.items()
    }
    numbers = {name: np.asarray(fields[name], dtype=float).tolist() for name in _FIELDS}
    rows = tuple(_numbered(tree))
    places = {
        name: (np.asarray(pos).tolist(), np.asarray(quat).tolist())
        for name, (pos, quat) in (poses or {}).items()
    }
    writer = _Writer(numbers, speeds, files, places, _Names(tree, rows, frames))
    root = ET.Element("robot", name=_clean(tree.name))
    ET.SubElement(ET.SubElement(root, "mujoco"), "compiler", _COMPILER)
    if rows[0].link.joint is None or rows[0].link.joint.type != "free":
        ET.SubElement(root, "link", name=WORLD)
    for row in rows:
        writer.link(root, row)
        writer.joint(root, row)
        if frames:
            writer.frames(root, row)
    ET.indent(root)
    notes = [f"{tree.name}: {GENERATOR}; do not edit", *_notes(rows, numbers, speeds, writer.names)]
    comment = re.sub("-(?=-)", "- ", "\n  ".join(notes))  # a comment holds no two hyphens in a row
    body = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0"?>\n<!-- {comment} -->\n{body}\n'


def why_no_urdf(tree: RobotTree) -> str | None:
    """Return in one line why URDF cannot hold a robot, or None where it can."""
    balls = [joint.name for joint in tree.joints if joint.type == "ball"]
    if balls:
        return (
            f"robot {tree.name!r} has no URDF: there are no ball joints in it, and the robot has "
            f"{known_names(balls, 5)}; its MJCF, robot.xml, holds them."
        )
    return None


def mesh_files(tree: RobotTree) -> dict[str, str]:
    """Return the mesh file of each solid that is a mesh, by its name, relative to the document."""
    return {
        solid.name: f"{ASSETS}/{solid.name}.obj"
        for link in tree.links
        for solid in link.solids
        if solid.shape == "mesh"
    }


def roll_pitch_yaw(quat: Sequence[float]) -> tuple[float, float, float]:
    """Return the angles of R = Rz(yaw) Ry(pitch) Rx(roll) [rad], to rounding at every pose.

    Yaw comes from the first column; the rest from Rz(−yaw) R, which holds whatever yaw is
    where the first column is upright (pitch ±π/2) and only yaw ± roll matters.

    Args:
        quat: unit quaternion w, x, y, z.
    """
    w, x, y, z = quat
    first = (w * w + x * x - y * y - z * z, 2 * (x * y + w * z), 2 * (x * z - w * y))
    second = (2 * (x * y - w * z), w * w - x * x + y * y - z * z)
    third = (2 * (x * z + w * y), 2 * (y * z - w * x))
    yaw = math.atan2(first[1], first[0])
    c, s = math.cos(yaw), math.sin(yaw)
    pitch = math.atan2(-first[2], c * first[0] + s * first[1])
    roll = math.atan2(s * third[0] - c * third[1], c * second[1] - s * second[0])
    return roll, pitch, yaw


@dataclass(frozen=True)
class _Row:
    """A link with the indices of its things in MuJoCo's arrays; the first of several."""

    link: Link
    body: int
    joint: int
    dof: int
    coordinate: int
    geom: int
    site: int
    actuator: int


def _numbered(tree: RobotTree) -> Iterator[_Row]:
    joint = dof = coordinate = geom = site = actuator = 0
    for body, link in enumerate(tree.links, start=1):
        yield _Row(link, body, joint, dof, coordinate, geom, site, actuator)
        joint += link.joint is not None
        dof += link.joint.dofs if link.joint else 0
        coordinate += link.joint.dofs + (link.joint.type == "free") if link.joint else 0
        geom += sum(_has_numbers(solid) for solid in link.solids)
        site += len(_site_names(link))
        actuator += (link.motor is not None) + len(link.thrusters)


def _has_numbers(solid: Solid) -> bool:
    """Tell whether a solid is among the geom_* fields; a mesh is not."""
    return solid.shape not in (None, "mesh")


def _site_names(link: Link) -> list[str]:
    return [item.name for item in (*link.sites, *link.contacts, *link.thrusters)]


def _clean(name: str) -> str:
    """Return a name of letters, digits, ``_`` and ``-``, which every reader of URDF takes."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)


class _Names:
    """Clean, unique names: of links, frames of sites among them, of joints and of solids."""

    def __init__(self, tree: RobotTree, rows: Sequence[_Row], frames: bool) -> None:
        self.changed: list[str] = []
        links, joints, solids = {WORLD}, set[str](), set[str]()
        self.links: dict[str | None, str] = {None: WORLD}
        self.links |= {link.name: self._take(link.name, links) for link in tree.links}
        self.joints = {joint.name: self._take(joint.name, joints) for joint in tree.joints}
        shaped = [s for link in tree.links for s in link.solids if s.shape]
        self.solids = {solid.name: self._take(solid.name, solids) for solid in shaped}
        self.caps = {
            solid.name: [_unique(f"{self.solids[solid.name]}_{end}", solids) for end in _CAPS]
            for solid in shaped
            if solid.shape == "capsule"
        }
        sites = [name for row in rows for name in _site_names(row.link)] if frames else []
        self.sites = {name: self._take(name, links, "_frame") for name in sites}
        welded = [link.name for link in tree.links if link.joint is None]
        self.fixed = {name: _unique(f"{self.links[name]}_fixed", joints) for name in welded}
        self.site_joints = {name: _unique(f"{self.sites[name]}_fixed", joints) for name in sites}

    def _take(self, name: str, taken: set[str], ending: str = "") -> str:
        clean = _clean(name)
        found = _unique(clean + ending if clean in taken else clean, taken)
        if found != name:
            self.changed.append(f"{name} is {found}")
        return found


def _unique(name: str, taken: set[str]) -> str:
    found, count = name, 1
    while found in taken:
        count += 1
        found = f"{name}_{count}"
    taken.add(found)
    return found


@dataclass(frozen=True)
class _Writer:
    """Adds links and joints to the document."""

    fields: Mapping[str, Any]
    speeds: Sequence[float | None]
    files: Mapping[str, str]
    poses: Mapping[str, tuple[Any, Any]]
    names: _Names

    def link(self, root: ET.Element, row: _Row) -> None:
        element = ET.SubElement(root, "link", name=self.names.links[row.link.name])
        inertial = ET.SubElement(element, "inertial")
        ET.SubElement(inertial, "origin", xyz=_text(self.fields["body_ipos"][row.body]), rpy=_ZERO)
        ET.SubElement(inertial, "mass", value=_text([self.fields["body_mass"][row.body]]))
        tensor = self.fields["body_fullinertia"][row.body]
        entries = {f"i{a}{b}": _text([tensor[i][j]]) for (i, a), (j, b) in _UPPER}
        ET.SubElement(inertial, "inertia", entries)
        for tag in ("visual", "collision"):
            geom = row.geom
            for solid in row.link.solids:
                shown = tag == "visual" or solid.collides
                if solid.shape == "mesh" and shown:
                    self._mesh(element, tag, solid)
                elif _has_numbers(solid):
                    if shown:
                        self._solid(element, tag, solid, geom)
                    geom += 1

    def _mesh(self, element: ET.Element, tag: str, solid: Solid) -> None:
        name, file = self.names.solids[solid.name], self.files[solid.name]
        scale = {} if solid.asset is None else {"scale": _text(solid.asset.scale)}
        pose = self.poses.get(solid.name, _HOME)
        _geometry(element, tag, name, pose, "mesh", filename=file, **scale)

    def _solid(self, element: ET.Element, tag: str, solid: Solid, geom: int) -> None:
        name, size = self.names.solids[solid.name], self.fields["geom_size"][geom]
        pos, quat = place = self.fields["geom_pos"][geom], self.fields["geom_quat"][geom]
        radius = _text(size[:1])
        if solid.shape == "box":
            _geometry(element, tag, name, place, "box", size=_text([2 * s for s in size]))
        elif solid.shape == "sphere":
            _geometry(element, tag, name, place, "sphere", radius=radius)
        else:
            length = _text([2 * size[1]])
            _geometry(element, tag, name, place, "cylinder", radius=radius, length=length)
        if solid.shape == "capsule":
            along = [size[1] * d for d in _z_axis(quat)]
            for cap, sign in zip(self.names.caps[solid.name], (1, -1), strict=True):
                end = [p + sign * d for p, d in zip(pos, along, strict=True)]
                _geometry(element, tag, cap, (end, quat), "sphere", radius=radius)

    def joint(self, root: ET.Element, row: _Row) -> None:
        joint, link = row.link.joint, row.link
        if joint is not None and joint.type == "free":
            return
        pose = self.fields["body_pos"][row.body], self.fields["body_quat"][row.body]
        place = self.names.links[link.parent], self.names.links[link.name], pose
        if joint is None:
            _joint(root, self.names.fixed[link.name], "fixed", *place)
            return
        kind = "continuous" if _turns_forever(joint) else _JOINTS[joint.type]
        element = _joint(root, self.names.joints[joint.name], kind, *place)
        ET.SubElement(element, "axis", xyz=_text(self.fields["jnt_axis"][row.joint]))
        limit = self._limit(joint, row)
        if limit:
            ET.SubElement(element, "limit", limit)
        lost = [_text([self.fields[f"dof_{key}"][row.dof]]) for key in ("damping", "frictionloss")]
        ET.SubElement(element, "dynamics", damping=lost[0], friction=lost[1])

    def _limit(self, joint: Joint, row: _Row) -> dict[str, str]:
        if row.link.motor is None and _turns_forever(joint):
            return {}
        span = {}
        if not _turns_forever(joint):
            ends = self.fields["jnt_range"][row.joint] if joint.range is not None else _ANYWHERE
            span = {"lower": _text([ends[0]]), "upper": _text([ends[1]])}
        effort = max(map(abs, _efforts(row, self.fields)), default=0.0)
        speed = _speed(row, self.speeds)
        top = MAX_MAGNITUDE if speed is None else speed
        return {**span, "effort": _text([effort]), "velocity": _text([top])}

    def frames(self, root: ET.Element, row: _Row) -> None:
        """Add an empty link at each site, which readers of URDF take for a frame."""
        for site, name in enumerate(_site_names(row.link), start=row.site):
            frame = self.names.sites[name]
            ET.SubElement(root, "link", name=frame)
            pose = self.fields["site_pos"][site], self.fields["site_quat"][site]
            parent = self.names.links[row.link.name]
            _joint(root, self.names.site_joints[name], "fixed", parent, frame, pose)


def _text(values: Iterable[float]) -> str:
    """Return numbers as text that reads back as the same numbers."""
    return " ".join([repr(value + 0.0) for value in values])  # no -0.0


def _turns_forever(joint: Joint) -> bool:
    return joint.type == "hinge" and joint.range is None


def _z_axis(quat: Any) -> tuple[float, float, float]:
    w, x, y, z = quat
    return 2 * (x * z + w * y), 2 * (y * z - w * x), w * w - x * x - y * y + z * z


def _geometry(
    element: ET.Element, tag: str, name: str, pose: tuple[Any, Any], shape: str, **sizes: str
) -> None:
    item = ET.SubElement(element, tag, name=name)
    _origin(item, *pose)
    ET.SubElement(ET.SubElement(item, "geometry"), shape, sizes)


def _origin(element: ET.Element, pos: Any, quat: Any) -> None:
    ET.SubElement(element, "origin", xyz=_text(pos), rpy=_text(roll_pitch_yaw(quat)))


def _joint(
    root: ET.Element, name: str, kind: str, parent: str, child: str, pose: tuple[Any, Any]
) -> ET.Element:
    element = ET.SubElement(root, "joint", name=name, type=kind)
    _origin(element, *pose)
    ET.SubElement(element, "parent", link=parent)
    ET.SubElement(element, "child", link=child)
    return element


def _efforts(row: _Row, fields: Mapping[str, Any]) -> list[float]:
    """Return the joint's least and most effort [N m] or [N], or nothing without a motor."""
    if row.link.motor is None:
        return []
    gear = fields["actuator_gear"][row.actuator][0]
    return sorted(gear * end for end in fields["actuator_ctrlrange"][row.actuator])


def _speed(row: _Row, speeds: Sequence[float | None]) -> float | None:
    speed = speeds[row.actuator] if row.link.motor else None
    return None if speed is None else float(speed)


def _notes(
    rows: Sequence[_Row], fields: Mapping[str, Any], speeds: Sequence[float | None], names: _Names
) -> list[str]:
    """Return what robot.xml has and the document lacks, with its numbers, one line each."""
    listed: dict[str, list[str]] = {}
    for row in rows:
        for title, entry in _losses(row, fields, speeds):
            listed.setdefault(title, []).append(entry)
    if names.changed:
        listed["names changed here"] = names.changed
    general = "left out, as URDF has no place for it: sensors, gears, contact friction, exclusions"
    return [general, *(f"{title}: {', '.join(entries)}" for title, entries in listed.items())]


def _losses(
    row: _Row, fields: Mapping[str, Any], speeds: Sequence[float | None]
) -> Iterator[tuple[str, str]]:
    joint = row.link.joint
    if joint is not None and joint.type == "free":
        pos, quat = _text(fields["body_pos"][row.body]), _text(fields["body_quat"][row.body])
        yield "start of the root, which floats", f"{row.link.name} xyz {pos} quat {quat}"
    elif joint is not None:
        armature = fields["dof_armature"][row.dof]
        stiffness = fields["jnt_stiffness"][row.joint]
        if armature:
            yield "armature [kg m^2] or [kg]", f"{joint.name} {armature!r}"
        if stiffness:
            about = fields["qpos_spring"][row.coordinate]
            yield "springs [N m/rad] or [N/m]", f"{joint.name} {stiffness!r} about {about!r}"
        if joint.type == "slide" and joint.range is None:
            yield "slides without a range", joint.name
    if row.link.motor is not None:
        least, most = _efforts(row, fields)
        if least != -most:
            yield "efforts that differ by direction", f"{row.link.motor.name} {least!r} to {most!r}"
        if _speed(row, speeds) is None:
            yield "motors without a top speed", row.link.motor.name
    for thruster in row.link.thrusters:
        yield "thrusters", thruster.name
