"""A module in numbers: its bodies, joints, geoms, sites and actuators."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from draft_core import rotations

Numbers = tuple[float, ...]


@dataclass(frozen=True)
class Place:
    """A frame in its body's: position [m] and unit quaternion (w, x, y, z)."""

    pos: Numbers
    quat: Numbers


@dataclass(frozen=True)
class ModuleGeom:
    """A geom.

    Attributes:
        name: its own, or one made from its body's.
        shape: sphere, capsule, cylinder, box or mesh.
        size: whole lengths, as the format states them; empty for a mesh.
        place: of its centre, or of its mesh's file frame.
        rgba: its colour, or its material's.
        mesh: file name, bytes and scale of its mesh.
        friction: sliding, torsional and rolling coefficients.
        attributes: names and values, as MJCF writes them, of what it states about contacts.
    """

    name: str
    shape: str
    size: Numbers
    place: Place
    rgba: Numbers
    mesh: "ModuleMesh | None"
    friction: Numbers
    attributes: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class ModuleMesh:
    """A mesh file: name, bytes, and factors along its axes."""

    file: str
    data: bytes = field(repr=False)
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)


@dataclass(frozen=True)
class ModuleJoint:
    """A joint.

    Attributes:
        axis: in the body's frame.
        anchor: a point on the axis, in the body's frame [m].
        range: least and most; None for no limit.
        numbers: armature, damping, frictionloss, stiffness and springref.
    """

    name: str
    type: Literal["ball", "slide", "hinge"]
    axis: Numbers
    anchor: Numbers
    range: Numbers | None
    numbers: Mapping[str, float] = field(hash=False)


@dataclass(frozen=True)
class ModuleBody:
    """A body.

    Attributes:
        name: its own, or one made from its number.
        parent: index of the body it hangs from; None for the module's root.
        place: in that body's frame; of the root, in the frame it is attached at.
        mass: [kg].
        inertia: principal moments about its centre of mass [kg m²].
        inertial: the frame of these.
    """

    name: str
    parent: int | None
    place: Place
    mass: float
    inertia: Numbers
    inertial: Place
    joint: ModuleJoint | None
    geoms: tuple[ModuleGeom, ...]
    sites: tuple[tuple[str, Place], ...]


@dataclass(frozen=True)
class ModuleActuator:
    """An actuator on a joint: effort = gear * control.

    Attributes:
        limits: least and most control; None where the file limits neither control nor force.
    """

    name: str
    joint: str
    gear: float
    limits: Numbers | None


@dataclass(frozen=True)
class ModuleModel:
    """All of a module, bodies in MuJoCo's order, the root first.

    Attributes:
        excluded: pairs of bodies, by name, that do not collide.
    """

    bodies: tuple[ModuleBody, ...]
    actuators: tuple[ModuleActuator, ...]
    excluded: tuple[tuple[str, str], ...]


def compose(outer: Place, inner: Place) -> Place:
    """Return a frame in the frame that the outer one is in."""
    turn = rotations.rotation(np.array(outer.quat))
    pos = np.array(outer.pos) + turn @ np.array(inner.pos)
    quat = rotations.multiply(np.array(outer.quat), np.array(inner.quat))
    return Place(numbers(pos), numbers(rotations.normalize(quat)))


def inverse(place: Place) -> Place:
    """Return the frame in which the given one is the identity."""
    turn = rotations.rotation(np.array(place.quat))
    w, x, y, z = place.quat
    return Place(numbers(-turn.T @ np.array(place.pos)), (w, -x, -y, -z))


def turned(place: Place, vector: Numbers) -> Numbers:
    """Return a direction of a frame in the frame that it is in."""
    return numbers(rotations.rotation(np.array(place.quat)) @ np.array(vector))


def numbers(values: np.ndarray) -> Numbers:
    """Return an array as plain numbers."""
    return tuple(float(value) for value in values)
