"""A feasibility report as text: feasibility_report.yaml, and the table a terminal shows.

The YAML is written here, since PyYAML takes longer than everything else. Margins are written to six
digits, everything else with all of them; ``yaml.safe_load`` reads it back.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from draft_core.feasibility import Derived, FeasibilityReport, MotorUse
    from draft_core.gates import Margin

SCHEMA = 1
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_WORDS = {"yes", "no", "on", "off", "true", "false", "null"}  # which YAML reads as something else


def to_yaml(report: "FeasibilityReport") -> str:
    """Return the report as a YAML document."""
    overrides = report.overrides
    lines = [
        f"schema: {SCHEMA}",
        f"robot: {_word(report.robot)}",
        f"population: {report.population or 'null'}",
        f"verdict: {report.verdict}",
        f"round_trip_drift: {_value(report.drift)}",
        *_list("refusals", report.refusals),
        *_list("warnings", report.warnings),
        "overrides:",
        *_list("  allowed", overrides.allowed),
        f"  switches: {_flow(overrides.switches)}",
        f"  may_enter_root: {_flow(overrides.in_root)}",
        f"  stated_in_vain: {_flow(overrides.in_vain)}",
        f"  parameters: {_flow(overrides.parameters)}",
        "mass:",
        f"  total: {_value(report.mass.total)}",
        *_mapping("  by_role", report.mass.by_role),
        *_mapping("  by_link", report.mass.by_link),
        *_block("motors", map(_motor, report.motors)),
        *_block("derived", map(_derived, report.derived)),
        *_block("members", map(_derived, report.members)),
        *_block("margins", map(_margin, report.margins), empty="[]"),
    ]
    return "\n".join(lines) + "\n"


def _block(key: str, rows: Iterable[str], empty: str = "{}") -> list[str]:
    """Return a key and its rows, or that there are none."""
    listed = list(rows)
    return [f"{key}:", *listed] if listed else [f"{key}: {empty}"]


def _list(key: str, texts: Iterable[str]) -> list[str]:
    indent = " " * (len(key) - len(key.lstrip()))
    return _block(key, (f"{indent}  - {_quoted(text)}" for text in texts), empty="[]")


def _mapping(key: str, numbers: Mapping[str, float]) -> list[str]:
    indent = " " * (len(key) - len(key.lstrip()))
    return _block(key, (f"{indent}  {_word(k)}: {_value(v)}" for k, v in numbers.items()))


def _motor(use: "MotorUse") -> str:
    part = _quoted(use.kind.part.model) if use.kind.part else "null"
    numbers = ", ".join(f"{field}: {_value(number)}" for field, number in use.numbers.items())
    return (
        f"  {_word(use.kind.key)}:\n    part: {part}\n    mode: {use.kind.mode}\n"
        f"    joints: {_flow(use.joints)}\n    numbers: {{{numbers}}}"
    )


def _derived(row: "Derived") -> str:
    name, value, unit, rule = _word(row.name), _value(row.value), _quoted(row.unit), row.rule
    return f"  {name}: {{value: {value}, unit: {unit}, rule: {_quoted(rule)}}}"


def _margin(margin: "Margin") -> str:
    limit = margin.limit
    bounds = f"[{_short(limit[0])}, {_short(limit[1])}]" if isinstance(limit, tuple) else None
    return (
        f"  - {{gate: {margin.gate}, subject: {_quoted(margin.subject)}, level: {margin.level}, "
        f"margin: {_short(margin.value)}, measured: {_short(margin.measured)}, "
        f"limit: {bounds or _short(limit)}, unit: {_quoted(margin.unit)}, "
        f"switch: {margin.switch or 'null'}}}"
    )


@lru_cache(maxsize=4096)
def _word(name: str) -> str:
    """Return a name, quoted where YAML would take it for something else."""
    plain = _PLAIN.fullmatch(name) and name.lower() not in _WORDS
    return name if plain else _quoted(name)


@lru_cache(maxsize=4096)
def _quoted(text: str) -> str:
    return json.dumps(text)


def _flow(names: Iterable[str]) -> str:
    return f"[{', '.join(map(_word, names))}]"


def _value(value: Any) -> str:
    """Return a parameter's value with all its digits."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, tuple):
        return f"[{', '.join(map(_value, value))}]"
    return _float(repr(float(value)))


def _short(value: Any) -> str:
    return _float(f"{float(value):.6g}")


def _float(text: str) -> str:
    """Return a printed float as YAML 1.1 reads one: with a point, also before an exponent."""
    if "." in text:
        return text
    if "n" in text:  # inf, -inf and nan
        return text.replace("inf", ".inf").replace("nan", ".nan")
    digits, e, exponent = text.partition("e")
    return f"{digits}.0{e}{exponent}"


def table(report: "FeasibilityReport") -> str:
    """Return the report in a few lines: verdict, mass, motors, and what is out of the ordinary."""
    rows = [(report.robot, _headline(report)), ("mass", _masses(report))]
    rows += [(use.kind.key, _motor_line(use)) for use in report.motors]
    overrides = report.overrides
    for label, texts in (
        ("refused", report.refusals),
        ("warning", report.warnings),
        ("override", overrides.allowed),
    ):
        rows += [(label, text) for text in texts]
    for label, names in (
        ("in the root", overrides.in_root),
        ("stated in vain", overrides.in_vain),
        ("overridden", overrides.parameters),
    ):
        rows += [(label, _some(names))] if names else []
    width = max(len(label) for label, _ in rows)
    return "\n".join(f"{label:<{width}}  {text}" for label, text in rows)


def _some(names: Sequence[str], most: int = 8) -> str:
    """Return names in one short line; the written report has all of them."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _headline(report: "FeasibilityReport") -> str:
    counts = (
        (len(report.refusals), "refusal"),
        (len(report.warnings), "warning"),
        (len(report.overrides.allowed), "override"),
    )
    parts = [f"{n} {what}{'s' if n > 1 else ''}" for n, what in counts if n]
    return ", ".join([report.verdict, f"{report.mass.total:.4g} kg", *parts])


def _masses(report: "FeasibilityReport") -> str:
    return ", ".join(f"{role} {mass:.4g} kg" for role, mass in report.mass.by_role.items())


def _motor_line(use: "MotorUse") -> str:
    n, joints = use.numbers, len(use.joints)
    part = f", {use.kind.part.model}" if use.kind.part else ""
    return (
        f"{joints} joint{'s' if joints > 1 else ''}{part}: {n['peak_torque']:.4g} N m, "
        f"{n['no_load_speed']:.4g} rad/s, gear {n['gear']:.4g}, {n['peak_power']:.4g} W, "
        f"{n['mass']:.4g} kg, radius {1e3 * n['radius']:.3g} mm, "
        f"length {1e3 * n['length']:.3g} mm, armature {n['armature']:.3g} kg m^2"
    )
