"""Motor classes: two numbers stated, the rest solved from trends, so that one edit moves all.

A class states two of peak torque τ, no-load speed ω, gear ratio N and peak power P (or τ, ω and N
of a module one knows). ω and N follow each other by trend and P = τω/4. Mass, volume, radius,
length, density, rotor inertia and armature N²J always follow; a file states them in vain.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from draft_core.errors import DraftError, close_match, known_names
from draft_core.expressions import Expression, as_number, is_expression, shorten
from draft_core.formula import Formula
from draft_core.namespace import is_traced
from draft_core.trends import actuator, catalog

UNITS = {
    "peak_torque": "N m",
    "no_load_speed": "rad/s",
    "gear": "",
    "peak_power": "W",
    "aspect": "",
    "friction": "N m",
    "damping": "N m s",
    "mass": "kg",
    "volume": "m^3",
    "radius": "m",
    "length": "m",
    "density": "kg/m^3",
    "rotor_inertia": "kg m^2",
    "armature": "kg m^2",
}
DRIVE = ("peak_torque", "no_load_speed", "gear", "peak_power")
DERIVED = ("mass", "volume", "radius", "length", "density", "rotor_inertia", "armature")
MODES: dict[str, tuple[str, ...]] = {
    "torque_speed": ("peak_torque", "no_load_speed"),
    "torque_gear": ("peak_torque", "gear"),
    "power_gear": ("peak_power", "gear"),
    "power_torque": ("peak_power", "peak_torque"),
    "torque_speed_gear": ("peak_torque", "no_load_speed", "gear"),
}
_KEYS = (*UNITS, "mode", "part")
Leaf = float | Expression | Formula


@dataclass(frozen=True)
class MotorClass:
    """What is fixed about a motor class; its numbers are parameters ``<key>.<field>``.

    Attributes:
        key: where its numbers are: "motors.L" or "joint_motors.knee".
        mode: the key of `MODES` that says which numbers it states.
        part: the catalogued module it is anchored on, if any.
        overridden: fields the file states in vain, since they follow from the rest.
    """

    key: str
    mode: str
    part: catalog.Module | None
    overridden: tuple[str, ...]

    @property
    def family(self) -> str | None:
        """Transmission family of its part: qdd, midgear or harmonic."""
        return self.part.family if self.part else None

    def read(self, field: str, where: str = "") -> Expression:
        """Return the expression of one of its numbers."""
        return Expression(f"${{{self.key}.{field}}}", where)


@dataclass(frozen=True)
class StatedNumber:
    """One number of a class: what gives it, its unit, and whether a design may set it."""

    name: str
    leaf: Leaf
    unit: str
    fixed: bool


def motor_class(key: str, data: object) -> tuple[MotorClass, list[StatedNumber]]:
    """Return a class and its numbers, in an order in which each follows what it reads.

    Args:
        key: "motors.L" or "joint_motors.knee".
        data: what the file states.

    Raises:
        DraftError: an unknown key, mode or part, or too few numbers to solve for the rest.
    """
    where = f"parameters.yaml, {key}"
    if not isinstance(data, dict):
        raise DraftError(
            f"{where} is {shorten(repr(data))}; a motor class is a mapping, such as "
            "{peak_torque: 30, gear: 6}."
        )
    for name in data:
        if name not in _KEYS:
            raise DraftError(
                f"{where}: unknown key {shorten(repr(name))}{close_match(name, _KEYS)}. "
                f"A motor class may have: {known_names(_KEYS)}."
            )
    part = _part(data, where)
    mode = _mode(data, part, where)
    stated = {
        name: _leaf(data[name], f"{where}.{name}")
        for name in UNITS
        if data.get(name) is not None and name not in DERIVED
    }
    if part is not None:
        for name, value in _part_numbers(part).items():
            if name in MODES[mode]:
                stated.setdefault(name, value)
    given = {n: v for n, v in stated.items() if n not in DRIVE or n in MODES[mode]}
    overridden = tuple(n for n in data if n in DERIVED or (n in DRIVE and n not in MODES[mode]))
    kind = MotorClass(key, mode, part, overridden)
    return kind, _numbers(kind, given, where)


def _part(data: Mapping[str, Any], where: str) -> catalog.Module | None:
    name = data.get("part")
    if name is None:
        return None
    try:
        return catalog.module(str(name))
    except DraftError as error:
        raise DraftError(f"{where}.part: {error}") from None


def _part_numbers(part: catalog.Module) -> dict[str, float]:
    found = {
        "peak_torque": part.peak_torque,
        "no_load_speed": part.no_load_speed,
        "gear": part.gear,
    }
    return {name: value for name, value in found.items() if value is not None}


def _mode(data: Mapping[str, Any], part: catalog.Module | None, where: str) -> str:
    given = {name for name in DRIVE if data.get(name) is not None}
    known = given | ({*_part_numbers(part)} if part else set())
    mode = data.get("mode")
    if mode is None:
        mode = _inferred(given, known)
    elif not isinstance(mode, str) or mode not in MODES:
        raise DraftError(
            f"{where}.mode is {shorten(repr(mode))}{close_match(str(mode), MODES)}; "
            f"it must be one of: {known_names(MODES)}."
        )
    if mode is None:
        raise DraftError(
            f"{where} states {known_names(given)}; state two of peak_torque, no_load_speed, gear "
            "and peak_power (all but no_load_speed with gear), a 'part', or a 'mode' that says "
            f"which count: {known_names(MODES)}."
        )
    missing = [name for name in MODES[mode] if name not in known]
    if missing:
        raise DraftError(
            f"{where} has mode {mode!r} but no {' and no '.join(missing)}; give "
            f"'{missing[0]}: ...' [{UNITS[missing[0]] or '-'}]."
        )
    return mode


def _inferred(given: set[str], known: set[str]) -> str | None:
    for name, fields in MODES.items():
        if given == set(fields):
            return name
    if "peak_power" not in given:
        if {"peak_torque", "no_load_speed", "gear"} <= known:
            return "torque_speed_gear"
        if {"peak_torque", "no_load_speed"} <= known:
            return "torque_speed"
    return None


def _leaf(value: object, where: str) -> Leaf:
    if isinstance(value, dict) and "value" in value and set(value) <= {"value", "unit"}:
        _check_unit(value.get("unit"), where)
        value = value["value"]
    number = as_number(value)
    if number is not None:
        return number
    if is_expression(value):
        return Expression(str(value), where)
    raise DraftError(
        f"{where} is {shorten(repr(value))}; it must be a number or '${{expression}}'."
    )


def _plain(unit: str) -> str:
    """Return a unit as it may be written in several ways: N m, N*m, Nm; m^2, m2."""
    return unit.translate(dict.fromkeys(map(ord, " *.·^")))


def _check_unit(unit: object, where: str) -> None:
    own = UNITS[where.rpartition(".")[2]]
    same = {_plain(own), *(() if own else ("-", "1"))}
    if unit is not None and _plain(str(unit)) not in same:
        number = f"is in {own}" if own else "has no unit"
        raise DraftError(
            f"{where}, unit is {shorten(repr(unit))}; it {number}, and nothing is converted."
        )


def _numbers(kind: MotorClass, given: Mapping[str, Leaf], where: str) -> list[StatedNumber]:
    part = kind.part

    def follows(field: str, function: Callable[..., Any], *reads: str) -> StatedNumber:
        arguments = tuple(kind.read(name, f"{where}.{field}") for name in reads)
        text = _power_rule(field, reads) or actuator.RULES[field]
        if part is not None and field in _ANCHORED:
            text += f", anchored on {part.model}"
        formula = Formula(text, function, arguments, (part,), f"{where}.{field}")
        return StatedNumber(f"{kind.key}.{field}", formula, UNITS[field], fixed=True)

    solved = {
        "no_load_speed": follows("no_load_speed", _speed_of_power, "peak_power", "peak_torque")
        if kind.mode == "power_torque"
        else follows("no_load_speed", _speed, "gear"),
        "gear": follows("gear", _gear, "no_load_speed"),
        "peak_torque": follows("peak_torque", _torque_of_power, "peak_power", "no_load_speed"),
        "peak_power": follows("peak_power", _power, "peak_torque", "no_load_speed"),
        "aspect": follows("aspect", _aspect, "peak_torque", "gear"),
        "mass": follows("mass", _mass, "peak_torque"),
        "volume": follows("volume", _volume, "peak_torque", "gear"),
        "radius": follows("radius", _radius, "volume", "aspect"),
        "length": follows("length", _length, "radius", "aspect"),
        "density": follows("density", _density, "mass", "volume"),
        "rotor_inertia": follows("rotor_inertia", _inertia, "radius"),
        "armature": follows("armature", _armature, "gear", "rotor_inertia"),
    }
    numbers = []
    for field, unit in UNITS.items():
        if field in given:
            numbers.append(StatedNumber(f"{kind.key}.{field}", given[field], unit, fixed=False))
        else:
            loss = StatedNumber(f"{kind.key}.{field}", 0.0, unit, fixed=False)
            numbers.append(solved.get(field, loss))
    return numbers


_ANCHORED = ("no_load_speed", "gear", "mass", "volume", "aspect", "rotor_inertia")


def _power_rule(field: str, reads: tuple[str, ...]) -> str:
    if field == "peak_torque":
        return "tau = 4 P / w"
    return "w = 4 P / tau" if reads == ("peak_power", "peak_torque") else ""


def _positive(value: Any, what: str) -> Any:
    if isinstance(value, tuple | str):
        raise ValueError(f"its {what} is {shorten(repr(value))}, which is no number")
    if not is_traced(value) and not value > 0:
        raise ValueError(f"its {what} is {float(value):g}, which must be greater than 0")
    return value


def _speed(gear: Any, part: Any) -> Any:
    return actuator.no_load_speed(_positive(gear, "gear"), part)


def _gear(speed: Any, part: Any) -> Any:
    return actuator.gear(_positive(speed, "no-load speed"), part)


def _speed_of_power(power: Any, torque: Any, part: Any) -> Any:
    return 4 * _positive(power, "peak power") / _positive(torque, "peak torque")


def _torque_of_power(power: Any, speed: Any, part: Any) -> Any:
    return 4 * _positive(power, "peak power") / speed


def _power(torque: Any, speed: Any, part: Any) -> Any:
    _positive(speed, "no-load speed")
    return actuator.peak_power(_positive(torque, "peak torque"), speed)


def _aspect(torque: Any, gear: Any, part: Any) -> Any:
    return actuator.aspect(_positive(torque, "peak torque"), _positive(gear, "gear"), part)


def _mass(torque: Any, part: Any) -> Any:
    return actuator.mass(_positive(torque, "peak torque"), part)


def _volume(torque: Any, gear: Any, part: Any) -> Any:
    return actuator.volume(_positive(torque, "peak torque"), _positive(gear, "gear"), part)


def _radius(volume: Any, aspect: Any, part: Any) -> Any:
    return actuator.radius(volume, _positive(aspect, "aspect"))


def _length(radius: Any, aspect: Any, part: Any) -> Any:
    return actuator.length(radius, aspect)


def _density(mass: Any, volume: Any, part: Any) -> Any:
    return mass / volume


def _inertia(radius: Any, part: Any) -> Any:
    return actuator.rotor_inertia(radius, part)


def _armature(gear: Any, inertia: Any, part: Any) -> Any:
    return actuator.armature(gear, inertia)
