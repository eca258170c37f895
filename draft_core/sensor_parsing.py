"""``sensors`` of tree.yaml, read and checked against what the robot has."""

from collections.abc import Iterable, Mapping
from typing import Any

from draft_core.errors import DraftError, close_match, known_names
from draft_core.section import Section, check_name
from draft_core.sensors import SENSOR_TYPES, Kind, Sensor
from draft_core.tree import RobotTree

TARGETS: tuple[Kind, ...] = ("site", "joint", "actuator", "body")
REFERENCES: dict[str, Kind] = {"ref_site": "site", "ref_body": "body"}
SENSOR_KEYS = ("type", *TARGETS, *REFERENCES, "noise", "cutoff")
Names = Mapping[str, Iterable[str]]


def parse_sensors(
    stated: Any, tree: RobotTree, constants: Mapping[str, Any], absent: frozenset[str]
) -> tuple[Sensor, ...]:
    """Return the sensors that tree.yaml states, in its order.

    Args:
        stated: the mapping under ``sensors``.
        tree: the robot they are on.
        constants: the parameters' values, for noise and cutoff.
        absent: joints and motors that ``<role>_dof`` switched off; their sensors go with them.

    Raises:
        DraftError: a sensor has an unknown type or key, or is on what the robot does not have.
    """
    if stated is None:
        return ()
    if not isinstance(stated, dict):
        raise DraftError("tree.yaml, sensors must be a mapping from names to sensors.")
    names: dict[str, list[str]] = {
        "site": list(tree.site_names),
        "joint": [joint.name for joint in tree.joints],
        "actuator": list(tree.actuator_names),
        "body": [link.name for link in tree.links],
    }
    types = {joint.name: joint.type for joint in tree.joints}
    found = []
    for name, data in stated.items():
        check_name(name, "tree.yaml, sensors")
        section = Section(data, f"tree.yaml, sensor {name!r}", SENSOR_KEYS)
        if any(str(section.data.get(kind)) in absent for kind in ("joint", "actuator")):
            continue
        found.append(_sensor(name, section, names, types, constants))
    return tuple(found)


def _sensor(
    name: str,
    section: Section,
    names: Names,
    types: Mapping[str, str],
    constants: Mapping[str, Any],
) -> Sensor:
    section.require("type", "gyro")
    word = section.word("type", SENSOR_TYPES)
    kind = _kind(section, word)
    target = _named(section, kind, kind, names)
    allowed = SENSOR_TYPES[word].joints
    if kind == "joint" and types[target] not in allowed:
        raise DraftError(
            f"{section.where}: {word} measures a {' or '.join(allowed)}; joint {target!r} is a "
            f"{types[target]}."
        )
    return Sensor(
        name=name,
        type=word,
        kind=kind,
        target=target,
        reference=_reference(section, word, names),
        noise=_number(section, "noise", constants),
        cutoff=_cutoff(section, word, constants),
    )


def _kind(section: Section, word: str) -> Kind:
    """Return what the sensor is on."""
    kinds = SENSOR_TYPES[word].kinds
    stated = [kind for kind in TARGETS if kind in section]
    if len(stated) != 1 or stated[0] not in kinds:
        given = f"names a {' and a '.join(stated)}" if stated else "names nothing to measure"
        raise DraftError(
            f"{section.where} {given}; a {word} measures one {' or '.join(kinds)}, such as "
            f"'{kinds[0]}: a_name'."
        )
    return stated[0]


def _reference(section: Section, word: str, names: Names) -> tuple[Kind, str] | None:
    """Return the frame the sensor is stated in, if it names one."""
    stated = [key for key in REFERENCES if key in section]
    if not stated:
        return None
    if len(stated) > 1 or not SENSOR_TYPES[word].relative:
        fitting = [name for name, kind in SENSOR_TYPES.items() if kind.relative]
        raise DraftError(
            f"{section.where} has {' and '.join(stated)}; one of them may go with: "
            f"{known_names(fitting)}."
        )
    kind = REFERENCES[stated[0]]
    return kind, _named(section, stated[0], kind, names)


def _named(section: Section, key: str, kind: Kind, names: Names) -> str:
    name = section.data[key]
    if name not in names[kind]:
        raise DraftError(
            f"{section.at(key)} names {name!r}, which is no {kind} of this robot"
            f"{close_match(str(name), names[kind])}. There are: {known_names(names[kind])}."
        )
    return name


def _cutoff(section: Section, word: str, constants: Mapping[str, Any]) -> float:
    if "cutoff" in section and not SENSOR_TYPES[word].cutoff:
        raise DraftError(
            f"{section.at('cutoff')}: a {word} has unit length, so nothing can be cut off; leave "
            "it out."
        )
    return _number(section, "cutoff", constants)


def _number(section: Section, key: str, constants: Mapping[str, Any]) -> float:
    scalar = section.scalar(key, "not negative")
    return float(scalar.evaluate(constants)) if scalar else 0.0
