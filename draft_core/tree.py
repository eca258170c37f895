"""A robot as static topology: which bodies there are, and which expressions give their numbers.

Everything here is frozen and hashable. Numbers that may follow the design are `Scalar` and
`Vector`: what the file states, where it states it, and the rule it must keep.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from draft_core.errors import DraftError
from draft_core.expressions import Expression, as_number, is_expression, shorten
from draft_core.namespace import is_jax, is_traced, stack
from draft_core.parameters import ParameterTable, finite

Leaf = float | Expression
Rule = Literal["any", "positive", "not negative"]
Environment = Mapping[str, Any]
MAX_MAGNITUDE = 1e9  # of any number in SI units; MuJoCo gives up at 1e10
JOINT_DOFS = {"free": 6, "ball": 3, "slide": 1, "hinge": 1}


def _number(stated: Leaf, env: Environment, where: str, rule: Rule) -> Any:
    value = stated.evaluate(env) if isinstance(stated, Expression) else stated
    return _checked(value, where, rule, stated)


def _checked(value: Any, where: str, rule: Rule, stated: object) -> Any:
    if isinstance(value, tuple | str) or (is_jax(value) and value.shape != ()):
        given = stated.text if isinstance(stated, Expression) else value
        raise DraftError(f"{where} is {shorten(repr(given))}; it must be one number.")
    finite(value, where)
    if not is_traced(value):
        if abs(value) > MAX_MAGNITUDE:
            raise DraftError(f"{where} is {float(value):g}; at most {MAX_MAGNITUDE:g} is possible.")
        wrong = (rule == "positive" and value <= 0) or (rule == "not negative" and value < 0)
        if wrong:
            bound = "greater than 0" if rule == "positive" else "0 or more"
            source = f" (from {stated.text!r})" if isinstance(stated, Expression) else ""
            raise DraftError(f"{where} is {float(value):.6g}{source}; it must be {bound}.")
    return value if is_jax(value) else float(value)


@dataclass(frozen=True)
class Scalar:
    """A number that may follow the design."""

    stated: Leaf
    where: str = field(compare=False)
    rule: Rule = "any"

    def evaluate(self, env: Environment) -> Any:
        """Return its value at the parameters ``env``.

        Raises:
            DraftError: the value breaks the rule or is not a finite number.
        """
        return _number(self.stated, env, self.where, self.rule)

    @property
    def is_constant(self) -> bool:
        """Whether no parameter enters."""
        return not isinstance(self.stated, Expression)


@dataclass(frozen=True)
class Vector:
    """A list of numbers that may follow the design, or one expression that gives the list."""

    stated: tuple[Leaf, ...] | Expression
    where: str = field(compare=False)
    sizes: tuple[int, ...] = (3,)
    rule: Rule = "any"

    def items(self, env: Environment) -> list[Any]:
        """Return the numbers at the parameters ``env``.

        Raises:
            DraftError: they are too many or too few, break the rule or are not finite.
        """
        stated = self.stated.evaluate(env) if isinstance(self.stated, Expression) else self.stated
        if not isinstance(stated, tuple) or len(stated) not in self.sizes:
            given = self.stated.text if isinstance(self.stated, Expression) else stated
            sizes = " or ".join(map(str, self.sizes))
            raise DraftError(
                f"{self.where} is {shorten(repr(given))}; it must be a list of {sizes} numbers."
            )
        return [
            _number(item, env, f"{self.where}[{i}]", self.rule)
            if isinstance(item, Expression)
            else _checked(item, f"{self.where}[{i}]", self.rule, self.stated)
            for i, item in enumerate(stated)
        ]

    def evaluate(self, env: Environment) -> Any:
        """Return the numbers as one array."""
        return stack(self.items(env))


@dataclass(frozen=True)
class Pose:
    """Position and orientation of a frame in its parent's.

    Attributes:
        pos: position [m]; None for the origin.
        turn: orientation as `kind` says; None for the parent's.
        kind: "quat" (w, x, y, z, any length), "euler" (turns about the frame's own x, y, z
            [rad]) or "axis" (the direction of the frame's z axis).
    """

    pos: Vector | None = None
    turn: Vector | None = None
    kind: Literal["quat", "euler", "axis"] = "quat"


@dataclass(frozen=True)
class Solid:
    """A rigid piece of a body: gives mass, inertia and collision geometry.

    Attributes:
        name: its geom's name.
        shape: box, cylinder, capsule or sphere; None for a mass without geometry.
        size: box x, y, z; cylinder and capsule radius, length; sphere radius [m].
        pose: of its centre and principal axes in the body's frame.
        mass: [kg]; None where the density gives it.
        density: [kg/m³]; None where the mass is stated.
        inertia: stated principal moments about its centre [kg m²]; None to compute them.
    """

    name: str
    shape: str | None
    size: Vector | None
    pose: Pose
    mass: Scalar | None
    density: Scalar | None
    inertia: Vector | None


@dataclass(frozen=True)
class Joint:
    """What a body may do in its parent.

    Attributes:
        axis: of a hinge or slide, in the body's frame, any length.
        range: least and most angle [rad] or displacement [m]; of a ball, the most angle only.
        armature: reflected inertia [kg m²] or [kg].
        damping: [N m s] or [N s/m].
        frictionloss: [N m] or [N].
        stiffness: [N m/rad] or [N/m], about springref [rad] or [m].
    """

    name: str
    type: Literal["free", "hinge", "slide", "ball"]
    axis: Vector | None = None
    range: Vector | None = None
    armature: Scalar | None = None
    damping: Scalar | None = None
    frictionloss: Scalar | None = None
    stiffness: Scalar | None = None
    springref: Scalar | None = None

    @property
    def dofs(self) -> int:
        """How many degrees of freedom it has."""
        return JOINT_DOFS[self.type]


@dataclass(frozen=True)
class Motor:
    """An actuator on a hinge or slide: joint effort = gear * control.

    Attributes:
        limit: least and most control [N m] or [N], or one number for both signs.
        gear: joint effort per control.
        speed: top speed of the joint [rad/s] or [m/s]; None for no limit.
    """

    name: str
    limit: Vector
    gear: Scalar | None = None
    speed: Scalar | None = None


@dataclass(frozen=True)
class Site:
    """A named frame on a body."""

    name: str
    pose: Pose


@dataclass(frozen=True)
class ContactPoint:
    """A point of a body that may touch the ground, with its friction coefficient."""

    name: str
    pose: Pose
    friction: Scalar


@dataclass(frozen=True)
class Thruster:
    """A thrust along the z axis of a site, with a torque ``drag * thrust`` about it.

    Attributes:
        limit: least and most thrust [N], or the most alone.
        drag: torque per thrust [m]; its sign is the direction of spin.
    """

    name: str
    pose: Pose
    limit: Vector
    drag: Scalar | None = None


@dataclass(frozen=True)
class Link:
    """A body: where it hangs, how it moves, what it is made of and what it carries.

    Attributes:
        mirrored: whether all its numbers are to be seen in the mirror y → −y.
    """

    name: str
    primitive: str
    parent: str | None
    pose: Pose
    joint: Joint | None
    motor: Motor | None
    solids: tuple[Solid, ...]
    sites: tuple[Site, ...] = ()
    contacts: tuple[ContactPoint, ...] = ()
    thrusters: tuple[Thruster, ...] = ()
    mirrored: bool = False


@dataclass(frozen=True)
class RobotTree:
    """A robot: its parameters and its bodies in MuJoCo's order (depth first, parents before)."""

    name: str
    parameters: ParameterTable
    links: tuple[Link, ...]

    def resolve(self, design: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return every parameter's value at a design."""
        return self.parameters.resolve(design)

    @property
    def joints(self) -> tuple[Joint, ...]:
        """Joints in MuJoCo's order."""
        return tuple(link.joint for link in self.links if link.joint)

    @property
    def site_names(self) -> tuple[str, ...]:
        """Sites, contact points and thrusters: everything that is a site in MuJoCo's order."""
        return tuple(
            item.name
            for link in self.links
            for item in (*link.sites, *link.contacts, *link.thrusters)
        )

    @property
    def actuator_names(self) -> tuple[str, ...]:
        """Actuators in MuJoCo's order: motors and thrusters, body by body."""
        names: list[str] = []
        for link in self.links:
            names += [link.motor.name] if link.motor else []
            names += [thruster.name for thruster in link.thrusters]
        return tuple(names)


def leaf(value: object, where: str) -> Leaf:
    """Return a YAML value as a number or an expression.

    Raises:
        DraftError: it is neither.
    """
    number = as_number(value)
    if number is not None:
        return finite(number, where)
    if is_expression(value):
        return Expression(str(value), where)
    raise DraftError(
        f"{where} is {shorten(repr(value))}; it must be a number or '${{expression}}'."
    )
