"""The parameters of a robot: named numbers and the expressions that follow from them.

``parameters.yaml`` is a mapping from names to numbers, ``"${expr}"`` strings, lists, nested
mappings or ``{value: ..., unit: ...}``. Nested names are joined by dots (``leg.length``), the
elements of a list are ``name.0``, ``name.1``, ...
"""

import functools
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from draft_core.errors import DraftError, ExpressionError, close_match, known_names
from draft_core.expressions import Expression, as_number, is_expression, shorten
from draft_core.formula import Alias, Formula
from draft_core.given import as_design, design_value
from draft_core.grammar import CONSTANTS, FUNCTIONS
from draft_core.motors import UNITS, MotorClass, motor_class
from draft_core.namespace import is_jax, is_traced
from draft_core.values import bounded

DOF_SUFFIX = "_dof"  # of the switches of joints
ALLOW_PREFIX = "allow_"  # of the switches of gates
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,79}")
_RESERVED = {
    *CONSTANTS,
    *FUNCTIONS,
    "if",
    "else",
    "and",
    "or",
    "not",
    "True",
    "False",
    "None",
    "in",
    "is",
}


@dataclass(frozen=True)
class Parameter:
    """A numeric parameter as people see it.

    Attributes:
        name: its dotted name, under which a design variable refers to it.
        value: its nominal value, computed ones included; None for one that is not a number.
        unit: the unit the file states, if any.
        fixed: whether it always follows from others, so that no design may set it.
    """

    name: str
    value: float | None
    unit: str | None
    fixed: bool = False


@dataclass(frozen=True)
class Entry:
    """One parameter: a number, text, switch, expression or list of the file, or a trend's.

    Attributes:
        name: its dotted name.
        stated: what gives its value.
        unit: its unit, if any.
        fixed: whether it always follows from others, so that no design may set it.
    """

    name: str
    stated: float | bool | str | Expression | Formula | Alias | tuple[str, ...]
    unit: str | None = None
    fixed: bool = False

    @property
    def reads(self) -> tuple[str, ...]:
        """The names of the parameters this one is computed from."""
        if isinstance(self.stated, Expression | Formula | Alias):
            return self.stated.names
        return self.stated if isinstance(self.stated, tuple) else ()

    def evaluate(self, env: Mapping[str, Any]) -> Any:
        """Return the value, given those of the parameters it reads.

        Raises:
            DraftError: an expression has no value, or it is too large.
        """
        if isinstance(self.stated, Expression | Formula | Alias):
            return self.stated.evaluate(env)
        if isinstance(self.stated, tuple):
            try:
                return bounded(tuple(env[name] for name in self.stated))
            except ExpressionError as error:
                raise DraftError(f"parameters.yaml, {self.name}: {error}.") from None
        return self.stated


@dataclass(frozen=True)
class ParameterTable:
    """All parameters, in an order in which each one follows what it reads.

    Attributes:
        entries: the parameters.
        motors: motor classes by the names that nodes use: a class's own, or a joint role.
    """

    entries: tuple[Entry, ...]
    motors: Mapping[str, MotorClass] = field(default_factory=dict, hash=False)

    def resolve(self, design: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return every parameter's value, with those of the design in place of the file's.

        Args:
            design: values by (dotted) name; numbers or JAX arrays. A parameter given here keeps
                its value even if the file computes it.

        Raises:
            DraftError: a name that is no numeric parameter, or a value that is no finite number.
        """
        given = {name: design_value(name, value) for name, value in as_design(design).items()}
        for name in given:
            self._check_free(name)
        env: dict[str, Any] = {}
        for entry in self.entries:
            name = entry.name
            value = given[name] if name in given else entry.evaluate(env)
            if type(value) is not float or not math.isfinite(value):
                value = finite(value, f"parameters.yaml, {name}")
            env[name] = value
        return env

    def _check_free(self, name: str) -> None:
        """Refuse what no design may set.

        Raises:
            DraftError: there is no such number, it always follows, or a switch follows from it.
        """
        if name in self._free:
            return
        if name in self._by_name and self._by_name[name].fixed:
            raise DraftError(
                f"design variable {name!r} always follows from other parameters; "
                f"vary one of: {known_names(self.free_ancestors(name), 20)}."
            )
        if name in self._deciding:
            raise DraftError(
                f"design variable {name!r} decides the switch {self._deciding[name]!r}, which no "
                "design changes; give its value in parameters.yaml or by an override."
            )
        raise DraftError(
            f"design variable {shorten(str(name))!r} is not a numeric parameter of this robot"
            f"{close_match(shorten(str(name)), self._free)}. It has: {known_names(self._free, 20)}."
        )

    @functools.cached_property
    def _free(self) -> dict[str, None]:
        """The numbers that a design may set."""
        env = self.resolve()
        free = (e.name for e in self.entries if not e.fixed and e.name not in self._deciding)
        return {name: None for name in free if as_number(env[name]) is not None}

    @functools.cached_property
    def _deciding(self) -> dict[str, str]:
        """The parameters that a switch follows from, and the switch, by their names."""
        found: dict[str, str] = {}
        for switch in filter(is_switch, self._by_name):
            rest = [switch]
            while rest:
                name = rest.pop()
                if name not in found:
                    found[name] = switch
                    rest += self._by_name[name].reads
        return found

    @functools.cached_property
    def _by_name(self) -> dict[str, Entry]:
        return {entry.name: entry for entry in self.entries}

    def free_ancestors(self, name: str) -> list[str]:
        """Return the parameters that may be varied and on which one that may not depends."""
        found: dict[str, None] = {}
        rest = list(self._by_name[name].reads)
        while rest:
            entry = self._by_name[rest.pop()]
            if entry.fixed:
                rest += entry.reads
            else:
                found[entry.name] = None
        return list(found)

    def numeric(self) -> dict[str, Parameter]:
        """Return the numeric parameters by name, in the order of the table."""
        env = self.resolve()
        return {
            entry.name: Parameter(entry.name, float(env[entry.name]), entry.unit, entry.fixed)
            for entry in self.entries
            if as_number(env[entry.name]) is not None
        }


def is_switch(name: str) -> bool:
    """Tell whether a parameter of this name switches joints or a gate: no design changes it."""
    return "." not in name and (name.endswith(DOF_SUFFIX) or name.startswith(ALLOW_PREFIX))


def finite(value: Any, where: str) -> Any:
    """Return the value.

    Raises:
        DraftError: it is (or contains) NaN or an infinity.
    """
    if isinstance(value, float) and not math.isfinite(value):
        raise DraftError(f"{where} is {value}; it must be a finite number.")
    if isinstance(value, tuple):
        if set(map(type, value)) == {float} and all(map(math.isfinite, value)):
            return value
        for item in value:
            finite(item, where)
    elif is_jax(value) and not is_traced(value) and not math.isfinite(value):
        raise DraftError(f"{where} is {value}; it must be a finite number.")
    return value


def parse_parameters(data: Mapping[str, Any]) -> ParameterTable:
    """Return the table of the parameters that ``parameters.yaml`` states.

    Raises:
        DraftError: a name or value that cannot be one, an unknown name in an expression, or
            parameters that depend on each other in a circle.
    """
    entries: dict[str, Entry] = {}
    for key, value in data.items():
        if key not in RESERVED_SECTIONS:
            _collect(key, value, entries)
    motors = _motors(data, entries)
    for entry in entries.values():
        for name in entry.reads:
            if name not in entries:
                raise DraftError(
                    f"parameters.yaml, {entry.name} uses {name!r}, which parameters.yaml does not "
                    f"have{close_match(name, entries)}. It has: {known_names(entries)}."
                )
    return ParameterTable(tuple(entries[name] for name in _ordered(entries)), motors)


RESERVED_SECTIONS = ("motors", "joint_motors")


def _motors(data: Mapping[str, Any], entries: dict[str, Entry]) -> dict[str, MotorClass]:
    """Add the numbers of all motor classes; return the classes by the names nodes use."""
    sections = {key: data.get(key) or {} for key in RESERVED_SECTIONS}
    for key, section in sections.items():
        if not isinstance(section, dict):
            raise DraftError(f"parameters.yaml, {key} must be a mapping from names.")
    classes: dict[str, MotorClass] = {}
    for name, stated in sections["motors"].items():
        classes[name] = _motor(f"motors.{_plain(name, 'motors')}", stated, entries)
    own = dict(classes)
    for role, stated in sections["joint_motors"].items():
        key = f"joint_motors.{_plain(role, 'joint_motors')}"
        if role in own:
            raise DraftError(
                f"parameters.yaml, {key} has the name of a motor class; name one of them otherwise."
            )
        if not isinstance(stated, str):
            classes[role] = _motor(key, stated, entries)
            continue
        if stated not in own:
            raise DraftError(
                f"parameters.yaml, {key} names {stated!r}, which is no motor class"
                f"{close_match(stated, own)}. There are: {known_names(own)}."
            )
        classes[role] = own[stated]
        for field_name, unit in UNITS.items():
            alias = Alias(f"{own[stated].key}.{field_name}")
            entries[f"{key}.{field_name}"] = Entry(
                f"{key}.{field_name}", alias, unit or None, fixed=True
            )
    return classes


def _plain(name: str, section: str) -> str:
    if not _NAME.fullmatch(name) or name in _RESERVED:
        raise DraftError(
            f"parameters.yaml, {section}: {shorten(name)!r} cannot be a name; use a letter, then "
            "letters, digits or '_'."
        )
    return name


def _motor(key: str, stated: object, entries: dict[str, Entry]) -> MotorClass:
    kind, numbers = motor_class(key, stated)
    for number in numbers:
        entries[number.name] = Entry(number.name, number.leaf, number.unit or None, number.fixed)
    return kind


def _collect(name: str, value: Any, entries: dict[str, Entry]) -> None:
    where = f"parameters.yaml, {shorten(name)}"
    last = name.rpartition(".")[2]
    if not _NAME.fullmatch(last) or last in _RESERVED:
        raise DraftError(
            f"{where}: {shorten(last)!r} cannot be a name; use a letter, then letters, digits or "
            "'_', at most 80, and no word of the expression language."
        )
    if isinstance(value, dict):
        if "value" in value and set(value) <= {"value", "unit"}:
            entries[name] = _leaf(name, value["value"], _unit(value.get("unit"), where), entries)
        elif "value" in value:
            extra = sorted(set(value) - {"value", "unit"})
            raise DraftError(f"{where}: unknown key {extra[0]!r}; a parameter has value and unit.")
        elif not value:
            raise DraftError(f"{where} is empty; give a number, an expression or named values.")
        else:
            for key, inner in value.items():
                _collect(f"{name}.{key}", inner, entries)
    else:
        entries[name] = _leaf(name, value, None, entries)


def _unit(unit: Any, where: str) -> str | None:
    if unit is not None and not isinstance(unit, str):
        raise DraftError(f'{where}: the unit {unit!r} is not text; write unit: "m".')
    return unit


def _leaf(name: str, value: Any, unit: str | None, entries: dict[str, Entry]) -> Entry:
    where = f"parameters.yaml, {name}"
    if isinstance(value, list):
        elements = [f"{name}.{i}" for i in range(len(value))]
        for element, item in zip(elements, value, strict=True):
            entries[element] = _leaf(element, item, unit, entries)
        return Entry(name, tuple(elements), unit)
    number = as_number(value)
    if number is not None:
        return Entry(name, finite(number, where), unit)
    if is_expression(value):
        return Entry(name, Expression(value, where), unit)
    if isinstance(value, bool | str):
        return Entry(name, value, unit)
    raise DraftError(
        f"{where} is {shorten(repr(value))}; "
        "it must be a number, '${expression}', list or mapping."
    )


def _ordered(entries: Mapping[str, Entry]) -> list[str]:
    """Return the names so that each follows what it reads (depth-first, without recursion)."""
    order: dict[str, None] = {}
    for start in entries:
        path: dict[str, Any] = {}
        stack = [(start, iter(entries[start].reads))]
        path[start] = None
        while stack:
            name, reads = stack[-1]
            following = next((r for r in reads if r not in order), None)
            if following is None:
                stack.pop()
                path.pop(name)
                order[name] = None
            elif following in path:
                names = list(path)
                circle = [*names[names.index(following) :], following]
                raise DraftError(
                    f"parameters.yaml: {' -> '.join(circle)} depend on each other in a circle; "
                    "give one of them a number."
                )
            else:
                path[following] = None
                stack.append((following, iter(entries[following].reads)))
    return list(order)
