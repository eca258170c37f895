"""The sensors of a module's file, under the robot's names."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from draft_core.errors import DraftError, known_names
from draft_core.expressions import as_number, shorten
from draft_core.modules.source import Element
from draft_core.sensors import SENSOR_TYPES, Kind, Sensor

_FRAMES = {"site": "site", "xbody": "body"}


@dataclass(frozen=True)
class Names:
    """The robot's names of what sensors may be on, by the module's.

    Attributes:
        bodies: of those that are links of their own.
        frames: of those whose frame is their link's.
        absent: joints and actuators of the module that the node takes out.
    """

    sites: Mapping[str, str]
    joints: Mapping[str, str]
    actuators: Mapping[str, str]
    bodies: Mapping[str, str]
    frames: Mapping[str, str]
    absent: frozenset[str]

    def of(self, kind: Kind, is_frame: bool) -> Mapping[str, str]:
        """Return the names of one kind of thing."""
        bodies = self.frames if is_frame else self.bodies
        kinds = {"site": self.sites, "joint": self.joints, "actuator": self.actuators}
        return kinds.get(kind, bodies)


def module_sensors(
    elements: tuple[Element, ...], names: Names, named: Callable[[str], str], where: str
) -> tuple[Sensor, ...]:
    """Return a module's sensors, but those on a joint or actuator that the node takes out.

    Args:
        elements: tag and attributes of each, as the file states them.
        names: what they may be on.
        named: gives something of the module its name in the robot.
        where: place of the node, for messages.

    Raises:
        DraftError: one of a type, or on a thing, that a robot's sensors cannot be.
    """
    found = []
    for i, (tag, stated) in enumerate(elements):
        attributes = dict(stated)
        given = attributes.get("name", f"{tag}{i}")
        if {attributes.get("joint"), attributes.get("actuator")} & names.absent:
            continue
        at = f"{where}: the module's sensor {shorten(given)!r}"
        if tag not in SENSOR_TYPES:
            raise DraftError(
                f"{at} is a {tag[:40]}; leave it out, or use one of: {known_names(SENSOR_TYPES)}."
            )
        found.append(_sensor(named(given), tag, attributes, names, at))
    return tuple(found)


def _sensor(name: str, tag: str, attributes: Mapping[str, str], names: Names, where: str) -> Sensor:
    is_frame = "site" in SENSOR_TYPES[tag].kinds and "body" in SENSOR_TYPES[tag].kinds
    if is_frame:
        kind, target = _frame(attributes, "objtype", "objname", names, where)
    else:
        (kind,) = SENSOR_TYPES[tag].kinds
        target = _renamed(attributes.get(kind), kind, names, is_frame, where)
    reference = None
    if "refname" in attributes:
        reference = _frame(attributes, "reftype", "refname", names, where)
    return Sensor(
        name=name,
        type=tag,
        kind=kind,
        target=target,
        reference=reference,
        noise=as_number(attributes.get("noise")) or 0.0,
        cutoff=as_number(attributes.get("cutoff")) or 0.0,
    )


def _frame(
    attributes: Mapping[str, str], type_key: str, name_key: str, names: Names, where: str
) -> tuple[Kind, str]:
    word = attributes.get(type_key, "")
    if word not in _FRAMES:
        raise DraftError(
            f"{where} has {type_key} {shorten(word)!r}; a robot's is on a site or, in the frame of "
            "its node, on an xbody."
        )
    kind: Kind = "site" if word == "site" else "body"
    return kind, _renamed(attributes.get(name_key), kind, names, True, where)


def _renamed(name: str | None, kind: Kind, names: Names, is_frame: bool, where: str) -> str:
    known = names.of(kind, is_frame)
    if name is None or name not in known:
        hint = "; put a site where it measures" if kind == "body" else ""
        raise DraftError(
            f"{where} is on {kind} {shorten(repr(name))}, which the robot does not have as it is "
            f"in the module{hint}. There are: {known_names(known)}."
        )
    return known[name]
