"""`FeasibilityReport`: whether a design could be built, every number that says so, and its source.

A robot is refused where the margin of an error is negative and no switch allows it. The report is
an answer, not an exception; whoever writes files raises its `refusal`. docs/feasibility-report.md
describes the written form, key by key.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from draft_core import report_text
from draft_core.anatomy import Anatomy, anatomy
from draft_core.expressions import Expression
from draft_core.formula import Formula
from draft_core.gates import Margin, apply_switches, in_root, margins_of
from draft_core.gates.masses import ROLES, owners
from draft_core.motors import UNITS, MotorClass
from draft_core.parameters import Entry
from draft_core.tree import RobotTree, Solid
from draft_core.trends import structure


@dataclass(frozen=True)
class Derived:
    """A number that a rule gives.

    Attributes:
        name: of the parameter, or of the solid whose mass it is.
        value: what the rule gives here.
        unit: its unit, if any.
        rule: the trend or the expression.
    """

    name: str
    value: Any
    unit: str
    rule: str


@dataclass(frozen=True)
class MotorUse:
    """A motor class that joints use.

    Attributes:
        kind: the class.
        joints: the joints it drives.
        numbers: its numbers by field, in the units of `draft_core.motors.UNITS`.
    """

    kind: MotorClass
    joints: tuple[str, ...]
    numbers: Mapping[str, float]


@dataclass(frozen=True)
class Mass:
    """Whose the robot's mass is [kg].

    Attributes:
        total: of the robot.
        by_role: of the solids of each role that there is.
        by_link: of each link, in MuJoCo's order.
    """

    total: float
    by_role: Mapping[str, float]
    by_link: Mapping[str, float]


@dataclass(frozen=True)
class Overrides:
    """What departs from the rules or the file, and is therefore on record.

    Attributes:
        allowed: what a switch allows though a gate would refuse it, one message each.
        switches: the switches that are on.
        in_root: solids that may lie inside the root's mesh.
        in_vain: numbers the file states though others give them.
        parameters: parameters that an override or a design has changed.
    """

    allowed: tuple[str, ...]
    switches: tuple[str, ...]
    in_root: tuple[str, ...]
    in_vain: tuple[str, ...]
    parameters: tuple[str, ...]


@dataclass(frozen=True)
class FeasibilityReport:
    """Whether a robot could be built at one design, and why.

    Attributes:
        robot: its name.
        population: whose structural trends hold, if any.
        refusals: what refuses it, one message each.
        warnings: what is unusual, one message each.
        overrides: what departs from the rules on purpose.
        mass: whose its mass is.
        motors: the motor classes that joints use.
        derived: every parameter that a rule gives.
        members: every mass that a structural trend gives.
        margins: how far each number is from its limit.
        drift: largest relative difference to what MuJoCo read back; None where it was not asked.
    """

    robot: str
    population: str | None
    refusals: tuple[str, ...]
    warnings: tuple[str, ...]
    overrides: Overrides
    mass: Mass
    motors: tuple[MotorUse, ...]
    derived: tuple[Derived, ...]
    members: tuple[Derived, ...]
    margins: tuple[Margin, ...]
    drift: float | None = None

    @property
    def is_feasible(self) -> bool:
        """Whether no gate refuses the robot."""
        return not self.refusals

    @property
    def verdict(self) -> str:
        """The word for it: feasible or refused."""
        return "feasible" if self.is_feasible else "refused"

    def refusal(self) -> str:
        """Return in one line what refuses the robot; empty where nothing does."""
        if self.is_feasible:
            return ""
        first, *others = self.refusals
        more = f" (and {len(others)} more)" if others else ""
        return f"{self.robot!r} is refused: {first}{more}."

    def __str__(self) -> str:
        """Return the table."""
        return self.table()

    def to_yaml(self) -> str:
        """Return the report as feasibility_report.yaml holds it."""
        return report_text.to_yaml(self)

    def table(self) -> str:
        """Return the report as a terminal shows it."""
        return report_text.table(self)


def feasibility(
    tree: RobotTree,
    env: Mapping[str, Any],
    fields: Mapping[str, Any] | None = None,
    drift: float | None = None,
    frames: tuple[Any, Any] | None = None,
) -> FeasibilityReport:
    """Return whether a robot could be built at one design, and every number that says so.

    Args:
        tree: the robot.
        env: every parameter's value, as `RobotTree.resolve` gives them; numbers.
        fields: what `draft_core.quantities.quantities` gives there, if it is at hand.
        drift: largest relative difference to what MuJoCo read back, to be recorded.
        frames: what `draft_core.derived.body_frames` gives there, if it is at hand.

    Raises:
        DraftError: a switch is neither true nor false, or there is no such switch.
    """
    seen = anatomy(tree, env, fields, frames)
    margins = tuple(margins_of(seen))
    found = apply_switches(tree, env, margins)
    given = _given(tree, env)
    return FeasibilityReport(
        robot=tree.name,
        population=tree.population,
        refusals=tuple(
            f"{margin.message}; {margin.switch}=true (in parameters.yaml or by --set) allows it"
            if margin.switch
            else margin.message
            for margin in found.refusals
        ),
        warnings=tuple(margin.message for margin in found.warnings),
        overrides=Overrides(
            allowed=tuple(
                f"would refuse: {margin.message}; allowed by {margin.switch}"
                for margin in found.allowed
            ),
            switches=found.on,
            in_root=_exempt(tree),
            in_vain=_in_vain(tree),
            parameters=tuple(dict.fromkeys([*tree.overridden, *given])),
        ),
        mass=_mass(seen),
        motors=_motors(seen),
        derived=tuple(
            Derived(name, env[name], unit, rule)
            for name, unit, rule in _rules(tree)
            if name not in given
        ),
        members=_members(seen),
        margins=margins,
        drift=drift,
    )


def _mass(seen: Anatomy) -> Mass:
    by_role = owners(seen.tree).roles @ seen.fields["solid_mass"]
    by_link = seen.fields["body_mass"].tolist()[1:]
    names = (link.name for link in seen.tree.links)
    roles = zip(ROLES, by_role.tolist(), strict=True)
    return Mass(
        float(seen.total_mass),
        {role: mass for role, mass in roles if mass > 0},
        dict(zip(names, by_link, strict=True)),
    )


def _motors(seen: Anatomy) -> tuple[MotorUse, ...]:
    return tuple(
        MotorUse(kind, joints, {field: seen.env[f"{kind.key}.{field}"] for field in UNITS})
        for kind, joints in _driven(seen.tree)
    )


@lru_cache(maxsize=32)
def _driven(tree: RobotTree) -> tuple[tuple[MotorClass, tuple[str, ...]], ...]:
    """Return each motor class that is used, with the joints it drives."""
    joints: dict[MotorClass, list[str]] = {}
    for link in tree.links:
        if link.motor and link.motor.kind and link.joint:
            joints.setdefault(link.motor.kind, []).append(link.joint.name)
    return tuple((kind, tuple(names)) for kind, names in joints.items())


def _given(tree: RobotTree, env: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the parameters to which a design gives another value than the file does."""
    return tuple(entry.name for entry in tree.parameters.entries if _is_given(entry, env))


def _is_given(entry: Entry, env: Mapping[str, Any]) -> bool:
    if entry.fixed or isinstance(entry.stated, tuple):
        return False
    if isinstance(entry.stated, Expression | Formula):
        return bool(entry.evaluate(env) != env[entry.name])
    return bool(entry.stated != env[entry.name])


@lru_cache(maxsize=32)
def _rules(tree: RobotTree) -> tuple[tuple[str, str, str], ...]:
    """Return name, unit and rule of every parameter that a rule gives.

    The numbers of a joint role that shares a class are the class's, and not repeated.
    """
    keys = {kind.key for kind in tree.parameters.motors.values()}
    shared = [f"joint_motors.{name}" for name in tree.parameters.motors]
    skipped = tuple(f"{name}." for name in shared if name not in keys)
    return tuple(
        (entry.name, entry.unit or "", entry.stated.text)
        for entry in tree.parameters.entries
        if isinstance(entry.stated, Expression | Formula) and not entry.name.startswith(skipped)
    )


@lru_cache(maxsize=32)
def _in_vain(tree: RobotTree) -> tuple[str, ...]:
    kinds = {kind.key: kind for kind in tree.parameters.motors.values()}
    return tuple(f"{key}.{name}" for key, kind in kinds.items() for name in kind.overridden)


def _exempt(tree: RobotTree) -> tuple[str, ...]:
    judged = in_root.judged(tree)
    return judged.exempt if judged else ()


def _members(seen: Anatomy) -> tuple[Derived, ...]:
    mass = seen.fields["solid_mass"].tolist()
    return tuple(Derived(name, mass[i], "kg", rule) for i, name, rule in _member_rules(seen.tree))


@lru_cache(maxsize=32)
def _member_rules(tree: RobotTree) -> tuple[tuple[int, str, str], ...]:
    """Return place, name and rule of every solid whose mass a structural trend gives."""
    solids = enumerate(solid for link in tree.links for solid in link.solids)
    rules = ((i, solid.name, _mass_rule(solid)) for i, solid in solids)
    return tuple((i, name, rule) for i, name, rule in rules if rule is not None)


def _mass_rule(solid: Solid) -> str | None:
    if solid.segment is None:
        return None
    if solid.mass is not None and isinstance(solid.mass.stated, Formula):
        return solid.mass.stated.text
    if solid.density is None:
        return None
    density = structure.trunk_density(solid.segment.population)
    kind = f"{solid.segment.population} {solid.segment.name}"
    return f"m = {density:.4g} kg/m^3 V ({kind}, V of the box with the same inertia)"
