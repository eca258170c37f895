"""Sensors: what tree.yaml lists under ``sensors``, as MuJoCo's elements.

A sensor has one of MuJoCo's types and measures a site, joint, actuator or body. Velocities and
forces of an inertial unit come in its site's frame; positions of frames in the world's, or in that
of the site or body that the sensor refers to.
"""

import xml.etree.ElementTree as ET
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Kind = Literal["site", "joint", "actuator", "body"]


@dataclass(frozen=True)
class SensorType:
    """What a type of sensor may measure.

    Attributes:
        kinds: what it may be on.
        joints: the joint types it may be on.
        relative: whether it may be stated in the frame of another site or body.
        cutoff: whether its values can be limited; unit vectors and quaternions cannot.
    """

    kinds: tuple[Kind, ...]
    joints: tuple[str, ...] = ()
    relative: bool = False
    cutoff: bool = True


_SITE = SensorType(("site",))
_SCALAR_JOINT = SensorType(("joint",), ("hinge", "slide"))
_ACTUATOR = SensorType(("actuator",))
_SUBTREE = SensorType(("body",))
_FRAME = SensorType(("site", "body"), relative=True)
_DIRECTION = SensorType(("site", "body"), relative=True, cutoff=False)

SENSOR_TYPES: dict[str, SensorType] = {
    **dict.fromkeys(("accelerometer", "gyro", "velocimeter", "magnetometer"), _SITE),
    **dict.fromkeys(("force", "torque", "touch", "rangefinder"), _SITE),
    **dict.fromkeys(("jointpos", "jointvel", "jointactuatorfrc"), _SCALAR_JOINT),
    "ballquat": SensorType(("joint",), ("ball",), cutoff=False),
    "ballangvel": SensorType(("joint",), ("ball",)),
    **dict.fromkeys(("actuatorpos", "actuatorvel", "actuatorfrc"), _ACTUATOR),
    **dict.fromkeys(("framepos", "framelinvel", "frameangvel"), _FRAME),
    **dict.fromkeys(("framequat", "framexaxis", "frameyaxis", "framezaxis"), _DIRECTION),
    **dict.fromkeys(("framelinacc", "frameangacc"), SensorType(("site", "body"))),
    **dict.fromkeys(("subtreecom", "subtreelinvel", "subtreeangmom"), _SUBTREE),
}


@dataclass(frozen=True)
class Sensor:
    """A sensor of the compiled model.

    Attributes:
        name: its name in the model.
        type: a key of `SENSOR_TYPES`.
        kind: what it is on.
        target: the name of that.
        reference: kind and name of the frame it is stated in; None for the world's, or its own.
        noise: standard deviation in the unit of its values; MuJoCo records it, and adds none.
        cutoff: largest size of a value; 0 for no limit.
    """

    name: str
    type: str
    kind: Kind
    target: str
    reference: tuple[Kind, str] | None = None
    noise: float = 0.0
    cutoff: float = 0.0


def sensor_elements(sensors: Iterable[Sensor]) -> list[ET.Element]:
    """Return the elements of MJCF's ``<sensor>`` block, in order."""
    return [ET.Element(sensor.type, _attributes(sensor)) for sensor in sensors]


def add_sensors(root: ET.Element, sensors: Iterable[Sensor]) -> None:
    """Add the ``<sensor>`` block to a document, if there is any sensor.

    Args:
        root: the ``<mujoco>`` element.
        sensors: in the order of the model.
    """
    elements = sensor_elements(sensors)
    if elements:
        ET.SubElement(root, "sensor").extend(elements)


def _attributes(sensor: Sensor) -> dict[str, str]:
    result = {"name": sensor.name}
    if SENSOR_TYPES[sensor.type].kinds == ("site", "body"):
        result |= {"objtype": _object(sensor.kind), "objname": sensor.target}
    else:
        result |= {sensor.kind: sensor.target}
    if sensor.reference is not None:
        kind, name = sensor.reference
        result |= {"reftype": _object(kind), "refname": name}
    numbers = {"noise": sensor.noise, "cutoff": sensor.cutoff}
    return result | {key: repr(value) for key, value in numbers.items() if value}


def _object(kind: Kind) -> str:
    """Return MuJoCo's word for a frame; a body's is the node's, not that of its centre of mass."""
    return "xbody" if kind == "body" else kind
