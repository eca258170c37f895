"""What the primitives share: solids, joints, motors, sites, contact points and thrusters."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from draft_core.context import Context
from draft_core.errors import DraftError
from draft_core.expressions import is_expression
from draft_core.motors import MotorClass
from draft_core.section import Section, as_vector, check_name
from draft_core.tree import (
    ContactPoint,
    Joint,
    Link,
    Motor,
    Rule,
    Scalar,
    Site,
    Solid,
    Thruster,
    Vector,
    leaf,
)

# the numbers that state a shape's size, in order
SHAPES: dict[str, tuple[str, ...]] = {
    "box": ("x", "y", "z"),
    "cylinder": ("radius", "length"),
    "capsule": ("radius", "length"),
    "sphere": ("radius",),
}
SOLID_KEYS = (
    *("shape", "size", "center", "quat", "euler", "mass", "density", "inertia"),
    *("rgba", "may_enter_root"),
)
CARRIED_KEYS = ("sites", "contacts", "thrusters")
DEFAULT_FRICTION = 1.0


@dataclass(frozen=True)
class Primitive:
    """A kind of node.

    Attributes:
        name: the word after ``primitive:``.
        keys: the keys such a node may have.
        parse: builds the link from the node's name and mapping.
    """

    name: str
    keys: tuple[str, ...]
    parse: Callable[[str, Section, Context], Link]


def size(shape: str, section: Section) -> Vector:
    """Return the size of a shape, stated as a mapping or as a list in the same order."""
    parts = SHAPES[shape]
    example = "{" + ", ".join(f"{part}: 0.1" for part in parts) + "}"
    stated = section.require("size", example)
    where = section.at("size")
    if isinstance(stated, dict):
        inner = Section(stated, where, parts)
        items = tuple(leaf(inner.require(part, "0.1"), inner.at(part)) for part in parts)
        return Vector(items, where, (len(parts),), "positive", parts)
    return as_vector(stated, where, (len(parts),), "positive")


def solid(name: str, section: Section) -> Solid:
    """Return one rigid piece.

    Raises:
        DraftError: its mass is stated twice or not at all, or it has neither a shape nor mass
            and inertia.
    """
    shape = section.word("shape", SHAPES) if "shape" in section else None
    mass, density = section.scalar("mass", "positive"), section.scalar("density", "positive")
    inertia = section.vector("inertia", rule="positive")
    if (mass is None) == (density is None):
        given = "both mass and density" if mass else "no mass"
        raise DraftError(
            f"{section.where} has {given}; state one of 'mass: 0.1' [kg] and "
            "'density: 1000' [kg/m^3]."
        )
    if shape is None and (mass is None or inertia is None):
        raise DraftError(
            f"{section.where} has no shape; give 'shape: box' and a size, or both mass and inertia."
        )
    if shape is None and "size" in section:
        raise DraftError(
            f"{section.where} has a size but no shape; add one of: {', '.join(SHAPES)}."
        )
    return Solid(
        name=name,
        shape=shape,
        size=size(shape, section) if shape else None,
        pose=section.pose("center"),
        mass=mass,
        density=density,
        inertia=inertia,
        may_enter_root=section.switch("may_enter_root"),
        rgba=section.vector("rgba", (3, 4), "not negative"),
    )


def solids(name: str, section: Section) -> tuple[Solid, ...]:
    """Return the solids of a node: the one it states inline, or those under ``solids``.

    Inline, the node's own ``quat``/``euler`` is the link's, so a turned solid goes under
    ``solids`` or is turned by ``solid_quat``/``solid_euler``.
    """
    inline = [key for key in SOLID_KEYS if key in section and key not in ("quat", "euler")]
    if "solids" not in section:
        turned = {key: section.data.get(f"solid_{key}") for key in ("quat", "euler")}
        stated = {key: section.data[key] for key in inline} | {
            k: v for k, v in turned.items() if v is not None
        }
        return (solid(name, Section(stated, section.where, SOLID_KEYS)),)
    if inline:
        raise DraftError(
            f"{section.where} has both 'solids' and {inline[0]!r}; move it into one of the solids."
        )
    return tuple(
        solid(f"{name}_{key}", Section(data, where, SOLID_KEYS))
        for key, data, where in named(section, "solids")
    )


def named(section: Section, key: str) -> list[tuple[str, Any, str]]:
    """Return (name, mapping, place) for each entry of a mapping of named things."""
    if key not in section:
        return []
    stated, where = section.data[key], section.at(key)
    if not isinstance(stated, dict) or not stated:
        raise DraftError(
            f"{where} must be a mapping from names, such as "
            f"'{key}: {{a_name: {{pos: [0, 0, 0]}}}}'."
        )
    return [(check_name(name, where), data, f"{where}, {name}") for name, data in stated.items()]


def joint(name: str, section: Section) -> Joint | None:
    """Return the joint of a node, or None for one that is welded to its parent."""
    if "joint" not in section:
        return None
    stated, where = section.data["joint"], section.at("joint")
    if isinstance(stated, str):
        stated = {"type": stated}
    kind = Section(stated, where, JOINT_KEYS["hinge"]).word("type", JOINT_KEYS)
    inner = Section(stated, where, JOINT_KEYS[kind])
    if kind in ("hinge", "slide"):
        inner.require("axis", "[0, 1, 0]")
    return Joint(
        name=inner.name("name", name),
        type=kind,  # pyright: ignore[reportArgumentType]
        axis=inner.vector("axis"),
        range=_ball_range(inner) if kind == "ball" else inner.vector("range", (2,)),
        armature=inner.scalar("armature", "not negative"),
        damping=inner.scalar("damping", "not negative"),
        frictionloss=inner.scalar("frictionloss", "not negative"),
        stiffness=inner.scalar("stiffness", "not negative"),
        springref=inner.scalar("springref"),
    )


_LOSSES = ("armature", "damping", "frictionloss")
JOINT_KEYS: dict[str, tuple[str, ...]] = {
    "free": ("type", "name"),
    "hinge": ("type", "name", "role", "axis", "range", *_LOSSES, "stiffness", "springref"),
    "slide": ("type", "name", "role", "axis", "range", *_LOSSES, "stiffness", "springref"),
    "ball": ("type", "name", "role", "range", *_LOSSES, "stiffness"),
}


def _ball_range(section: Section) -> Vector | None:
    return section.vector("range", (2,), "not negative")


def motor(joint: Joint | None, section: Section, context: Context) -> Motor | None:
    """Return the motor of a node's joint.

    Raises:
        DraftError: the node has no hinge or slide for it, or names a class that is none.
    """
    if "motor" not in section:
        return None
    stated, where = section.data["motor"], section.at("motor")
    if isinstance(stated, str) and not (is_expression(stated) and _is_number(stated, context)):
        stated = {"class": stated}
    has_class = isinstance(stated, dict) and "class" in stated
    inner = Section(stated, where, CLASS_MOTOR_KEYS if has_class else MOTOR_KEYS)
    if joint is None or joint.type not in ("hinge", "slide"):
        given = f"a {joint.type} joint" if joint else "no joint"
        raise DraftError(f"{inner.where} needs a hinge or slide; this node has {given}.")
    name = inner.name("name", joint.name)
    if has_class:
        return _class_motor(name, joint, inner, context)
    limit = inner.require("limit", "1.5")
    return Motor(
        name=name,
        limit=_limit(limit, inner.at("limit")),
        gear=inner.scalar("gear", "positive"),
        speed=inner.scalar("speed", "positive"),
    )


MOTOR_KEYS = ("name", "limit", "gear", "speed")
CLASS_MOTOR_KEYS = ("name", "class", "carried_by", "pos", "axis", "shift", "may_enter_root")


def _is_number(text: str, context: Context) -> bool:
    return not isinstance(context.value(text), str)


def _class_motor(name: str, joint: Joint, section: Section, context: Context) -> Motor:
    """Return a motor whose numbers are those of a class."""
    if joint.type != "hinge":
        raise DraftError(
            f"{section.where} names a motor class, which turns a hinge; this joint is a "
            f"{joint.type}. State 'limit' [N] instead."
        )
    at = section.at("class")
    kind = context.motor(context.text(section.data["class"], at), at)
    carrier = (
        check_name(section.data["carried_by"], section.at("carried_by"))
        if ("carried_by" in section)
        else None
    )
    place = section.pose(axis=True)
    if carrier is not None and place.pos is None:
        raise DraftError(
            f"{section.where} is carried by {carrier!r} but has no place there; give 'pos: "
            "[0, 0, 0]' in that node's frame."
        )
    return Motor(
        name=name,
        limit=_class_torque(kind),
        speed=class_number(kind, "no_load_speed", "positive"),
        kind=kind,
        carrier=carrier,
        place=place if carrier is not None or place.pos or place.turn else None,
        shift=section.scalar("shift"),
        may_enter_root=section.switch("may_enter_root"),
    )


def class_number(kind: MotorClass, field: str, rule: Rule) -> Scalar:
    """Return a number of a motor class, to be told by its place in parameters.yaml."""
    where = f"parameters.yaml, {kind.key}.{field}"
    return Scalar(kind.read(field, where), where, rule)


def _class_torque(kind: MotorClass) -> Vector:
    torque = class_number(kind, "peak_torque", "positive")
    return Vector((torque.stated,), torque.where, (1,), "positive", ("",))


def with_class(joint: Joint | None, motor: Motor | None) -> Joint | None:
    """Return the joint with the armature and losses of its motor's class, where it states none."""
    if joint is None or motor is None or motor.kind is None:
        return joint
    fields = {"armature": "armature", "damping": "damping", "frictionloss": "friction"}
    return replace(
        joint,
        **{
            key: class_number(motor.kind, name, "not negative")
            for key, name in fields.items()
            if getattr(joint, key) is None
        },
    )


def _limit(stated: object, where: str) -> Vector:
    if isinstance(stated, list):
        return as_vector(stated, where, (2,), "any")
    return Vector((leaf(stated, where),), where, (1,), "positive", ("",))


def sites(section: Section) -> tuple[Site, ...]:
    """Return the named frames of a node."""
    keys = ("pos", "quat", "euler", "axis")
    return tuple(
        Site(name, Section(data, where, keys).pose(axis=True))
        for name, data, where in named(section, "sites")
    )


def contacts(section: Section) -> tuple[ContactPoint, ...]:
    """Return the contact points of a node."""
    result = []
    for name, data, where in named(section, "contacts"):
        inner = Section(data, where, ("pos", "friction"))
        result.append(ContactPoint(name, inner.pose(), friction(inner)))
    return tuple(result)


def friction(section: Section) -> Scalar:
    """Return the friction coefficient a section states, or the default."""
    default = Scalar(DEFAULT_FRICTION, section.at("friction"))
    return section.scalar("friction", "not negative") or default


def thrusters(section: Section) -> tuple[Thruster, ...]:
    """Return the thrusters of a node."""
    result = []
    for name, data, where in named(section, "thrusters"):
        inner = Section(data, where, ("pos", "quat", "euler", "axis", "limit", "drag"))
        limit = _limit(inner.require("limit", "[0, 5]"), inner.at("limit"))
        result.append(Thruster(name, inner.pose(axis=True), limit, inner.scalar("drag")))
    return tuple(result)


COMMON_KEYS = ("primitive", "pos", "quat", "euler", "joint", "motor", *CARRIED_KEYS)
LINK_KEYS = (
    *COMMON_KEYS,
    *("shape", "size", "center", "solid_quat", "solid_euler", "mass", "density", "inertia"),
    *("rgba", "may_enter_root", "solids"),
)


def link(
    name: str,
    section: Section,
    primitive: str,
    parent: str | None,
    context: Context,
    pieces: tuple[Solid, ...] | None = None,
    touches: tuple[ContactPoint, ...] = (),
) -> Link:
    """Return a node's link.

    Args:
        name: the node's.
        section: what it states, with at least `COMMON_KEYS`.
        primitive: its kind.
        parent: the node it hangs from.
        context: the folder around it.
        pieces: its solids; None for those that the keys of `SOLID_KEYS` state.
        touches: contact points beside those it states.
    """
    moves = joint(name, section)
    drive = motor(moves, section, context)
    return Link(
        name=name,
        primitive=primitive,
        parent=parent,
        pose=section.pose(),
        joint=with_class(moves, drive),
        motor=drive,
        solids=solids(name, section) if pieces is None else pieces,
        sites=sites(section),
        contacts=(*touches, *contacts(section)),
        thrusters=thrusters(section),
    )
